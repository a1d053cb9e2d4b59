// Runs Python in a worker: loads it, then answers questions one after another.
// Messages from the page: { id, question }, and { id, compiler }, the archive of the compiler that a question with `pdf`
// needs. Messages to the page: { loaded, total }, { ready }, { id, answer }, { fault }.
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

let typst; // the compiler

async function loadTypst(archive) {
  const { startTypst } = await import("./typst.mjs");
  typst = await startTypst(archive);
}

self.onmessage = async ({ data: { id, question, compiler } }) => {
  const answers = await started;
  try {
    if (compiler) {
      const answer = await loadTypst(new Uint8Array(compiler)).then(() => ({}), (error) => ({ error: String(error?.message ?? error) }));
      return postMessage({ id, answer: JSON.stringify(answer) });
    }
    const answer = answers.answer(JSON.stringify(question), question.pdf ? typst : undefined);
    if (typst?.crash) throw typst.crash;
    postMessage({ id, answer });
  } catch (error) {
    postMessage({ fault: String(error?.message ?? error), pdf: Boolean(typst?.crash) }); // Python or Typst has ended, for example out of memory
  }
};
