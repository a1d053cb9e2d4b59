"""The figure in a derivation, in HTML, in LaTeX and in the view for templates."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from symformer.architectures import names
from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.figures.browser_text_width import ScreenRuler
from symformer.documents.figures.detail import detail
from symformer.documents.figures.embedded_font import advances
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.documents.figures.figure_page import drawing
from symformer.documents.figures.fitted_drawing import fitted_drawing
from symformer.documents.figures.inset import illustration
from symformer.documents.figures.primitives import Drawing, Rect, Words
from symformer.documents.figures.primitives import Path as Line
from symformer.documents.formats.base_language import templates
from symformer.documents.formats.html import FORMAT as HTML
from symformer.documents.formats.page_layout import A4
from symformer.documents.formats.tex import FORMAT as LATEX
from symformer.documents.formats.tex_pictures import picture
from symformer.formulas.formula import Formula
from symformer.language.notation.display_tree import Power, tree
from symformer.language.notation.svg import svg
from symformer.language.symbols import A, D_rope, E, H, L_enc, name_size
from symformer.models.model import Model
from symformer.output.blocks import Block, Code, FigureBlock, FloatSentence, Math, Paragraph, Strong, numbered, plain
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts

from .figure_faults import faults, smallest
from .samples import sampled

HOSTILE = r"""_%&#${}\^~<>|`'" ]]> \input{x} </svg><script>alert(1)</script>"""
SVG = "{http://www.w3.org/2000/svg}"
PACKAGES = {  # all of Debian's texlive-latex-base and -recommended
    *{"inputenc", "textcomp", "geometry", "amsmath", "amssymb", "booktabs", "longtable", "array"},
    *{"graphicx", "xcolor", "hyperref", "float"},
}
TEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _inset(model: Model, formula: Formula) -> list[Block]:
    """Return the figure of a derivation."""
    return illustration(figure_facts(model, formula))


def derived(folder: Path, extension: str, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["derive", *arguments, "-o", f"a.{extension}"], prog_name="symformer")
    assert result.exit_code == 0, result.output
    return (folder / f"a.{extension}").read_text("utf-8")


def config(folder: Path, name: str) -> str:
    place = folder / name.replace("/", "")[:80]
    place.mkdir(parents=True)
    sizes = {"model_type": "gpt2", "vocab_size": 97, "n_positions": 31, "n_embd": 24, "n_layer": 3, "n_head": 4}
    (place / "config.json").write_text(json.dumps(sizes))
    return str(place / "config.json")


def laid(target: str, quantity: str = "params") -> Drawing:
    """Return a figure for a page of A4."""
    model, _ = resolve(target)
    return fitted_drawing([FigureBuilder(figure_facts(model, model.formula(quantity))).architecture()], A4)


# -- in HTML -----------------------------------------------------------------------------------------------------------


def figure_of(page: str) -> ElementTree.Element:
    """Return the first drawing of a page, of the model."""
    found, *_ = re.findall(r"<figure id=\"fig:[^\"]+\">\n(.*?)<figcaption>", page, re.DOTALL)
    return ElementTree.fromstring(found.replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))  # noqa: S314 (our own file)


def test_the_inputs_of_whisper_are_named(folder: Path) -> None:
    root = figure_of(derived(folder, "html", "whisper-tiny"))
    said = ["".join(text.itertext()).replace("\u200b", "") for text in root.iter(f"{SVG}text")]
    assert "tokens [𝐵, 𝑆]" in said
    assert any(each.startswith("spectrogram [") for each in said)


def test_html_includes_the_figure_and_caption(folder: Path) -> None:
    page = derived(folder, "html", "gpt2")
    root = figure_of(page)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert "124,439,808 parameters" in str(root.get("aria-label"))  # as counted by transformers for gpt2
    said = ["".join(text.itertext()).replace("\u200b", "") for text in root.iter(f"{SVG}text")]
    # 8·768² + 5·768 = 4,722,432, twelve times that is 45.5 % of 124,439,808
    assert "8𝐸2 + 5𝐸" in said
    assert "4,722,432 · 45.5%" in said
    assert "tokens [𝐵, 𝑆]" in said
    caption = re.search(r"<figcaption><b>Figure 1.</b> (.*?)</figcaption>", page)
    assert caption is not None
    assert "The architecture of GPT-2" in caption[1]
    assert "each part with its parameters, as a formula where there is room, as a number" in caption[1]


