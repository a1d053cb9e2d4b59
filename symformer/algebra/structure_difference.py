"""The comparison of two models by structure: their stacks are matched, and their parts compared one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, Integer, Symbol, expand

from ..architectures.base_architecture import Architecture
from ..components.base import Component
from ..formulas.formula import Formula
from ..language.errors import OptionError, RuleError, joined, naming
from ..language.frozen import FrozenDict
from ..language.notation.text import code
from ..language.sizes import close_relations
from ..language.symbols import A, A_enc, A_vis, D, D_enc, E_enc, E_vis, G, G_enc, H, H_enc, H_vis, L, P, S, S_enc
from ..models.model import Model
from ..output.blocks import Line
from ..quantities import quantity as find_quantity
from .structure import QUANTITIES, PartDifference, StructureComparison
from .structure_amounts import Place, part_amounts, silent_operations
from .structure_profile import (
    CAUSAL,
    DECODER,
    ENCODER,
    LANGUAGE,
    ONLY,
    OTHER,
    PARTS,
    TEXT,
    VISION,
    StackProfile,
    in_towers,
    profiles,
)
from .structure_words import ROTARY, StructureChange, changes_of, line, state_details

NOTHING = Integer(0)
NO_CONVENTIONS: Mapping[str, str] = FrozenDict({})
NONE = "-"  # in the place of a stack that only the other model has
Pairs = Sequence[tuple[str, str]]  # the stacks of the first and the second model that correspond
Sizes = dict[Symbol, Expr]
_OTHER_MIXERS = ("state-space mixer", "short convolution", "linear attention", "gated linear recurrence")
# Details of attention and of the MLP, with the aspect that describes the whole. In PARTS, they follow it.
_HOSTS = {
    "attention biases": "mixer",
    "query and key norms": "mixer",
    "attention sinks": "mixer",
    "MLP biases": "MLP",
}
# Phrases of a profile for tokens that join the patches, and the words for them in a sentence.
_ADDED_TOKENS = {
    "a class embedding": "the class token",
    "a class token": "the class token",
    "register tokens": "the register tokens",
}
_MULTI_QUERY = "one key/value head for all query heads"
_MULTI_HEAD = "a key/value head for each query head"


@dataclass(frozen=True)
class SizeNote:
    """A sentence about a size that the formulas of a comparison express in other sizes."""

    side: int  # the model that has the size: 0 or 1
    size: Symbol | None  # None for a sentence that no formula depends on
    text: str  # a sentence, or its start if an equation follows
    equation: str = ""

    @classmethod
    def equal(cls, side: int, size: Symbol, value: Expr, title: str) -> SizeNote:
        """Return the note that the formula of a model has a value of another model for one of its sizes."""
        said = f"To compare at equal sizes, the formula of {title} uses"
        return cls(side, size, said, f"{{{code(size)}}} = {{{code(value)}}}")


def differing_parts(one: Mapping[str, StackProfile], two: Mapping[str, StackProfile]) -> tuple[int, int]:
    """Return the number of parts in which two descriptions differ, and the number of phrases that only one has.

    A fixed number of key/value heads counts as a phrase: it is no part, but makes two architectures less alike.
    Raises OptionError if their stacks do not correspond.
    """
    sizes = 0
    found: dict[tuple[str, tuple[StructureChange, ...]], int] = {}
    for left, right in _pairs("the first", "the second", one, two):
        if NONE in (left, right):  # a whole stack
            found[NONE, ()] = 1
            continue
        for part in dict.fromkeys(PARTS.values()):
            if changes := changes_of(part, one[left], two[right]):  # once if they are the same in several stacks
                found[part, changes] = sum(len(each.short.split("; ")) for each in changes)
        multi_query = [each.kv_heads == 1 and each.heads != 1 for each in (one[left], two[right])]
        sizes += multi_query[0] != multi_query[1]
    return len(found), sum(found.values()) + sizes


def difference_in_words(one: Component, two: Component) -> Line:
    """Return in a few words how the structure of a component differs from that of another, or [] if it does not.

    Raises OptionError for components whose structures are not compared.
    """
    found = (profiles(one), profiles(two))
    said = [
        change.short
        for left, right in _pairs("the first", "the second", *found)
        if NONE not in (left, right)
        for part in dict.fromkeys(PARTS.values())
        for change in changes_of(part, found[0][left], found[1][right])
    ]
    said += [
        f"{words} {'counted' if getattr(one, name) else 'not counted'}"
        for name, words in (one.uncounted.items() if isinstance(one, Architecture) and type(one) is type(two) else ())
        if getattr(one, name) != getattr(two, name)
    ]
    return line("; ".join(dict.fromkeys(said)))


def compare_structures(
    first: Model,
    second: Model,
    quantities: Sequence[str] = QUANTITIES,
    conventions: Mapping[str, str] = NO_CONVENTIONS,
) -> StructureComparison:
    """Return how the structures of two models differ.

    Parameters
    ----------
    first, second
        The models.
    quantities
        The quantities whose amounts are compared, of QUANTITIES.
    conventions
        Their conventions; each quantity uses those it has.

    Raises
    ------
    OptionError
        For components and traced models, and if the stacks of the models do not correspond.

    """
    for model in (first, second):
        if not isinstance(model.component, Architecture) and not model.provenance.reading:
            raise OptionError(f"{model.target} is a component; --structure compares whole models")
        if model.provenance.reading:
            raise OptionError(
                f"{model.target} is traced, and a trace does not identify the components that --structure compares; "
                "remove --structure to compare totals"
            )
    one, two = profiles(first.component), profiles(second.component)
    pairs = _pairs(first.title, second.title, one, two)
    notes: list[SizeNote] = []
    swaps: tuple[Sizes, Sizes] = ({}, {})
    for left, right in pairs:
        _align(one.get(left), two.get(right), swaps, notes, (first, second))
    notes = [*_with_relations(notes, swaps, (first, second))]
    excluded = {(model.title, name): words for model in (first, second) for name, words in _excluded(model).items()}
    notes += [
        SizeNote(0, None, f"The formula of {title} excludes {words}; {name}=true includes them.")
        for (title, name), words in excluded.items()
    ]
    counted: dict[str, Mapping[Place, Expr]] = {}  # the differences if nothing is excluded
    amounts: dict[str, dict[Place, Expr]] = {}
    sides: dict[str, Mapping[Place, tuple[Expr, Expr]]] = {}
    totals: dict[str, Expr] = {}
    refused: dict[str, str] = {}
    used: tuple[set[Symbol], set[Symbol]] = (set(), set())
    for name in quantities:
        try:
            both = []
            for model in (first, second):
                with naming(model.title):
                    both.append(_formula(model, name, conventions))
        except RuleError as error:
            refused[name] = str(error)  # which names the operation
            continue
        stacks = (tuple(one), tuple(two))
        amounts[name], totals[name], sides[name] = _difference(both, stacks, pairs, swaps)
        if excluded:
            whole = [_formula(model, name, conventions, _excluded(model)) for model in (first, second)]
            counted[name], *_ = _difference(whole, stacks, pairs, swaps)
        for sizes, formula in zip(used, both, strict=True):
            sizes.update(formula.expanded.free_symbols)
    silent = [silent_operations(model.component, tuple(each)) for model, each in ((first, one), (second, two))]
    found: list[PartDifference] = []
    for pair in pairs:
        stack = called(pair)
        if NONE in pair:
            found.append(_whole_stack(stack, one.get(pair[0]), two.get(pair[1]), amounts))
            continue
        longer = _longer_sequence((first, second), (one[pair[0]], two[pair[1]]))
        for part in (*dict.fromkeys(PARTS.values()), OTHER):
            changes = changes_of(part, one[pair[0]], two[pair[1]])
            changes += state_details(part, one[pair[0]], two[pair[1]]) if changes else ()
            own = {name: each.get((stack, part), NOTHING) for name, each in amounts.items()}
            hidden = silent[0].get((pair[0], part)) != silent[1].get((pair[1], part))
            differs = changes or hidden or any(amount != 0 for amount in own.values())
            if differs and found and _without_host(part, one[pair[0]], changes):
                found[-1] = _with_detail(found[-1], changes, own)
            elif differs:
                name = "mixer" if part == "attention" and _is_mixer(changes) else part
                name = f"{name} of the {stack}" if stack else name
                # the factor and the bias of the similarities belong to neither tower
                name = f"{name}, with the similarities" if stack == TEXT and part == "head" else name
                each_side = {name: each.get((stack, part), (NOTHING, NOTHING)) for name, each in sides.items()}
                alike = excluded and not any(each.get((stack, part), NOTHING) for each in counted.values())
                cause = ""
                if changes and own.get("params") == 0 and any(own.values()):
                    cause = longer
                elif not changes and any(own.values()):
                    cause = _counted_by_one((first, second), excluded) if alike else longer
                values = FrozenDict({} if changes else each_side)
                found.append(PartDifference(name, changes, FrozenDict(own), values, cause))
    return StructureComparison(
        (first, second),
        tuple(_with_inputs([*_joined(found)])),
        FrozenDict(totals),
        FrozenDict(refused),
        (FrozenDict(swaps[0]), FrozenDict(swaps[1])),
        _sentences([note for note in notes if note.size is None or note.size in used[note.side]]),
    )


def _counted_by_one(models: tuple[Model, Model], excluded: Mapping[tuple[str, str], str]) -> str:
    """Return a clause on weights that only one of two formulas counts; "" if there are none."""
    clauses = []
    for model, other in (models, models[::-1]):
        words = [words for (title, _), words in excluded.items() if title == other.title]
        if words:
            clauses.append(f"the formula of {model.title} counts {joined(words)}, which that of {other.title} excludes")
    return joined(clauses)


def _longer_sequence(models: tuple[Model, Model], stacks: tuple[StackProfile, StackProfile]) -> str:
    """Return a clause on the tokens that only one of two stacks adds to its patches; "" if neither or both do."""
    own, others = ([*filter(_ADDED_TOKENS.get, each.aspects.get("image", ()))] for each in stacks)
    added = [_ADDED_TOKENS[each] for each in own if each not in others]
    missing = [_ADDED_TOKENS[each] for each in others if each not in own]
    if bool(added) == bool(missing):
        return ""
    if missing:
        return f"without {joined(missing)} of {models[1].title}, the sequence is shorter"
    verb = "lengthen" if len(added) > 1 or added[0].endswith("s") else "lengthens"
    return f"{joined(added)} of {models[0].title} {verb} the sequence"


def _without_host(part: str, first: StackProfile, changes: Sequence[StructureChange]) -> bool:
    """Return whether the first model lacks a detail only because it lacks the whole part, such as the MLP."""
    aspect = _HOSTS.get(part)
    if aspect is None or not changes or any(each.own for each in changes):
        return False
    phrases = first.aspects.get(aspect, ())
    return all(any(word in phrase for word in _OTHER_MIXERS) for phrase in phrases)


def _with_detail(
    host: PartDifference, changes: Sequence[StructureChange], amounts: Mapping[str, Expr]
) -> PartDifference:
    """Return the difference of a part that the first model lacks, with a detail of it added to the amounts."""
    implied = tuple(replace(each, implied=True) for each in changes)
    both = {name: expand(amount + amounts[name]) for name, amount in host.amounts.items()}
    return PartDifference(host.part, (*host.changes, *implied), FrozenDict(both))


def _sentences(notes: Sequence[SizeNote]) -> tuple[str, ...]:
    """Return each note once, with the equations of the same model in one sentence."""
    found: dict[str, dict[str, None]] = {}
    for note in notes:
        found.setdefault(note.text, {}).update({note.equation: None} if note.equation else {})
    return tuple(f"{text} {joined([*equations])}." if equations else text for text, equations in found.items())


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
    return PartDifference(
        name, (StructureChange("stack", phrase if one else (), () if one else phrase),), FrozenDict(own)
    )


def _is_mixer(changes: Sequence[StructureChange]) -> bool:
    """Return whether one of the models has something else than attention in its place."""
    return any(word in phrase for each in changes for phrase in (*each.own, *each.other) for word in _OTHER_MIXERS)


def _joined(found: Sequence[PartDifference]) -> Iterator[PartDifference]:
    """Yield the differences, with those that are the same in an encoder and a decoder as one."""
    encoder, decoder = f" of the {ENCODER}", f" of the {DECODER}"
    others = {each.part.removesuffix(decoder): each for each in found if each.part.endswith(decoder)}
    joined = set()
    for each in found:
        part = each.part.removesuffix(encoder)
        other = others.get(part) if part != each.part else None
        if other is not None and (other.changes, other.cause) == (each.changes, each.cause):
            joined.add(other.part)
            both = {name: expand(amount + other.amounts[name]) for name, amount in each.amounts.items()}
            sides = {
                name: (expand(own + other.sides[name][0]), expand(theirs + other.sides[name][1]))
                for name, (own, theirs) in each.sides.items()
            }
            name = f"{part} of the {ENCODER} and the {DECODER}"
            yield PartDifference(name, each.changes, FrozenDict(both), FrozenDict(sides), each.cause)
        elif each.part not in joined:
            yield each


def _with_inputs(found: Sequence[PartDifference]) -> Iterator[PartDifference]:
    """Yield the differences, with an audio embedding instead of a token embedding as one input of the stack."""
    audio, tokens = PARTS["audio"], PARTS["tokens"]
    kinds = {each.part: each.kind for each in found}
    replaced = {each.part.removeprefix(audio) for each in found if each.part.startswith(audio)}
    replaced = {
        stack for stack in replaced if {kinds[f"{audio}{stack}"], kinds.get(f"{tokens}{stack}")} == {"added", "removed"}
    }
    parts = {each.part: each for each in found}
    for each in found:
        if each.part.removeprefix(audio) in replaced:
            stack = each.part.removeprefix(audio)
            other = parts[f"{tokens}{stack}"]
            every = [change for part in (each, other) for change in part.changes]
            own = tuple(phrase for change in every for phrase in change.own)
            others = tuple(phrase for change in every for phrase in change.other)
            both = {name: expand(amount + other.amounts[name]) for name, amount in each.amounts.items()}
            yield PartDifference(f"input{stack}", (StructureChange("input", own, others),), FrozenDict(both))
        elif each.part.removeprefix(tokens) not in replaced:
            yield each


def _excluded(model: Model) -> Mapping[str, str]:
    """Return the options of a model that count what its formula excludes, with words for it."""
    options = model.component.uncounted if isinstance(model.component, Architecture) else {}
    return {name: words for name, words in options.items() if not getattr(model.component, name)}


def _formula(model: Model, name: str, conventions: Mapping[str, str], counted: Iterable[str] = ()) -> Formula:
    """Return a formula in all sizes of a model, without relations between them except totals of layers.

    The options ``counted`` of the model are set to true.
    """
    question = find_quantity(name)
    own = {key: value for key, value in conventions.items() if key in question.choices}
    options: dict[str, Any] = dict.fromkeys(counted, True)
    return question.formula(replace(model.component, **options), model.id, own, {})


def _pairs(
    first: str, second: str, one: Mapping[str, StackProfile], two: Mapping[str, StackProfile]
) -> list[tuple[str, str]]:
    """Return the stacks that correspond. Raises OptionError if they cannot be matched."""
    if set(one) == set(two):
        return [(name, name) for name in one]
    if {frozenset(one), frozenset(two)} == {frozenset((ONLY,)), frozenset((VISION, LANGUAGE))}:
        found = [(NONE, VISION), (ONLY, LANGUAGE)]
        return found if ONLY in one else [(right, left) for left, right in found]
    if VISION in one or VISION in two:
        both, other = (first, second) if VISION in one else (second, first)
        raise OptionError(
            f"{both} has a vision tower and a language model; --structure compares it with other such models and with "
            f"language models, but not with {other}"
        )
    if in_towers(tuple(one)) or in_towers(tuple(two)):
        both, other = (first, second) if in_towers(tuple(one)) else (second, first)
        raise OptionError(
            f"{both} has an image encoder and a text encoder, and {other} does not; --structure compares "
            "only models with the same towers"
        )
    single = one if ONLY in one else two
    causal = CAUSAL in single[ONLY].aspects.get("mask", (CAUSAL,))
    match, rest = (DECODER, ENCODER) if causal else (ENCODER, DECODER)
    found = [(ONLY, match), (NONE, rest)]
    return found if single is one else [(right, left) for left, right in found]


def _align(
    one: StackProfile | None,
    two: StackProfile | None,
    swaps: tuple[Sizes, Sizes],
    notes: list[SizeNote],
    models: tuple[Model, Model],
) -> None:
    """Express sizes that only one of two stacks has in sizes of the other stack, and note it.

    A model with G key/value heads includes the one with G = A: this is a difference of sizes. The same holds for a
    head dimension D and E/A, for the number of positions, and for the letters of depths. A size that the model itself
    expresses in this way, such as H = 4*E, is no difference, and has no note.
    """
    if one is None or two is None:
        return
    sides = ((one, two, swaps[0], models[0], models[1]), (two, one, swaps[1], models[1], models[0]))
    for name, letters in _ALIGNED:
        for side, (mine, theirs, swap, model, other) in enumerate(sides):
            size, value = getattr(mine, name), getattr(theirs, name)
            if size not in letters or value is None or size in value.free_symbols:
                continue
            if value in _APART and size not in _APART:  # the other side has its own size
                continue
            if value not in letters or size == S or size in _APART:
                swap[size] = value
                if model.relations.get(size) != value:
                    notes.append(SizeNote.equal(side, size, value, model.title))
                    if name == "kv_heads" and mine.heads != mine.kv_heads:
                        said = _MULTI_QUERY if value == 1 else _MULTI_HEAD
                        notes.append(SizeNote(side, size, f"{other.title} has {said}."))
    if one.kv_heads is not None and two.kv_heads is not None:
        left, right = one.kv_heads.xreplace(swaps[0]), two.kv_heads.xreplace(swaps[1])
        for each, heads in ((one, left), (two, right)) if left != right else ():
            each.add("mixer", _MULTI_QUERY if heads == 1 else _MULTI_HEAD)
    for mine, theirs, _, model, _ in sides:
        own = [each for each in mine.aspects.get("positions", ()) if each.startswith(f"{ROTARY} on {{")]
        if own and ROTARY in theirs.aspects.get("positions", ()):
            said = f"In {model.title}, {{D_rope}} may equal the head dimension; then whole heads rotate."
            notes.append(SizeNote(0, None, said))
    _align_depths(sides, notes)


def _with_relations(
    notes: Sequence[SizeNote], swaps: tuple[Sizes, Sizes], models: tuple[Model, Model]
) -> Iterator[SizeNote]:
    """Yield the notes, with the relations that only one of the models has, such as H = 4*E.

    The other model has the size of the relation as a free size, or expresses one of its own sizes in it.
    """
    for note in notes:
        if not note.equation or swaps[note.side].get(note.size) not in models[1 - note.side].relations:
            yield note
    for side, (model, other) in enumerate(zip(models, reversed(models), strict=True)):
        own = {size: value for size, value in other.relations.items() if size not in swaps[side]}
        own |= {size: other.relations[value] for size, value in swaps[side].items() if value in other.relations}
        for size, value in own.items():
            if model.relations.get(size) != value:
                yield SizeNote.equal(side, size, value, model.title)


def _align_depths(
    sides: Sequence[tuple[StackProfile, StackProfile, Sizes, Model, Model]], notes: list[SizeNote]
) -> None:
    """Express the number of layers of one of two stacks as the number of the other, and note it."""
    one, two, *_ = sides[0]
    if one.depth == two.depth:
        return
    for side, (mine, theirs, swap, model, _) in enumerate(sides):
        size, value = mine.depth, theirs.depth
        alone = value == 1 or (isinstance(value, Add) and size != L) or (size == L and isinstance(value, Symbol))
        both = isinstance(value, Symbol) and L not in (size, value) and mine is two
        if isinstance(size, Symbol) and (alone or both):
            swap[size] = value
            notes.append(SizeNote.equal(side, size, value, model.title))
            return


# The sizes of an encoder that differ from those of its decoder. In other models both have the same sizes.
_APART = (E_enc, A_enc, G_enc, D_enc, H_enc)
# Sizes that a stack can share with another: the field of its profile, and its letters.
_ALIGNED = (
    ("width", (E_vis,)),
    ("width", (E_enc,)),
    ("heads", (A, A_vis, A_enc)),
    ("kv_heads", (G, G_enc)),
    ("head_width", (D, D_enc)),
    ("hidden", (H, H_vis, H_enc)),
    ("length", (S, S_enc)),
    ("rows", (P,)),
)


def _difference(
    both: Sequence[Formula],
    stacks: tuple[tuple[str, ...], tuple[str, ...]],
    pairs: Pairs,
    swaps: tuple[Sizes, Sizes],
) -> tuple[dict[Place, Expr], Expr, dict[Place, tuple[Expr, Expr]]]:
    """Return the difference of each part of the first model's stacks and of the totals, and the amounts of both."""
    sums = [{total: formula.relations[total] for total in formula.totals} for formula in both]
    every = close_relations({**sums[0], **sums[1]})
    collect = max(both, key=lambda formula: len(formula.totals)) if every else None
    if any(
        expand(sums[0][total].xreplace(every)) != expand(sums[1][total].xreplace(every))
        for total in sums[0].keys() & sums[1].keys()
    ):  # two ways to divide all layers into kinds
        every, collect = {}, None
    each_side: tuple[dict[Place, Expr], dict[Place, Expr]] = ({}, {})
    for side, (formula, swap) in enumerate(zip(both, swaps, strict=True)):
        for (stack, part), amount in part_amounts(formula, stacks[side]).items():
            place = (next(called(pair) for pair in pairs if pair[side] == stack), part)
            own = expand(amount.xreplace(dict(swap)).xreplace(every))
            each_side[side][place] = each_side[side].get(place, NOTHING) + own
    amounts = {
        place: (each_side[0].get(place, NOTHING), each_side[1].get(place, NOTHING))
        for place in (*each_side[0], *each_side[1])
    }
    found = {place: expand(own - other) for place, (own, other) in amounts.items()}
    total = expand(Add(*found.values()))
    if collect is not None:
        found = {place: collect.collect_totals(amount) for place, amount in found.items()}
        total = collect.collect_totals(total)
        amounts = {
            place: (collect.collect_totals(own), collect.collect_totals(other))
            for place, (own, other) in amounts.items()
        }
    return found, total, amounts


def called(pair: tuple[str, str]) -> str:
    """Return the name of two corresponding stacks: "" if one of the models has only one stack."""
    names = {name for name in pair if name not in (ONLY, NONE)}
    return names.pop() if names and ONLY not in pair else ONLY
