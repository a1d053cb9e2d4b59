// The Typst compiler in WebAssembly, which writes the PDFs. See symformer/site/browser_typst.py.
import initialize, { TypstCompilerBuilder, get_font_info } from "./typst_ts_web_compiler.mjs";
import { entries } from "./python.mjs";

const SOURCE = "/main.typ", OBJECTS = 3; // the form in which the compiler states errors

// Returns the compiler in an archive of its code and its fonts.
export async function startTypst(archive) {
  const { "compiler.wasm": code, ...fonts } = Object.fromEntries(entries(archive));
  await initialize({ module_or_path: code });
  const builder = newBuilder(), known = new Uint8Array(0x110000); // 1 for each character of a font
  for (const font of Object.values(fonts)) {
    await builder.add_raw_font(font);
    for (const { coverage } of get_font_info(font).info) mark(known, coverage);
  }
  return new Compiler(await builder.build(), known);
}

// The builder makes placeholders from text, which a strict policy forbids. None of them is ever called.
function newBuilder() {
  const before = globalThis.Function;
  globalThis.Function = function () { return () => { throw new Error("a document reads no files"); }; };
  try { return new TypstCompilerBuilder(); } finally { globalThis.Function = before; }
}

// The coverage of a font is the lengths of runs of characters that it lacks and has, in turn.
function mark(known, coverage) {
  let start = 0;
  for (const [place, length] of coverage.entries()) {
    if (place % 2) known.fill(1, start, start + length);
    start += length;
  }
}

class Compiler {
  crash = null; // after which the memory of the compiler may be damaged

  constructor(compiler, known) {
    this.compiler = compiler;
    this.known = known;
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
    return Array.from(text).some((character) => character >= " " && !this.known[character.codePointAt(0)]);
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
