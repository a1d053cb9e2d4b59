// Drives the playground in Chromium as a person does. See tests/browser/README.md for how it is run.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const PYTHON = process.env.PYTHON ?? "python";
const FEW = process.argv.includes("--few"); // the checks of a quick run
const folder = mkdtempSync(join(tmpdir(), "playground-"));
const python = (code, input = "") => execFileSync(PYTHON, ["-c", code], { input, encoding: "utf8", maxBuffer: 2 ** 28 });
const said = [];
const told = (words) => { said.push(words); console.log(words); };

// ---- a Hub on this computer: one model, one private, one without JSON, one too large ----
const CONFIGS = {
  "some-lab/tiny-llama": { model_type: "llama", architectures: ["LlamaForCausalLM"], vocab_size: 32000, hidden_size: 320, intermediate_size: 864, num_hidden_layers: 7, num_attention_heads: 10, num_key_value_heads: 5, max_position_embeddings: 2048, tie_word_embeddings: false },
};
const hub = createServer((request, response) => {
  response.setHeader("access-control-allow-origin", "*");
  const id = request.url.split("/resolve/")[0].slice(1);
  if (CONFIGS[id]) return response.end(JSON.stringify(CONFIGS[id]));
  if (id === "some-lab/page") return response.end("<html>no JSON</html>");
  if (id === "some-lab/large") return response.end(`{"model_type": "gpt2", "x": "${"y".repeat(20_000_000)}"}`);
  response.writeHead(id === "some-lab/private" ? 401 : 404);
  response.end();
});
await new Promise((resolve) => hub.listen(0, "127.0.0.1", resolve));
const endpoint = `http://127.0.0.1:${hub.address().port}`;

