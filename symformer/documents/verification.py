"""The section on the check against torch: the certificate of a formula, or the trace that found it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from math import prod

from sympy import Integer

from ..certificates import Certificate
from ..language.notation.display_tree import Cross, Number, Power, Times, Word
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.sizes import Condition
from ..language.symbols import LETTERS, SYMBOLS
from ..models.provenance import TraceEvidence, fixed_note, libraries
from ..output.blocks import Block, Code, Heading, Line, Math, Paragraph, Piece, Strong, Table, listed, maybe
from ..views.formula_facts import CheckFacts
from .condition_text import condition_lines
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


UNCERTIFIED = "No stored certificate covers this formula."
WHOLE_ONLY = "The formula of the whole model is checked against torch; its division over ranks is not."
MODULE = "Every row is a parameter of the module {title} itself, as {torch} stores it."
ALL_WEIGHTS = "The certificate is for the formula of all weights, row by row; this formula omits some of the rows."
CAPTION: Line = ["Details of the check."]
SHAPES = "by name and shape, and the total"
NAMED_ONCE = "by name and shape, each name counted once for all layers, and the total"
AXES = "Shapes are compared up to the order of their axes, since a class may store the transpose of a matrix."


def check(found: CheckFacts, sharing: Sequence[str] = ()) -> list[Block]:
    """Return the section on the check of a formula against torch.

    Parameters
    ----------
    found
        How the formula is checked.
    sharing
        The names of the presets with this formula.

    """
    blocks: list[Block] = [Heading(1, ["The check against torch"])]
    formula, certificate = found.formula, found.certificate
    if found.evidence:
        return [*blocks, *_reading(found.evidence, formula.measure.unit, filed=found.from_catalogue)]
    if found.module:
        return [*blocks, Paragraph([MODULE.format(title=found.title, torch=found.module)])]
    if certificate is None and found.explanation:
        return [*blocks, Paragraph([found.explanation])]
    if certificate is None:
        return [*blocks, Paragraph([Strong("Not certified."), f" {UNCERTIFIED}"])]
    if found.of_params:
        blocks.append(
            Paragraph(["Row by row, this formula equals the number of parameters; the certificate is for that number."])
        )
    elif found.per_rank:
        blocks.append(Paragraph([WHOLE_ONLY]))
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
    if found.per_rank and not found.of_params:
        what = "The formula of the whole model"
    compared, *rest = certificate_blocks(certificate, what, sharing, found.required)
    axes = [Paragraph([AXES])] if certificate.compared.endswith(SHAPES) else []
    return [*blocks, compared, *axes, *rest]


def short_check(found: CheckFacts) -> Line:
    """Return the check of a formula against torch, in a few sentences."""
    certificate, reading = found.certificate, found.evidence
    if reading is not None:
        versions = libraries(reading.versions)
        return [
            f"Traced from the code of its class; at {reading.points} held-out random configs every row matched "
            f"({versions})."
        ]
    if found.module:
        return [MODULE.format(title=found.title, torch=found.module)]
    if certificate is None:
        return [found.explanation or UNCERTIFIED]
    versions = libraries(certificate.versions)
    other = _other_conventions(found, certificate)
    line: list[Piece] = ["Certified ", *maybe(other, "under ", Code(other), " "), "against "]
    line += [
        Code(certificate.witness),
        f" ({versions}): {_briefly(certificate)}, {_drawn([certificate])}. {_differing([certificate])}",
    ]
    share = (
        ""
        if _is_of_formula(found)
        else " The certificate covers the formula of the whole, from which this one follows."
    )
    return [*line, _bound(certificate), f".{share}"]


def _drawn(certificates: Sequence[Certificate]) -> str:
    """Return the random points of certificates, with the sizes that are not drawn at random, in words."""
    points, settings = {each.points for each in certificates}, {len(each.depths) for each in certificates}
    count = f"{points.pop()} " if len(points) == 1 else ""
    choices = "one random choice" if count == "1 " else f"{count}random choices"
    if settings == {1}:
        return f"at {choices} of all sizes"
    names = [set(_values(each)) for each in certificates]
    several = f"{settings.pop()}" if len(settings) == 1 else "several"
    if all(len(each) == 1 and each <= _DEPTHS for each in names):
        return f"at {choices} of the sizes, for each of {several} depths"
    layers, others = any(each & _DEPTHS for each in names), any(each - _DEPTHS for each in names)
    by_hand = " and ".join(["the depths"] * layers + ["a few other sizes" if layers else "a few sizes"] * others)
    return f"at {choices} of the sizes, for each of {several} settings of {by_hand}"


def _differing(certificates: Sequence[Certificate]) -> str:
    """Return the beginning of the sentence that bounds the probability of an error; the bound is for one setting."""
    several = any(len(each.depths) > 1 for each in certificates)
    return f"A formula that differs{' there' * several} would have passed with probability at most "


def _other_conventions(found: CheckFacts, certificate: Certificate) -> str:
    """Return the conventions in which a certificate differs from the formula."""
    theirs = () if found.of_params else certificate.conventions.items()
    return ", ".join(f"{name}={value}" for name, value in theirs if found.formula.conventions.get(name) != value)


def _is_of_formula(found: CheckFacts) -> bool:
    """Return whether a certificate is for the formula itself, and not for one from which the formula follows."""
    return not found.of_params and not found.per_rank and "without" not in found.formula.conventions


def short_checks(found: Sequence[tuple[str, CheckFacts]]) -> list[Line]:
    """Return the checks of several models, by name: one sentence for those with the same kind of certificate."""
    groups: dict[tuple[str, ...], list[tuple[str, CheckFacts]]] = {}
    for name, each in found:
        certificate = each.certificate
        key: tuple[str, ...] = (name,)
        if certificate is not None and not each.from_torch and _is_of_formula(each):
            other, compared = _other_conventions(each, certificate), _briefly(certificate)
            settings = "one" if len(certificate.depths) == 1 else "several"
            key = (each.formula.measure.title, libraries(certificate.versions), other, compared, settings)
        groups.setdefault(key, []).append((name, each))
    said: list[Line] = []
    for key, models in groups.items():
        names: list[Line] = [[Code(name)] for name, _ in models]
        certificates = [each.certificate for _, each in models if each.certificate is not None]
        if len(models) == 1 or len(certificates) < len(models):
            said += [[Code(name), ": ", *short_check(each)] for name, each in models]
            continue
        title, versions, other, compared, _ = key
        classes: list[Line] = [[Code(each)] for each in dict.fromkeys(each.witness for each in certificates)]
        largest = max(certificates, key=lambda each: each.bound)
        said.append(
            [
                f"The formulas for the {title} of ",
                *listed(*names),
                " are certified ",
                *maybe(other, "under ", Code(other), " "),
                "against ",
                *listed(*classes),
                f" ({versions}): {compared}, {_drawn(certificates)}. {_differing(certificates)}",
                _bound(largest),
                ".",
            ]
        )
    return said


RESTS = (
    " Every row also occurs in the first variant, whose own certificate has more points; the class of this variant "
    "was checked at fewer."
)


# The first paragraph of a certificate. At a point, every size has a value; a setting is the part that is not random.
POINTS = "The formula was compared at {}, which are random choices of all sizes."
SETTINGS = (
    "Some sizes, such as numbers of layers, are set by hand. For each of these settings, the formula was compared at "
    "{}, which are random choices of all other sizes."
)
EQUAL_SIZES = "Points with two equal sizes are drawn again; all sizes of a point differ with probability at least "


def _counted(points: int) -> str:
    return "one point" if points == 1 else f"{points} points"


def _compared(certificate: Certificate) -> str:
    """Return the compared values in words, with the meaning of the number of weights."""
    if "saved_tensors_hooks" in certificate.compared:
        return _saved(certificate)
    return certificate.compared.replace(SHAPES, NAMED_ONCE)


def _briefly(certificate: Certificate) -> str:
    """Return the compared values in a few words."""
    return re.sub(rf"\d+ stored weights {NAMED_ONCE}", f"each weight {SHAPES}", _compared(certificate))


# The tensors of a forward pass that torch counts, by kind of recomputation.
SAVED = {
    "none": "the tensors that torch saves for the backward pass",
    "selective": "the tensors that torch saves for the backward pass and for the recomputation of attention",
    "full": "the tensors that torch saves for the backward pass and for the recomputation of the layers",
}


def _saved(certificate: Certificate) -> str:
    """Return the compared bytes of activations or of training memory in words."""
    own = certificate.conventions
    saved = SAVED[own["recompute"]]
    if "recipe" not in own:
        return f"the bytes of each of {saved}, and their total, each storage counted once"
    counted = ["the parameters", "their gradients"]
    counted += ["their float32 master copies"] if own["recipe"].startswith("bf16") else []
    counted += ["the optimizer's state after one step"]
    counted += [saved] if own["implementation"] != "none" else []
    return f"the total of the bytes of {', of '.join(counted[:-1])}, and of {counted[-1]}"


def _scientific(probability: float) -> Math:
    """Return an upper bound on a small number, rounded up to two digits, as in 2.9 × 10⁻¹⁵."""
    digits, exponent = _rounded_up(probability)
    return Math(Cross((Word(digits), Power(Number(10), exponent))))


def _rounded_up(probability: float) -> tuple[str, int]:
    """Return two digits and the exponent of a bound, rounded up."""
    found = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(probability)
    digits, _, exponent = f"{found:.1e}".partition("e")
    return digits, int(exponent)


def _distinct(certificate: Certificate) -> str:
    """Return the probability of distinct sizes with as many digits as the bound needs to be computed from it."""
    share, points = certificate.degree / certificate.largest, certificate.points
    texts = [f"{certificate.distinct:.{places}f}" for places in range(3, 9)]
    shown = _rounded_up(certificate.bound)
    found = next((each for each in texts if _rounded_up((share / float(each)) ** points) == shown), texts[-1])
    return "1" if float(found) == 1 else found


def _bound(certificate: Certificate) -> Math:
    """Return the bound, computed from the printed numbers: the stored one is rounded to three digits."""
    share = certificate.degree / certificate.largest / float(_distinct(certificate))
    return _scientific(float(share**certificate.points))


def certificate_blocks(
    certificate: Certificate, what: str, sharing: Sequence[str] = (), required: Sequence[Condition] = ()
) -> list[Block]:
    """Return a certificate as a paragraph and a table.

    Parameters
    ----------
    certificate
        The certificate.
    what
        The subject of the first sentence, such as "This formula".
    sharing
        The names of the presets with this formula.
    required
        The conditions of the class that the formula does not need.

    """
    author = f" ({certificate.author})" if certificate.author else ""
    degree, largest = Math.of(Integer(certificate.degree)), Math.of(Integer(certificate.largest))
    facts: list[tuple[str, Line]] = [
        ("Class", [Code(certificate.witness), author]),
        ("Versions", [libraries(certificate.versions)]),
        ("Points", sentence(f"{certificate.points} random points{_places_of(certificate)}")),
        (
            "Sizes",
            [
                *("products of integers drawn from 1 to ", largest, ", all sizes distinct"),
                *maybe(required, "; the class requires that ", *listed(*condition_lines(required))),
            ],
        ),
        ("Bound", [_bound(certificate)]),
        ("Seed", [Code(str(certificate.seed))]),
        ("Digest", [Code(certificate.digest)]),
    ]
    if certificate.presets:
        facts.insert(3, ("Presets", _presets(list(certificate.presets), sharing)))
    if certificate.depends_on:
        facts.append(("Based on", ["the first variant, whose formula has the digest ", Code(certificate.depends_on)]))
    several = len(certificate.depths) > 1
    distinct = _distinct(certificate)
    once = (largest.shown, Word(distinct)) if distinct != "1" else (largest.shown,)
    share = Quotient(degree.shown, Times(once) if len(once) > 1 else largest.shown)
    return [
        Paragraph(
            [
                f"{what} was compared with the torch class, built with tensors that have shapes but no data: ",
                f"{_compared(certificate)}. ",
                (SETTINGS if several else POINTS).format(_counted(certificate.points)),
                " If the integers that determine the sizes are drawn from 1 to ",
                largest,
                ", two distinct polynomials of degree ",
                degree,
                " agree at a point with probability at most ",
                Math(Quotient(degree.shown, largest.shown)),
                *sentence(" (Schwartz 1980 [schwartz1980], Zippel 1979 [zippel1979])"),
                ". ",
                *maybe(len(once) > 1, EQUAL_SIZES, Math(Word(distinct)), ". "),
                f"A formula that differs from the class{' at a setting' * several} would have passed with probability "
                "at most ",
                Math(Power(share, certificate.points) if certificate.points > 1 else share),
                " ≤ ",
                _bound(certificate),
                ".",
                *_settled(certificate),
                *maybe(certificate.depends_on, RESTS),
            ]
        ),
        Table([["Fact"], ["Value"]], [[[name], value] for name, value in facts], "lw", caption=CAPTION),
    ]


def _presets(checked: Sequence[str], sharing: Sequence[str]) -> Line:
    """Return the presets that were compared at full size: those with this formula, and those with other options."""
    same = [name for name in checked if name in sharing]
    others: list[Line] = [[Code(name)] for name in checked if name not in sharing]
    counted = f"{len(checked)} presets" if len(checked) > 1 else "one preset"
    said: Line = [f"{counted} at full size, each compared with the formula of its own options"]
    if not same:
        return said
    all_of = "the only one" if len(sharing) == 1 else f"all {len(sharing)}"
    all_of = all_of if len(same) == len(sharing) else f"{len(same)} of the {len(sharing)}"
    return [*said, f": {all_of} with this formula", *maybe(others, ", and ", *listed(*others), " with other options")]


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
    depths = [name for name in values if name in _DEPTHS]
    settings = _settings(certificate, depths)
    others = {name: several for name, several in values.items() if name not in _DEPTHS}
    if len(places) > _MANY and len(places) == len(settings) * prod(map(len, others.values())):
        joint = [f"{_row(depths)} from {', '.join(map(_row, settings))}"]
        each = "; ".join(
            [
                *joint * bool(depths),
                *(f"{name} from {', '.join(several)}" for name, several in others.items() if len(several) > 1),
            ]
        )
        alone = ", ".join(f"{name} = {several[0]}" for name, several in others.items() if len(several) == 1)
        each += f", with {alone}" * bool(alone)
        rest = {", ".join(part for part in place.split(", ") if not re.fullmatch(r"\w+=\d+", part)) for place in places}
        if len(rest) == 1:
            return f" for each choice of {each}" + (f", such that {said}" if (said := rest.pop()) else "")
    return f" at each of {'the depths ' if values.keys() <= _DEPTHS else ''}{'; '.join(places)}"


_DEGREES = {2: "affine", 3: "at most quadratic", 4: "at most cubic", 5: "of degree at most 4"}
_COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}


def _settled(certificate: Certificate) -> Line:
    """Return sentences on why a few values suffice for each depth and each other size that is not random."""
    tried = {name: len(several) for name, several in _values(certificate).items()}
    depths = [name for name, count in tried.items() if name in _DEPTHS and count > 1]
    said: list[Piece] = []
    if len(depths) == 1:
        letter = Math.of(SYMBOLS[depths[0]])
        said += [" The count is affine in ", letter, ", so two values of it determine the count."]
    elif depths:
        enough = "one setting and one change of each depth determine it" if _one_by_one(certificate, depths) else ENOUGH
        said += [f" The count is a sum over layers, so it is affine in the depths together; {enough}."]
    for count, degree in _DEGREES.items():
        sizes = [[Math.of(SYMBOLS[name])] for name, own in tried.items() if own == count and name not in _DEPTHS]
        each = "each" if len(sizes) > 1 else "it"
        said += maybe(
            sizes, f" The count is {degree} in ", *listed(*sizes), f", so {_COUNTS[count]} values of {each} suffice."
        )
    return said


def _row(values: Sequence[str]) -> str:
    """Return a value, or several in brackets."""
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _settings(certificate: Certificate, depths: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the different values of the depths at which a certificate draws its points."""
    found = [dict(re.findall(r"(\w+)=(\d+)", place)) for place in certificate.depths]
    return list(dict.fromkeys(tuple(each[name] for name in depths if name in each) for each in found))


ENOUGH = "these settings determine it"


def _one_by_one(certificate: Certificate, depths: Sequence[str]) -> bool:
    """Return whether the settings are a first one and, for each depth, one that differs in this depth only."""
    first, *others = _settings(certificate, depths)
    changed = [[name for name, one, two in zip(depths, first, each, strict=True) if one != two] for each in others]
    return sorted(changed) == sorted([name] for name in depths)
