"""Files of figures: formats and themes, alternative text, hostile names, and refused arguments."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pypdfium2
import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents.figures.architecture import architecture_figure
from symformer.documents.figures.box_content import TINTS
from symformer.documents.figures.dark_theme import colours, dark
from symformer.documents.figures.drawing_files import FORMATS, emit
from symformer.documents.figures.primitives import BLACK, GREY, WHITE, Rect, Words
from symformer.targets.resolution import resolve


def plot(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plot", *arguments], prog_name="symformer")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- themes ------------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Return the relative luminance: WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_both_themes_have_enough_contrast() -> None:
    """WCAG 2.2, criteria 1.4.3 and 1.4.11: 4.5 for text on its background, 3 for parts of a graphic."""
    for theme in ({}, colours()):
        behind = [theme.get(tint, tint) for tint, _ in TINTS.values()] + [theme.get(WHITE, WHITE)]
        for ink in (BLACK, GREY):
            for tint in behind:
                light, low = sorted((luminance(theme.get(ink, ink)), luminance(tint)), reverse=True)
                assert (light + 0.05) / (low + 0.05) >= 4.5, (ink, tint)


def test_a_dark_figure_has_no_light_colour() -> None:
    model, _ = resolve("nemotron-nano-9b-v2")
    drawn = dark(architecture_figure([(model, model.params)]))
    assert luminance(drawn.background) < 0.02
    for each in drawn.shapes:
        if isinstance(each, Words):
            assert luminance(each.ink) > 0.3
        elif isinstance(each, Rect) and each.fill not in ("", *colours().values()):
            assert each.fill in {"#E69F00", "#9C9200", "#CC79A7", "#777777", "#009E73"}  # bars, on both
    assert rb"\path[fill={rgb,255:red,21;green,23;blue,27}] (0,0)" in emit(drawn, "tex")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", FORMATS)
def test_figures_are_reproducible(extension: str, folder: Path) -> None:
    for name in ("a", "b"):
        assert plot("gpt2", "-o", f"{name}.{extension}").exit_code == 0
    content = (folder / f"a.{extension}").read_bytes()
    assert content == (folder / f"b.{extension}").read_bytes()
    begins = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG", "tex": b"% Requires tikz"}[extension]
    assert content.startswith(begins)


def test_svg_has_alternative_text(folder: Path) -> None:
    assert plot("gpt2", "-o", "gpt2.svg").exit_code == 0
    root = ElementTree.fromstring((folder / "gpt2.svg").read_text("utf-8"))  # noqa: S314 (our own file)
    said = root.find("{http://www.w3.org/2000/svg}title")
    assert said is not None
    assert "124,439,808 parameters" in str(said.text)
    assert "12 times Pre-norm block" not in str(said.text)  # L times: the letter of the formula
    assert "L times Pre-norm block" in str(said.text)


HOSTILE = r"""_%&#${}\^~<>|`'" ]]> \input{x} #read("x") <script>"""


def config(folder: Path, name: str) -> str:
    place = folder / name[:80]
    place.mkdir(parents=True)
    sizes = {"model_type": "gpt2", "vocab_size": 97, "n_positions": 31, "n_embd": 24, "n_layer": 3, "n_head": 4}
    (place / "config.json").write_text(json.dumps(sizes))
    return str(place / "config.json")


@pytest.mark.parametrize("extension", ["svg", "pdf", "tex"])
@pytest.mark.parametrize("name", [HOSTILE, "x" * 80, "[#]@<a>*b*$x$--"])
def test_hostile_names_are_printed_literally(name: str, extension: str, folder: Path) -> None:
    result = plot(config(folder, name), "-o", f"out.{extension}")
    assert result.exit_code == 0, result.output
    content = (folder / f"out.{extension}").read_bytes()
    if extension == "svg":
        root = ElementTree.fromstring(content)  # noqa: S314 (our own file)
        assert name in str(next(iter(root)).text)
        assert not root.findall(".//{http://www.w3.org/2000/svg}script")
    if extension == "tex" and name == HOSTILE:
        assert rb"\input{x}" not in content
        assert rb"\textbackslash{}input\{x\}" in content


@pytest.mark.skipif(
    shutil.which("pdflatex") is None
    or subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True, check=False).returncode != 0,
    reason="no TeX with tikz",
)
def test_tikz_compiles(folder: Path) -> None:
    assert plot(config(folder, HOSTILE), "-o", "one.tex").exit_code == 0
    assert plot("llama-2-7b", "mixtral-8x7b", "-o", "two.tex").exit_code == 0
    head = r"\documentclass{article}\usepackage{amsmath,tikz}\begin{document}"
    (folder / "main.tex").write_text(rf"{head}\input{{one}}\clearpage\input{{two}}\end{{document}}")
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-2000:]
    assert "Output written on main.pdf (2 pages" in re.sub(r"\n", "", made.stdout)


