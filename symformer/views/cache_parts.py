"""The parts of a cache: bytes for each token, for each sequence, and for all sequences together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Add, Dummy, Expr, Integer, Min, Mul, Symbol, cancel, ceiling, expand, floor

from ..formulas.formula import Formula
from ..language.errors import joined
from ..language.notation.text import code, number, text
from ..language.sizes import Numbers, evaluate
from ..language.symbols import B, C, C_pre
from ..models.model import Model
from ..output.blocks import BriefBlock, Line, Math, Paragraph, Table

TOKEN, PAGE, SEQUENCE, CONSTANT = "token", "page", "sequence", "constant"


@dataclass(frozen=True)
class CachePart:
    """A part of a cache.

    Attributes
    ----------
    per : str
        The unit: a token or a page of a sequence, a sequence, or all sequences together.
    each : Expr
        The bytes of one unit.
    times : Expr
        How many there are.
    tokens : Expr | None
        The tokens of a page.

    """

    per: str
    each: Expr
    times: Expr
    tokens: Expr | None = None

    def label(self, known: Numbers) -> str:
        """Return the name of the part."""
        if self.per == PAGE and self.tokens is not None:
            size = _value(self.tokens, known)
            return f"each page ({text(self.tokens) if size is None else f'{size:,}'} tokens) of a sequence"
        return {TOKEN: "each token of a sequence", SEQUENCE: "each sequence", CONSTANT: "all sequences together"}[
            self.per
        ]


@dataclass(frozen=True)
class CacheRange:
    """The parts of a cache for a range of lengths.

    Attributes
    ----------
    limits : tuple[tuple[Expr, str, Expr], ...]
        The conditions on the length, such as (C, "<=", C_win - 1).
    parts : tuple[CachePart, ...]
        The parts, which sum to the cache.

    """

    limits: tuple[tuple[Expr, str, Expr], ...]
    parts: tuple[CachePart, ...]

    def holds(self, known: Numbers) -> bool | None:
        """Return whether the conditions hold, or None if a size has no value."""
        sides = [(_value(left, known), sign, _value(right, known)) for left, sign, right in self.limits]
        if any(left is None or right is None for left, _, right in sides):
            return None
        return all(left <= right if sign == "<=" else left >= right for left, sign, right in sides)  # type: ignore[operator]


def cache_ranges(formula: Formula) -> tuple[CacheRange, ...]:
    """Return the parts of a cache for each range of lengths; none for other quantities and for compressed entries.

    >>> import symformer as sf
    >>> (whole,) = cache_ranges(sf.architecture("bamba").formula("kv-cache"))
    >>> [(part.per, part.each) for part in whole.parts][0]
    ('token', 4*D*G*L_attn)
    """
    if formula.measure.name != "kv-cache" or formula.conventions.get("tokens") == "one":
        return ()
    whole = expand(formula.root.each.xreplace(formula.display_relations))
    windows = sorted((each for each in whole.atoms(Min) if each.has(C)), key=str)
    ranges = []
    for filled in (False, True) if windows else (False,):
        limits, now = [], {}
        for window in windows:
            growing = Min(*(each for each in window.args if each.has(C)))
            limit = Min(*(each for each in window.args if not each.has(C)))
            limits.append((growing, ">=" if filled else "<=", limit))
            now[window] = limit if filled else growing
        if (parts := _parts(formula, expand(whole.xreplace(now)))) is None:
            return ()
        ranges.append(CacheRange(tuple(limits), parts))
    return tuple(ranges)


def _parts(formula: Formula, whole: Expr) -> tuple[CachePart, ...] | None:
    """Return the parts that sum to an expression, or None if it is not linear in tokens, pages and sequences."""
    shared = C_pre in whole.free_symbols
    own = Dummy("own")
    counts: dict[Symbol, tuple[str, Expr, Expr | None]] = {own: (TOKEN, C - C_pre if shared else C, None)}
    now: dict[Expr, Expr] = {}
    for each in whole.atoms(ceiling, floor):
        if not each.has(C):
            continue
        tokens = cancel(C / each.args[0])
        if isinstance(each, floor) or tokens.has(C):
            return None
        pages, before = Dummy("pages"), floor(C_pre / tokens) if shared else Integer(0)
        counts[pages] = (PAGE, each - before, tokens)
        now[each] = pages + before
    linear = expand(whole.xreplace(now))
    linear = expand(linear.xreplace({C: own + C_pre if shared else own}))
    found: dict[tuple[Symbol, ...], list[Expr]] = {}
    for term in Add.make_args(linear):
        factor, counted = term.as_independent(B, *counts, as_Add=False)
        sizes = tuple(sorted(counted.free_symbols, key=lambda size: (size != B, str(size))))
        if counted != Mul(*sizes) or len(sizes) > 2 or (len(sizes) == 2 and sizes[0] != B):
            return None
        found.setdefault(sizes, []).append(factor)
    parts = []
    for sizes, factors in found.items():
        each = formula.collect_totals(Add(*factors))
        last = sizes[-1] if sizes else None
        if last in counts:
            per, times, tokens = counts[last]
            parts.append(CachePart(per, each, (B if sizes[0] == B else Integer(1)) * times, tokens))
        else:
            parts.append(CachePart(SEQUENCE if sizes else CONSTANT, each, B if sizes else Integer(1)))
    order = (TOKEN, PAGE, SEQUENCE, CONSTANT)
    return tuple(sorted((part for part in parts if part.each != 0), key=lambda part: order.index(part.per)))


def _value(expr: Expr, known: Numbers) -> int | None:
    return evaluate(expr, known, "the cache") if expr.free_symbols <= known.keys() else None


def cache_blocks(model: Model, formula: Formula) -> list[BriefBlock]:
    """Return a table of the parts of a cache for each range of lengths."""
    known = formula.with_totals(model.known)
    found: list[BriefBlock] = []
    for each in cache_ranges(formula):
        if each.limits:
            limits = [f"{text(left)} {sign} {_spelled(right, known)}" for left, sign, right in each.limits]
            now = {True: " (true here)", False: "", None: ""}[each.holds(known)]
            found.append(Paragraph([f"for {joined(limits)}{now}:"]))
        found.append(_table(each, known))
    return found


def _spelled(expr: Expr, known: Numbers) -> str:
    value = _value(expr, known)
    return text(expr) if value is None or expr.is_Integer else f"{text(expr)} = {value:,}"


def _table(each: CacheRange, known: Numbers) -> Table:
    valued = all(_value(part.each, known) is not None for part in each.parts)
    holds = each.holds(known) is not False  # a range that does not hold has no total
    counted = holds and valued and all(_value(part.times, known) is not None for part in each.parts)
    rows: list[list[Line]] = []
    for part in each.parts:
        cells: list[Line] = [[part.label(known)], [Math.of(part.each)]]
        if valued:
            cells.append([number(_value(part.each, known) or 0)])
        cells.append([Math.of(part.times)])
        if counted:
            cells.append([number(_value(part.each * part.times, known) or 0)])
        rows.append(cells)
    head = [
        "part of the cache",
        "formula",
        *(["bytes each"] if valued else []),
        "count",
        *(["bytes"] if counted else []),
    ]
    return Table([[name] for name in head], rows, "ll" + "r" * valued + "l" + "r" * counted)


def cache_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the parts of a cache as JSON; nothing for other quantities."""
    known, ranges = formula.with_totals(model.known), cache_ranges(formula)
    if not ranges:
        return {}
    return {
        "cache_parts": [
            {
                "range": [f"{code(left)} {sign} {code(right)}" for left, sign, right in each.limits],
                "holds": each.holds(known),
                "parts": [
                    {
                        "per": part.per,
                        "tokens": None if part.tokens is None else _value(part.tokens, known),
                        "formula": code(part.each),
                        "each": _value(part.each, known),
                        "times": code(part.times),
                        "value": _value(part.each * part.times, known),
                    }
                    for part in each.parts
                ],
            }
            for each in ranges
        ]
    }
