"""The nearest relative of an architecture: the one from which its structure differs in the fewest parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from .. import architectures
from ..architectures.base_architecture import Architecture
from ..language.errors import OptionError
from ..models.model import Model
from ..papers import cited_papers, paper, papers
from .structure import QUANTITIES, StructureComparison
from .structure_difference import NO_CONVENTIONS, compare_structures, differing_parts
from .structure_profile import LANGUAGE, StackProfile, profiles


def nearest_relative(name: str) -> str:
    """Return the nearest relative of an architecture among the built-in ones, or "" if there is none.

    It is the one that the architecture states, or else the one that differs in the fewest parts; among several, by the
    fewest phrases, and then the oldest. A model without any of the mixers of the architecture (attention, for example)
    counts as differing in one more part, and one with such a mixer comes first among models that differ in equally many
    parts. A relative is older: so is the first paper that its class cites. Architectures of the same paper are in the
    order of their names. A model of a single layer is a relative of such models only, and a model with an encoder and a
    decoder has another one as its relative if there is one. The relative of a multimodal model may be its language
    model.

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
    >>> nearest_relative("qwen3")
    'llama'

    """
    stated = architectures.architecture_class(name).compared_with
    if stated:
        return stated
    own, date = _described(name), _published(name)
    found = []
    for other in architectures.names():
        since = _published(other)
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
        unlike = not _mixers(own) & _mixers(theirs)
        found.append((other_stacks, parts + unlike, unlike, phrases, since, other))
    return min(found)[-1] if found else ""


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


def _single(found: dict[str, StackProfile]) -> bool:
    """Return whether no stack of a model has several layers."""
    return all(stack.depth in (0, 1) for stack in found.values())


@cache
def _described(name: str) -> dict[str, StackProfile]:
    return profiles(architectures.architecture(name).component)


@cache
def _published(name: str) -> tuple[int, str]:
    """Return the date of the first paper that an architecture cites: its year, and its number on arXiv or "".

    The number states the month and the order within it. An architecture without a paper is newer than all others.
    """
    model: type[Architecture] = architectures.architecture_class(name)
    cited = [paper(key) for key in cited_papers([model.__doc__ or ""]) if key in papers()]
    if not cited:
        return 9999, ""
    number = cited[0].arxiv if cited[0].arxiv[:4].isdigit() else ""
    return (2000 + int(number[:2]) if number else cited[0].year), number
