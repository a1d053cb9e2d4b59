// Drives a live page in Chromium as a person does: types, drags, presses keys, follows a link.
// See tests/browser/README.md for how it is run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const PYTHON = process.env.PYTHON ?? "python";
const symformer = (...told) => execFileSync(PYTHON, ["-m", "symformer", ...told], { encoding: "utf8" });
const folder = mkdtempSync(join(tmpdir(), "live-"));
const written = (name, ...told) => { const file = join(folder, name); symformer("derive", ...told, "--live", "-o", file); return `file://${file}`; };
const python = (target, sizes, ...told) => JSON.parse(symformer("show", target, ...told, "--json", ...Object.entries(sizes).flatMap(([k, v]) => ["--set", `${k}=${v}`]))).value;
const grouped = (n) => n.toLocaleString("en-US");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Findings of axe above minor.
async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  return violations.filter(({ impact }) => impact !== "minor").map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(" | ")}`);
}
const heard = [];
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (message) => heard.push(message.text()));
  page.on("pageerror", (error) => heard.push(String(error)));
  page.on("request", (request) => { if (request.url().split("#")[0] !== address.split("#")[0]) heard.push(`asked for ${request.url()}`); });
  page.on("dialog", (dialog) => { heard.push(dialog.message()); dialog.dismiss(); });
  await page.goto(address);
  return page;
}
const value = async (page, side = 0) => (await page.locator("output.value").nth(side).innerText()).split(/\s/)[0];
const faults = (page) => page.locator(".faults").first().innerText();

// 1,000 random inputs over all tabs: the numbers on the page are Python's, and it has none where Python refuses.
const EXPECTED = `
import json, sys
import symformer as sf
from symformer.language.errors import SizeError
from symformer.language.symbols import symbol
model, found = sf.architecture("gpt2"), []
for quantity, sizes in json.load(sys.stdin):
    formula = model.formula(quantity)
    try:
        found.append(str(formula.value(**{k: v for k, v in sizes.items() if symbol(k) in formula.accepted_sizes})))
    except SizeError:
        found.append("no")
print(json.dumps(found))
`;
async function randomInputs(file, count) {
  let seed = 7;
  const random = (most) => { seed = (seed * 48271) % 2147483647; return 1 + (seed % most); };
  const page = await open(file), tabs = await page.locator("[role=tab]").evaluateAll((all) => all.map(({ id }) => id));
  assert.equal(tabs.length, 5);
  const asked = [];
  for (let n = 0; n < count; n++) {
    const heads = random(40), positions = random(5000);
    asked.push([tabs[n % 5].slice(4), { A: heads, E: heads * random(200) + (n % 7 === 3 ? 1 : 0), L: random(100), V: random(99999), P: positions, B: random(64), S: random(positions), C: n % 11 === 5 ? positions + 1 : random(positions) }]);
  }
  const right = JSON.parse(execFileSync(PYTHON, ["-c", EXPECTED], { input: JSON.stringify(asked), encoding: "utf8" }));
  for (const tab of tabs) {
    const own = asked.map(([quantity], n) => n).filter((n) => `tab-${asked[n][0]}` === tab);
    const shown = await page.evaluate(async (all) => {
      const found = [];
      for (const [quantity, sizes] of all) {
        const read = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
        location.hash = `q=${quantity}&model=gpt2&${Object.entries(sizes).map(([name, n]) => `s-${name}=${n}`).join("&")}`;
        await read;
        found.push(document.querySelector("output.value").textContent.split(" ")[0].replaceAll(",", ""));
      }
      return found;
    }, own.map((n) => asked[n]));
    assert.deepEqual(shown, own.map((n) => right[n]), tab);
  }
  assert.ok(right.filter((each) => each === "no").length > count / 20, "some inputs are refused");
  assert.ok(right.filter((each) => each !== "no").length > count / 2);
  await page.close();
}

const tabbed = written("tabs.html", "gpt2");
await randomInputs(tabbed, 1000);

// tabs by keyboard; what fits; the link opens the tab
const tabs = await open(tabbed);
await tabs.locator("#tab-params").focus();
await tabs.keyboard.press("ArrowRight");
assert.equal(await tabs.getAttribute("#tab-flops", "aria-selected"), "true");
assert.equal(await value(tabs), grouped(python("gpt2", { B: 1, S: 512 }, "-q", "flops")));
await tabs.keyboard.press("End");
assert.equal(await tabs.getAttribute("#tab-inference-memory", "aria-selected"), "true");
await tabs.selectOption("#grows", "B");
await tabs.fill("#memory", "2^34");
assert.match(await tabs.innerText("#fitting"), /^B = [0-9,]+ needs [0-9,]+ bytes \([0-9.]+ GB, [0-9.]+ GiB\), which fits in 17,179,869,184 bytes \(17\.18 GB, 16\.00 GiB\); B = [0-9,]+ needs [0-9,]+ bytes \([0-9.]+ GB, [0-9.]+ GiB\)\.$/);
await tabs.waitForTimeout(400);
const reopened = await open(tabs.url());
assert.equal(await value(reopened), await value(tabs));
assert.equal(await reopened.getAttribute("#tab-inference-memory", "aria-selected"), "true");

// presets with and without a tied head: every tab has Python's number, from whichever tab the preset was chosen on
const SIZES = { "params": {}, "flops": { B: 1, S: 512 }, "train-memory": { B: 1, S: 512 }, "kv-cache": { B: 1, C: 512 }, "inference-memory": { B: 1, C: 512 } };
const llama = await open(written("llama.html", "llama-3-8b"));
const preset = () => llama.locator("#side0-preset option:checked").innerText();
for (const [name, first] of [["llama-3.2-1b", "params"], ["llama-2-7b", "kv-cache"], ["llama-3.2-3b", "inference-memory"]]) {
  await llama.click(`#tab-${first}`);
  await llama.selectOption("#side0-preset", name);
  for (const [quantity, sizes] of Object.entries(SIZES)) {
    await llama.click(`#tab-${quantity}`);
    assert.equal(await value(llama), grouped(python(name, sizes, "-q", quantity)), `${name} on ${quantity}`);
    assert.equal(await preset(), name);
  }
}
await llama.click("#tab-params");
await llama.selectOption("#side0-preset", "llama-3.2-1b");
assert.equal(await llama.innerText(".total .unit"), "parameters, 1.24B");
assert.equal(await value(llama), "1,235,814,400");  // as printed by transformers
await llama.click("#reset");

