"""The gallery: every architecture's derivation, and the page that links them."""

from __future__ import annotations

from sympy import Expr

from ..algebra.published import published
from ..architectures import architecture, names
from ..arithmetic import parse
from ..notation.latex import latex
from .derivation import document, with_numbers
from .render import picture, render

COVER = "gpt2"  # whose first page is the picture in the README


def pages(version: str) -> dict[str, bytes]:
    """Every file of the gallery by its name."""
    made: dict[str, bytes] = {}
    for name in names():
        derivation = document(architecture(name), ["params"], version)
        for extension in ("md", "pdf"):
            made[f"{name}.{extension}"] = render(derivation, extension)
        if name == COVER:
            made[f"{name}.png"] = picture(derivation)
    title = (
        "# Derivations\n\nWritten by `symformer gallery reports`; every formula is certified against a torch model.\n"
    )
    also = "[Published formulas](published.md), and how far each is from the one derived here."
    made["README.md"] = "\n".join([title, *index("."), "", also, ""]).encode()
    made["published.md"] = _published().encode()
    return made


def _published() -> str:
    rows = [
        "# Published formulas",
        "",
        "Each is set against the formula derived here, in the same letters and under the paper's own assumptions.",
        "",
        "| Paper | Where | About | Published | Ours less theirs | Because |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in published():
        about = f"{entry.about}, times $`{latex(parse(entry.scale))}`$" if entry.scale != "1" else entry.about
        source = f"{entry.source.byline} *{entry.source.title}.* {entry.source.year}"
        cells = [source, entry.where, about, _math(entry.theirs), _math(entry.difference), entry.because or "the same"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([*rows, ""])


def _math(expr: Expr) -> str:
    return f"$`{latex(expr)}`$"


def index(folder: str) -> list[str]:
    """The rows of the table that links the gallery, from a page beside ``folder``."""
    rows = ["| Architecture | Parameters | For | Derivation |", "| --- | --- | ---: | --- |"]
    for name in names():
        model = architecture(name)
        shown = with_numbers(model)
        value = f"{model.params.value(dict(shown.known)):,} ({shown.target})"
        links = f"[Markdown]({folder}/{name}.md), [PDF]({folder}/{name}.pdf)"
        rows.append(f"| {model.title} | $`{model.params.latex()}`$ | {value} | {links} |")
    return rows
