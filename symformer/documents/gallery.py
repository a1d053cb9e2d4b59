"""The gallery: every architecture's derivation, and the page that links them."""

from __future__ import annotations

from ..architectures import architecture, names
from .derivation import document, with_numbers
from .render import render


def pages(version: str) -> dict[str, bytes]:
    """Every file of the gallery by its name."""
    made: dict[str, bytes] = {}
    rows = []
    for name in names():
        model = architecture(name)
        derivation = document(model, ["params"], version)
        for extension in ("md", "pdf"):
            made[f"{name}.{extension}"] = render(derivation, extension)
        shown = with_numbers(model)
        value = f"{model.params.value(dict(shown.known)):,} ({shown.target})"
        rows.append(
            f"| {model.title} | $`{model.params.latex()}`$ | {value} | [Markdown]({name}.md), [PDF]({name}.pdf) |"
        )
    head = ["| Architecture | Parameters | For | Derivation |", "| --- | --- | ---: | --- |"]
    title = (
        "# Derivations\n\nWritten by `symformer gallery reports`; every formula is certified against a torch model.\n"
    )
    made["README.md"] = "\n".join([title, *head, *rows, ""]).encode()
    return made
