"""The section on the check against torch: the certificate of a formula, or the trace that found it."""

from __future__ import annotations

import re
from math import prod

from sympy import Integer

from ..certificates import Certificate
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.symbols import LETTERS, SYMBOLS
from ..models.provenance import TraceEvidence, fixed_note, libraries
from ..output.blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Strong, Table, listed, maybe
from ..views.example_facts import LISTED
from ..views.formula_facts import CheckFacts
from .sentences import sentence

TRACED = (
    "At {points} held-out random configs, which were not used to find this formula, every row matched in module, "
    "shape and count."
)
FILED = (
    "This formula is from symformer's catalogue and was obtained by tracing the code of the class. Every config "
    "switch has its value from the config, or else its default. "
)
OTHER_VALUES = (
    "For another value of a fixed size, give symformer a config.json with that value: the class is then traced again, "
    "which requires torch."
)
COUNTED = {
    "FLOPs": " For each, torch's FlopCounterMode counted the same total.",
    "MACs": " For each, torch's FlopCounterMode counted twice the total, since one MAC is two FLOPs.",
}


def _reading(reading: TraceEvidence, unit: str, filed: bool) -> list[Block]:
    """Return the blocks on a trace: the fixed values, the comparison with torch and the versions."""
    said = FILED * filed + TRACED.format(points=reading.points) + COUNTED.get(unit, "")
    blocks: list[Block] = [Paragraph([said])]
    for name, other in reading.ties.items():
        blocks.append(Paragraph([Code(name), " equals ", Code(other), ": the code does not run otherwise."]))
    for each in reading.pinned:
        blocks.append(
            Paragraph([Code(each.name), f" {fixed_note(each)}", *maybe(each.line, " (", Code(each.line), ")"), "."])
        )
    if filed and reading.pinned:
        blocks.append(Paragraph([OTHER_VALUES]))
    if reading.ignored:
        blocks.append(Paragraph([Code(", ".join(reading.ignored)), ": no effect on the stored weights."]))
    blocks += [Paragraph([f"{said[0].upper()}{said[1:]}."]) for said in reading.input_notes]
    facts: list[tuple[str, Line]] = [
        ("Versions", [libraries(reading.versions)]),
        ("Points", [f"{reading.points} random configs; {reading.builds} model builds in total"]),
        ("Seed", [Code(str(reading.seed))]),
    ]
    return [*blocks, Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw", caption=CAPTION)]


MODULE = "Every row is a parameter of the module {title} itself, as {torch} stores it."
ALL_WEIGHTS = "The certificate is for the formula of all weights, row by row; this formula omits some of the rows."
CAPTION: Line = ["Details of the check."]
SHAPES = "by name and shape, and the total"
AXES = (
    "The matrix of a linear layer is written as output × input. Shapes are compared up to the order of their axes, "
    "since a class may store the transpose."
)


def check(found: CheckFacts) -> list[Block]:
    """Return the section on the check of a formula against torch."""
    blocks: list[Block] = [Heading(1, ["The check against torch"])]
    formula, certificate = found.formula, found.certificate
    if found.evidence:
        return [*blocks, *_reading(found.evidence, formula.measure.unit, filed=found.from_catalogue)]
    if found.module:
        return [*blocks, Paragraph([MODULE.format(title=found.title, torch=found.module)])]
    if certificate is None and found.explanation:
        return [*blocks, Paragraph([found.explanation])]
    if certificate is None:
        return [*blocks, Paragraph([Strong("Not certified."), " No stored certificate covers this formula."])]
    if found.of_params:
        blocks.append(
            Paragraph(["Row by row, this formula equals the number of parameters; the certificate is for that number."])
        )
    elif found.per_rank:
        blocks.append(
            Paragraph(["The certificate is for the formula of the whole model; this is one rank's share of it."])
        )
    elif "without" in formula.conventions:
        blocks.append(Paragraph([ALL_WEIGHTS]))
    own = {name: value for name, value in formula.conventions.items() if name in certificate.conventions}
    if not found.of_params and dict(certificate.conventions) != own:
        counted = ", ".join(f"{name}={value}" for name, value in certificate.conventions.items())
        blocks.append(
            Paragraph(
                ["torch counts under ", Code(counted), "; the certificate is for the formula under these conventions."]
            )
        )
    what = "The certified formula" if len(blocks) > 1 else "This formula"
    if certificate.compared.endswith(SHAPES):
        blocks.append(Paragraph([AXES]))
    return [*blocks, *certificate_blocks(certificate, what)]


def short_check(found: CheckFacts) -> Line:
    """Return the check of a formula against torch, in one sentence."""
    formula, certificate, reading = found.formula, found.certificate, found.evidence
    if reading is not None:
        versions = libraries(reading.versions)
        return [
            f"Traced from the code of its class; at {reading.points} held-out random configs every row matched "
            f"({versions})."
        ]
    if found.module:
        return [MODULE.format(title=found.title, torch=found.module)]
    if certificate is None:
        return [found.explanation or "No stored certificate covers this formula."]
    versions = libraries(certificate.versions)
    theirs = () if found.of_params else certificate.conventions.items()
    other = ", ".join(f"{name}={value}" for name, value in theirs if formula.conventions.get(name) != value)
    line: list[Piece] = ["Certified ", *maybe(other, "under ", Code(other), " "), "against "]
    line += [
        Code(certificate.witness),
        f" ({versions}) at {certificate.points} random points: {certificate.compared}. "
        "A wrong formula would have passed with probability at most ",
    ]
    same = not found.of_params and not found.per_rank and "without" not in formula.conventions
    share = "" if same else " The certificate covers the formula of the whole, from which this one follows."
    return [*line, Code(f"{certificate.bound:.1e}"), f".{share}"]


RESTS = (
    " Every row also occurs in the first variant, whose own certificate has more points; the class of this variant "
    "was checked at fewer."
)


def certificate_blocks(certificate: Certificate, what: str) -> list[Block]:
    """Return a certificate as a paragraph and a table.

    Parameters
    ----------
    certificate
        The certificate.
    what
        The subject of the first sentence, such as "This formula".

    """
    author = f" ({certificate.author})" if certificate.author else ""
    degree, largest = Math.of(Integer(certificate.degree)), Math.of(Integer(certificate.largest))
    facts: list[tuple[str, Line]] = [
        ("Class", [Code(certificate.witness), author]),
        ("Versions", [libraries(certificate.versions)]),
        ("Compared", [certificate.compared]),
        ("Points", sentence(f"{certificate.points} random points{_places_of(certificate)}")),
        (
            "Sizes",
            ["products of integers drawn from 1 to ", largest, ", all sizes distinct"],
        ),
        ("Degree", [degree]),
        ("Bound", [Code(f"{certificate.bound:.1e}")]),
        ("Seed", [Code(str(certificate.seed))]),
        ("Digest", [Code(certificate.digest)]),
    ]
    if certificate.presets:
        named, more = list(certificate.presets)[:LISTED], len(certificate.presets) - LISTED
        facts.insert(
            4, ("Presets", ["compared at full size: ", ", ".join(named), *maybe(more > 0, f", and {more} more")])
        )
    if certificate.depends_on:
        facts.append(("Based on", ["the first variant, whose formula has the digest ", Code(certificate.depends_on)]))
    return [
        Paragraph(
            [
                f"{what} was compared with the torch model on the meta device: {certificate.compared}. "
                "If the integers that determine the sizes are drawn from 1 to ",
                largest,
                ", two distinct polynomials of degree ",
                degree,
                " agree with probability at most ",
                Math(Quotient(degree.shown, largest.shown)),
                *sentence(" (Schwartz 1980 [schwartz1980], Zippel 1979 [zippel1979])"),
                f". With {certificate.points} points{' at each setting' * (len(certificate.depths) > 1)}, a formula "
                "that differs from the class would have passed with probability at most ",
                Code(f"{certificate.bound:.1e}"),
                ". The bound takes into account that points with two equal sizes are drawn again.",
                *_settled(certificate),
                *maybe(certificate.depends_on, RESTS),
            ]
        ),
        Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw", caption=CAPTION),
    ]


_DEPTHS = {name for name, each in LETTERS.items() if each.unit == "layers"}


_MANY = 4  # up to so many places are listed one by one, not as a product of values


def _values(certificate: Certificate) -> dict[str, list[str]]:
    """Return the values of each letter that was not drawn at random in a certificate."""
    values: dict[str, list[str]] = {}
    for place in certificate.depths:
        for name, value in re.findall(r"(\w+)=(\d+)", place):
            values.setdefault(name, [])
            values[name] += [value] if value not in values[name] else []
    return values


def _places_of(certificate: Certificate) -> str:
    """Return a phrase for the choices at which a certificate draws its points, such as "at each of the depths L=2"."""
    places, values = certificate.depths, _values(certificate)
    if places == ("",):
        return ""
    if len(places) > _MANY and len(places) == prod(len(several) for several in values.values()):
        each = "; ".join(f"{name} from {', '.join(several)}" for name, several in values.items())
        rest = {", ".join(part for part in place.split(", ") if not re.fullmatch(r"\w+=\d+", part)) for place in places}
        if len(rest) == 1:
            return f" for each choice of {each}" + (f", such that {said}" if (said := rest.pop()) else "")
    return f" at each of {'the depths ' if values.keys() <= _DEPTHS else ''}{'; '.join(places)}"


def _settled(certificate: Certificate) -> Line:
    """Return a sentence on why these few values suffice for each depth and other size that is not random."""
    tried = {name: len(several) for name, several in _values(certificate).items()}
    if not tried:
        return ()
    lines = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 2 and name not in _DEPTHS]
    squares = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 3]
    return (
        " The count is affine in each depth",
        *maybe(lines, " and in ", *listed(*([each] for each in lines))),
        *maybe(squares, " and at most quadratic in ", *listed(*([each] for each in squares))),
        f", so two {'(or three) ' if squares else ''}values of each determine it.",
    )
