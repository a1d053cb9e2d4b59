"""The nearest relative of an architecture: the one from which its structure differs in the fewest parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache

from .. import architectures
from ..architectures.base_architecture import Architecture
from ..language.errors import OptionError
from ..language.frozen import Immutable
from ..models.model import Model
from ..papers import cited_papers, paper, papers
from .structure import QUANTITIES, StructureComparison
from .structure_difference import NO_CONVENTIONS, compare_structures, differing_parts
from .structure_profile import BIDIRECTIONAL, CAUSAL, LANGUAGE, StackProfile, profiles


@dataclass(frozen=True)
class Relative(Immutable):
    """The nearest relative of an architecture, and why it is the nearest."""

    name: str  # of the relative, as a target
    stated: bool = False  # whether the architecture names it; the other fields are then empty
    among: str = ""  # words for the architectures that are considered, if others differ in fewer parts
    experts: bool | None = None  # whether both have experts, if an equally near architecture differs in this
    ties: tuple[str, ...] = ()  # the other architectures that are as near, from the oldest to the newest
    oldest: bool = False  # whether the relative is older than all of these


@dataclass(frozen=True, order=True)
class _Candidate:
    """An architecture as a relative of another one. The nearest is the smallest: fields count in this order."""

    other_stacks: bool
    other_direction: bool  # of attention: causal, or in both directions
    parts: int  # that differ; a model without any of the mixers of the other counts as differing in one more
    other_mixers: bool
    other_experts: bool  # whether only one of the two has experts
    phrases: int  # that only one of the two has
    published: tuple[int, str]
    name: str

    @property
    def differing(self) -> int:
        """The number of parts that differ."""
        return self.parts - self.other_mixers

    @property
    def nearness(self) -> tuple[bool | int, ...]:
        return astuple(self)[:6]


def nearest_relative(name: str) -> Relative | None:
    """Return the nearest relative of an architecture among the built-in ones, or None if there is none.

    It is the one that the architecture states, or else the one that differs in the fewest parts; among several, one
    that has experts if and only if the architecture has, and then the one with the fewest differing phrases. Of those
    that are equally near, the oldest is the relative, and the others are ties. A model without any of the mixers of the
    architecture (attention, for example) counts as differing in one more part, and one with such a mixer comes first
    among models that differ in equally many parts. A relative is older: so is the first paper that its class cites.
    Architectures of the same paper are in the order of their names. A model of a single layer is a relative of such
    models only. A model with an encoder and a decoder has another one as its relative if there is one, and a model
    whose attention is causal, or in both directions, one with such attention. The relative of a multimodal model may be
    its language model.

    Parameters
    ----------
    name
        The name of the architecture, with its default options.

    Raises
    ------
    UnknownNameError
        If there is no such architecture.

    Examples
    --------
    >>> nearest_relative("qwen3").name
    'llama'

    """
    stated = architectures.architecture_class(name).compared_with
    if stated:
        return Relative(stated, stated=True)
    found = sorted(_candidates(name))
    if not found:
        return None
    nearest = found[0]
    fewer = [each for each in found if each.differing < nearest.differing]
    as_few = [each for each in found if each.nearness[:4] == nearest.nearness[:4]]
    ties = [each for each in found[1:] if each.nearness == nearest.nearness]
    own = _described(name)
    decided = any(each.other_experts != nearest.other_experts and each.phrases <= nearest.phrases for each in as_few)
    return Relative(
        nearest.name,
        among=_among(own, nearest, fewer),
        experts=_has_experts(own) if decided else None,
        ties=tuple(each.name for each in ties),
        oldest=all(each.published > nearest.published for each in ties),
    )


def _candidates(name: str) -> Iterator[_Candidate]:
    """Yield the older architectures with which an architecture can be compared."""
    own, date = _described(name), published(name)
    for other in architectures.names():
        since = published(other)
        if (since, other) >= (date, name):
            continue
        try:
            theirs = _described(other)
            if _single(theirs) and not _single(own):
                continue
            parts, phrases = differing_parts(own, theirs)
        except OptionError:  # they have other towers
            continue
        other_stacks = own.keys() != theirs.keys() and LANGUAGE not in own
        other_mixers = not _mixers(own) & _mixers(theirs)
        yield _Candidate(
            other_stacks,
            own.keys() == theirs.keys() and _causal(own) != _causal(theirs),
            parts + other_mixers,
            other_mixers,
            _has_experts(own) != _has_experts(theirs),
            phrases,
            since,
            other,
        )


def _among(own: dict[str, StackProfile], nearest: _Candidate, fewer: Sequence[_Candidate]) -> str:
    """Return words for the architectures of which none differs in fewer parts than the nearest relative, or ""."""
    kinds = {
        "an encoder and a decoder" if len(own) > 1 else "one stack of layers": (
            any(each.other_stacks > nearest.other_stacks for each in fewer)
        ),
        CAUSAL if all(_causal(own).values()) else BIDIRECTIONAL: (
            any(each.other_direction > nearest.other_direction for each in fewer)
        ),
        "one of its mixers": any(each.other_mixers > nearest.other_mixers for each in fewer),
    }
    words = " and ".join(each for each, needed in kinds.items() if needed)
    return f"with {words}" if words else ""


def compared_to_relative(
    model: Model,
    relative: str,
    quantities: Sequence[str] = QUANTITIES,
    conventions: Mapping[str, str] = NO_CONVENTIONS,
) -> StructureComparison:
    """Return how a model differs from a relative, given by its name.

    Weights of the relative that its published total excludes are counted, so that they make no difference.
    """
    counted = dict.fromkeys(architectures.architecture_class(relative).uncounted, True)
    return compare_structures(model, architectures.architecture(relative, **counted), quantities, conventions)


def _mixers(found: dict[str, StackProfile]) -> set[str]:
    """Return the phrases for the mixers of a model, without the layers that have them."""
    phrases = (phrase for stack in found.values() for phrase in stack.aspects.get("mixer", ()))
    return {re.sub(r",? in \{.*\} of the \{.*\} layers$", "", phrase) for phrase in phrases}


def _has_experts(found: dict[str, StackProfile]) -> bool:
    return any("routing" in stack.aspects for stack in found.values())


def _causal(found: dict[str, StackProfile]) -> dict[str, bool]:
    """Return for each stack of a model whether a position sees only earlier ones; a mixer without a mask is causal."""
    return {name: CAUSAL in stack.aspects.get("mask", (CAUSAL,)) for name, stack in found.items()}


def _single(found: dict[str, StackProfile]) -> bool:
    """Return whether no stack of a model has several layers."""
    return all(stack.depth in (0, 1) for stack in found.values())


@cache
def _described(name: str) -> dict[str, StackProfile]:
    return profiles(architectures.architecture(name).component)


@cache
def published(name: str) -> tuple[int, str]:
    """Return the date of the first paper that an architecture cites: its year, and its number on arXiv or "".

    The number states the month and the order within it. An architecture without a paper is newer than all others.
    """
    model: type[Architecture] = architectures.architecture_class(name)
    cited = [paper(key) for key in cited_papers([model.__doc__ or ""]) if key in papers()]
    if not cited:
        return 9999, ""
    number = cited[0].arxiv if cited[0].arxiv[:4].isdigit() else ""
    return (2000 + int(number[:2]) if number else cited[0].year), number
