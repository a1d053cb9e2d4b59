// The playground: asks Python, which runs in a worker, and shows its answers. See worker.js.
"use strict";

const root = document.querySelector("#playground");
const { endpoint, bytes, most, compilerBytes } = root.dataset;
const at = (id) => document.getElementById(id);
const MOST = Number(most); // bytes of a config.json
const PATIENCE = 30_000; // milliseconds for the Hub
const LONGEST_LINK = 16_000; // characters of a permanent link
const HUB_ID = /^[A-Za-z0-9_][\w.-]{0,95}\/[A-Za-z0-9_][\w.-]{0,95}(?:@[\w./+-]{1,200})?$/;

// ---- Python ----

let worker = null;
let ready = null; // a promise
let waiting = new Map(); // by the number of the question
let asked = 0;

function startWorker() {
  worker = new Worker(`assets/playground/worker.js?bytes=${bytes}`, { type: "module" });
  ready = new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      if (data.total) status(`Loading Python: ${Math.min(99, Math.round((100 * data.loaded) / data.total))} %`, data.loaded / data.total);
      else if (data.ready) { status(""); resolve(); keepForLater(); }
      else if (data.fault !== undefined) failed(data.fault, data);
      else { waiting.get(data.id)?.(JSON.parse(data.answer)); waiting.delete(data.id); }
    };
    worker.onerror = (event) => { event.preventDefault(); failed(event.message ?? "", { loading: true }); };
  });
  status("Loading Python", 0);
}

// Answers all waiting questions with an error, and starts Python anew.
function restart(error) {
  worker?.terminate();
  worker = null;
  compiler = null;
  stopped.abort();
  const left = waiting;
  waiting = new Map();
  for (const resolve of left.values()) resolve({ error });
}

function failed(fault, { loading, pdf }) {
  if (loading) {
    restart("Python could not be loaded; check the network and reload the page.");
    status("Python could not be loaded; check the network and reload the page.", null, true);
    return;
  }
  if (pdf) {
    restart("The PDF compiler ran out of memory and was stopped; choose a shorter document, or print the page.");
    return startWorker();
  }
  const causes = [[/call stack|recursion/i, "The input is nested too deeply; Python was restarted."], [/memory|out of bounds|allocat/i, "Python ran out of memory and was restarted; choose a smaller question."]];
  restart(causes.find(([pattern]) => pattern.test(fault))?.[1] ?? "Python stopped and was restarted; try again.");
  startWorker();
}

function send(message, transferred = []) {
  if (!worker) startWorker();
  const id = ++asked;
  const answered = new Promise((resolve) => waiting.set(id, resolve));
  worker.postMessage({ id, ...message }, transferred);
  return answered;
}

// Asks Python, which gets the PDF compiler for a question that needs it.
async function ask(question) {
  if (question.pdf) await (compiler ??= loadCompiler());
  return send({ question });
}

// ---- the PDF compiler, which is loaded for the first PDF ----

let compiler = null; // a promise
let stopped = new AbortController(); // stops the loading

async function loadCompiler() {
  stopped = new AbortController();
  const { signal } = stopped;
  try {
    const response = await fetch("assets/playground/typst.bin.gz", { signal });
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    let loaded = 0;
    const counting = new TransformStream({
      transform(chunk, controller) {
        loaded += chunk.byteLength;
        status(`Loading the PDF compiler: ${Math.min(99, Math.round((100 * loaded) / compilerBytes))} %`, loaded / compilerBytes);
        controller.enqueue(chunk);
      },
    });
    const archive = await new Response(response.body.pipeThrough(counting).pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    signal.throwIfAborted();
    status("Starting the PDF compiler", 1);
    const { error } = await send({ compiler: archive }, [archive]);
    if (error) throw new Error(error);
  } catch {
    if (!signal.aborted) compiler = null; // the next PDF tries again
    throw new Refusal("The PDF compiler could not be loaded; check the network, or print the page");
  } finally {
    if (!signal.aborted) status("");
  }
}

// Whether a command writes a PDF.
const writesPdf = (given) => Number(compilerBytes) > 0 && given.some((each) => /\.pdf$|^(--format=)?pdf$/i.test(each));

function keepForLater() {
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {}); // only for speed
}