// ---- the site, in a subfolder, served by Python's own server ----
const begun = Date.now();
mkdirSync(join(folder, "a"));
execFileSync(PYTHON, ["-m", "symformer", "site", "-o", join(folder, "a", "site"), "--endpoint", endpoint, "--only", "gpt2"], { stdio: "pipe" });
told(`site built in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
let server, port;
async function serve() {
  server = spawn(PYTHON, ["-u", "-m", "http.server", String(port ?? 0), "--bind", "127.0.0.1", "--directory", folder], { stdio: ["ignore", "pipe", "ignore"] });
  const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
  port = Number(/port (\d+)/.exec(line)[1]);
}
const stop = async () => { const ended = new Promise((resolve) => server.once("exit", resolve)); server.kill(); await ended; };
await serve();
const origin = `http://127.0.0.1:${port}`, site = `${origin}/a/site/`, address = `${site}playground.html`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
const heard = [];
const fresh = (options = {}) => browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
async function open(context, hash = "") {
  const page = await context.newPage();
  page.on("console", (message) => { if (!/status of 40[134]|ERR_CONNECTION_REFUSED|net::ERR|blocked by Playwright/.test(message.text())) heard.push(message.text()); });
  page.on("pageerror", (error) => heard.push(String(error)));
  page.on("dialog", (dialog) => { heard.push(dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => { const { origin: asked, protocol } = new URL(request.url()); if (protocol.startsWith("http") && asked !== origin && asked !== endpoint) heard.push(`asked for ${request.url()}`); });
  await page.goto(address + hash);
  await page.locator("#playground").waitFor();
  return page;
}
const settled = (page) => page.waitForFunction(() => document.querySelector("#playground").getAttribute("aria-busy") === "false", null, { timeout: 120_000 });
// Follows a permanent link in a page that is open, and waits for its answer.
async function follow(page, parameters) {
  await page.evaluate((hash) => { document.querySelector("#playground").setAttribute("aria-busy", "true"); location.hash = hash; }, String(new URLSearchParams(parameters)));
  await settled(page);
}
const error = (page) => page.locator("#error").innerText();
// The output of a command, or the error.
const output = (page) => page.locator("#command-output :is(pre, .error)").first().textContent();
async function run(page, ...given) {
  await follow(page, given.map((each) => ["run", each]));
  return output(page);
}
async function compute(page) {
  await page.evaluate(() => document.querySelector("#playground").setAttribute("aria-busy", "true"));
  await page.click("#question button[type=submit]");
  await settled(page);
}

// ---- 40 targets and configs: the command's JSON is the same, to the digit ----
const TARGETS = ["gpt2", "gpt2-xl", "llama-2-7b", "llama-3-8b", "mixtral", "deepseek-v3", "mamba", "t5", "bert", "vit", "gemma2", "gpt-oss", "whisper", "falcon", "opt", "bloom", "qwen3-moe", "phi3", "olmo2", "component:mlp", "hf:afmoe", "hf:bart", "hf:align"];
const SETS = [["gpt2", "flops", "B=3", "S=777"], ["llama-2-7b", "train-memory", "B=2", "S=1500"], ["llama-3-8b", "kv-cache", "B=5", "C=3001"], ["deepseek-v3", "flops", "B=1", "S=999"], ["gpt2-xl", "inference-memory", "B=7", "C=800"], ["mixtral", "active-params"], ["mamba", "decode-flops"], ["t5", "flops"], ["gemma2", "kv-cache"], ["bloom", "activations", "B=1", "S=33"]];
const PASTED = [
  { model_type: "gpt2", n_layer: 5, n_embd: 96, n_head: 6, vocab_size: 997, n_positions: 131 },
  { model_type: "llama", vocab_size: 999, hidden_size: 96, intermediate_size: 222, num_hidden_layers: 3, num_attention_heads: 6, num_key_value_heads: 2 },
  { model_type: "mistral", vocab_size: 1001, hidden_size: 160, intermediate_size: 333, num_hidden_layers: 4, num_attention_heads: 8, num_key_value_heads: 4, sliding_window: 77 },
  { model_type: "bert", vocab_size: 555, hidden_size: 48, intermediate_size: 99, num_hidden_layers: 2, num_attention_heads: 4 },
  { model_type: "qwen2", vocab_size: 900, hidden_size: 56, intermediate_size: 100, num_hidden_layers: 3, num_attention_heads: 7, num_key_value_heads: 1 },
  { model_type: "afmoe", architectures: ["AfmoeForCausalLM"] },
  { model_type: "t5", vocab_size: 700, d_model: 64, d_kv: 9, d_ff: 130, num_layers: 3, num_heads: 5 },
];
// Without numpy in the browser, and with it on the command line.
const SOLVED = ["gpt2 --find L --find E --total 1557611200", "llama-2-7b -q inference-memory --at-most 80GB --find C --set B=8"];
const questions = [
  ...TARGETS.map((target) => ({ given: ["show", target, "--json"] })),
  ...SETS.map(([target, quantity, ...sets]) => ({ given: ["show", target, "-q", quantity, ...sets.flatMap((each) => ["--set", each]), "--json"] })),
  ...PASTED.map((config) => ({ given: ["show", "config.json", "--json"], config: JSON.stringify(config) })),
  ...SOLVED.map((asked) => ({ given: ["solve", ...asked.split(" "), "--json"] })),
];
assert.equal(questions.length, 42);
const EXPECTED = `
import json, os, sys, tempfile
from click.testing import CliRunner
from symformer.commands.cli import cli
os.chdir(tempfile.mkdtemp())
found = []
for asked in json.load(sys.stdin):
    if "config" in asked:
        open("config.json", "w").write(asked["config"])
    ran = CliRunner().invoke(cli, asked["given"], prog_name="symformer")
    found.append([ran.exit_code, ran.stdout, ran.stderr])
print(json.dumps(found))
`;
const encoded = (text) => python("import sys, zlib, base64; c = zlib.compressobj(9, zlib.DEFLATED, -15); print(base64.urlsafe_b64encode(c.compress(sys.stdin.buffer.read()) + c.flush()).decode().rstrip('='), end='')", text);
async function sameAsCommandLine(page) {
  const asked = FEW ? questions.filter((_, place) => place % 5 === 0) : questions;
  const right = JSON.parse(python(EXPECTED, JSON.stringify(asked)));
  let answered = 0;
  for (const [place, { given, config }] of asked.entries()) {
    await follow(page, [...(config ? [["config", encoded(config)]] : []), ...given.map((each) => ["run", each])]);
    const [status, text] = right[place];
    if (status === 0) {
      assert.equal(await output(page), text, `${given.join(" ")} ${config ?? ""}`);
      answered++;
    } else {
      assert.equal(await page.locator("#command-output .error").count(), 1, given.join(" "));
    }
  }
  assert.ok(answered > asked.length * 0.85, `${answered} of ${asked.length} answered`);
  told(`${answered} of ${asked.length} answers equal the command line's JSON; the others are refused by both`);
}

const context = await fresh();
const page = await open(context, "#model=gpt2");
await settled(page);
assert.match(await page.locator("#answer").innerText(), /124,439,808 parameters/);
await sameAsCommandLine(page);
for (const worker of page.workers()) assert.equal(await worker.evaluate(() => typeof fetch + typeof XMLHttpRequest + typeof WebSocket), "undefined".repeat(3));

// ---- views, and a permanent link that restores each ----
for (const [view, pattern] of [["costs", /forward FLOPs/], ["fit", /largest batch/], ["tree", /resid_dropout/], ["figure", /124,439,808/], ["derivation", /References/]]) {
  await follow(page, { model: "gpt2", view });
  assert.match(await page.locator("#answer").innerText(), pattern, view);
  const again = await open(context, new URL(page.url()).hash);
  await settled(again);
  assert.equal(await again.locator("#answer").innerHTML(), await page.locator("#answer").innerHTML(), view);
  await again.close();
}
await follow(page, { model: "llama-2-7b", q: "flops", set: "S=17", option: "attention=causal" });
assert.equal(await page.inputValue("#options"), "attention=causal");
assert.equal(await page.locator("#command-line").innerText(), "symformer show llama-2-7b -q flops --set S=17 --option attention=causal");

// ---- a model on the Hub, a dropped file, a pasted config ----
await page.fill("#target", "some-lab/tiny-llama");
await page.fill("#sets", "");
await page.fill("#options", "");
await page.selectOption("#quantity", "params");
await compute(page);
mkdirSync(join(folder, "some-lab", "tiny-llama"), { recursive: true });
writeFileSync(join(folder, "some-lab", "tiny-llama", "config.json"), JSON.stringify(CONFIGS["some-lab/tiny-llama"]));
const tiny = JSON.parse(execFileSync(PYTHON, ["-m", "symformer", "show", "some-lab/tiny-llama", "--json"], { cwd: folder, encoding: "utf8" })).value;
assert.ok((await page.locator("#answer").innerText()).includes(`${tiny.toLocaleString("en-US")} parameters`));
assert.equal(await page.locator("#command-line").innerText(), "symformer show some-lab/tiny-llama");
assert.match(await run(page, "compare", "gpt2", "some-lab/tiny-llama"), /tiny-llama/);

// ---- bad input: one sentence each, and the page goes on working ----
async function refused(pattern) {
  const text = await error(page);
  assert.match(text, pattern);
  assert.ok(!text.includes("internal error") && text.length < 600, text);
  assert.equal(text.split("\n").length, 1);
}
const paste = async (text) => { await page.evaluate((value) => { document.querySelector("#pasted").open = true; document.querySelector("#config").value = value; }, text); await compute(page); };
for (const [text, pattern] of [
  ["not JSON", /config\.json/],
  ["[1, 2]", /config\.json/],
  ["{}", /model_type/],
  [`{"model_type": "no-such-model", "architectures": ["NoSuchForCausalLM"]}`, /no-such-model|NoSuch/],
  ["[".repeat(100_000), /levels deep/],
  [`{"model_type": "gpt2", "n_layer": ${"9".repeat(5000)}}`, /n_layer|digits|large/],
  [`{"model_type": "<img src=x onerror=alert(1)>"}`, /<img src=x/],
]) {
  await paste(text);
  await refused(pattern);
}
const large = join(folder, "large.json");
writeFileSync(large, `{"model_type": "gpt2", "x": "${"y".repeat(20_000_000)}"}`);
await page.setInputFiles("#file", large);
await page.waitForFunction(() => /too large/.test(document.querySelector("#error").textContent));
await page.fill("#config", "");
for (const [name, pattern] of [["some-lab/private", /private/], ["some-lab/missing", /does not exist/], ["some-lab/page", /JSON/], ["some-lab/large", /too large/], ["no-such-model", /unknown target/]]) {
  await page.fill("#target", name);
  await compute(page);
  await refused(pattern);
}
for (const [given, pattern] of [[["verify", "gpt2"], /torch/], [["sweep", "gpt2", "--grid", "L=1:9"], /numpy/], [["plot", "gpt2", "-o", "a.png"], /typst/], [["show"], /TARGET|Missing/]]) {
  await follow(page, given.map((each) => ["run", each]));
  const text = await page.locator("#command-output .error").innerText();
  assert.match(text, pattern);
  assert.ok(!text.includes("internal error"), text);
}
await new Promise((resolve) => { hub.closeAllConnections(); hub.close(resolve); });
await page.fill("#target", "some-lab/unreached");
await compute(page);
await refused(/cannot be reached/);
told("every bad input is one sentence");

// ---- a worker out of memory, and one that is cancelled ----
const starved = await fresh();
await starved.route("**/worker.js*", async (route) => {
  const response = await route.fetch();
  await route.fulfill({ response, body: (await response.text()).replace("postMessage({ ready: true });", "answers.answer = ((before) => (text) => text.includes('gpt2-xl') ? python.runPython('[bytes(2**30) for _ in range(9)]') : before(text))(answers.answer);\n  postMessage({ ready: true });").replace("return answers;", "return { answer: answers.answer };") });
});
const hungry = await open(starved, "#model=gpt2");
await settled(hungry);
await follow(hungry, { model: "gpt2-xl" });
assert.match(await error(hungry), /out of memory/);
await follow(hungry, { model: "gpt2" });
assert.match(await hungry.locator("#answer").innerText(), /124,439,808 parameters/);
await starved.close();
await page.fill("#target", "gpt2");
await page.evaluate(() => { location.hash = "run=derive&run=deepseek-v3&run=-o&run=a.html&run=-q&run=train-memory"; });
await page.locator("#cancel").click({ timeout: 20_000 });
await follow(page, { model: "gpt2-xl" });
assert.match(await page.locator("#answer").innerText(), /1,557,611,200 parameters/);
await follow(page, { model: "gpt2" });
told("out of memory and cancelled: the page goes on");

// ---- no findings of axe above minor ----
await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
const { violations } = await page.evaluate(() => axe.run());
assert.deepEqual(violations.filter(({ impact }) => impact !== "minor").map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(" | ")}`), []);

// ---- downloads ----
for (const [kind, pattern] of [["md", /12LE|12 ?L/], ["tex", /\\begin\{document\}/], ["html", /<!DOCTYPE html>/], ["json", /"value": 124439808/], ["svg", /^<svg /]]) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(`[data-download=${kind}]`)]);
  assert.equal(file.suggestedFilename(), `gpt2.${kind}`);
  assert.match(readFileSync(await file.path(), "utf8"), pattern, kind);
}

// ---- PDF: the same pages as the command line's ----
async function pdf(page, button = "[data-download=pdf]") {
  const [file] = await Promise.all([page.waitForEvent("download", { timeout: 120_000 }), page.click(button)]);
  return file.path();
}
const told_by = (program, ...given) => execFileSync(program, given, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const facts = (path) => ["Title", "Author", "Keywords", "CreationDate", "Tagged", "Pages", "Page size"].map((name) => new RegExp(`^${name}:.*`, "m").exec(told_by("pdfinfo", path))?.[0]);
function samePages(made, given, name) {
  execFileSync(PYTHON, ["-m", "symformer", ...given, "-o", "right.pdf"], { cwd: folder, stdio: "ignore" });
  const right = join(folder, "right.pdf");
  assert.equal(readFileSync(made).subarray(0, 5).toString(), "%PDF-", name);
  assert.deepEqual(facts(made), facts(right), name);
  assert.equal(told_by("pdftotext", "-layout", made, "-"), told_by("pdftotext", "-layout", right, "-"), name);
  return Number(/^Pages: +(\d+)/m.exec(told_by("pdfinfo", made))[1]);
}
// The characters that no font displays are those that Typst rejects on the command line.
const assets = join(folder, "a", "site", "assets", "playground");
// PDF/UA is what the command line declares in addition. A release of the compiler with the option must use it.
assert.ok(!readFileSync(join(assets, "typst_ts_web_compiler.mjs"), "utf8").includes("set_pdf_opts"), "the compiler can write PDF/UA: pass it the standard of documents/formats/pdf.py");
const compiler = await (await import(join(assets, "typst.mjs"))).startTypst(new Uint8Array(gunzipSync(readFileSync(join(assets, "typst.bin.gz")))));
const characters = Array.from("Aé模型✨✖⁁≥𝑁ßłЖאعक。→∑①ﬁ⚰☃♥⟨⌘\u00ad\u200b\u202e");
const lacking = python("import json, sys; from symformer.documents.formats.missing_glyphs import replace_in_typst as told; print(json.dumps([told(each) != each for each in json.load(sys.stdin)]))", JSON.stringify(characters));
assert.deepEqual(characters.map((each) => compiler.lacks(each)), JSON.parse(lacking));
const seconds = async (work) => { const start = performance.now(), made = await work(); return [made, (performance.now() - start) / 1000]; };
const svgOf = async () => { const [file] = await Promise.all([page.waitForEvent("download"), page.click("[data-download=svg]")]); return readFileSync(await file.path(), "utf8"); };
const drawn = await svgOf();
const [first, firstTime] = await seconds(() => pdf(page)), [second, secondTime] = await seconds(() => pdf(page));
assert.deepEqual(readFileSync(first), readFileSync(second));
const pages = [samePages(first, ["derive", "gpt2"], "gpt2")];
assert.equal(await svgOf(), drawn); // Typst measures the figures of PDFs only
if (!FEW) {
  for (const [model, quantity] of [["mixtral", "flops"], ["deepseek-v3", "params"]]) {
    await follow(page, { model, q: quantity });
    pages.push(samePages(await pdf(page), ["derive", model, ...(quantity === "params" ? [] : ["-q", quantity])], model));
  }
  const config = JSON.stringify(PASTED[1]);
  writeFileSync(join(folder, "config.json"), config);
  await follow(page, [["config", encoded(config)]]);
  pages.push(samePages(await pdf(page), ["derive", "config.json"], "config.json"));
  for (const given of [["derive", "gpt2", "--form", "slides"], ["plot", "gpt2"], ["compare", "gpt2", "llama-2-7b"]]) {
    await follow(page, [...given, "-o", "right.pdf"].map((each) => ["run", each]));
    pages.push(samePages(await pdf(page, "#command-output button"), given, given[0]));
  }
  await follow(page, { model: "gpt2" });
}
told(`${pages.length} PDFs have the text, the title and the pages (${pages.join(", ")}) of the command line's; the first took ${firstTime.toFixed(1)} s, the second ${secondTime.toFixed(1)} s`);

// ---- PDF: the compiler cannot be loaded, is cancelled, or runs out of memory; the page goes on ----
const other = await fresh({ serviceWorkers: "block" }); // which would answer before these routes
const troubled = await open(other, "#model=gpt2");
await settled(troubled);
const goesOn = async (model, pattern) => { await follow(troubled, { model }); assert.match(await troubled.locator("#answer").innerText(), pattern); };
const hasAnswer = async () => assert.match(await troubled.locator("#answer").innerText(), /parameters/); // to print
const refusedPdf = async (pattern) => { await troubled.click("[data-download=pdf]"); await troubled.waitForFunction((source) => new RegExp(source).test(document.querySelector("#error").textContent), pattern.source); await hasAnswer(); };
await other.route("**/typst.bin.gz", (route) => route.abort());
await refusedPdf(/The PDF compiler could not be loaded; check the network, or print the page\.$/);
await goesOn("gpt2-xl", /1,557,611,200 parameters/);
await other.unroute("**/typst.bin.gz");
await other.route("**/typst.bin.gz", async (route) => { await new Promise((resolve) => setTimeout(resolve, 3000)); await route.continue().catch(() => {}); });
await troubled.click("[data-download=pdf]");
await troubled.locator("#cancel").click();
assert.equal(await error(troubled), "Cancelled.");
await hasAnswer();
await goesOn("gpt2", /124,439,808 parameters/);
await other.unroute("**/typst.bin.gz");
if (!FEW) {
  await other.route("**/typst.mjs", async (route) => { const response = await route.fetch(); await route.fulfill({ response, body: (await response.text()).replace("this.compiler.compile(", "(() => { throw new WebAssembly.RuntimeError('unreachable'); })(") }); });
  await refusedPdf(/The PDF compiler ran out of memory/);
  await goesOn("gpt2-xl", /1,557,611,200 parameters/);
  await other.unroute("**/typst.mjs");
  await goesOn("gpt2", /124,439,808 parameters/);
  samePages(await pdf(troubled), ["derive", "gpt2"], "after a crash");
}
await other.close();
told("PDF without its compiler or its memory, or cancelled: the page goes on");

// ---- memory after 50 questions ----
const session = await browser.newBrowserCDPSession();
async function memory() {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]));
  return Math.max(...sizes) / 1024;
}
const some = ["gpt2", "llama-2-7b", "mixtral", "t5", "mamba"];
const ask = async (place) => follow(page, { model: some[place % 5], view: ["formula", "costs", "tree", "figure", "derivation"][Math.floor(place / 5) % 5] });
for (let place = 0; place < 25; place++) await ask(place);
const before = await memory();
for (let place = 0; place < (FEW ? 10 : 50); place++) await ask(place);
const after = await memory();
told(`memory: ${before.toFixed(0)} MB after each question once, ${after.toFixed(0)} MB after 50 more`);
assert.ok(after < before * 1.25 + 50);