def test_figure_loads_nothing_and_has_no_id(folder: Path) -> None:
    """The page allows no other style or script, and ids of figures do not clash with anchors."""
    page = derived(folder, "html", "gpt2")
    for each in figure_of(page).iter():
        assert each.tag.removeprefix(SVG) in {"svg", "rect", "circle", "polyline", "polygon", "text", "tspan"}
        assert not {"id", "style", "href", "onload"} & set(each.attrib)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert page == derived(folder, "html", "gpt2")


def test_figure_uses_the_text_color_of_the_page(folder: Path) -> None:
    root = figure_of(derived(folder, "html", "gpt2"))
    colours = {each.get(name, "") for each in root.iter() for name in ("fill", "stroke")} - {"", "none"}
    assert "currentColor" in colours
    assert "#000000" not in colours
    style = (templates() / "derivation.css").read_text("utf-8")
    bars = {"#E69F00", "#9C9200", "#CC79A7", "#777777"}  # readable on dark and on light backgrounds
    for each in colours - {"currentColor"} - bars:
        assert f'[fill="{each}"]' in style or f'[stroke="{each}"]' in style, each


def test_names_in_a_figure_are_escaped(folder: Path) -> None:
    page = derived(folder, "html", config(folder, HOSTILE))
    root = figure_of(page)
    assert HOSTILE.replace("/", "")[:60] in str(root.get("aria-label"))
    assert "<script>alert" not in page
    assert "模型" in str(figure_of(derived(folder, "html", config(folder, "模型"))).get("aria-label"))


def test_encoder_decoder_figure_scrolls_on_a_phone(folder: Path) -> None:
    assert '<div class="broad" tabindex="0"' in derived(folder, "html", "clip")
    assert '<div class="broad"' not in derived(folder, "html", "gpt2")


@pytest.mark.parametrize("target", ["gpt2", "deepseek-v3", "t5", "mamba2", "clip"])
def test_screen_text_stays_within_the_figure(target: str) -> None:
    model, _ = resolve(target)
    made = drawing(FigureBuilder(figure_facts(model, model.params)).architecture(), ruler=ScreenRuler())
    boxes = [each for each in made.shapes if isinstance(each, Rect) and each.radius == 2.2]
    for words in (each for each in made.shapes if isinstance(each, Words)):
        assert -0.5 <= words.left <= words.left + words.width <= made.width + 0.5
        for box in boxes:
            if box.x <= words.x <= box.x + box.w and box.y < words.y - 2 < box.y + box.h:
                assert words.left >= box.x - 0.1
                assert words.left + words.width <= box.x + box.w + 0.1


def test_text_widths_match_the_font() -> None:
    from fontTools import ttLib

    font = ttLib.TTFont(templates() / "fonts" / "symformer-math.woff2")
    assert font["head"].unitsPerEm == 1000
    told = {chr(code): font["hmtx"][glyph][0] / 1000 for code, glyph in font.getBestCmap().items()}
    assert advances() == told


def test_line_width_is_the_sum_of_its_pieces() -> None:
    """STIX Math: italic E 0.637, a digit 0.5, superscripts 0.7 of that; usual monospaced letters 0.6."""
    ruler = ScreenRuler()
    assert ruler.width([Math.of(E)], 10) == pytest.approx(10 * advances()["𝐸"])
    assert ruler.width([Math.of(E**2)], 10) == pytest.approx(10 * (advances()["𝐸"] + 0.7 * 0.5))
    assert ruler.width(["12"], 10) == pytest.approx(10.0)
    assert ruler.width([Code("abc")], 10) >= 10 * 3 * 0.6 * 0.84
    assert ruler.width([Strong("12")], 10) > 10.0


@pytest.mark.parametrize(
    ("shown", "plain"),
    [
        (tree(E**2 / 2), "𝐸2/2"),
        (tree(E * (A + H)), "𝐸(𝐻 + 𝐴)"),
        (tree(A - E), "−𝐸 + 𝐴"),
        (tree(3 * L_enc * D_rope), "3𝐿enc𝐷rope"),
        (tree(1_000_000 * E), "1,000,000𝐸"),
        (tree(name_size("mamba_d_state") * E), "𝐸⋅mamba_d_state"),
        (Power(tree(A + E), 2), "(𝐸 + 𝐴)2"),
    ],
)
def test_inline_formulas_as_svg(shown: object, plain: str) -> None:
    made = svg(shown, 10)  # type: ignore[arg-type]
    assert unescape(re.sub(r"<[^>]+>|\u200b", "", made)) == plain
    moves = [float(each) for each in re.findall(r'dy="([^"]+)"', made)]
    assert sum(moves) == pytest.approx(0)  # the following text returns to the baseline