function status(words, share = null, bad = false) {
  at("status").textContent = words;
  at("status").classList.toggle("error", bad);
  at("loading").hidden = share === null;
  at("loading").value = share ?? 0;
}

// ---- the model ----

class Refusal extends Error {}

// The config.json of a model on the Hub, which this browser fetches itself.
async function fromHub(name) {
  const [id, revision = "main"] = name.split("@");
  const host = new URL(endpoint).host;
  const advice = `download its config.json yourself and paste it`;
  let response;
  try {
    response = await fetch(`${endpoint}/${id}/resolve/${encodeURIComponent(revision)}/config.json`, { credentials: "omit", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(PATIENCE) });
  } catch (error) {
    throw new Refusal(error.name === "TimeoutError" ? `${host} did not answer within ${PATIENCE / 1000} s; try again, or ${advice}` : `${host} cannot be reached; check the network, or ${advice}`);
  }
  if ([401, 403, 404].includes(response.status)) throw new Refusal(`${name} does not exist on ${host}, is private or gated, or has no config.json; check its name, or ${advice}`);
  if (!response.ok) throw new Refusal(`${host} answered with HTTP status ${response.status}; try again later, or ${advice}`);
  return limited(response.body, `the config.json of ${name}`);
}

// The text of a stream that has no more bytes than a config.json may have.
async function limited(stream, what) {
  const parts = [], reader = stream.getReader();
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.byteLength;
    if (size > MOST) {
      reader.cancel();
      throw new Refusal(`${what} is larger than ${MOST.toLocaleString("en-US")} bytes, too large for a config.json`);
    }
    parts.push(read.value);
  }
  return new Blob(parts).text();
}

const fetched = new Map(); // configs of this visit, by Hub id
let models = []; // [name, Hub id]
const isHub = (name) => HUB_ID.test(name) && !models.some(([known]) => known === name);

// The files that a question needs: the pasted config, and the configs of all models on the Hub that it names.
async function filesFor(names) {
  const files = {};
  if (at("config").value.trim()) files["config.json"] = at("config").value;
  for (const name of names) {
    if (!isHub(name)) continue;
    if (!fetched.has(name)) {
      status(`Fetching the config.json of ${name}`);
      try { fetched.set(name, await fromHub(name)); } finally { status(""); }
    }
    files[`${name}/config.json`] = fetched.get(name);
  }
  return files;
}

const words = (text) => text.match(/[^\s,;]+/g) ?? [];
const hasConfig = () => at("config").value.trim() !== "";
const target = () => (hasConfig() ? "config.json" : at("target").value.trim().replace(new RegExp(`^(?:https?://)?${new URL(endpoint).host.replaceAll(".", "\\.")}/`), ""));

// ---- the answer ----

const VIEWS = ["formula", "costs", "fit", "tree", "figure", "derivation"];
let view = "formula";
let shown = new Map(); // answers to the present question, by view
let current = 0; // the number of the present question

const question = () => ({
  target: target(), quantity: at("quantity").value, sets: words(at("sets").value), options: words(at("options").value),
  memory: at("memory").value.trim(), devices: Number(at("devices").value) || 1,
});

async function compute() {
  shown = new Map();
  if (!target()) return message("Choose a model, or paste a config.json.");
  await show();
}

