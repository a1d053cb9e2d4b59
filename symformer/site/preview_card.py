"""The picture that previews of links show: the title, the number of parameters and the formula of a model."""

from __future__ import annotations

from ..documents.formats.base_language import environment, printable
from ..documents.formats.pdf import typst_bytes
from ..documents.formats.typ import PRINTED
from ..formulas.formula import Formula
from ..formulas.structured_form import structured
from ..language.notation.display_tree import Label
from ..language.notation.typst import typst
from .atlas_entry import AtlasEntry

RESOLUTION = 144  # pixels per inch: 1,200 by 630 pixels
MOST_TERMS = 24  # of the formula on the picture; a longer one is shown by its leading terms


def card(entry: AtlasEntry, formula: Formula) -> bytes:
    """Return the picture of a model as a PNG of 1,200 by 630 pixels. Raises DocumentError."""
    label = typst(Label(formula.measure.letter, "", formula.display_expr))
    if len(formula.display_expr.args) <= MOST_TERMS:
        form = structured(formula.display_expr)
        shown = typst(form.steps[0] if not form.parts else form.steps[-1])
    else:
        shown = f"{typst(structured(formula.leading().expr).steps[0])} + dots.c"
    line = f"{entry.params:,} parameters" if entry.params is not None else "Parameters in closed form"
    source = (
        environment()
        .get_template("site/card.typ.jinja")
        .render(language=PRINTED, title=printable(entry.title), line=line, formula=f"{label} = {shown}")
    )
    drawn = typst_bytes(source, format="png", ppi=RESOLUTION)
    first: bytes = drawn[0] if isinstance(drawn, list) else drawn
    return first
