// Starts Python with the packages of the archive, in a worker or in Node.js.

const INFO = { python: "3.14.2", abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3" };
const LIBRARY = "/lib/python3.14/";

// Returns the bytes of the archive from a stream of gzip.
export async function unpacked(stream) {
  return new Uint8Array(await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

// Yields the path and the bytes of every file of an archive. No byte is copied.
export function* entries(archive) {
  const length = new DataView(archive.buffer, archive.byteOffset).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(archive.subarray(4, 4 + length)));
  let start = 4 + length;
  for (const [path, size] of index) {
    yield [path, archive.subarray(start, start + size)];
    start += size;
  }
}

// Writes the files of an archive into the file system of Python.
function fill(FS, archive) {
  const made = new Set();
  for (const [path, content] of entries(archive)) {
    const folder = LIBRARY + path.slice(0, path.lastIndexOf("/") + 1);
    if (!made.has(folder)) {
      FS.mkdirTree(folder);
      made.add(folder);
    }
    FS.writeFile(LIBRARY + path, content, { canOwn: true });
  }
}

// Returns Pyodide. The archive may still be a promise, so that both load at the same time.
export function startPython(loadPyodide, indexURL, archive) {
  return loadPyodide({
    indexURL,
    stdLibURL: `${indexURL}python_stdlib.zip`, // empty: the archive has the standard library
    lockFileContents: JSON.stringify({ info: INFO, packages: {} }),
    env: { HOME: "/home/pyodide", PYTHONPATH: "/lib/python3.14", PYTHONDONTWRITEBYTECODE: "1", LANG: "C.UTF-8" },
    fsInit: async (FS) => fill(FS, await archive),
  });
}
