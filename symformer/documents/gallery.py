"""The gallery: every architecture's derivation, and the page that links them."""

from __future__ import annotations

from ..architectures import architecture, names
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
    made["README.md"] = "\n".join([title, *index("."), ""]).encode()
    return made


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