// an option is kept, on every tab and on the way back; a tab without its formula says so and has no number
await llama.check("#side0-tied-0");
assert.equal(await preset(), "llama-3-8b, changed options");
for (const [quantity, sizes] of Object.entries(SIZES)) {
  await llama.click(`#tab-${quantity}`);
  assert.equal(await value(llama), grouped(python("llama-3-8b", sizes, "-q", quantity, "--option", "tied=true")), quantity);
}
await llama.click("#tab-params");
assert.equal(await value(llama), grouped(8030261248 - 128256 * 4096));
assert.equal(await llama.innerText("#held"), "Fixed on this tab: mlp_bias=false. To change it, generate the page again with --option.");
await llama.check("#side0-attention_bias-0");
await llama.click("#tab-train-memory");
assert.equal(await value(llama), "no");
assert.equal(await faults(llama), "this tab has no formula for attention_bias=true; set attention_bias=false on another tab, or generate a page with --option attention_bias=true");
assert.ok(!(await llama.locator("#curves").isVisible()));
await llama.waitForTimeout(400);
assert.equal(await faults(await open(llama.url())), await faults(llama));
await llama.click("#tab-params");
await llama.check("#side0-attention_bias-1");
await llama.click("#tab-train-memory");
assert.equal(await value(llama), grouped(python("llama-3-8b", SIZES["train-memory"], "-q", "train-memory", "--option", "tied=true")));
assert.match(await llama.innerText("#chart"), /other: rotary_emb, layers\.\*\.self_attn_residual, layers\.\*\.mlp_residual/);

// the cache has rows for keys and values, whose curves are one; a numeral is not glued to the letter before it
await llama.click("#tab-kv-cache");
await llama.waitForTimeout(100);
assert.match(await llama.innerText("#plot .legend"), /self_attn \(keys\) and layers\.\*\.self_attn \(values\), each 33,554,432/);
assert.match((await llama.innerText("#step")).replace(/[\s\u2062]/g, "").normalize("NFKC"), /L⋅2BCGD=32⋅2⋅1⋅512⋅8⋅128=33,554,432bytes/);

// a preset of only some tabs: the others have no number for it
const some = await open(tabbed);
await some.selectOption("#side0-preset", "cerebras-gpt-111m");
await some.click("#tab-flops");
assert.match(await faults(some), /^the formula of this tab does not apply to cerebras-gpt-111m; choose a preset of this tab/);
assert.equal(await some.locator("#side0-preset option:checked").innerText(), "cerebras-gpt-111m, not on this tab");
await some.selectOption("#side0-preset", "gpt2-medium");
assert.equal(await value(some), grouped(python("gpt2-medium", SIZES.flops, "-q", "flops")));

const gpt2 = written("gpt2.html", "gpt2", "-q", "params");
const page = await open(gpt2);
assert.equal(await value(page), grouped(python("gpt2", {})));

