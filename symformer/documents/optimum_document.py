"""The optimum of a scaling law as a document: the law, the derivation of its optimum, and the best configs."""

from __future__ import annotations

import json

from ..output.blocks import Block, Cited, Document, Heading, Line, Math, Paragraph, Table, capital
from ..scaling.law_equations import FLOPS, SIZE, TOKENS, letter, negative, number, over, plus, times
from ..scaling.optimum import Optimum
from ..scaling.optimum_derivation import LETTERS, derivation_blocks, rising_with_inference
from ..scaling.repeated_data_law import RepeatedDataLaw
from ..scaling.scaling_law import ParametricLaw
from .references import with_references


def document(found: Optimum, version: str) -> Document:
    """Return an optimum as a document.

    Parameters
    ----------
    found
        The optimum.
    version
        The version of symformer, for the subtitle.

    """
    blocks: list[Block] = [Heading(1, ["Scaling law"]), *map(_punctuated, found.law_blocks())]
    if isinstance(found.law, ParametricLaw):
        blocks += _letters(found.law)
        blocks += [Heading(1, ["Derivation"]), *derivation_blocks(), *_inference(found), *_repetition(found)]
    blocks += [Heading(1, ["Optimum"]), *map(_punctuated, found.optimum_blocks())]
    if found.searched is not None:
        # the heading of the configs is a section of the document
        for each in found.searched.to_blocks():
            blocks.append(Heading(1, each.line) if isinstance(each, Heading) else _punctuated(each))
    blocks.append(_punctuated(Paragraph([found.verdict])))
    said, _ = with_references(blocks)
    model = found.searched.model if found.searched else None
    what = f"{model.title} ({model.name})" if model else "Compute-optimal training"
    amount = (
        f"{found.question.budget:.4g} FLOPs"
        if found.question.budget is not None
        else f"a loss of {found.question.loss:g}"
    )
    data = found.to_json() | {"target": model.name if model else None}
    return Document(
        f"{what} for {amount}",
        f"Computed by symformer {version}. Parameters and FLOPs per token of configs are exact. The loss and all "
        "numbers that depend on it are fitted: they are as accurate as the scaling law.",
        said,
        ["transformer", "scaling law", found.law.title],
        [("optimum.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")],
    )


def _punctuated(block: Block) -> Block:
    """Return a line of the terminal as a sentence."""
    if not isinstance(block, Paragraph) or not block.line:
        return block
    line = list(block.line)
    if isinstance(line[0], str) and line[0]:
        line[0] = capital(line[0]) if not line[0][:1].isupper() and "=" not in line[0][:6] else line[0]
    last = line[-1]
    if isinstance(last, str) and last and not last.endswith((".", ":")):
        line[-1] = f"{last}."
    elif not isinstance(last, str):
        line.append(".")
    return Paragraph(line)


def _letters(law: ParametricLaw) -> list[Block]:
    """Return the letters of the derivation, with the letters and the values of the paper."""
    rows: list[list[Line]] = [
        [[Math(LETTERS[name].tree)], [name if len(name) == 1 else {"alpha": "α", "beta": "β"}[name]], [f"{value:.7g}"]]
        for name, value in law.constants.items()
        if name in LETTERS
    ]
    return [
        Paragraph(["The derivation writes the constants of ", Cited(law.paper), " with these letters:"]),
        Table([["here"], ["in the paper"], ["fitted value"]], rows, "llr"),
    ]


def _inference(found: Optimum) -> list[Block]:
    """Return the condition of the optimum with inference tokens, and why it has one solution."""
    if not found.question.inference:
        return []
    served, most = letter("T"), letter("N", "max")
    afforded = plus(over(FLOPS, times(number(6), SIZE)), negative(over(served, number(3))))
    amount = f" = {found.question.inference:,} inference tokens at 2 FLOPs per parameter, a budget of "
    line: Line = [
        *("With ", Math(served.tree), amount, Math(FLOPS.tree), " FLOPs leaves "),
        *(Math(TOKENS.tree), " = ", Math(afforded.tree), " training tokens, and none for ", Math(most.tree), " = "),
        *(Math(over(FLOPS, times(number(2), served)).tree), ". The first term of the derivative becomes"),
    ]
    proof: Line = [
        *("It still grows with ", Math(SIZE.tree), ", and the second term still falls, so there is exactly one root. "),
        "It has no closed form and is found by bisection.",
    ]
    return [Paragraph(line), rising_with_inference(most), Paragraph(proof)]


def _repetition(found: Optimum) -> list[Block]:
    """Return how repeated data changes the optimum."""
    if not isinstance(found.law, RepeatedDataLaw) or found.question.unique is None:
        return []
    return [
        Paragraph(
            [
                f"With {found.question.unique:,} unique tokens, further tokens and parameters are discounted. The two "
                "terms of the derivative are multiplied by the marginal value of a token and of a parameter, which "
                "both fall, so there is still exactly one root, which is found by bisection."
            ]
        )
    ]
