"""The difference between the structures of two models: in words, and in parameters, FLOPs and bytes of cache."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Integer, Symbol, expand

from ..architectures.base_architecture import Architecture
from ..formulas.formula import Formula
from ..language.arithmetic import parse
from ..language.errors import OptionError, RuleError, naming
from ..language.frozen import FrozenDict
from ..language.notation.display_tree import Root, tree
from ..language.notation.text import code
from ..language.symbols import A, A_vis, D, E_vis, G, H, H_vis, L, P, S, S_enc, print_order
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Heading, Line, Math, Paragraph, Piece, Table, capital, plain
from ..quantities import quantity as find_quantity
from .result import Answer
from .structure_amounts import Place, part_amounts, silent_operations
from .structure_profile import CHOICES, DECODER, DETAILS, ENCODER, ONLY, OTHER, PARTS, StackProfile, in_towers, profiles

QUANTITIES = ("params", "flops", "kv-cache")
NOTHING = Integer(0)
_MATH = re.compile(r"(√?)\{([^}]*)\}")
_LISTED = "attention biases"  # the aspect whose phrases are the projections that have a bias
_SOME = re.compile(r",? in \{[^}]*\} of the \{[^}]*\} layers$")
_OTHER_MIXERS = ("state-space mixer", "short convolution")
_MULTI_QUERY = "one key/value head for all query heads"
_MULTI_HEAD = "a key/value head for each query head"
_ALL = " in all layers"
_ROTARY = "rotary positions"


@dataclass(frozen=True)
class PartDifference:
    """One part in which two models differ.

    Attributes
    ----------
    part
        The name of the part, such as "query and key norms"; with the name of the stack if there are several.
    changes
        The phrases that only the first model has, and those that only the second has, for each aspect of the part.
    amounts
        The first model minus the second, by quantity.

    """

    part: str
    changes: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    amounts: Mapping[str, Expr]

    @property
    def kind(self) -> str:
        """Whether the first model has the part in addition ("added"), lacks it, replaces it or changes it."""
        gained = any(own for _, own, _ in self.changes)
        lost = any(other for _, _, other in self.changes)
        return "replaced" if gained and lost else "added" if gained else "removed" if lost else "changed"

    def sentences(self, first: str, second: str) -> list[Line]:
        """Return the difference in sentences about the first model."""
        said = [line(sentence(first, *change)) for change in self.changes]
        if not said:
            sizes = any(self.amounts.values())
            how = "have this part in other sizes" if sizes else "differ here in steps without parameters"
            said = [line(f"{first} and {second} {how}.")]
        params = self.amounts.get("params", NOTHING)
        return [*said, amount_sentence(params)] if params != 0 else said

    @property
    def short(self) -> str:
        """The difference in a few words, as in a list."""
        return "; ".join(dict.fromkeys(short(*change) for change in self.changes)) or self._other

    @property
    def _other(self) -> str:
        return f"{self.part} in other sizes" if any(self.amounts.values()) else f"other steps in the {self.part}"


@dataclass(frozen=True, repr=False)
class StructureComparison(Answer):
    """How the structure of one model differs from that of another, at equal sizes.

    The amounts are the first model minus the second, as formulas in which a letter has the same value in both models.
    Over all parts, they sum to the difference of the totals.

    Attributes
    ----------
    models
        The two models.
    differences
        The parts that differ, in the order of the model.
    totals
        The difference of the totals, by quantity.
    refused
        The reason for each quantity that cannot be compared.
    size_notes
        Sentences about sizes that only one of the models has.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.compare("qwen3", "llama").structure
    >>> [(each.part, each.amounts["params"]) for each in found.differences]
    [('query and key norms', 2*D*L)]
    >>> print(found.sentences[0])
    Qwen3 adds an RMS norm of queries and keys, over each head.

    """

    models: tuple[Model, Model]
    differences: tuple[PartDifference, ...]
    totals: Mapping[str, Expr]
    refused: Mapping[str, str]
    size_notes: tuple[str, ...]

    @classmethod
    def of(cls, first: Model, second: Model) -> StructureComparison:
        """Return the comparison of two composed models. Raises OptionError if there is none."""
        return _compared(first, second)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the models in sentences: their titles, or their targets if the titles are equal."""
        first, second = self.models
        if first.title != second.title:
            return first.title, second.title
        if first.name != second.name:
            return first.name, second.name
        return f"{first.name} (1)", f"{second.name} (2)"

    @property
    def same(self) -> bool:
        """Whether both models have the same structure, so that only sizes can differ."""
        return not self.differences

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All sentences about the differences, as text."""
        return tuple(plain(each) for part in self.differences for each in part.sentences(*self.names))

    @property
    def short(self) -> str:
        """The differences in a few words, as in a list; "" if there are none."""
        replaced = any(change[0] == "norms" for each in self.differences for change in each.changes)
        implied = [each for each in self.differences if each.part == "final norm" and each.kind == "replaced"]
        shown = [each for each in self.differences if not (replaced and each in implied)]
        return "; ".join(each.short for each in shown)

    @property
    def short_line(self) -> Line:
        """The differences in a few words, with the sizes as mathematics."""
        return line(self.short)

    @cached_property
    def differing_sizes(self) -> Mapping[Symbol, tuple[int, int]]:
        """The sizes with different values in the two models."""
        one, two = (model.known for model in self.models)
        both = sorted({size for size in one if size in two and one[size] != two[size]}, key=print_order)
        return FrozenDict({size: (one[size], two[size]) for size in both})

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``compare --structure --json`` prints."""
        first, second = self.models
        return {
            "left": first.target,
            "right": second.target,
            "same_structure": self.same,
            "quantities": [name for name in QUANTITIES if name not in self.refused],
            "refused": dict(self.refused),
            "differences": [
                {
                    "part": each.part,
                    "kind": each.kind,
                    "sentences": [plain(said) for said in each.sentences(*self.names)],
                    "added": [spoken(phrase) for _, own, _ in each.changes for phrase in own],
                    "removed": [spoken(phrase) for _, _, other in each.changes for phrase in other],
                    **{name: code(amount) for name, amount in each.amounts.items()},
                }
                for each in self.differences
            ],
            "totals": {name: code(amount) for name, amount in self.totals.items()},
            "notes": [plain(line(note)) for note in self.size_notes],
            "sizes": {str(size): list(both) for size, both in self.differing_sizes.items()},
        }

    def table(self) -> dict[str, list[Any]]:
        """Return the parts that differ with the difference of each quantity; the last row is the total."""
        rows = [(each.part, each.amounts) for each in self.differences] + [("total", self.totals)]
        found: dict[str, list[Any]] = {"part": [name for name, _ in rows]}
        return found | {name: [amounts[name] for _, amounts in rows] for name in self.totals}

    def rank_lines(self) -> list[Line]:
        """Return no lines: the amounts are of whole models."""
        return []

    def _picture(self, by: str) -> Plot:
        raise OptionError("a comparison of structures has no plot; compare a quantity instead")

    def __repr__(self) -> str:
        first, second = self.names
        return (
            f"<{first} differs from {second} by: {plain(line(self.short))}>"
            if self.short
            else (f"<{first} has the structure of {second}>")
        )

    def to_blocks(self) -> list[BriefBlock]:
        """Return the differences in sentences, and a table of the amounts."""
        first, second = self.names
        return [Heading(1, [f"{first} and {second}: structure"]), *self.body()]

    def body(self) -> Iterator[BriefBlock]:
        """Yield the blocks without the heading."""
        first, second = self.names
        if self.same:
            yield Paragraph([f"{first} has the structure of {second}: only sizes can differ."])
        yield from map(Paragraph, self.paragraphs())
        if self.differing_sizes:
            yield Paragraph(self._sizes())
        if not self.same:
            yield self._table()
        for name, why in self.refused.items():
            yield Paragraph([f"{capital(find_quantity(name).measure.title)}: not compared; {why}."])

    def paragraphs(self) -> Iterator[Line]:
        """Yield a paragraph for each part that differs, and the notes on sizes."""
        for each in self.differences:
            sentences: list[Piece] = [f"{capital(each.part)}: "]
            for said in each.sentences(*self.names):
                sentences += [*said, " "]
            yield sentences[:-1]
        yield from map(line, self.size_notes)

    def _sizes(self) -> Line:
        said: list[Piece] = ["Sizes that differ: "]
        for place, (size, (one, two)) in enumerate(self.differing_sizes.items()):
            said += [", " if place else "", Math.of(size), f" = {one:,} and {two:,}"]
        return [*said, "."]

    def _table(self) -> Table:
        measures = {name: find_quantity(name).measure for name in self.totals}
        head = ["part", *(measures[name].title for name in self.totals)]
        rows: list[list[Piece]] = [
            [each.part, *(Math.of(each.amounts[name]) for name in self.totals)] for each in self.differences
        ]
        rows.append(["total", *(Math.of(amount) for amount in self.totals.values())])
        first, second = self.names
        caption = f"{first} minus {second}, at equal sizes"
        return Table.of(head, rows, "l" * len(head), total=True, caption=[caption])