// types
await page.fill("#side0-E", "1,032");
assert.equal(await value(page), grouped(python("gpt2", { E: 1032 })));
await page.fill("#side0-E", "1000");
assert.equal(await value(page), "no");
assert.match(await faults(page), /E=1000 is not a multiple of A=12/);
await page.fill("#side0-E", "<img src=x onerror=alert(1)>");
assert.match(await faults(page), /is not an integer/);
await page.fill("#side0-E", "999999999999996");
assert.match(await faults(page), /H would be 3999999999999984/);
await page.fill("#side0-E", "249999999999996");
assert.equal((await value(page)).replaceAll(",", ""), `${12n * 12n * 249999999999996n ** 2n + (156n + 50257n + 1024n + 2n) * 249999999999996n}`);

// arithmetic: the field keeps it, its value follows, and a fault is a sentence below the field
await page.fill("#side0-E", "64*A");
assert.equal(await value(page), grouped(python("gpt2", { E: 768 })));
assert.equal(await page.innerText("#side0-E-result"), "= 768");
await page.fill("#side0-A", "2^4");
assert.equal(await value(page), grouped(python("gpt2", { E: 1024, A: 16 })));
await page.fill("#side0-E", "64*");
assert.match(await page.innerText("#side0-E-wrong"), /has no number or size at its end/);
assert.equal(await page.getAttribute("#side0-E", "aria-invalid"), "true");
assert.equal(await value(page), "no");
await page.fill("#side0-A", "12");

// a switch, a preset, another of the same
await page.check("#side0-tied-1");
await page.selectOption("#side0-preset", "gpt2-xl");
assert.equal(await value(page), grouped(python("gpt2-xl", {})));
await page.check("#side0-tied-1");
assert.equal(await value(page), grouped(python("gpt2-xl", {}, "--option", "tied=false")));

// drags: every place of the slider holds, and the number follows
const slider = page.locator("#side0-E ~ input[type=range]"), box = await slider.boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
await page.mouse.down();
for (const share of [0.2, 0.35, 0.8, 0.65]) {
  await page.mouse.move(box.x + box.width * share, box.y + box.height / 2, { steps: 4 });
  const width = Number((await page.inputValue("#side0-E")).replaceAll(",", ""));
  assert.equal(await value(page), grouped(python("gpt2-xl", { E: width }, "--option", "tied=false")), `E = ${width}`);
}
await page.mouse.up();

// without a mouse
await slider.focus();
const before = await value(page);
await page.keyboard.press("ArrowRight");
assert.notEqual(await value(page), before);
await page.locator("#on").focus();
for (let n = 0; n < 20 && !(await page.locator("#on").isDisabled()); n++) await page.keyboard.press("Enter");
assert.match(await page.innerText("#step"), /equals the formula/);

// curves: the marked point is the total of the page, and the table has the numbers of the curves
await page.selectOption("#against", "L");
await page.check("[name=axes][value=log]");
await page.waitForTimeout(100);
assert.ok(await page.locator("#plot circle.all").isVisible());
assert.deepEqual(await page.locator("#plot text.title").allTextContents(), ["Layers L", "Parameters"]);
assert.match((await page.locator("#plot text").first().textContent()), /^10*[KMBT]?$/);
await page.locator("#curves summary").click();
assert.equal(await page.locator("#points tr", { hasText: "current" }).locator("td").last().innerText(), await value(page));
for (const row of (await page.locator("#points tbody tr").all()).slice(0, 3)) {
  const layers = Number((await row.locator("th").innerText()).replace(/[^0-9]/g, ""));
  const width = Number((await page.inputValue("#side0-E")).replaceAll(",", ""));
  assert.equal(await row.locator("td").last().innerText(), grouped(python("gpt2-xl", { E: width, L: layers }, "--option", "tied=false")));
}

// a row of the chart, a term and a box light up together, by pointer and by keyboard; the figure follows the sizes
const lit = async () => [await page.locator("#drawing rect.lit").evaluateAll((all) => all.map((each) => each.dataset.mark)), await page.locator("span.lit").evaluateAll((all) => all.map((each) => each.querySelector(".unseen").textContent)), (await page.locator("tr.lit th").allInnerTexts()).map((each) => each.trim())];
await page.locator("#side0-preset").selectOption("gpt2");
await page.locator("#chart button", { hasText: "attention" }).focus();
assert.deepEqual(await lit(), [["box h.attn"], ["term 12 L E^2", "term 13 L E"], ["attention"]]);
await page.locator("#drawing [data-mark='box wte']").hover();
assert.deepEqual(await lit(), [["box wte"], ["term V E"], ["embeddings"]]);
await page.locator("span[data-rows]", { hasText: "term 2 E" }).focus();
await page.keyboard.press("Enter");
await page.mouse.move(0, 0);
assert.deepEqual(await lit(), [["box ln_f"], ["term 2 E"], ["norms"]]);
await page.keyboard.press("Escape");
await page.locator("#side0-E").focus();
assert.deepEqual(await lit(), [[], [], []]);
await page.fill("#side0-E", "1536");
assert.equal(await page.locator("#drawing [data-mark='amount wte']").textContent(), `${grouped(50257 * 1536)} · 18.4%`);
await page.check("#side0-tied-1");
assert.equal(await page.locator("#drawing [data-mark='amount wte']").textContent(), "");