# -- in LaTeX ----------------------------------------------------------------------------------------------------------


def test_latex_includes_the_figure_without_a_package(folder: Path) -> None:
    made = derived(folder, "tex", "gpt2")
    assert made.count(r"\begin{picture}") == made.count(r"\end{picture}") == 2  # and attention
    assert made.count(r"\begin{figure}") == 2
    assert r"\label{fig:gpt2.params}" in made
    assert r"\caption{The architecture of GPT-2" in made
    asked = {name for several in re.findall(r"\\usepackage(?:\[.*?\])?\{(.*?)\}", made) for name in several.split(",")}
    assert asked <= PACKAGES
    said = re.search(r"/Alt <FEFF([0-9A-F\n]+)>", made)
    assert said is not None
    assert "124,439,808 parameters" in bytes.fromhex(said[1]).decode("utf-16-be")


def test_shapes_keep_their_coordinates_in_latex() -> None:
    shapes = [Rect(10, 20, 30, 5, fill="#FBEFD2"), Line(((0, 50), (90, 50), (90, 10))), Words(5, 40, ["x_y"], 9)]
    made = picture(Drawing(100, 60, shapes, "t"), LATEX, 1.5)
    assert r"\setlength{\unitlength}{1.5bp}" in made
    assert r"\filled{10}{35}{30}{5}{251,239,210}" in made  # y = 60 - 20 - 5
    assert r"\filled{-0.3}{9.7}{90.6}{0.6}{0,0,0}" in made  # along y = 10, half a line width further on both sides
    assert r"\filled{89.7}{9.7}{0.6}{40.6}{0,0,0}" in made
    assert r"\words{5}{20}{l}{1.050}{0,0,0}{x\_y}" in made  # 7 points at font size 10, scaled by one and a half


@TEX
@pytest.mark.parametrize(("target", "figures"), [("deepseek-v3", 3), (HOSTILE, 2)])  # attention and experts
def test_figure_compiles_and_fits_the_page(target: str, figures: int, folder: Path) -> None:
    derived(folder, "tex", config(folder, target) if target == HOSTILE else target)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "a.tex"]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    log = (folder / "a.log").read_text("utf-8", "replace")
    assert not re.search(r"/(pgf|tikz|pict2e)", log)
    assert [over for over in re.findall(r"Overfull \\.box \(([\d.]+)pt", log) if float(over) > 5] == []
    assert "Float too large" not in log
    streams = re.findall(rb"stream\r?\n(.*?)endstream", (folder / "a.pdf").read_bytes(), re.DOTALL)
    pages = [_inflated(each) for each in streams]
    assert sum(page.count(b"/Span <</Alt <FEFF") for page in pages) == figures
    assert all(page.count(b" BDC") == page.count(b"EMC") for page in pages)


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


# -- on a page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["gpt2", "llama-2-70b", "deepseek-v3", "mamba2", "t5", "clip"])
def test_smallest_type_is_legible(target: str) -> None:
    made = laid(target)
    scale = A4.enlarged(made.width, made.height)
    assert made.width * scale <= A4.broad
    assert made.height * scale <= A4.high
    sizes = [each.size for each in made.shapes if isinstance(each, Words)]
    assert min(sizes) * scale >= 6
    assert max(sizes[1:]) * scale * 0.7 >= 5.15  # subscripts


def test_long_formula_is_factored() -> None:
    """DeepSeek-V3's polynomial has 16 terms on three lines; with its factors before brackets it takes two."""
    words = [each for each in laid("deepseek-v3").shapes if isinstance(each, Words) and each.y < 45]
    formulas = [each for each in words if any(isinstance(piece, Math) for piece in each.line)]
    assert len(formulas) == 3  # N =, and two lines
    assert all(each.left + each.width <= A4.figure[0] for each in formulas)


def test_negligible_share_has_no_bar() -> None:
    """GPT-2's final norm has 1,536 of 124,439,808 elements: 0.001 %."""
    bars = [each for each in laid("gpt2").shapes if isinstance(each, Rect) and each.h == 2.6 and each.fill == "#FFFFFF"]
    assert len(bars) == 4  # of both embeddings, attention, and the feed-forward network


