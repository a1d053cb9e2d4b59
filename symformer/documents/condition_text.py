"""The conditions under which a formula holds, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..language.notation.display_tree import tree
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes
from ..models.provenance import runs_of_kinds
from ..output.blocks import Code, Line, Math, listed
from ..views.formula_facts import ConditionFacts
from .sentences import sentence


def conditions(found: ConditionFacts, with_reasons: bool = True) -> list[Line]:
    """Return the conditions under which a formula holds, each as a clause, with its reason if it states one."""
    notes: list[Line] = [[Code(each.name), f" is {each.value:,}"] for each in found.pinned]
    equal = sum(isinstance(each, Equals) for each in found.constraints)
    if equal < len(found.ties):  # otherwise the constraints state the same equalities with letters
        notes += [[Code(name), " is ", Code(other)] for name, other in found.ties.items()]
    for name, kinds in found.patterns.items():
        said: list[Line] = [[f"{times} ", Code(kind)] for times, kind in runs_of_kinds(kinds)]
        notes.append([Code(name), " repeats ", *listed(*said)])
    notes += [[Math(tree(target)), " = ", Math.of(value)] for target, value in found.relations.items()]
    return notes + condition_lines(found.constraints, with_reasons)


def condition_lines(constraints: Sequence[Condition], with_reasons: bool = False) -> list[Line]:
    """Return conditions on sizes, each as a clause, with its reason if it states one."""
    notes: list[Line] = []
    reasons = [_reason(each) if with_reasons else "" for each in constraints] + [""]
    for place, constraint in enumerate(constraints):
        if isinstance(constraint, Divides):
            notes.append([Math.of(constraint.dividend), " is a multiple of ", Math.of(constraint.divisor)])
        elif isinstance(constraint, AtMost):
            low, high = Math.of(constraint.low), Math.of(constraint.high)
            notes.append([high, " is at least ", low] if constraint.low.is_number else [low, " is at most ", high])
        elif isinstance(constraint, Differs):
            notes.append([Math.of(constraint.left), " differs from ", Math.of(constraint.right)])
        elif isinstance(constraint, Excludes):
            number = {1: "is not", 2: "are not both"}.get(len(constraint.ones), "are not all")
            notes.append([*listed(*([Math.of(size)] for size in constraint.ones)), f" {number} 1"])
        else:
            notes.append(sentence(str(constraint)))
        if reasons[place] and reasons[place] != reasons[place + 1]:  # once for several in a row
            notes[-1] = [*notes[-1], f" (otherwise {reasons[place]})"]
    return notes


def _reason(condition: Condition) -> str:
    """Return what happens if a condition does not hold, or "" if it states no such reason."""
    because = str(getattr(condition, "because", ""))
    return because.removeprefix(CASE).partition(";")[0] if because.startswith(CASE) else ""


CASE = "in that case "