// the link to copy holds it all; the contents list reaches every section
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
await page.locator("#copy").focus();
await page.keyboard.press("Enter");
await page.waitForFunction(() => /^Link copied/.test(document.getElementById("copied").textContent));
assert.ok(await page.locator("nav a").count() > 10);
const copied = await page.evaluate(() => navigator.clipboard.readText());
await page.locator("nav summary").click();
for (const link of await page.locator("nav a").all()) {
  if (!(await link.isVisible())) continue;
  const to = (await link.getAttribute("href")).slice(1);
  assert.ok(await page.evaluate((id) => document.getElementById(decodeURIComponent(id))?.checkVisibility(), to), `#${to} is on the page`);
}

// the address holds it all; another page reads it
await page.waitForTimeout(400);
const shared = page.url();
assert.match(shared, /#model=gpt2&o-tied=false&s-L=12/);
assert.equal(copied, shared);
const other = await open(shared);
assert.equal(await value(other), await value(page));
await other.locator("#compare").click();
await other.fill("#side1-L", "96");
assert.notEqual(await value(other, 1), await value(other, 0));
assert.match(await other.innerText("#difference"), /^First − second: −/);
assert.equal(await other.locator("#chart tbody tr").first().locator("svg").count(), 2);
const hostile = await open(`${gpt2}#s-E=%3Cscript%3Ealert(1)%3C/script%3E&o-tied=%22%3E&by=__proto__&%E0%A4%A=1&2-model=constructor`);
assert.equal(await value(hostile), grouped(python("gpt2", {})));
assert.match(await hostile.innerText("#notes"), /which this page does not support/);

// two models, a window, a ratio, bytes; narrow and dark
const both = written("two.html", "gpt2", "llama-2-7b", "-q", "params"), memory = written("memory.html", "llama-2-7b", "-q", "train-memory");
const two = await open(both);
assert.equal(await value(two, 1), grouped(python("llama-2-7b", {})));
const flops = await open(written("flops.html", "gemma-3-1b", "-q", "flops"), { viewport: { width: 360, height: 700 }, colorScheme: "dark" });
await flops.fill("#side0-B", "");
assert.match(await faults(flops), /set a value for B \(batch size\)/);
await flops.check("#side0-attention-1");
for (const [size, n] of [["B", 3], ["S", 5000]]) await flops.fill(`#side0-${size}`, `${n}`);
assert.equal(await value(flops), grouped(python("gemma-3-1b", { B: 3, S: 5000 }, "-q", "flops", "--option", "attention=causal")));
assert.match(await flops.locator(".total").innerText(), /[0-9.]+ [TP]FLOPs/);

// phones and desktops: nothing is wider than the screen, and the total stays in view while a slider moves
for (const file of [tabbed, both, memory]) {
  for (const width of [320, 390, 1280]) {
    for (const colorScheme of ["light", "dark"]) {
      const screen = await open(file, { viewport: { width, height: 844 }, colorScheme });
      assert.deepEqual(await findings(screen), [], `axe on ${file} at ${width} px, ${colorScheme}`);
      assert.ok(await screen.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${file} at ${width} px`);
      for (const slider of await screen.locator("input[type=range]").all()) {
        await slider.scrollIntoViewIfNeeded();
        await slider.focus();
        await screen.keyboard.press("ArrowRight");
        const [total, here] = [await screen.locator(".value").first().boundingBox(), await slider.boundingBox()];
        assert.ok(total.y >= 0 && total.y + total.height <= 844, `the total is in view at ${width} px`);
        assert.ok(here.y >= total.y + total.height, "and does not cover the slider");
      }
      await screen.close();
    }
  }
}
const still = await open(gpt2, { javaScriptEnabled: false });
assert.ok((await still.innerText("main")).includes("124,439,808"));
assert.ok(!(await still.locator("#live").isVisible()));

assert.deepEqual(heard, [], "no message, nothing requested");
await browser.close();
console.log("a live page does what Python does");