async function show() {
  const mine = ++current, chosen = view;
  downloading = false;
  for (const each of VIEWS) {
    at(`tab-${each}`).setAttribute("aria-selected", each === chosen);
    at(`tab-${each}`).tabIndex = each === chosen ? 0 : -1;
  }
  at("answer").setAttribute("aria-labelledby", `tab-${chosen}`);
  at("device").hidden = chosen !== "fit";
  const told = question();
  if (!told.target) return;
  at("results").hidden = false;
  same(told, chosen, shown.get(chosen));
  remember();
  let answer = shown.get(chosen);
  if (!answer) {
    busy(true);
    answer = await safely(async () => ask({ view: chosen, ...told, files: await filesFor([told.target]) }));
    if (mine !== current) return;
    busy(false);
    if (!answer.error) shown.set(chosen, answer);
    same(told, chosen, answer);
  }
  if (answer.error) return message(answer.error);
  message("");
  at("answer").innerHTML = answer.html;
  for (const button of at("answer").querySelectorAll(".about button")) button.hidden = false;
}

// Returns an answer, also for an error of the page itself.
async function safely(asking) {
  try {
    return await asking();
  } catch (error) {
    return { error: error instanceof Refusal ? error.message : `the page failed: ${error.message}` };
  }
}

function message(text, keepAnswer = false) {
  at("error").textContent = text && `${text}${/[.?!]$/.test(text) ? "" : "."}`;
  if (text && !keepAnswer) at("answer").replaceChildren();
}

let clock = 0;
function busy(is) {
  root.setAttribute("aria-busy", is);
  clearTimeout(clock);
  if (is) clock = setTimeout(() => { at("cancel").hidden = false; }, 400);
  else at("cancel").hidden = true;
}

function cancel() {
  current++;
  busy(false);
  restart("cancelled");
  message("Cancelled.", downloading);
  startWorker();
}

// ---- the same on the user's own computer ----

const quoted = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
const literal = (word) => JSON.stringify(word);
const repeated = (option, all) => all.flatMap((each) => [option, each]);
const stem = (told) => (told.target.split("/").pop().replace(/[^\w.-]+/g, "-") || "model").replace(/\.json$/, "");

function argumentsFor({ target, quantity, sets, options, memory, devices }, chosen) {
  const counted = [...(quantity === "params" ? [] : ["-q", quantity]), ...repeated("--set", sets), ...repeated("--option", options)];
  if (chosen === "formula") return ["show", target, ...counted];
  if (chosen === "tree") return ["tree", target, ...counted];
  if (chosen === "figure") return ["plot", target, ...counted, "-o", "figure.svg"];
  if (chosen === "derivation") return ["derive", target, ...counted, "-o", "derivation.html"];
  if (chosen === "fit") return ["fit", target, "--memory", memory, "--gpus", String(devices), ...repeated("--set", sets), ...repeated("--option", options)];
  return ["table", target, ...repeated("-q", root.dataset.costs.split(" ")), ...repeated("--set", sets), ...repeated("--option", options)];
}

const pythonArguments = (pairs, value) => pairs.map((each) => { const [name, ...rest] = each.split("="); return `${name.trim()}=${value(rest.join("="))}`; });

function pythonFor({ target, quantity, sets, options, memory, devices }, chosen) {
  const whole = (text) => (/^\d+$/.test(text) ? text : literal(text)), lines = ["import symformer as sf", ""];
  const chosenOptions = pythonArguments(options, (text) => (/^(true|false)$/i.test(text) ? (/^t/i.test(text) ? "True" : "False") : whole(text)));
  const formula = `model.formula(${[literal(quantity), ...chosenOptions].join(", ")})`, sizes = pythonArguments(sets, whole).join(", ");
  lines.push(`model = sf.model(${literal(target)})`);
  if (chosen === "fit") lines.push(`sf.fit(model${sizes && `.set(${sizes})`}, memory=${literal(memory)}, devices=${devices})`);
  else if (chosen === "costs") lines.push(`for quantity in ${JSON.stringify(root.dataset.costs.split(" "))}:`, `    print(quantity, model.formula(quantity))`);
  else lines.push(`formula = ${formula}`, `print(formula, formula.value(${sizes}))`);
  return lines.join("\n");
}

function same(asked, chosen, answer) {
  const told = answer?.sets ? { ...asked, sets: answer.sets } : asked; // with the sizes that the answer chose
  at("command-line").textContent = ["symformer", ...argumentsFor(told, chosen).map(quoted)].join(" ");
  at("python").textContent = pythonFor(told, chosen);
  at("config-note").hidden = told.target !== "config.json";
}

