"""The conditions under which a formula holds, in words."""

from __future__ import annotations

from ..language.notation.display_tree import tree
from ..language.sizes import AtMost, Differs, Divides, Equals, Excludes
from ..models.provenance import runs_of_kinds
from ..output.blocks import Code, Line, Math, listed
from ..views.formula_facts import ConditionFacts
from .sentences import sentence


def conditions(found: ConditionFacts) -> list[Line]:
    """Return the conditions under which a formula holds, each as a clause."""
    notes: list[Line] = [[Code(each.name), f" is {each.value:,}"] for each in found.pinned]
    equal = sum(isinstance(each, Equals) for each in found.constraints)
    if equal < len(found.ties):  # otherwise the constraints state the same equalities with letters
        notes += [[Code(name), " is ", Code(other)] for name, other in found.ties.items()]
    for name, kinds in found.patterns.items():
        said: list[Line] = [[f"{times} ", Code(kind)] for times, kind in runs_of_kinds(kinds)]
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
