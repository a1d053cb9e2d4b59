"""The sentence on the letter of totals, which names the sizes with the same letter, such as N_state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..formulas.structured_form import NamedPart
from ..language.notation.display_tree import Label, Tree, nodes, sizes_of
from ..language.symbols import letter, print_order
from ..output.blocks import Block, Line, Math, Paragraph, formulas_in, listed, maybe

TOTALS = " is the total of the model, and with a part as its subscript, the total of that part"


def total_sentence(label: Tree, follows: bool) -> list[Paragraph]:
    """Return the sentence on the letter of totals; nothing if the total is not a label.

    Parameters
    ----------
    label
        The label of the total of the model.
    follows
        Whether the sum of the parts follows. A colon then keeps the sentence on the page of the sum.

    """
    return [Paragraph([Math(label), TOTALS, ":" if follows else "."])] if isinstance(label, Label) else []


def without_sum(block: Paragraph) -> Paragraph:
    """Return a paragraph; the sentence on the letter of totals ends with a full stop, because no sum follows."""
    stated = len(block.line) > 1 and block.line[1] == TOTALS
    return replace(block, line=[*block.line[:-1], "."]) if stated else block


def with_named_sizes(blocks: Sequence[Block], parts: Iterable[NamedPart]) -> list[Block]:
    """Return blocks in which the sentence on the letter of totals names the sizes with this letter.

    Parameters
    ----------
    blocks
        All blocks with the symbols that the document prints.
    parts
        The named parts of its formulas, such as the number of chunks N_chunk.

    """
    shown = [*formulas_in(blocks)]
    sizes = sorted({size for each in shown for size in sizes_of(each)}, key=print_order)
    used = {each for one in shown for each in nodes(one) if isinstance(each, Label)}
    labels = list(dict.fromkeys(part.label for part in parts if part.label in used))
    made: list[Block] = []
    for block in blocks:
        match block:
            case Paragraph(line=[Math(Label(letter=own)) as total, str(said), ending]) if said == TOTALS:
                named: list[Line] = [[Math(each)] for each in labels if each.letter == own]
                named += [[Math.of(size)] for size in sizes if letter(size).base == own]
                verb = " are sizes)" if len(named) > 1 else " is a size)"
                made.append(replace(block, line=[total, said, *maybe(named, " (", *listed(*named), verb), ending]))
            case _:
                made.append(block)
    return made