def test_figures_are_numbered_in_order() -> None:
    model, _ = resolve("gpt2")
    blocks, _ = numbered([*_inset(model, model.params), *_inset(model, model.formula("flops"))])
    assert [(block.number, block.id) for block in blocks if isinstance(block, FigureBlock)] == [
        (1, "gpt2.params"),
        (2, "gpt2.flops"),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("deepseek-v3",), marks=pytest.mark.exhaustive),
        ("t5", "-q", "params", "-q", "flops"),
        pytest.param(("gpt2", "llama-3-8b", "whisper-tiny"), marks=pytest.mark.exhaustive),
        ("gpt2", "--form", "worksheet"),
    ],
)
def test_the_text_refers_to_each_figure_once(arguments: tuple[str, ...], folder: Path) -> None:
    """In HTML and LaTeX with links; Markdown has no figures, and says nothing about any."""
    page = derived(folder, "html", *arguments)
    drawn = re.findall(r'<figure id="([^"]+)">', page)
    assert drawn
    assert re.findall(r'<a href="#(fig:[^"]+)">Figure (\d+)</a> shows', page) == [
        (each, str(number)) for number, each in enumerate(drawn, 1)
    ]
    made = derived(folder, "tex", *arguments)
    assert re.findall(r"Figure~\\ref\{(fig:[^}]+)\} shows", made) == re.findall(r"\\label\{(fig:[^}]+)\}", made)
    assert "Figure" not in derived(folder, "md", *arguments)


def test_a_sentence_about_a_figure_that_is_left_out_is_left_out() -> None:
    said = FloatSentence("a", "shows a.")
    blocks = [Paragraph(["One.", " ", said, " Two."]), Paragraph([said])]
    assert [plain(block.line) for block in numbered(blocks)[0] if isinstance(block, Paragraph)] == ["One. Two."]
    kept, _ = numbered([*blocks, FigureBlock(lambda page: Drawing(1, 1, []), ["A."], "a")])
    assert [plain(block.line) for block in kept if isinstance(block, Paragraph)] == [
        "One. Figure 1 shows a. Two.",
        "Figure 1 shows a.",
    ]


def test_captions_describe_the_figure() -> None:
    said = {}
    for target in ("t5", "gpt2", "hf:bert"):
        model, _ = resolve(target)
        (block,) = _inset(model, model.params)
        assert isinstance(block, FigureBlock)
        said[target] = plain(block.caption)
    assert "value" not in said["t5"]  # it has no sizes of its own
    assert "share" in said["gpt2"]
    assert "in the order in which its code names them" in said["hf:bert"]  # and no direction marks


@pytest.mark.parametrize("extension", ["tex", "typ", "html"])
def test_template_can_access_the_figure(extension: str, folder: Path) -> None:
    (folder / "mine.jinja").write_text(
        '<% for block in document.blocks if block.kind == "picture" %>'
        "<%= block.number %>|<%= block.caption %>|<%= language.picture(block) %><% endfor %>"
    )
    made = derived(folder, extension, "gpt2", "--template", "mine.jinja")
    assert made.startswith("1|")
    assert {"tex": r"\begin{picture}", "typ": "#figure(", "html": "<svg role="}[extension] in made


# -- the inside of parts -----------------------------------------------------------------------------------------------


def details(target: str) -> dict[str, FigureBlock]:
    """Return the figures of the inside of parts in a derivation, by the keys of the parts."""
    model, _ = resolve(target)
    facts = figure_facts(model, model.params)
    drawn = {line.key: detail(facts, line.key) for line in model.params.root.parts()}
    return {key: block for key, block in drawn.items() if block is not None}


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("gpt2", ["h.attn"]),  # its MLP has no router
        ("deepseek-v3", ["layers.self_attn", "moe_layers.mlp"]),
        ("mamba2", ["layers.mixer"]),
        ("transformer", ["encoder.layers.self_attn", "decoder.layers.multihead_attn"]),  # self- and cross-attention
        ("rwkv7", []),  # the 36 operations of its time mixing are too many for a figure
        ("hf:bert", []),  # the data flow of a traced model is unknown
    ],
)
def test_the_first_part_of_each_kind_has_a_figure_of_its_inside(target: str, parts: list[str]) -> None:
    assert list(details(target)) == parts


def test_the_inside_of_attention_has_queries_keys_and_values_apart() -> None:
    """Vaswani et al. 2017, figure 2: Q and K go into the scores, and V into the product with their softmax."""
    drawn = details("llama-2-70b")["layers.self_attn"].draw(A4)
    said = [plain(each.line) for each in drawn.shapes if isinstance(each, Words)]
    assert {"q [B, A, S, D]", "k [B, G, S, D]", "v [B, G, S, D]"} <= {*said}
    assert not any("parameters" in each or "%" in each for each in said)