REFUSED = {
    "five": (["gpt2", "llama", "bert", "t5", "mamba2", "-o", "a.svg"], "5 targets are given; a figure has room for"),
    "no part": (["gpt2", "--kind", "part", "-o", "a.svg"], "--kind part requires --part"),
    "not a part": (["gpt2", "--kind", "part", "--part", "h.atn", "-o", "a.svg"], "unknown part 'h.atn'; did you mean"),
    "an operation": (["gpt2", "--kind", "part", "--part", "h.attn.c_attn", "-o", "a.svg"], "is a single operation"),
    "no slide": (
        ["gpt2", "--kind", "shares", "--form", "wide", "-o", "a.svg"],
        "--form has no effect with --kind shares",
    ),
    "parts of two": (
        ["gpt2", "llama", "--kind", "part", "--part", "h", "-o", "a.svg"],
        "a part can be drawn for one target only",
    ),
    "another kind's": (
        ["gpt2", "--device", "80GB", "-o", "a.svg"],
        "--device has no effect with --kind architecture; add --kind memory, or",
    ),
    "a ratio": (["gpt2", "-q", "intensity", "-o", "a.svg"], "intensity is a ratio"),
    "the format": (["gpt2", "-o", "a.md"], "a.md ends in .md; a figure needs the extension .svg, .pdf, .png or .tex"),
    "a plot as TikZ": (
        ["gpt2", "--kind", "shares", "-o", "a.tex"],
        "a plot needs the extension .svg, .pdf or .png, not .tex",
    ),
    "no unit": (["gpt2", "--kind", "memory", "--set", "S=9", "--device", "80", "-o", "a.svg"], "--device '80' is not"),
    "B is the axis": (["gpt2", "--kind", "memory", "--set", "B=2", "--set", "S=9", "-o", "a.svg"], "B is the x-axis"),
    "S is the axis": (["gpt2", "--kind", "flops", "--set", "S=2", "-o", "a.svg"], "S is the x-axis"),
    "no length": (["gpt2", "--kind", "memory", "-o", "a.svg"], "needs a value for S"),
    "no sizes": (["llama", "--kind", "flops", "-o", "a.svg"], "needs a value for"),
    "no device": (
        ["gpt2", "--kind", "roofline", "-o", "a.svg"],
        "set both, as in --peak 989TFLOPS --bandwidth 3.35TB/s",
    ),
    "no length yet": (
        ["gpt2", "--kind", "roofline", "--peak", "1TFLOPS", "--bandwidth", "1GB/s", "-o", "a.svg"],
        "gpt2 has no value for some sizes: prefill needs B, S; decode needs B, C",
    ),
    "not bytes": (
        ["gpt2", "--kind", "memory", "-q", "flops", "--set", "S=9", "-o", "a.svg"],
        "the plot needs bytes",
    ),
    "lifted shares": (["hf:bert", "--kind", "shares", "-o", "a.svg"], "is traced, so the roles"),
    "no such kind": (["gpt2", "--kind", "pie", "-o", "a.svg"], "'pie' is not one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_figure_arguments_are_refused(case: str, folder: Path) -> None:
    arguments, words = REFUSED[case]
    result = plot(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("extension", FORMATS)
def test_missing_glyphs_are_written_as_code_points(extension: str, folder: Path) -> None:
    assert plot(config(folder, "模"), "-o", f"out.{extension}").exit_code == 0
    content = (folder / f"out.{extension}").read_bytes()
    if extension == "pdf":
        found = pypdfium2.PdfDocument(content)[0].get_textpage().get_text_range()
        assert "[U+6A21]/config.json" in found
    if extension == "tex":
        assert r"\symformerletter{模}{6A21}/config.".encode() in content
        assert content.startswith(rb"\providecommand\symformerletter")


# -- in a derivation ---------------------------------------------------------------------------------------------------


def test_derivation_includes_its_figure(folder: Path) -> None:
    made = {}
    for extension in ("typ", "md", "tex"):
        arguments = ["derive", config(folder / extension, HOSTILE), "-q", "params", "-q", "flops", "--set", "S=7"]
        (folder / f"a.{extension}").touch()
        result = CliRunner().invoke(cli, [*arguments, "-o", f"a.{extension}"], prog_name="symformer")
        assert result.exit_code == 0, result.output
        made[extension] = (folder / f"a.{extension}").read_text("utf-8")
    assert made["typ"].count("#figure(") == 2  # of the model and of its attention, in the first chapter
    assert "Self-attention attn: 4E" in made["typ"]  # its alternative text
    assert "tikzpicture" not in made["tex"]  # Debian's texlive-latex-recommended has no tikz
    assert "!" + "[" not in made["md"]


def test_ratio_has_no_figure(folder: Path) -> None:
    arguments = ["derive", "gpt2", "-q", "intensity", "-o", "a.typ"]
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 0, result.output
    assert "#figure(" not in (folder / "a.typ").read_text("utf-8")