// ---- the second visit needs no network ----
await page.waitForFunction(async () => (await caches.keys()).length > 0 && (await navigator.serviceWorker.ready).active?.state === "activated");
await page.close();
await stop();
const offline = await open(context, "#model=gpt2-xl");
await settled(offline);
assert.match(await offline.locator("#answer").innerText(), /1,557,611,200 parameters/);
samePages(await pdf(offline), ["derive", "gpt2-xl"], "offline");
await offline.close();
await serve();
told("the second visit works offline, also for a PDF");

// ---- times, as ratios in one run ----
python(`
import gzip, json, sys, zipfile
from pathlib import Path
from symformer.site.pyodide_release import pyodide_files
bare, archive = Path(sys.argv[1] if len(sys.argv) > 1 else ${JSON.stringify(join(folder, "bare"))}), gzip.decompress(Path(${JSON.stringify(join(folder, "a", "site", "assets", "playground", "packages.bin.gz"))}).read_bytes())
bare.mkdir()
for name, content in pyodide_files().items():
    (bare / name).write_bytes(content)
length = int.from_bytes(archive[:4], "little")
start = 4 + length
with zipfile.ZipFile(bare / "sympy.zip", "w", zipfile.ZIP_DEFLATED) as packed:
    for path, size in json.loads(archive[4:start]):
        if path.startswith(("site-packages/sympy/", "site-packages/mpmath/")):
            packed.writestr(path.removeprefix("site-packages/"), archive[start : start + size])
        start += size
`);
writeFileSync(join(folder, "bare", "worker.js"), `
import { loadPyodide } from "./pyodide.mjs";
const packages = fetch("sympy.zip").then((response) => response.arrayBuffer());
const info = { python: "3.14.2", abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3" };
const pyodide = await loadPyodide({ indexURL: new URL("./", import.meta.url).href, lockFileContents: JSON.stringify({ info, packages: {} }) });
pyodide.FS.writeFile("/sympy.zip", new Uint8Array(await packages));
pyodide.runPython("import sys; sys.path.insert(0, '/sympy.zip'); import sympy");
postMessage("done");
`);
writeFileSync(join(folder, "bare", "index.html"), "<!DOCTYPE html><title>bare</title><script src=page.js></script>");
writeFileSync(join(folder, "bare", "page.js"), `new Worker("worker.js", { type: "module" }).onmessage = () => { document.title = "done"; };`);
const clock = async (work) => { const start = performance.now(); await work(); return (performance.now() - start) / 1000; };
async function bareStart(visited) {
  const visit = await visited.newPage();
  const taken = await clock(async () => { await visit.goto(`${origin}/bare/index.html`); await visit.waitForFunction(() => document.title === "done", null, { timeout: 120_000 }); });
  await visit.close();
  return taken;
}
async function firstAnswer(visited, wait = false) {
  const visit = await visited.newPage();
  const taken = await clock(async () => { await visit.goto(`${address}#model=gpt2`); await visit.waitForFunction(() => document.querySelector("#answer").textContent.includes("124,439,808"), null, { timeout: 120_000 }); });
  if (wait) await visit.waitForFunction(async () => (await navigator.serviceWorker.ready).active?.state === "activated");
  await visit.close();
  return taken;
}
const median = (all) => all.toSorted((one, two) => one - two)[Math.floor(all.length / 2)];
const taken = { bareCold: [], cold: [], bareWarm: [], warm: [] };
for (let round = 0; round < (FEW ? 1 : 5); round++) {
  const one = await fresh(), two = await fresh();
  taken.bareCold.push(await bareStart(one));
  taken.cold.push(await firstAnswer(two, true));
  taken.bareWarm.push(await bareStart(one));
  taken.warm.push(await firstAnswer(two));
  await one.close();
  await two.close();
}
for (const [name, all] of Object.entries(taken)) told(`${name}: ${all.map((each) => each.toFixed(2)).join(", ")} s; median ${median(all).toFixed(2)} s`);
told(`first answer / (bare Pyodide + import sympy): cold ${(median(taken.cold) / median(taken.bareCold)).toFixed(2)}, warm ${(median(taken.warm) / median(taken.bareWarm)).toFixed(2)}`);
const quick = await open(await fresh(), "#model=gpt2");
await settled(quick);
const further = [];
for (const model of ["gpt2-large", "gpt2-xl", "llama-2-7b", "llama-3-8b", "mixtral", "t5", "bert", "mamba", "qwen3-moe", "deepseek-v3"]) further.push(await clock(() => follow(quick, { model })));
told(`further answers: median ${median(further).toFixed(2)} s, longest ${Math.max(...further).toFixed(2)} s`);

assert.deepEqual(heard, []);
await browser.close();
await stop();
console.log(`${said.length} passed, 0 failed`);