// ---- downloads ----

function save(name, content, type = "application/octet-stream") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.split("/").pop();
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const decoded = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

let downloading = false; // the answer stays as it is

async function download(kind) {
  if (kind === "print") return print();
  const told = question();
  if (!told.target) return message("Choose a model, or paste a config.json.");
  const mine = ++current, name = `${stem(told)}.${kind}`;
  busy(true);
  downloading = true;
  const answer = await safely(async () => {
    const files = await filesFor([told.target]);
    if (kind === "svg") return ask({ view: "svg", ...told, files });
    if (kind === "json") return ask({ arguments: [...argumentsFor(told, "formula"), "--json"], files });
    return ask({ arguments: [...argumentsFor(told, "derivation").slice(0, -2), "-o", name], files, pdf: kind === "pdf" });
  });
  if (mine !== current) return;
  busy(false);
  at("error").textContent = "";
  if (answer.error) {
    message(answer.error, true);
    return at("error").scrollIntoView({ block: "nearest" });
  }
  if (kind === "svg") save(name, answer.text, "image/svg+xml");
  else if (kind === "json") save(name, answer.text, "application/json");
  else for (const file of answer.files) save(file.name, decoded(file.content));
}

// ---- every command ----

let forms = [];
const form = () => forms.find(({ name }) => name === at("command").value);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Draws the form of the chosen command with the arguments of a link, or with the usual ones.
function drawForm(given = null) {
  const drawn = form(), values = parsed(drawn, given ?? usualArguments(drawn));
  at("command-help").replaceChildren(...drawn.help.map((text) => element("p", {}, text)));
  at("fields").replaceChildren(...drawn.fields.map((field, place) => drawField(field, place, values.get(field.name))));
  at("command-output").replaceChildren();
}

function usualArguments({ name, fields }) {
  const [first] = fields, output = fields.find((field) => field.name === "output" && field.required);
  const file = { plot: "figure.tex", site: "site" }[name] ?? `${name}.html`;
  return [...(output ? [output.option, file] : []), ...(first?.target && target() ? [target()] : [])];
}