def line(words: str) -> Line:
    """Return words as a line, with the formulas in braces as mathematics."""
    found: list[Piece] = []
    root = False
    for place, piece in enumerate(_MATH.split(words)):
        if place % 3 == 0 and piece:
            found.append(piece)
        elif place % 3 == 1:  # a root sign, or nothing
            root = bool(piece)
        elif place % 3 == 2:
            shown = tree(parse(piece, any_name=True))
            found.append(Math(Root(shown) if root else shown))
    return found


def spoken(phrase: str) -> str:
    """Return a phrase as plain text, with the formulas in braces as text."""
    return plain(line(phrase.rstrip(",")))


def sentence(name: str, aspect: str, own: Sequence[str], other: Sequence[str]) -> str:
    """Return a sentence about one aspect: what the model has, and what it does not have."""
    own, other = (_with_projections(aspect, each) for each in (own, other))
    if own and other and aspect in CHOICES:
        used = _and(own).rstrip(",")
        return f"{name} uses {used}{',' * (',' in used)} instead of {_and(other).rstrip(',')}."
    said = [f"adds {_and(own).rstrip(',')}"] if own else []
    said += [f"has {_and([f'no {bare(each)}' for each in other]).rstrip(',')}"] if other else []
    return f"{name} {' and '.join(said)}."


