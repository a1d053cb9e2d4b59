// The Typst compiler in WebAssembly, which writes the PDFs. See symformer/site/browser_typst.py.
import initialize, { TypstCompilerBuilder } from "./typst_ts_web_compiler.mjs";
import { entries } from "./python.mjs";

const SOURCE = "/main.typ", OBJECTS = 3; // the form in which the compiler states errors

// Returns the compiler in an archive of its code, its fonts, and the runs of characters that it displays with them.
export async function startTypst(archive) {
  const { "compiler.wasm": code, "characters.json": runs, ...fonts } = Object.fromEntries(entries(archive));
  await initialize({ module_or_path: code });
  const builder = newBuilder(), displayed = new Uint8Array(0x110000); // 1 for each of the characters
  for (const font of Object.values(fonts)) await builder.add_raw_font(font);
  for (const [first, last] of JSON.parse(new TextDecoder().decode(runs))) displayed.fill(1, first, last + 1);
  return new Compiler(await builder.build(), displayed);
}

// The builder makes placeholders from text, which a strict policy forbids. None of them is ever called.
function newBuilder() {
  const before = globalThis.Function;
  globalThis.Function = function () { return () => { throw new Error("a document reads no files"); }; };
  try { return new TypstCompilerBuilder(); } finally { globalThis.Function = before; }
}

class Compiler {
  crash = null; // after which the memory of the compiler may be damaged

  constructor(compiler, displayed) {
    this.compiler = compiler;
    this.displayed = displayed;
  }

  pdf(source, timestamp) {
    const { now } = Date;
    Date.now = () => 1000 * timestamp; // the compiler has no option for the date in the PDF
    try {
      return this.#made(source, () => {
        const { result, diagnostics } = this.compiler.compile(SOURCE, null, "pdf", OBJECTS);
        return result ? { content: result } : { error: diagnostics.find(({ severity }) => severity === "error")?.message ?? "no reason given" };
      });
    } finally {
      Date.now = now;
    }
  }

  query(source, selector, field) {
    return this.#made(source, () => ({ content: this.compiler.query(SOURCE, null, selector, field) }));
  }

  lacks(text) {
    const visible = Array.from(text).filter((character) => !/[\p{Control}\p{Default_Ignorable_Code_Point}]/u.test(character));
    return visible.some((character) => !this.displayed[character.codePointAt(0)]);
  }

  #made(source, make) {
    try {
      this.compiler.add_source(SOURCE, source);
      return make();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) this.crash = error;
      return { error: String(error?.message ?? error) };
    } finally {
      if (!this.crash) this.compiler.reset(); // forgets old results
    }
  }
}
