// Runs Python in a worker: loads it, then answers questions one after another.
// Messages from the page: { id, question }. Messages to the page: { loaded, total }, { ready }, { id, answer }, { fault }.
import { startPython, unpacked } from "./python.mjs";
import { loadPyodide } from "./pyodide.mjs";

const here = new URL("./", import.meta.url).href;

// Returns the stream of a response, and reports how much of it has arrived.
function counted(response) {
  const total = Number(new URL(import.meta.url).searchParams.get("bytes"));
  let loaded = 0;
  const counting = new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.byteLength;
      postMessage({ loaded, total });
      controller.enqueue(chunk);
    },
  });
  return response.body.pipeThrough(counting);
}

async function archive() {
  const response = await fetch(`${here}packages.bin.gz`);
  if (!response.ok) throw new Error(`packages.bin.gz: HTTP status ${response.status}`);
  return unpacked(counted(response));
}

async function start() {
  const python = await startPython(loadPyodide, here, archive());
  const answers = python.pyimport("symformer.commands.browser_entry");
  // From here on, Python cannot reach the network: a worker does not inherit the page's content security policy.
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "WebTransport", "EventSource", "importScripts"]) self[name] = undefined;
  postMessage({ ready: true });
  return answers;
}

const started = start();
started.catch((error) => postMessage({ fault: String(error?.message ?? error), loading: true }));

self.onmessage = async ({ data: { id, question } }) => {
  const answers = await started;
  try {
    postMessage({ id, answer: answers.answer(JSON.stringify(question)) });
  } catch (error) {
    postMessage({ fault: String(error?.message ?? error) }); // Python itself has ended, for example out of memory
  }
};
