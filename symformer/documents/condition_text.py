"""The conditions under which a formula holds, in words."""

from __future__ import annotations

from itertools import groupby

from ..language.notation.display_tree import tree
from ..language.sizes import AtMost, Differs, Divides, Excludes
from ..output.blocks import Code, Line, Math, listed
from ..views.formula_facts import ConditionFacts
from .sentences import sentence


def conditions(found: ConditionFacts) -> list[Line]:
    """Return the conditions under which a formula holds, each as a clause."""
    notes: list[Line] = [[Code(each.name), f" is {each.value:,}"] for each in found.pinned]
    notes += [[Code(name), " is ", Code(other)] for name, other in found.ties.items()]
    for name, kinds in found.patterns.items():
        runs = [(len(list(alike)), kind) for kind, alike in groupby(kinds)]
        said: list[Line] = [[f"{times} ", Code(kind)] for times, kind in runs]
        notes.append([Code(name), " repeats ", *listed(*said)])
    notes += [[Math(tree(target)), " = ", Math.of(value)] for target, value in found.relations.items()]
    for constraint in found.constraints:
        if isinstance(constraint, Divides):
            notes.append([Math.of(constraint.dividend), " is a multiple of ", Math.of(constraint.divisor)])
        elif isinstance(constraint, AtMost):
            low, high = Math.of(constraint.low), Math.of(constraint.high)
            notes.append([high, " is at least ", low] if constraint.low.is_number else [low, " is at most ", high])
        elif isinstance(constraint, Differs):
            notes.append([Math.of(constraint.left), " differs from ", Math.of(constraint.right)])
        elif isinstance(constraint, Excludes):
            notes.append(
                [
                    *listed(*([Math.of(size)] for size in constraint.ones)),
                    f" are not {'both' if len(constraint.ones) == 2 else 'all'} 1",
                ]
            )
        else:
            notes.append(sentence(str(constraint)))
    return notes