_SHORT = {
    "a norm before each sublayer (pre-norm)": "pre-norm",
    "a norm after each residual sum (post-norm)": "post-norm",
    "a norm before and a norm after each sublayer": "norms before and after each sublayer",
    "a norm after each sublayer, before the residual sum": "norms after each sublayer",
    "attention and the MLP in parallel, after one norm,": "attention and MLP in parallel after one norm",
    "attention and the MLP in parallel, after a norm each,": "attention and MLP in parallel after a norm each",
    "an LM head tied to the token embedding": "tied LM head",
    "an LM head of its own": "untied LM head",
}


def short(aspect: str, own: Sequence[str], other: Sequence[str]) -> str:
    """Return one aspect in a few words: a phrase, "no …", or "… instead of …". Details after a comma are left out."""
    bases = [{_base(each) for each in phrases} for phrases in (own, other)]
    new = [each for each in own if _base(each) not in bases[1]]
    old = [each for each in other if _base(each) not in bases[0]]
    if not new and not old:  # the same in other layers
        new = list(own)
    gained, lost = (_shortened(aspect, each) for each in (new, old))
    if {*gained} & {*lost}:  # they differ in a detail
        gained, lost = ([bare(each).rstrip(",") for each in phrases] for phrases in (new, old))
    if gained and lost and aspect in CHOICES:
        return f"{_and(gained)} instead of {_and(lost)}"
    return "; ".join([*gained, *(f"no {each}" for each in lost)])


def _base(phrase: str) -> str:
    """Return a phrase without the layers that it holds for."""
    return _SOME.sub("", phrase).removesuffix(_ALL)


def _shortened(aspect: str, phrases: Sequence[str]) -> list[str]:
    if aspect == _LISTED:
        return list(_with_projections(aspect, phrases))
    where = [(match[0].lstrip(",") if (match := _SOME.search(each)) else "") for each in phrases]
    cut = [_SHORT.get(each, bare(_SOME.sub("", each)).partition(",")[0]) for each in phrases]
    return [f"{each}{layers}" for each, layers in zip(cut, where, strict=True)]


