"""Words for a difference of structure: sentences, short phrases, and phrases as lines with mathematics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Add, Expr

from ..formulas.factorization import factored
from ..language.arithmetic import parse
from ..language.notation.display_tree import Minus, Root, Sum, tree
from ..output.blocks import Line, Math, Piece, plain
from .structure_profile import CHOICES, DETAILS, PARTS, StackProfile

_MATH = re.compile(r"(√?)\{([^}]*)\}")
_PROJECTIONS = "attention biases"  # the aspect whose phrases are the projections that have a bias
_SOME = re.compile(r",? in \{[^}]*\} of the \{[^}]*\} layers$")
_ALL = " in all layers"
_WITHOUT = re.compile(r" without a (scale or a bias|scale|bias|gate)\b")
ROTARY = "rotary positions"
EXPERTS = " gated experts of width "

_SHORT = {
    "a norm before each sublayer (pre-norm)": "pre-norm",
    "a norm after each residual sum (post-norm)": "post-norm",
    "a norm before and a norm after each sublayer": "norms before and after each sublayer",
    "a norm after each sublayer, before the residual sum": "norms after each sublayer",
    "attention and the MLP in parallel, after one norm,": "attention and MLP in parallel after one norm",
    "attention and the MLP in parallel, after a norm each,": "attention and MLP in parallel after a norm each",
    "an LM head tied to the token embedding": "tied LM head",
    "an untied LM head": "untied LM head",
}
# A phrase, the words that the phrase of the other model has in addition, and the phrase that states their opposite.
_CONTRASTS = (
    ("GELU", " (", "exact GELU"),
    ("a token embedding", ", shared with the decoder", "a token embedding of its own"),
    ("a token embedding", " of width", "a token embedding of width {E}"),
    ("learned position embeddings", " with {", "learned position embeddings without unused rows"),
    ("learned position embeddings", ", interpolated", "learned position embeddings without interpolation"),
    (
        "learned biases of the scores for each distance",
        ", with a table in each layer",
        "learned biases of the scores for each distance, with one table for all layers,",
    ),
    (
        "an RMS norm of queries and keys, over each head",
        ", after the rotation",
        "an RMS norm of queries and keys, over each head, before any rotation",
    ),
    ("biases in the cross-attention", " except for the keys", "biases in all projections of the cross-attention"),
    ("layer norms", " without a", "layer norms with a scale and a bias"),
    (
        "expert weights from a softmax over the chosen experts",
        " (with",
        "expert weights from a softmax over the chosen experts (which also determine the choice)",
    ),
    *(
        (f"expert weights from {scores}", ", divided", f"expert weights from {scores}, not divided by their sum,")
        for scores in ("a softmax over all experts", "sigmoids")
    ),
)
# Without a head, whether it would be tied is of no interest.
_HEADS = {"tied LM head": "LM head", "untied LM head": "LM head"}


SHORT = 4  # terms of a difference that a sentence states as they are
IT = "It"  # the model in a sentence after the first
_WHERE = re.compile(r" (after the last layer|per layer)$")  # stated once for both models


@dataclass(frozen=True)
class StructureChange:
    """One aspect in which two models differ: the phrases that only one of them has, and those that both have."""

    aspect: str
    own: tuple[str, ...]  # of the first model
    other: tuple[str, ...]
    both: tuple[str, ...] = ()
    implied: bool = False  # a model without an MLP has no biases in it, which no sentence states
    detail: bool = False  # only sentences and tables state it, not the differences in a few words

    def sentence(self, name: str) -> Line:
        """Return a sentence on the parts that the first model has in addition, and on those that it lacks."""
        own, other = (_with_projections(self.aspect, each) for each in (self.own, self.other))
        if own and other and self.aspect in CHOICES:
            used, instead = _and(own).rstrip(","), _and(other).rstrip(",")
            if "," in used:
                return line(f"Instead of {instead}, {name[0].lower() + name[1:] if name == IT else name} uses {used}.")
            where = match[0] if (match := _WHERE.search(instead)) and len(own) == len(other) == 1 else ""
            return line(f"{name} uses {used.removesuffix(where)} instead of {instead}.")
        said = [f"adds {_and(own).rstrip(',')}"] if own else []
        said += [f"has {_and([f'no {self._lacking(each)}' for each in other]).rstrip(',')}"] if other else []
        return line(f"{name} {' and '.join(said)}.")

    @property
    def cells(self) -> tuple[list[str], list[str]]:
        """The phrases of each model as in a table; "no ..." for a model that has only other phrases of the aspect."""
        own, other = (
            [bare(each).rstrip(",") for each in _with_projections(self.aspect, phrases)]
            for phrases in (self.own, self.other)
        )
        lacking = [[f"no {self._lacking(each)}" for each in phrases] if self.both else [] for phrases in (other, own)]
        return own or lacking[0], other or lacking[1]

    def _lacking(self, phrase: str) -> str:
        """Return a phrase of the other model after "no". A model without a norm has none with or without a bias."""
        shown = _SHORT.get(phrase, phrase)
        return _HEADS.get(shown, bare(phrase if self.both else _WITHOUT.sub("", phrase)))

    @property
    def short(self) -> str:
        """The change in a few words: a phrase, "no …", or "… instead of …". Details after a comma are left out."""
        bases = [{_base(each) for each in phrases} for phrases in (self.own, self.other)]
        new = [each for each in self.own if _base(each) not in bases[1]]
        old = [each for each in self.other if _base(each) not in bases[0]]
        if not new and not old:  # the same in other layers
            new = list(self.own)
        gained, lost = (_shortened(self.aspect, each) for each in (new, old))
        if {*gained} & {*lost}:  # they differ in a detail
            gained, lost = ([bare(each).rstrip(",") for each in phrases] for phrases in (new, old))
        if gained and lost and self.aspect in CHOICES:
            return f"{_and(gained)} instead of {_and(lost)}"
        return "; ".join([*gained, *(f"no {self._lacking(each)}" for each in lost)])


def changes_of(part: str, one: StackProfile | None, two: StackProfile | None) -> tuple[StructureChange, ...]:
    """Return the phrases that differ for each aspect of a part."""
    found = []
    for aspect, its in PARTS.items():
        if its != part:
            continue
        own, other = (each.aspects.get(aspect, ()) if each else () for each in (one, two))
        if aspect in DETAILS and not (own and other):  # a detail of attention or experts, which one model lacks
            continue
        if aspect == "details" and not (_has_state(one) and _has_state(two)):  # they come with the mixer
            own, other = (tuple(each for each in phrases if "mixer" not in each) for phrases in (own, other))
        gained = tuple(_contrasted(each, other) for each in own if each not in other)
        lost = tuple(_contrasted(each, own) for each in other if each not in own)
        if gained or lost:
            found.append(StructureChange(aspect, gained, lost, tuple(each for each in own if each in other)))
    return tuple(found)


def state_details(part: str, one: StackProfile, two: StackProfile) -> tuple[StructureChange, ...]:
    """Return the details of a state-space mixer that only the first model has.

    If only the second model has a mixer, the details of this mixer are absent too.
    """
    if PARTS["details"] != part or not _has_state(one) or _has_state(two):
        return ()
    own = tuple(each for each in one.aspects.get("details", ()) if "mixer" in each)
    return (StructureChange("details", own, (), detail=True),) if own else ()


def _has_state(stack: StackProfile | None) -> bool:
    """Return whether a stack has a state-space mixer."""
    return stack is not None and any("state-space mixer" in each for each in stack.aspects.get("mixer", ()))


def _contrasted(phrase: str, others: Sequence[str]) -> str:
    """Return a phrase with the layers that it implies, if the other model has the same in a part of its layers."""
    if any(_SOME.sub("", each) == phrase for each in others):
        return phrase + _ALL
    if phrase == ROTARY and any(each.startswith(f"{ROTARY} on ") for each in others):
        return f"{phrase} on whole heads"
    if phrase == "a gated MLP" and any(EXPERTS in each for each in others):
        return "one gated MLP"
    layers = match[0] if (match := _SOME.search(phrase)) else ""
    plain_phrase = phrase.removesuffix(layers)
    for words, more, opposite in _CONTRASTS:
        if plain_phrase == words and any(each.startswith(words + more) for each in others):
            return opposite + layers
    return phrase


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


def _base(phrase: str) -> str:
    """Return a phrase without the layers that it holds for."""
    return _SOME.sub("", phrase).removesuffix(_ALL)


def _shortened(aspect: str, phrases: Sequence[str]) -> list[str]:
    if aspect == _PROJECTIONS:
        return list(_with_projections(aspect, phrases))
    where = [(match[0].lstrip(",") if (match := _SOME.search(each)) else "") for each in phrases]
    cut = [_SHORT.get(each, bare(_SOME.sub("", each)).partition(",")[0]) for each in phrases]
    return [f"{each}{layers}" for each, layers in zip(cut, where, strict=True)]


def _with_projections(aspect: str, phrases: Sequence[str]) -> Sequence[str]:
    """Return the biases of attention as one phrase for the same layers, and the phrases of other aspects unchanged."""
    if aspect != _PROJECTIONS:
        return phrases
    named: dict[str, list[str]] = {}
    for phrase in phrases:
        named.setdefault(phrase.removeprefix(_base(phrase)), []).append(_base(phrase))
    return [f"biases in the {_and(names)} projection{'s' * (len(names) > 1)}{where}" for where, names in named.items()]


def bare(phrase: str) -> str:
    """Return a phrase without its article.

    >>> bare("an RMS norm of queries and keys")
    'RMS norm of queries and keys'
    """
    return re.sub(r"^(a|an) ", "", phrase)


def _and(phrases: Sequence[str]) -> str:
    if len(phrases) < 3:
        return " and ".join(phrases)
    if any("," in each.rstrip(",") for each in phrases):
        return f"{'; '.join(each.rstrip(',') for each in phrases[:-1])}; and {phrases[-1]}"
    return f"{', '.join(each.rstrip(',') for each in phrases[:-1])} and {phrases[-1]}"


def amount_sentence(amount: Expr, several: bool = False) -> Line:
    """Return a sentence about the parameters that one or several changes of a part add or save."""
    terms = Add.make_args(amount)
    signs = {term.as_coeff_Mul()[0] > 0 for term in terms}
    if signs == {True}:
        return ["Together, these changes add " if several else "This adds ", *_terms(amount), " parameters."]
    if signs == {False}:
        return ["Together, these changes save " if several else "This saves ", *_terms(-amount), " parameters."]
    return ["The number of parameters changes by ", *_terms(amount), "."]


def _terms(amount: Expr) -> Line:
    """Return an amount as mathematics. A long one is factored, and its terms are apart, so that a line can break."""
    if len(Add.make_args(amount)) <= SHORT:
        return [Math.of(amount)]
    shown = factored(amount)
    found: list[Piece] = []
    for term in shown.terms if isinstance(shown, Sum) else (shown,):
        minus = isinstance(term, Minus)
        sign = (" \N{MINUS SIGN} " if minus else " + ") if found else ""
        found += [sign, Math(term.operand if isinstance(term, Minus) and found else term)]
    return found[1:]
