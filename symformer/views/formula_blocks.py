"""One formula as blocks: its equation, its conventions, its source, and its breakdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..architectures import presets_of
from ..formulas.formula import Formula
from ..formulas.rewriting import Rewriting
from ..formulas.totals import definitions
from ..language.symbols import LETTERS, letter
from ..models.model import Model
from ..output.blocks import BriefBlock, Heading, Line, Paragraph, setting
from ..quantities import quantity as find_quantity
from .cache_parts import cache_blocks
from .part_copies import copies_line, path_of
from .provenance_lines import provenance_lines
from .purpose_totals import purpose_table
from .stored_summaries import relative_sentence
from .summary import missing_line, missing_of, remarks
from .tower_totals import tower_table


def formula_blocks(
    model: Model,
    whole: Formula,
    formula: Formula,
    on_device: Sequence[Line] = (),
    memory: int | None = None,
    forms: Sequence[Rewriting] = (),
) -> list[BriefBlock]:
    """Return the blocks of a formula, of the whole model or of one part.

    ``on_device`` has lines on the device, and ``memory`` is the number of its bytes. ``forms`` are other forms of the
    formula.
    """
    part = formula.whole_account is not None
    title = f"{model.title} ({model.target}): {formula.measure.title}"
    found: list[BriefBlock] = [
        Heading(1, [title + (f" of {_part(formula)}" if part else "")]),
        formula.equation(),
        *(block for form in forms for block in form.to_blocks()),
        *map(Paragraph, on_device),
        *map(Paragraph, _facts(model, formula)),
        *(Paragraph([line]) for line in provenance_lines(model, whole)),
        *(Paragraph([line]) for line in _relative(model, formula)),
    ]
    found += purpose_table(model, formula, memory)
    found += tower_table(model, formula)
    found += cache_blocks(model, formula)
    table = formula.rows.as_table()
    return [*found, *([table] if table.rows else [])]


def _part(formula: Formula) -> str:
    """Return the name of a part: of a tower, or of one of several copies."""
    tower = getattr(formula.root.part, "tower", "")
    return f"the {tower} tower" if tower else f"one {path_of(formula)}"


def _relative(model: Model, formula: Formula) -> list[str]:
    """Return a line on the nearest relative of an architecture, next to its number of parameters."""
    if formula.measure.name != "params" or formula.whole_account is not None or model.provenance.config:
        return []
    return [line] if (line := relative_sentence(model)) else []


def _facts(model: Model, formula: Formula) -> list[Line]:
    """Return lines on the copies of a part, the sizes, the conventions, the ranks and the notes."""
    found: list[Line] = []
    if formula.whole_account is not None:
        found.append(copies_line(model, formula))
    if model.known:
        found.append(["with " + ", ".join(f"{name} = {size:,}" for name, size in model.known.items())])
    found += definitions(formula.relations, formula.totals & formula.display_expr.free_symbols)
    if named := [size for size in formula.symbols if size.name not in LETTERS and model.field_of(size)]:
        found.append(["where " + ", ".join(f"{size} is {model.field_of(size)}" for size in named)])
    if missing := missing_of(formula, model):
        known = presets_of(model.id) if model.id == model.target else []
        own = known and any(not letter(each).run for each in missing)  # presets do not set sizes of the run
        found.append([missing_line(missing, f", or name a preset, such as {known[0]}" if own else "")])
    concerned = find_quantity(formula.measure.name).shown_conventions(
        formula
    )  # only conventions that affect this formula
    found += [[setting(name, choice)] for name, choice in {**concerned, **model.component.changed_options}.items()]
    if basis := find_quantity(formula.measure.name).basis_for(formula):
        found.append([f"basis: {basis}"])
    return [*found, *remarks(model, formula)]