def _with_projections(aspect: str, phrases: Sequence[str]) -> Sequence[str]:
    """Return the biases of attention as one phrase, and the phrases of any other aspect unchanged."""
    if aspect != _LISTED or not phrases:
        return phrases
    return [f"biases in the {_and(phrases)} projection{'s' * (len(phrases) > 1)}"]


def bare(phrase: str) -> str:
    """Return a phrase without its article.

    >>> bare("an RMS norm of queries and keys")
    'RMS norm of queries and keys'
    """
    return re.sub(r"^(a|an) ", "", phrase)


def _and(phrases: Sequence[str]) -> str:
    if len(phrases) < 3:
        return " and ".join(phrases)
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def amount_sentence(amount: Expr) -> Line:
    """Return a sentence about a difference in parameters."""
    terms = Add.make_args(amount)
    signs = {term.as_coeff_Mul()[0] > 0 for term in terms}
    if signs == {True}:
        return ["This adds ", Math.of(amount), " parameters."]
    if signs == {False}:
        return ["This saves ", Math.of(-amount), " parameters."]
    return ["The difference is ", Math.of(amount), " parameters."]


def differing_parts(one: Mapping[str, StackProfile], two: Mapping[str, StackProfile]) -> tuple[int, int]:
    """Return the number of parts in which two descriptions differ, and the number of phrases that only one has.

    Raises OptionError if their stacks do not correspond.
    """
    found: set[object] = set()
    for left, right in _pairs("the first", "the second", one, two):
        for part in dict.fromkeys(PARTS.values()):
            if changes := _changes(part, one.get(left), two.get(right)):
                found.add((part, changes) if "-" not in (left, right) else (left, right))
    parts = [each for each in found if isinstance(each, tuple)]
    changed = [change for _, changes in parts if isinstance(changes, tuple) for change in changes]
    phrases = sum(len(short(*change).split("; ")) for change in changed)
    return len(parts), phrases


def _compared(first: Model, second: Model) -> StructureComparison:
    for model in (first, second):
        if not isinstance(model.component, Architecture) and not model.provenance.reading:
            raise OptionError(f"{model.target} is a component; --structure compares whole models")
        if model.provenance.reading:
            raise OptionError(
                f"{model.target} is known from a trace of its code, which does not name its parts; compare the totals "
                "of a quantity instead, without --structure"
            )
    one, two = profiles(first.component), profiles(second.component)
    pairs = _pairs(first.title, second.title, one, two)
    notes: list[str] = []
    swaps = ({}, {})  # type: tuple[dict[Symbol, Expr], dict[Symbol, Expr]]
    for left, right in pairs:
        _align(one.get(left), two.get(right), swaps, notes, (first, second))
    amounts: dict[str, dict[Place, Expr]] = {}
    totals: dict[str, Expr] = {}
    refused: dict[str, str] = {}
    for name in QUANTITIES:
        try:
            both = []
            for model in (first, second):
                with naming(model.title):
                    both.append(_formula(model, name))
        except RuleError as error:
            refused[name] = str(error)  # which names the operation
            continue
        places, total = _difference(both, (tuple(one), tuple(two)), pairs, swaps)
        amounts[name], totals[name] = places, total
    silent = [silent_operations(model.component, tuple(each)) for model, each in ((first, one), (second, two))]
    found: list[PartDifference] = []
    for pair in pairs:
        stack = called(pair)
        if "-" in pair:
            found.append(_whole_stack(stack, one.get(pair[0]), two.get(pair[1]), amounts))
            continue
        for part in (*dict.fromkeys(PARTS.values()), OTHER):
            changes = _changes(part, one[pair[0]], two[pair[1]])
            own = {name: each.get((stack, part), NOTHING) for name, each in amounts.items()}
            hidden = silent[0].get((pair[0], part)) != silent[1].get((pair[1], part))
            if changes or hidden or any(amount != 0 for amount in own.values()):
                name = "mixer" if part == "attention" and _is_mixer(changes) else part
                found.append(PartDifference(f"{name} of the {stack}" if stack else name, changes, FrozenDict(own)))
    return StructureComparison(
        (first, second), tuple(_joined(found)), FrozenDict(totals), FrozenDict(refused), tuple(dict.fromkeys(notes))
    )