def test_the_inside_of_a_common_part_is_complete() -> None:
    """Layers of Gemma 2 have projections in common, and local ones have a window (Gemma Team 2024, section 2)."""
    drawn = details("gemma2")["layers.self_attn"].draw(A4)
    said = [plain(each.line) for each in drawn.shapes if isinstance(each, Words)]
    assert {"Attention scores", "Weighted values", "window of C_win tokens"} <= {line.strip() for line in said}


@pytest.mark.parametrize(
    ("target", "part", "said"),
    [
        # 12 of 24 layers have a sliding window (OpenAI 2025, section 2)
        (
            "gpt-oss-20b",
            "layers.self_attn",
            "layers.*.self_attn in the layers with local attention, from bottom to top, with shapes of tensors. "
            "The layers with global attention have no window.",
        ),
        # one of four layers has neither (Cohere 2025, section 2)
        (
            "cohere2",
            "layers.self_attn",
            "layers.*.self_attn in the layers with local attention, from bottom to top, with shapes of tensors. "
            "The layers with global attention have no window and no rotary positions.",
        ),
        # the first layer is one more with global attention (Warner et al. 2024, section 2.1)
        (
            "modernbert",
            "layers.attn",
            "layers.*.attn in the layers with local attention, from bottom to top, with shapes of tensors. "
            "The other layers have no window.",
        ),
        (
            "smollm3",
            "layers.self_attn",
            "layers.*.self_attn in the layers with rotary positions, from bottom to top, with shapes of tensors.",
        ),
        ("llama", "layers.self_attn", "layers.self_attn, from bottom to top, with shapes of tensors."),
    ],
)
def test_the_caption_names_the_layers_with_the_computation(target: str, part: str, said: str) -> None:
    assert plain(details(target)[part].caption) == f"The computation of {said}"


def test_the_window_of_a_part_says_which_keys_it_contains() -> None:
    """ModernBERT reads C_local / 2 tokens on each side, and Llama 4 the earlier tokens of a chunk."""
    said = {
        target: {
            plain(each.line)
            for block in details(target).values()
            for each in block.draw(A4).shapes
            if isinstance(each, Words)
        }
        for target in ("modernbert", "llama4")
    }
    assert any("tokens on each side" in line for line in said["modernbert"])
    assert "chunks of C_chunk tokens" in said["llama4"]


@pytest.mark.parametrize("target", sampled(12, names(), lambda target: target in ("deepseek-v4", "qwen3-next")))
def test_the_inside_of_parts_is_legible(target: str) -> None:
    for block in details(target).values():
        drawn = block.draw(A4)
        assert faults(drawn) == []
        assert smallest(drawn, A4.enlarged(drawn.width, drawn.height)) >= 6
        assert faults(block.draw(HTML.page, ScreenRuler())) == []


def test_each_figure_of_the_inside_is_next_to_its_part() -> None:
    model, _ = resolve("deepseek-v3")
    blocks = document(model, ["params", "flops"], "0").blocks
    ids = [block.id for block in blocks if isinstance(block, FigureBlock)]
    assert ids == ["deepseek-v3.params", *(f"deepseek-v3.params.{key}.inside" for key in details("deepseek-v3"))]
    short = document(model, ["params"], "0", form="short").blocks
    assert [block.id for block in short if isinstance(block, FigureBlock)] == ["deepseek-v3.params"]


def test_an_arrow_from_the_left_part_of_a_row_to_a_sum_passes_on_the_left() -> None:
    """Qwen3-VL: the patches, left of the positions, are added after the interpolation of these; no line is below the
    label of the interpolation, which is left of its arrow.
    """
    drawn = drawing(FigureBuilder(figure_facts(resolve("qwen3-vl")[0], resolve("qwen3-vl")[0].params)).architecture())
    words = {plain(each.line): each for each in drawn.shapes if isinstance(each, Words)}
    label = next(each for said, each in words.items() if ", 4, E" in said)
    levels = [
        (y, min(x, other), max(x, other))
        for shape in drawn.shapes
        if isinstance(shape, Line)
        for (x, y), (other, below) in zip(shape.points, shape.points[1:], strict=False)
        if y == below
    ]
    under = [each for each in levels if 0 < each[0] - label.y < 10]
    assert not [each for each in under if each[1] < label.x and each[2] > label.x + label.width]
