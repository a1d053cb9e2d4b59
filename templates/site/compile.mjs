// Compiles Python modules to bytecode with Pyodide itself, so that the bytecode fits the Python of the browser.
// usage: node compile.mjs FOLDER, which holds Pyodide and sources.zip; writes compiled.zip into it
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")).href);
const info = { python: "3.14.2", abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3" };
const pyodide = await loadPyodide({
  indexURL: folder,
  lockFileContents: JSON.stringify({ info, packages: {} }),
  args: ["-X", "no_debug_ranges"], // smaller bytecode, with lines but without columns
});
pyodide.FS.writeFile("/sources.zip", readFileSync(join(folder, "sources.zip")));
await pyodide.runPythonAsync(readFileSync(join(folder, "compile_modules.py"), "utf8"));
writeFileSync(join(folder, "compiled.zip"), pyodide.FS.readFile("/compiled.zip"));
