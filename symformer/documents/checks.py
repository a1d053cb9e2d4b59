"""What a chapter says of torch: the certificate of its formula, or how a trace found it and what it was held to."""

from __future__ import annotations

import re
from math import prod

from sympy import Integer

from ..certificates import Certificate, certificate_for
from ..formulas.formula import Formula
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Label
from ..language.symbols import LETTERS, SYMBOLS
from ..models.model import Model
from ..models.provenance import Reading
from ..quantities import quantity as find_quantity
from .blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Strong, Table
from .sentences import listed, maybe, sentence
from .subject import placed


def certificate_of(model: Model, formula: Formula) -> Certificate | None:
    """The certificate of a formula, or of the number of parameters where its rows are the same."""
    if found := certificate_for(model, formula):
        return found
    params = model.formula() if formula.measure.unit == model.formula().measure.unit else formula
    return certificate_for(model, params) if params.digest == formula.digest else None


TRACED = (
    "At {points} random configs that played no part in finding this formula, every row was as predicted: its module, "
    "its shape and how often it stands there."
)
FILED = (
    "This formula is from the catalogue of symformer, where it was put once it was read off the code of the class. "
    "Every switch of it stands as its config has it, or as it is by default. "
)
COUNTED = {
    "FLOPs": " Torch's own FlopCounterMode gave the same total at each.",
    "MACs": " Torch's own FlopCounterMode gave twice the total at each.",
}


