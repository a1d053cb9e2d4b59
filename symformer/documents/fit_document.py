"""What fits on devices as a document: the table of formats, the longest context in closed form, and the formats."""

from __future__ import annotations

import json

from ..algebra.fit import DeviceFit, FittingFormat
from ..language.notation.display_tree import Call, FractionNode, Minus, Number, Product, Size, Sum, Tree
from ..language.notation.text import rounded
from ..language.symbols import B, C
from ..output.blocks import Block, Code, Document, Equation, Heading, Line, Math, Paragraph, Table, capital
from ..output.chain import Chain
from ..quantities import quantity as find_quantity
from ..quantities.quantity import BY_LAYOUT
from ..quantities.weight_formats import MEANINGS
from .references import with_references
from .sentences import sentence


def document(found: DeviceFit, version: str) -> Document:
    """Return what fits as a document.

    Parameters
    ----------
    found
        The formats on the devices.
    version
        The version of symformer, for the subtitle.

    """
    blocks: list[Block] = [*found.setup_blocks(), *found.format_blocks(), Paragraph([found.verdict])]
    said: list[Block] = [
        Heading(1, ["What fits"]),
        *blocks,
        *_closed_forms(found),
        *_formats(found),
        *_counted(found),
    ]
    said, _ = with_references(said)
    devices = "1 device" if found.devices == 1 else f"{found.devices:,} devices"
    return Document(
        f"{found.model.title} ({found.model.name}) on {devices} of {rounded(found.memory, 'bytes').partition(', ')[0]}",
        f"Computed by symformer {version} from closed forms. {_basis(found)} The longest contexts and the largest "
        "batches are upper bounds, because activations and the engine's buffers are not included.",
        said,
        ["transformer", found.model.title, "inference memory", "quantization"],
        [("fit.json", json.dumps(found.to_json() | {"target": found.model.name}, indent=1, ensure_ascii=False) + "\n")],
    )


def _basis(found: DeviceFit) -> str:
    """Return the basis of the bytes in a sentence."""
    formula = found.model.formula("inference-memory", weights="bf16", **found.conventions)
    if find_quantity("inference-memory").basis_for(formula) == BY_LAYOUT:
        return "The bytes of the weights and of the cache are exact for their formats."
    return "The bytes of the weights are exact for their formats; the cache follows the engine's convention."


def _closed_forms(found: DeviceFit) -> list[Block]:
    """Return the longest context of every format that fits, as equations."""
    rows = [each for each in found.supported if each.formula is not None]
    if not rows:
        return []
    said: list[Block] = [
        Heading(1, ["Longest context"]),
        Paragraph(
            [
                "The longest context of ",
                Math(Size(B)),
                " sequences, in closed form: the usable bytes, minus the weights and the fixed bytes of each sequence, "
                "divided by the bytes per token. With sliding windows, it holds once every window is full.",
            ]
        ),
    ]
    for row in rows:
        said += [Paragraph([Code(row.weights), ":"]), Equation(Chain((Size(C),), (_tree(found, row),)))]
    return said


def _tree(found: DeviceFit, row: FittingFormat) -> Tree:
    form = row.formula
    if form is None:
        raise AssertionError("the format has no closed form")
    terms: list[Tree] = [Number(found.usable), Minus(Number(form.fixed))]
    if form.per_sequence:
        sequences = Product((Number(abs(form.per_sequence)), Size(B)))
        terms.append(Minus(sequences) if form.per_sequence > 0 else sequences)
    left = Sum(tuple(terms))
    pages = Call("floor", (FractionNode(left, Number(form.block * form.per_token)),))
    each = Call("floor", (FractionNode(pages, Size(B)),))
    return each if form.block == 1 else Product((Number(form.block), each))


def _formats(found: DeviceFit) -> list[Block]:
    """Return a table of the formats and their stored tensors."""
    head: list[Line] = [["Format"], ["Stored tensors"], ["Tag"]]
    rows: list[list[Line]] = [
        [[Code(each.weights)], [*sentence(MEANINGS[each.weights])], ["exact by layout"]] for each in found.supported
    ]
    if not rows:
        return []
    return [Heading(1, ["Formats"]), Table(head, rows, "lwl")]


def _counted(found: DeviceFit) -> list[Block]:
    """Return the definition of the bytes and the conventions."""
    quantity = find_quantity("inference-memory")
    formula = found.model.formula("inference-memory", weights="bf16", **found.conventions)
    said: list[Block] = [
        Heading(1, ["Definition"]),
        Paragraph([f"{capital(formula.measure.title)}. ", *sentence(quantity.statement_for(formula))]),
    ]
    chosen = {name: value for name, value in quantity.shown_conventions(formula).items() if name != "weights"}
    said += [
        Paragraph([Code(f"{name}={value}"), ": ", *sentence(quantity.choices[name].meanings[value])])
        for name, value in chosen.items()
    ]
    return [*said, *(Paragraph([*sentence(note)]) for note in quantity.notes_for(formula))]