function drawField(field, place, given = []) {
  const id = `field-${place}`, words = field.option ?? field.label;
  let input;
  if (field.kind === "flag") {
    input = element("input", { id, type: "checkbox", checked: given.length > 0 });
    return element("div", { class: "field flag" }, input, " ", element("label", { for: id }, element("code", {}, words)), " ", element("span", { class: "note" }, field.help ?? ""));
  }
  if (field.kind === "choice" && !field.several) {
    input = element("select", { id }, element("option", { value: "" }, field.default ? `${field.default} (default)` : ""), ...field.choices.map((each) => element("option", {}, each)));
    input.value = given[0] ?? "";
  } else {
    const usual = { placeholder: field.default ?? (field.several ? "several, separated by spaces" : field.label), autocomplete: "off", spellcheck: "false" };
    input = element("input", { id, type: "text", class: "code", required: field.required, list: field.target ? "models" : undefined, ...usual });
    input.value = given.map((each) => (/[\s"]/.test(each) ? `"${each.replaceAll('"', "")}"` : each)).join(" ");
    if (!given.length && field.name === "output" && field.required) input.value = form().name === "plot" ? "figure.tex" : form().name === "site" ? "site" : `${form().name}.html`;
  }
  const label = element("label", { for: id }, element("code", {}, words), field.required ? " (required)" : "");
  return element("div", { class: "field" }, label, input, element("span", { class: "note" }, field.help ?? ""));
}

// The models that the form names.
const namedModels = () => form().fields.flatMap((field, place) => (field.target ? several(at(`field-${place}`).value) : []));

// The words of a field with several values, which spaces separate unless they are in quotes.
const several = (text) => [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, inside, word]) => inside ?? word);

function commandArguments() {
  const options = [], plain = [];
  form().fields.forEach((field, place) => {
    const input = at(`field-${place}`);
    if (field.kind === "flag") { if (input.checked) options.push(field.option); return; }
    const given = field.several ? several(input.value) : input.value.trim() === "" ? [] : [input.value.trim()];
    for (const each of given) {
      if (!field.option) plain.push(each);
      else if (each.startsWith("-") && each !== "-") options.push(`${field.option}=${each}`);
      else options.push(field.option, each);
    }
  });
  return [form().name, ...options, ...(plain.some((each) => /^-./.test(each)) ? ["--"] : []), ...plain];
}

// The values in arguments that commandArguments() made, by the name of the field.
function parsed(drawn, given) {
  const values = new Map(), plain = [], put = (field, value) => values.set(field.name, [...(values.get(field.name) ?? []), value]);
  for (let place = 0; place < given.length; place++) {
    const [name, ...rest] = given[place].split("=");
    const field = drawn.fields.find(({ spellings }) => spellings?.includes(given[place]) || (rest.length && spellings?.includes(name)));
    if (given[place] === "--") { plain.push(...given.slice(place + 1)); break; }
    if (!field) plain.push(given[place]);
    else if (field.kind === "flag") put(field, "yes");
    else if (field.spellings.includes(given[place])) put(field, given[++place] ?? "");
    else put(field, rest.join("="));
  }
  const places = drawn.fields.filter(({ option }) => !option);
  plain.forEach((each, place) => { const field = places[Math.min(place, places.length - 1)]; if (field) put(field, each); });
  return values;
}

async function runCommand() {
  const given = commandArguments(), names = namedModels(), mine = ++current;
  downloading = false;
  at("told").hidden = false;
  at("command-told").textContent = ["symformer", ...given.map(quoted)].join(" ");
  at("command-output").replaceChildren();
  remember(given);
  busy(true);
  const answer = await safely(async () => ask({ arguments: given, files: await filesFor(names), pdf: writesPdf(given) }));
  if (mine !== current) return at("command-output").replaceChildren(element("p", { class: "note" }, "Cancelled."));
  busy(false);
  const parts = [];
  if (answer.error) parts.push(element("p", { class: "error", role: "alert" }, answer.error));
  if (answer.text) parts.push(element("pre", { class: "source", tabindex: "0" }, answer.text));
  if (answer.said) parts.push(element("p", { class: "note" }, answer.said));
  for (const { name, content } of answer.files ?? []) {
    const button = element("button", { type: "button" }, `Download ${name}`);
    button.addEventListener("click", () => save(name, decoded(content)));
    parts.push(button);
  }
  at("command-output").replaceChildren(...parts);
}

// ---- the permanent link ----

const piped = async (bytes, pipe) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(pipe)).arrayBuffer());
const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
let own = location.hash; // the hash that this page has set

async function remember(command = null) {
  const told = question(), link = new URLSearchParams();
  if (hasConfig()) link.set("config", toText(await piped(new TextEncoder().encode(at("config").value), new CompressionStream("deflate-raw"))));
  else if (told.target) link.set("model", told.target);
  if (command) command.forEach((each) => link.append("run", each));
  else {
    if (told.quantity !== "params") link.set("q", told.quantity);
    told.sets.forEach((each) => link.append("set", each));
    told.options.forEach((each) => link.append("option", each));
    if (view !== "formula") link.set("view", view);
    if (view === "fit") { link.set("memory", told.memory); link.set("devices", told.devices); }
  }
  const hash = `#${link}`;
  at("link-note").hidden = hash.length <= LONGEST_LINK;
  if (hash.length > LONGEST_LINK || hash === location.hash) return;
  own = hash;
  history.replaceState(null, "", hash);
}

