// Searches the index of a small atlas in Chromium as a person does. See tests/browser/README.md for how it is run.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const PYTHON = process.env.PYTHON ?? "python";
const NAMES = ["gpt2", "gpt2-xl", "llama", "llama-3-8b", "deepseek-v3", "hf:afmoe", "hf:patchtsmixer"];
const folder = mkdtempSync(join(tmpdir(), "atlas-"));
const CODE = `
import sys
from pathlib import Path
from symformer.site.atlas_entry import entry_of
from symformer.site.atlas_index import index_files
from symformer.site.atlas_target import chosen_targets
from symformer.site.compare_page import comparison_files
from symformer.site.site_file import SiteOptions
from symformer.site.site_page import shared_files
folder, names = Path(sys.argv[1]), tuple(sys.argv[2:])
options = SiteOptions(targets=names)
entries = [entry_of(target, target.model()) for target in chosen_targets(names)]
for file in (*shared_files(), *index_files(entries, options), *comparison_files(options)):
    place = folder / file.path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(file.content)
`;
execFileSync(PYTHON, ["-c", CODE, folder, ...NAMES]);
const server = spawn(PYTHON, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder], { stdio: ["ignore", "pipe", "ignore"] });
const port = await new Promise((resolve) => server.stdout.on("data", (told) => resolve(/port (\d+)/.exec(told)[1])));
const address = `http://127.0.0.1:${port}/`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const errors = [];
  page.on("console", (told) => told.type() === "error" && errors.push(told.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  const found = () => page.textContent("#found");
  const links = () => page.$$eval("#models tbody th > a", (each) => each.map((link) => link.getAttribute("href").slice(7, -5)));
  const cells = (row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " "));

  // The rows that the script makes are those of the page without scripts.
  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.goto(`${address}index.html`);
  assert.equal(await plain.isVisible("#search"), false);
  const rows = (where) => where.$$eval("#models tbody tr", (each, told) => each.map(new Function(`return ${told}`)()), String(cells));
  await page.goto(`${address}index.html`);
  await page.waitForSelector("#search:not([hidden])");
  assert.deepEqual(await rows(page), await rows(plain));
  assert.deepEqual(await links(), ["deepseek-v3", "gpt2", "llama"]);
  assert.equal(await found(), "3 architectures; search or filter all 7 models");

  for (const [query, expected] of [
    ["mla", ["deepseek-v3"]], ["8b", ["llama-3-8b"]], ["meta-llama/meta", ["llama-3-8b"]], ["GPT2", ["gpt2", "gpt2-xl"]],
    ["gqa experts", []], ["moe", ["deepseek-v3", "hf-afmoe"]], ["nothing", []],
  ]) {
    await page.fill("#query", query);
    assert.deepEqual(await links(), expected, query);
  }
  await page.fill("#query", "");
  await page.selectOption("#mechanism", "experts");
  assert.equal(await found(), "2 of 7 models; not stated for 1 class");
  await page.selectOption("#kind", "all");
  await page.selectOption("#mechanism", "");
  await page.click('th[data-key="params"] button');
  assert.deepEqual((await links()).slice(0, 3), ["deepseek-v3", "hf-afmoe", "llama-3-8b"]);
  assert.equal(await page.getAttribute('th[data-key="params"]', "aria-sort"), "descending");
  assert.match(await page.textContent("#models tbody"), /hf:patchtsmixer.*not stated/s);

  // The address keeps the search; unknown values in it are left out.
  const kept = page.url();
  await page.click("button[type=reset]");
  await page.goto(kept);
  assert.equal((await links())[0], "deepseek-v3");
  await page.goto(`${address}compare.html`);
  await page.goto(`${address}index.html#mechanism=none&sort=none&kind=preset`);
  await page.waitForSelector("#search:not([hidden])");
  assert.equal(await found(), "2 of 7 models");

  // Two chosen models stay chosen while others are searched for.
  await page.check('input[aria-label="Compare gpt2-xl"]');
  await page.fill("#query", "llama");
  await page.check('input[aria-label="Compare llama-3-8b"]');
  assert.equal(await page.getAttribute("#compare", "href"), "compare.html?a=gpt2-xl&b=llama-3-8b");
  await page.goto(`${address}compare.html`);
  await page.waitForFunction(() => document.getElementById("names").children.length === 7);
  assert.deepEqual(errors, []);
  console.log("the index answers as it should");
} finally {
  await browser.close();
  server.kill();
}
