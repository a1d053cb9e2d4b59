"""The section of a derivation that states how a model differs from its nearest relative."""

from __future__ import annotations

from collections.abc import Sequence

from ..output.blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Table
from ..views.relative_facts import RelativeFacts

ANCHOR = "relative"
PARAMS = "params"


def nearest(found: RelativeFacts) -> list[Block]:
    """Return the differences in sentences, and the difference in parameters part by part."""
    structure = found.structure
    first, second = structure.names
    named: list[Piece] = [second, " (", Code(found.name), ")"]
    blocks: list[Block] = [Heading(1, ["Nearest relative"], ANCHOR)]
    if structure.same:
        return [*blocks, Paragraph([first, " has the structure of ", *named, f": {structure.same_line}."])]
    blocks.append(Paragraph([first, " differs from ", *named, " by: ", *structure.short_line, "."]))
    rows = [(each.part, each.amounts[PARAMS]) for each in structure.differences if each.amounts[PARAMS] != 0]
    blocks += map(Paragraph, structure.paragraphs() if len(rows) > 1 else structure.paragraphs(terms=None))
    if len(rows) > 1:
        rows.append(("total", structure.totals[PARAMS]))
        cells: list[Sequence[Line]] = [[[part], [Math.of(amount)]] for part, amount in rows]
        caption: Line = [f"Parameters of {first} minus parameters of {second}, at equal sizes."]
        blocks.append(Table([["Part"], ["Difference"]], cells, "lw", total=True, caption=caption))
    own = structure.models[0]
    options = [f" --option 1:{name}={value}" for name, value in own.component.changed_options.items()]
    command = f"symformer compare {own.id} {found.name} --structure{''.join(options)}"
    blocks.append(Paragraph(["For the differences in FLOPs and in the KV cache: ", Code(command), "."]))
    return blocks