async function recall() {
  const link = new URLSearchParams(location.hash.slice(1));
  message("");
  at("config").value = "";
  if (link.get("config")) {
    try {
      const bytes = Uint8Array.from(atob(link.get("config").replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
      at("config").value = await limited(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")), "the config in the link");
      at("pasted").open = true;
    } catch (error) {
      return message(error instanceof Refusal ? error.message : "The link is damaged: its config cannot be read.");
    }
  }
  if (link.has("model")) at("target").value = link.get("model");
  if ([...at("quantity").options].some(({ value }) => value === (link.get("q") ?? "params"))) at("quantity").value = link.get("q") ?? "params";
  at("sets").value = link.getAll("set").join(" ");
  at("options").value = link.getAll("option").join(" ");
  if (VIEWS.includes(link.get("view") ?? "formula")) view = link.get("view") ?? "formula";
  if (link.get("memory")) at("memory").value = link.get("memory");
  if (link.get("devices")) at("devices").value = link.get("devices");
  const [name, ...given] = link.getAll("run");
  if (name && forms.some((each) => each.name === name)) {
    at("command").value = name;
    drawForm(given);
    at("commands").scrollIntoView();
    await runCommand();
  } else if (target()) await compute();
}

// ---- the page ----

async function paste(file) {
  try {
    at("config").value = await limited(file.stream(), file.name);
    at("pasted").open = true;
    await compute();
  } catch (error) {
    message(error instanceof Refusal ? error.message : `${file.name} cannot be read.`);
  }
}

async function open() {
  startWorker();
  const read = async (name) => (await fetch(`assets/playground/${name}.json`)).json();
  [models, forms] = await Promise.all([read("models"), read("commands")]);
  at("models").replaceChildren(...models.map(([name, hub]) => element("option", { value: name }, hub ?? "")));
  at("command").replaceChildren(...forms.map(({ name, help }) => element("option", { value: name }, `${name}: ${help[0] ?? ""}`)));
  at("command").value = "compare";
  drawForm();
  addEventListener("hashchange", () => { if (location.hash !== own) { own = location.hash; recall(); } });
  at("question").addEventListener("submit", (event) => { event.preventDefault(); compute(); });
  at("device").addEventListener("submit", (event) => { event.preventDefault(); shown.delete("fit"); show(); });
  at("target").addEventListener("input", () => { at("config").value = ""; });
  at("target").addEventListener("change", () => { if (models.some(([name]) => name === at("target").value)) compute(); });
  at("quantity").addEventListener("change", () => { if (target()) compute(); });
  at("config").addEventListener("paste", (event) => { // a text this large would stop the page
    if ((event.clipboardData?.getData("text").length ?? 0) <= MOST) return;
    event.preventDefault();
    message(`the pasted text is larger than ${MOST.toLocaleString("en-US")} bytes, too large for a config.json`);
  });
  at("file").addEventListener("change", () => { if (at("file").files[0]) paste(at("file").files[0]); at("file").value = ""; });
  for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files[0]) paste(event.dataTransfer.files[0]);
    });
  }
  at("cancel").addEventListener("click", cancel);
  for (const each of VIEWS) at(`tab-${each}`).addEventListener("click", () => { view = each; show(); });
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    view = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
    at(`tab-${view}`).focus();
    show();
  });
  at("answer").addEventListener("click", (event) => {
    const anchor = event.target.closest?.('a[href^="#"]'), button = event.target.closest?.(".about button");
    if (anchor) { event.preventDefault(); document.getElementById(decodeURIComponent(anchor.getAttribute("href").slice(1)))?.scrollIntoView(); }
    if (button) copy(button.parentNode.querySelector("pre").textContent, button);
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button.dataset.copy === "link" ? location.href : at(button.dataset.copy).textContent, button));
  }
  for (const button of document.querySelectorAll("[data-download]")) button.addEventListener("click", () => download(button.dataset.download));
  at("command").addEventListener("change", () => drawForm());
  at("commands").addEventListener("submit", (event) => { event.preventDefault(); runCommand(); });
  root.hidden = false;
  await recall();
}

async function copy(text, button) {
  const before = button.textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
  setTimeout(() => { button.textContent = before; }, 1500);
}

open();