def _reading(reading: Reading, unit: str, filed: bool) -> list[Block]:
    """What a trace says of itself: what it kept at a number, what it was held against, and with which libraries."""
    said = FILED * filed + TRACED.format(points=reading.points) + COUNTED.get(unit, "")
    blocks: list[Block] = [Paragraph([said])]
    for name, other in reading.ties.items():
        blocks.append(Paragraph([Code(name), " is ", Code(other), ": the code runs with no other."]))
    for each in reading.pinned:
        because = [": ", each.why, *maybe(each.line, " (", Code(each.line), ")"), "."]
        blocks.append(Paragraph([Code(each.name), f" is kept at {each.value:,}", *because]))
    if reading.ignored:
        blocks.append(Paragraph([Code(", ".join(reading.ignored)), ": nothing that the class stores depends on it."]))
    blocks += [Paragraph([f"{said[0].upper()}{said[1:]}."]) for said in reading.beside]
    facts: list[tuple[str, Line]] = [
        ("Versions", [", ".join(f"{library} {release}" for library, release in reading.versions.items())]),
        ("Points", [f"{reading.points} random configs, and {reading.builds} builds of the model in all"]),
        ("Seed", [Code(str(reading.seed))]),
    ]
    return [*blocks, Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw", caption=CAPTION)]


ALL_WEIGHTS = "What is certified is the formula of all weights, row by row; here some of the rows are left out."
CAPTION: Line = ["What was compared, and how."]
SHAPES = "by name and shape, and the total"
AXES = (
    "The matrix of a linear layer stands here as output by input, and shapes are compared up to the order of their "
    "axes: a class may store the transpose."
)


def check(model: Model, formula: Formula) -> list[Block]:
    blocks: list[Block] = [Heading(1, ["The check against torch"])]
    found = model.provenance.of(formula.measure.name)
    if found.reading:
        return [*blocks, *_reading(found.reading, formula.measure.unit, filed=found.by == "catalogue")]
    certificate = certificate_of(model, formula)
    if certificate is None and (checked := find_quantity(formula.measure.name).checking(formula)):
        return [*blocks, Paragraph([checked])]
    if certificate is None:
        return [*blocks, Paragraph([Strong("Not certified."), " No stored certificate fits this formula."])]
    if certificate.id != formula.id:
        blocks.append(Paragraph(["Row by row this is the number of parameters, and what is certified is that."]))
    elif placed(formula):
        blocks.append(Paragraph(["What is certified is the formula of the whole model, of which this is a share."]))
    elif "without" in formula.conventions:
        blocks.append(Paragraph([ALL_WEIGHTS]))
    own = {name: value for name, value in formula.conventions.items() if name in certificate.conventions}
    if certificate.id == formula.id and dict(certificate.conventions) != own:
        counted = ", ".join(f"{name}={value}" for name, value in certificate.conventions.items())
        blocks.append(Paragraph(["torch counts under ", Code(counted), "; under these the formula is certified."]))
    what = "The certified formula" if len(blocks) > 1 else "This formula"
    if certificate.compared.endswith(SHAPES):
        blocks.append(Paragraph([AXES]))
    return [*blocks, *certificate_blocks(certificate, what)]


def short_check(model: Model, formula: Formula) -> Line:
    """What torch said of a formula, in one sentence."""
    reading = model.provenance.of(formula.measure.name).reading
    if reading is not None:
        versions = ", ".join(f"{library} {number}" for library, number in reading.versions.items())
        return [
            f"Read off the code of its class; at {reading.points} random configs every row was as found ({versions})."
        ]
    certificate = certificate_of(model, formula)
    if certificate is None:
        return [find_quantity(formula.measure.name).checking(formula) or "No stored certificate fits this formula."]
    versions = ", ".join(f"{library} {number}" for library, number in certificate.versions.items())
    theirs = certificate.conventions.items() if certificate.id == formula.id else ()
    other = ", ".join(f"{name}={value}" for name, value in theirs if formula.conventions.get(name) != value)
    line: list[Piece] = ["Certified ", *maybe(other, "under ", Code(other), " "), "against "]
    line += [Code(certificate.witness), f" ({versions}): {certificate.compared}"]
    line += [
        f", at {certificate.points} random points; a formula that differs would have passed with probability at most "
    ]
    same = certificate.id == formula.id and not placed(formula) and "without" not in formula.conventions
    share = "" if same else " What is certified is the formula of the whole, which this rests on."
    return [*line, Code(f"{certificate.bound:.1e}"), f".{share}"]


RESTS = (
    " Every row of it is one of the first variant's, whose own certificate has more points; the class "
    "of this variant was tried at fewer."
)


def certificate_blocks(certificate: Certificate, what: str) -> list[Block]:
    """A certificate in words and as a table; ``what`` is the formula that it is of, in words."""
    author = f" ({certificate.author})" if certificate.author else ""
    libraries = ", ".join(f"{library} {number}" for library, number in certificate.versions.items())
    degree, largest = (
        Math(Label("d", "", Integer(certificate.degree))),
        Math(Label("n", "", Integer(certificate.largest))),
    )
    facts: list[tuple[str, Line]] = [
        ("Class", [Code(certificate.witness), author]),
        ("Versions", [libraries]),
        ("Compared", [certificate.compared]),
        ("Points", sentence(f"{certificate.points} random points{_places_of(certificate)}")),
        (
            "Sizes",
            ["products of numbers drawn from 1 to ", largest, f" = {certificate.largest:,}, all sizes different"],
        ),
        ("Degree", [degree, f" = {certificate.degree}"]),
        ("Bound", [Code(f"{certificate.bound:.1e}")]),
        ("Seed", [Code(str(certificate.seed))]),
        ("Digest", [Code(certificate.digest)]),
    ]
    if certificate.presets:
        named, more = list(certificate.presets)[:LISTED], len(certificate.presets) - LISTED
        facts.insert(4, ("Full size", [", ".join(named), *maybe(more > 0, f", and {more} more presets")]))
    if certificate.rests:
        facts.append(("Rests on", ["the first variant, whose formula has the digest ", Code(certificate.rests)]))
    return [
        Paragraph(
            [
                f"{what} was compared with a torch model that has shapes and no memory: {certificate.compared}. "
                "Two different polynomials of degree ",
                degree,
                " agree at a random point with sizes from 1 to ",
                largest,
                " with probability at most ",
                Math(Quotient(degree.shown, largest.shown)),
                *sentence(" (Schwartz 1980 [schwartz1980], Zippel 1979 [zippel1979])"),
                f"; at all {certificate.points} points, drawn anew where two sizes were equal, a formula that differs "
                "from the class would have passed with probability at most ",
                Code(f"{certificate.bound:.1e}"),
                ".",
                *_settled(certificate),
                *maybe(certificate.rests, RESTS),
            ]
        ),
        Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw", caption=CAPTION),
    ]


_DEPTHS = {name for name, each in LETTERS.items() if each.unit == "layers"}


LISTED = 14  # presets that a page names, of those that have its formula: of an architecture there are up to a hundred
_MANY = 4  # places that are easier to read one by one than as all that some values give together


def _values(certificate: Certificate) -> dict[str, list[str]]:
    """Which values of a letter a certificate was made at, where they are not random."""
    values: dict[str, list[str]] = {}
    for place in certificate.depths:
        for name, value in re.findall(r"(\w+)=(\d+)", place):
            values.setdefault(name, [])
            values[name] += [value] if value not in values[name] else []
    return values


def _places_of(certificate: Certificate) -> str:
    """Where the points of a certificate lie, in words."""
    places, values = certificate.depths, _values(certificate)
    if places == ("",):
        return ""
    if len(places) > _MANY and len(places) == prod(len(several) for several in values.values()):
        each = "; ".join(f"{name} from {', '.join(several)}" for name, several in values.items())
        rest = {", ".join(part for part in place.split(", ") if not re.fullmatch(r"\w+=\d+", part)) for place in places}
        if len(rest) == 1:
            return f" for each choice of {each}" + (f"; where {said}" if (said := rest.pop()) else "")
    return f" at each of {'the depths ' if values.keys() <= _DEPTHS else ''}{'; '.join(places)}"


def _settled(certificate: Certificate) -> Line:
    """Why so many values of each depth, and of what else is no random size, are enough."""
    tried = {name: len(several) for name, several in _values(certificate).items()}
    if not tried:
        return ()
    lines = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 2 and name not in _DEPTHS]
    squares = [Math.of(SYMBOLS[name]) for name, several in tried.items() if several == 3]
    return (
        " The count is affine in each depth",
        *maybe(lines, " and in ", *listed(*([each] for each in lines))),
        *maybe(squares, " and at most quadratic in ", *listed(*([each] for each in squares))),
        f", so two {'and three ' if squares else ''}values of each settle it.",
    )
