"""Conventions under which papers count: each has a sentence and the terms it adds to our formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr, Integer, Rational, expand

from ..formulas.formula import Formula
from ..language.notation.text import text
from ..language.symbols import B, C, L, S, W, X
from ..ledger.facts import ATTENDING, MULTIPLYING, OperationKind
from ..quantities.cache_formats import ELEMENTS
from .account_terms import AccountTerm, total_of_terms
from .name_binding import STORED

DECIMAL = {"thousands": 10**3, "millions": 10**6, "billions": 10**9, "trillions": 10**12}
BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@dataclass(frozen=True)
class PaperConvention:
    """One convention in addition to the requested ones, and the terms it adds to our formula."""

    name: str
    added: Expr


def scales(formula: Formula, whole: Expr) -> list[tuple[str, Expr]]:
    """Return the unit conversions of a formula: per sequence, per token, elements instead of bytes."""
    free = whole.free_symbols
    found: list[tuple[str, Expr]] = [("", Integer(1))]
    if B in free:
        found.append(("one sequence is counted instead of B", 1 / B))
        found += [("one token is counted instead of B·S", 1 / (B * S))] * (S in free)
        found += [("one token is counted instead of B·C", 1 / (B * C))] * (C in free)
    if formula.additive and L in formula.display_expr.free_symbols and formula.whole_account is None:
        layers = L.xreplace(dict(formula.relations))
        found += [
            (f"one layer is counted instead of L{', and ' + name if name else ''}", by / layers) for name, by in found
        ]
    size = ELEMENTS.get(formula.conventions.get("dtype", "")) if formula.measure.unit == "bytes" else None
    if size is not None and size != 1 and W not in free:
        said = f"elements of {size} bytes are counted instead of bytes"
        found += [(f"{name}, and {said}" if name else said, by / size) for name, by in found]
    if W in free:
        found += [
            (f"{name + ', and ' if name else ''}elements are counted instead of bytes", by / W) for name, by in found
        ]
    if formula.whole_account is not None and formula.copies != 1:
        found += [
            (
                f"all {text(formula.copies)} copies are counted instead of one" + (f", and {name}" if name else ""),
                by * formula.copies,
            )
            for name, by in found
        ]
    twice = {"FLOPs": ("multiply-adds are counted, 2 FLOPs each", Rational(1, 2))}
    twice["MACs"] = ("FLOPs are counted, 2 per multiply-add", Integer(2))
    if formula.measure.unit in twice:
        said, other = twice[formula.measure.unit]
        found += [(f"{name}, and {said}" if name else said, by * other) for name, by in found]
    return [*found, *_units(formula)]


def _units(formula: Formula) -> list[tuple[str, Expr]]:
    """Return the units in which a formula can give our amount, such as GB."""
    if not formula.additive:
        return [("the formula gives percent", Integer(100))]
    stored = formula.measure.unit == "bytes"
    units = BYTES if stored else DECIMAL
    return [(f"the formula is in {name}", Rational(1, many)) for name, many in units.items()]


def groups_of(formula: Formula, parts: Sequence[AccountTerm]) -> list[list[PaperConvention]]:
    """Return groups of switches for the pieces of a formula; at most one switch per group applies."""
    if formula.measure.name in STORED:
        groups = _stored(parts, whole=formula.whole_account is None)
    elif formula.measure.unit in ("FLOPs", "MACs"):
        groups = _multiplied(parts)
    else:
        groups = []
    return [kept for group in groups if (kept := _different(group))]


def _different(group: Sequence[tuple[str, Sequence[AccountTerm], Expr]]) -> list[PaperConvention]:
    found: dict[Expr, PaperConvention] = {}
    for name, some, share in group:
        amount = expand(total_of_terms(list(some)) * share)
        if amount != 0:
            found.setdefault(amount, PaperConvention(name, amount))
    return list(found.values())


_Group = list[tuple[str, Sequence[AccountTerm], Expr]]
_OUT = Integer(-1)


def _stored(parts: Sequence[AccountTerm], whole: bool) -> list[_Group]:
    norms = [each for each in parts if each.entry.kind is OperationKind.NORM]
    outer = [each for each in norms if not each.repeated] if whole else []
    final = [each for each in outer if each.path == outer[-1].path]
    tables = [each for each in parts if each.entry.kind is OperationKind.LOOKUP]
    head = [each for each in parts if each.entry.logits and not each.label.endswith(".bias")]
    placed = [each for each in tables if each.entry.function == "positions"]
    words = [each for each in tables if each.entry.function == "tokens"]
    linear = (*MULTIPLYING, OperationKind.EXPERTS)
    biases = [each for each in parts if each.entry.kind in linear and each.label.endswith(".bias")]
    pooler = [each for each in parts if "pooler" in each.path]
    groups: list[_Group] = [
        [("the routers are left out", _routers(parts), _OUT)],
        [
            ("the final norm is left out", final, _OUT),
            ("all norms are left out", norms, _OUT),
            ("the biases of norms are left out", [each for each in norms if each.label.endswith(".bias")], _OUT),
        ],
        [("the biases are left out", biases, _OUT)],
        [
            ("the head is tied to the embeddings (or one of the two is left out)", head, _OUT),
            ("the embeddings are left out", tables, _OUT),
            ("the embeddings and the head are left out", [*tables, *head], _OUT),
            ("the position embeddings are left out", placed, _OUT),
            ("the token embeddings are left out", words, _OUT),
            (
                "only the embeddings are counted",
                [each for each in parts if each not in tables] if tables else [],
                _OUT,
            ),
        ],
        [
            ("the pooler is left out", pooler, _OUT),
            ("the pooler's matrix is left out", [each for each in pooler if each not in biases], _OUT),
        ],
    ]
    return groups


def _multiplied(parts: Sequence[AccountTerm]) -> list[_Group]:
    core = [each for each in parts if each.entry.kind in ATTENDING]
    others = [each for each in parts if each not in core] if core else []
    logits = [each for each in parts if each.entry.logits]
    return [
        [
            ("the attention core (scores and weighted values) is left out", core, _OUT),
            ("attention is counted at a mean context of S/2 tokens", core, Rational(-1, 2)),
            # Subtract half of (2 * others + core): only the core remains, halved for causal attention.
            (
                "only the attention core (scores and weighted values) is counted, at a mean context of S/2 tokens",
                [*others, *others, *core] if others else [],
                Rational(-1, 2),
            ),
            ("only the attention core (scores and weighted values) is counted", others, _OUT),
        ],
        [("the logits are left out", logits, _OUT)],
        [("the routers are left out", _routers(parts), _OUT)],
    ]


def _routers(parts: Sequence[AccountTerm]) -> list[AccountTerm]:
    """Return the matrices with one output per expert."""
    return [each for each in parts if each.entry.kind is OperationKind.LINEAR and each.entry.output.shape[-1] == X]