def _whole_stack(
    name: str, one: StackProfile | None, two: StackProfile | None, amounts: Mapping[str, Mapping[Place, Expr]]
) -> PartDifference:
    """Return the difference of a stack that only one of the models has."""
    depth = next(each.depth for each in (one, two) if each)
    phrase = (f"{'an' if name == ENCODER else 'a'} {name} of {{{code(depth)}}} layers",)
    own = {
        quantity: Add(*(amount for place, amount in each.items() if place[0] == name))
        for quantity, each in amounts.items()
    }
    return PartDifference(name, (("stack", phrase if one else (), () if one else phrase),), FrozenDict(own))


def _is_mixer(changes: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> bool:
    """Return whether one of the models has something else than attention in its place."""
    return any(word in phrase for _, own, other in changes for phrase in (*own, *other) for word in _OTHER_MIXERS)


def _joined(found: Sequence[PartDifference]) -> Iterator[PartDifference]:
    """Yield the differences, with those that are the same in an encoder and a decoder as one."""
    encoder, decoder = f" of the {ENCODER}", f" of the {DECODER}"
    others = {each.part.removesuffix(decoder): each for each in found if each.part.endswith(decoder)}
    joined = set()
    for each in found:
        part = each.part.removesuffix(encoder)
        other = others.get(part) if part != each.part else None
        if other is not None and other.changes == each.changes:
            joined.add(other.part)
            both = {name: expand(amount + other.amounts[name]) for name, amount in each.amounts.items()}
            yield PartDifference(f"{part} of the {ENCODER} and the {DECODER}", each.changes, FrozenDict(both))
        elif each.part not in joined:
            yield each


def _formula(model: Model, name: str) -> Formula:
    """Return a formula in all sizes of a model, without relations between them except totals of layers."""
    return find_quantity(name).formula(model.component, model.id, {}, {})


Pairs = Sequence[tuple[str, str]]  # the stacks of the first and the second model that correspond; "-" for none


def _pairs(
    first: str, second: str, one: Mapping[str, StackProfile], two: Mapping[str, StackProfile]
) -> list[tuple[str, str]]:
    """Return the stacks that correspond. Raises OptionError if they cannot be matched."""
    if set(one) == set(two):
        return [(name, name) for name in one]
    if in_towers(tuple(one)) or in_towers(tuple(two)):
        both, other = (first, second) if in_towers(tuple(one)) else (second, first)
        raise OptionError(
            f"{both} has an image encoder and a text encoder, and {other} does not; --structure compares "
            "only models with the same towers"
        )
    single = one if ONLY in one else two
    causal = "causal attention" in single[ONLY].aspects.get("mask", ("causal attention",))
    match, rest = (DECODER, ENCODER) if causal else (ENCODER, DECODER)
    found = [(ONLY, match), ("-", rest)]
    return found if single is one else [(right, left) for left, right in found]


def _align(
    one: StackProfile | None,
    two: StackProfile | None,
    swaps: tuple[dict[Symbol, Expr], dict[Symbol, Expr]],
    notes: list[str],
    models: tuple[Model, Model],
) -> None:
    """Express sizes that only one of two stacks has in those of the other, and note it.

    A model with G key/value heads includes the one with G = A: this is a difference of sizes. The same holds for a
    head dimension D and E/A, for the number of positions, and for the letters of depths.
    """
    if one is None or two is None:
        return
    sides = ((one, two, swaps[0], models[0], models[1]), (two, one, swaps[1], models[1], models[0]))
    for name, letters, words in _ALIGNED:
        for mine, theirs, swap, model, other in sides:
            size, value = getattr(mine, name), getattr(theirs, name)
            if size in letters and value is not None and size != value and (value not in letters or size == S) and size not in value.free_symbols:
                swap[size] = value
                equal = f"{{{code(size)}}} = {{{code(value)}}}"
                notes.append(
                    f"{model.title} has {words.format(f'{{{code(size)}}}')}; in {other.title}, {equal}. This is a "
                    f"difference of sizes, and the formulas use {equal}."
                )
    if one.kv_heads is not None and two.kv_heads is not None:
        left, right = one.kv_heads.xreplace(swaps[0]), two.kv_heads.xreplace(swaps[1])
        for each, heads in ((one, left), (two, right)) if left != right else ():
            each.add("mixer", _MULTI_QUERY if heads == 1 else _MULTI_HEAD)
    for mine, theirs, _, model, _ in sides:
        own = [each for each in mine.aspects.get("positions", ()) if each.startswith(f"{_ROTARY} on {{")]
        if own and _ROTARY in theirs.aspects.get("positions", ()):
            notes.append(f"In {model.title}, {{D_rope}} may equal the head dimension; then whole heads rotate.")
    for mine, theirs, swap, _, _ in sides if one.depth != two.depth else ():
        size, value = mine.depth, theirs.depth
        alone = value == 1 or (isinstance(value, Add) and size != L) or (size == L and isinstance(value, Symbol))
        if isinstance(size, Symbol) and alone:
            swap[size] = value
            return
    if isinstance(one.depth, Symbol) and isinstance(two.depth, Symbol) and one.depth != two.depth:
        swaps[1][two.depth] = one.depth


# Sizes that a stack can share with another: the field of its profile, its letters, and words for it.
_ALIGNED = (
    ("width", (E_vis,), "an image encoder of width {}"),
    ("heads", (A, A_vis), "{} query heads"),
    ("kv_heads", (G,), "{} key/value heads"),
    ("head_width", (D,), "heads of dimension {}"),
    ("hidden", (H, H_vis), "an MLP of width {}"),
    ("length", (S, S_enc), "sequences of {} tokens"),
    ("rows", (P,), "{} learned positions"),
)


def _difference(
    both: Sequence[Formula],
    stacks: tuple[tuple[str, ...], tuple[str, ...]],
    pairs: Pairs,
    swaps: tuple[Mapping[Symbol, Expr], Mapping[Symbol, Expr]],
) -> tuple[dict[Place, Expr], Expr]:
    """Return the difference of each part of the first model's stacks, and of the totals."""
    sums = [{total: formula.relations[total] for total in formula.totals} for formula in both]
    collect = next((formula for formula in both if formula.totals), None)
    if sums[0] and sums[1] and sums[0] != sums[1]:  # two ways to divide all layers into kinds
        sums, collect = [{}, {}], None
    every = {**sums[0], **sums[1]}
    found: dict[Place, Expr] = {}
    for side, (formula, swap) in enumerate(zip(both, swaps, strict=True)):
        for (stack, part), amount in part_amounts(formula, stacks[side]).items():
            place = (next(called(pair) for pair in pairs if pair[side] == stack), part)
            own = expand(amount.xreplace(dict(swap)).xreplace(every))
            found[place] = found.get(place, NOTHING) + (own if side == 0 else -own)
    found = {place: expand(amount) for place, amount in found.items()}
    total = expand(Add(*found.values()))
    if collect is not None:
        found = {place: collect.collect_totals(amount) for place, amount in found.items()}
        total = collect.collect_totals(total)
    return found, total


def called(pair: tuple[str, str]) -> str:
    """Return the name of two corresponding stacks."""
    return next((name for name in pair if name not in (ONLY, "-")), ONLY) if "-" in pair or pair[0] == pair[1] else ONLY


def _changes(
    part: str, one: StackProfile | None, two: StackProfile | None
) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Return the phrases that differ for each aspect of a part."""
    found = []
    for aspect, its in PARTS.items():
        if its != part:
            continue
        own, other = (each.aspects.get(aspect, ()) if each else () for each in (one, two))
        if aspect in DETAILS and not (own and other):  # a detail of attention or experts, which one model lacks
            continue
        gained = tuple(_contrasted(each, other) for each in own if each not in other)
        lost = tuple(_contrasted(each, own) for each in other if each not in own)
        if gained or lost:
            found.append((aspect, gained, lost))
    return tuple(found)


def _contrasted(phrase: str, others: Sequence[str]) -> str:
    """Return a phrase that also states what it implies, if the other model has the same in a part of the layers."""
    if any(_SOME.sub("", each) == phrase for each in others):
        return phrase + _ALL
    if phrase == _ROTARY and any(each.startswith(f"{_ROTARY} on ") for each in others):
        return f"{phrase} on whole heads"
    return phrase
