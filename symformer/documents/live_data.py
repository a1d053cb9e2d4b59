"""The data of a live page: formulas, switches, sizes, conditions and presets of its models, never code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Symbol

from ..algebra.role_totals import ROLES, role_totals
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..formulas import ranks
from ..formulas.breakdown import Row
from ..formulas.factorization import factored
from ..formulas.formula import Formula, affects_formula
from ..formulas.operation_names import row_names
from ..formulas.ratio import Ratio
from ..language.arithmetic import MAX_INTEGER
from ..language.errors import DocumentError
from ..language.notation.data import Data, data
from ..language.notation.display_tree import tree
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes
from ..language.symbols import letter, print_order
from ..ledger.facts import ONE
from ..models.provenance import ConfigLocation, size_meaning
from ..papers import split_at_keys
from ..views.figure_facts import FigureFacts
from ..views.model_variants import PresetSetting, VariantsFacts, key_of
from ..views.purpose_totals import purposes
from .figures.figure import Box, Graph, Plus
from .figures.figure_builder import FigureBuilder
from .live_links import Links, rows_of_box, rows_of_parts, rows_of_purposes, rows_of_terms
from .part_tables import written_unit

LISTS = ("asks", "needs", "given", "conditions", "rows", "parts", "purposes")  # of a form, each stored once
LINKS = ("parts", "purposes", "terms")  # the lists of its links, likewise
TOKENS = 512  # new ones, and as many in the cache, with which a page begins if the model has that many positions


@dataclass(frozen=True)
class Shares:
    """A displayed formula, its totals by part and by purpose, and the rows of each part, purpose and term."""

    shortest: Data
    parts: Mapping[str, Expr]
    purposes: Mapping[str, Expr]
    rows: Sequence[Row]
    names: Sequence[str]  # of the rows
    part_rows: Links
    purpose_rows: Links
    term_rows: Sequence[Sequence[int]]

    @classmethod
    def of(cls, formula: Formula) -> Shares:
        """Return the shares of a formula; a ratio has only rows."""
        rows = [row for row in formula.rows if row.each != 0]
        named = row_names(formula.root)
        names = [named.get(row.path, row.path) for row in rows]
        if not formula.additive:
            return cls(data(tree(formula.display_expr)), {}, {}, rows, names, {}, {}, [])
        return cls(
            data(factored(formula.display_expr)),
            _parts(formula),
            purposes(formula),
            rows,
            names,
            rows_of_parts(formula, rows),
            rows_of_purposes(formula, rows),
            rows_of_terms(formula, rows),
        )


@dataclass
class Sheet:
    """The data of a page, in which each tree, row, condition and list is stored once and shared by all formulas.

    An integer in a tree is the index of an earlier tree.
    """

    trees: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    conditions: dict[str, int] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    presets: dict[str, int] = field(default_factory=dict)  # the name, the list of its sizes and their values
    sizes: set[Symbol] = field(default_factory=set)
    shares: dict[object, Shares] = field(default_factory=dict)  # by formula

    def tree(self, expr: Expr) -> int:
        """Return the index of an expression in house order."""
        return self._kept(data(tree(expr)))

    def _kept(self, spelt: Data) -> int:
        inside = [each if isinstance(each, str) else self._kept(each) for each in spelt]
        return self.trees.setdefault(_json(spelt if isinstance(spelt, str) else inside), len(self.trees))

    def _row(self, name: str, *exprs: Expr) -> int:
        return self.rows.setdefault(_json([name, *map(self.tree, exprs)]), len(self.rows))

    def condition(self, condition: Condition) -> int:
        """Return the index of a condition."""
        spelt = _json({"holds": str(condition), **_broken(condition, self.tree)})
        return self.conditions.setdefault(spelt, len(self.conditions))

    def form(self, formula: Formula) -> dict[str, Any]:
        """Return a formula with its parts and the sizes it needs, ready for JSON."""
        given = formula.relations
        concerned = [each for each in formula.constraints if affects_formula(each, formula)]
        asked = {*formula.symbols, *formula.ranks.free_symbols}.union(*(each.symbols for each in concerned))
        asked |= {size for size in formula.display_expr.free_symbols if size in given}
        asked |= {size for target in asked & given.keys() for size in given[target].free_symbols}
        known = asked | {target for target, value in given.items() if value.free_symbols <= asked}
        self.sizes |= known
        if (key := key_of(formula)) not in self.shares:
            self.shares[key] = Shares.of(formula)
        shares = self.shares[key]
        return {
            "factored": self._kept(shares.shortest),
            "written": self.tree(formula.display_expr),
            "asks": [size.name for size in _ordered(asked - given.keys())],
            "needs": [size.name for size in formula.symbols],
            "given": [
                [target.name, self.tree(given[target])]
                for target in _ordered(known & given.keys())
                if given[target].free_symbols <= known
            ],
            "conditions": [self.condition(each) for each in formula.constraints if each.symbols <= known],
            "rows": [self._row(name, row.count, row.each) for name, row in zip(shares.names, shares.rows, strict=True)],
            "parts": self._shares(shares.parts),
            "purposes": self._shares(shares.purposes),
            "links": {
                "parts": _linked(shares.parts, shares.part_rows),
                "purposes": _linked(shares.purposes, shares.purpose_rows),
                "terms": shares.term_rows,
            },
            **({"ranks": self._ranks(formula)} if formula.ranks != ONE else {}),
            **({"over": self.tree(formula.denominator.display_expr)} if isinstance(formula, Ratio) else {}),
        }

    def _ranks(self, formula: Formula) -> list[int | str]:
        return [
            self.tree(formula.ranks),
            " ".join([f"{ranks.kinds(formula.ranks)}.", ranks.composition(formula.ranks)]).strip(),
        ]

    def _shares(self, parts: Mapping[str, Expr]) -> list[int]:
        return [self._row(name, expr) for name, expr in _several(parts).items()]

    def figure(self, found: FigureFacts) -> list[list[Any]]:
        """Return the boxes and frames of a figure, each with its name, amount and rows, ready for JSON."""
        form = found.formula
        rows = [row for row in form.rows if row.each != 0]
        nodes: list[list[Any]] = []

        def walk(graph: Graph, copies: Expr) -> list[int]:
            places: set[int] = set()
            for node in graph.nodes:
                if isinstance(node, Plus):
                    continue
                inside = copies * node.times
                own = rows_of_box(node, rows) if isinstance(node, Box) else walk(node.graph, inside)
                count = (node.copies if isinstance(node, Box) else inside).xreplace(form.display_relations)
                words = " ".join(filter(None, (node.title, node.name)))
                nodes.append([node.key, words, self._row("", count, node.amount.shown), own])
                places |= {*own}
            return sorted(places)

        walk(FigureBuilder(found).architecture().graph, ONE)
        return nodes

    def _pooled(self, form: Mapping[str, Any]) -> list[Any]:
        """Return a form as a list: its two trees, the index of each of its lists, and what only some forms have."""
        lists = [*(form[name] for name in LISTS), *(form["links"][name] for name in LINKS)]
        rest = {name: form[name] for name in ("ranks", "over") if name in form}
        return [form["factored"], form["written"], *map(self._listed, lists), *([rest] if rest else [])]

    def _listed(self, each: object) -> int:
        return self.lists.setdefault(_json(each), len(self.lists))

    def _presets(self, presets: Sequence[PresetSetting]) -> int:
        """Return the index of the list of presets: the index of each, followed by the index of its options."""
        found: list[int] = []
        for preset in presets:
            sizes = self._listed([size.name for size in preset.numbers])
            spelt = _json([preset.name, sizes, *preset.numbers.values()])
            found += [self.presets.setdefault(spelt, len(self.presets)), self._listed(preset.options)]
        return self._listed(found)

    def model(self, variants: VariantsFacts) -> dict[str, Any]:
        """Return a model with the formula for every setting of its switches, ready for JSON."""
        forms: dict[str, int] = {}
        made: dict[object, str] = {}
        settings = []
        for formula in variants.settings:
            if isinstance(formula, str):
                spelt = _json({"refused": formula})
            else:
                key = key_of(formula)
                spelt = made.get(key) or made.setdefault(key, _json(self._pooled(self.form(formula))))
            settings.append(forms.setdefault(spelt, len(forms)))
        return {
            "name": variants.name,
            "title": variants.title,
            "switches": [
                {
                    "name": switch.name,
                    "values": switch.values,
                    "option": switch.option,
                    "says": [*map(_plain, variants.meanings.get(switch.name, ()))],
                }
                for switch in variants.switches
            ],
            "settings": settings,
            "forms": [json.loads(form) for form in forms],
            "held": variants.held,
            "carried": {
                each.name: [each.value, "".join(str(int(one)) for one in each.affects), each.settable]
                for each in variants.carried
                if any(each.affects)
            },
            "places": {name: said for name, place in variants.places.items() if (said := _place(place, name))},
            "presets": self._presets(variants.presets),
            "start": {**_start(variants.start), "at": variants.at},
        }


def _several(parts: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the parts that are not 0; empty if there is only one."""
    found = {name: expr for name, expr in parts.items() if expr != 0}
    return found if len(found) > 1 else {}


def _linked(parts: Mapping[str, Expr], links: Links) -> list[Sequence[int]]:
    return [links.get(name, ()) for name in _several(parts)]


def _start(preset: PresetSetting) -> dict[str, Any]:
    """Return the initial state: one sequence, unless a batch, a length or a number of cached tokens is given."""
    numbers = {size.name: number for size, number in preset.numbers.items()}
    tokens = min(TOKENS, numbers.get("P", 2 * TOKENS) // 2)
    return {"name": preset.name, "options": preset.options, "numbers": {"B": 1, "S": tokens, "C": tokens, **numbers}}


def sheet(tabs: Sequence[Sequence[VariantsFacts]], made: Sheet, figure: FigureFacts | None = None) -> dict[str, Any]:
    """Return the data of a page, ready for JSON.

    Parameters
    ----------
    tabs
        The models for each quantity.
    made
        The sheet that stores their formulas.
    figure
        The figure of the first model and the first quantity, if the page has one.

    Raises
    ------
    DocumentError
        For a condition that a page cannot check.

    """
    places = {name: place for each in tabs for facts in reversed(each) for name, place in facts.places.items()}
    told = [
        {
            "quantity": each[0].measure.name,
            "title": each[0].measure.title,
            "unit": written_unit(each[0].measure),
            "letter": each[0].measure.letter.partition("_")[::2],
            "models": [made.model(variants) for variants in each],
        }
        for each in tabs
    ]
    drawn = made.figure(figure) if figure else []
    return {
        "most": str(MAX_INTEGER),
        "sizes": {
            size.name: {
                "base": letter(size).base,
                "below": letter(size).subscript,
                "meaning": size_meaning(size, places.get(size.name)),
                "word": letter(size).word,
            }
            for size in _ordered(made.sizes)
        },
        "tabs": told,
        "figure": drawn,
        "presets": [json.loads(each) for each in made.presets],
        "rows": [json.loads(each) for each in made.rows],
        "trees": [json.loads(each) for each in made.trees],
        "conditions": [json.loads(each) for each in made.conditions],
        "lists": [json.loads(each) for each in made.lists],
    }


_KINDS: Mapping[type[Condition], str] = {
    Divides: "divides",
    AtMost: "at most",
    Excludes: "not all 1",
    Differs: "differ",
    Equals: "equal",
}


def _broken(condition: Condition, tree: Callable[[Expr], int]) -> dict[str, Any]:
    """Return the terms a condition compares and its error message, in which {0} and {1} stand for their values.

    Raises DocumentError for a condition that a page cannot check.
    """
    if type(condition) not in _KINDS:
        raise DocumentError(f"a live page cannot check that {condition}; omit --live")
    said = condition.violation("{0}", "{1}")
    return {"kind": _KINDS[type(condition)], "of": [*map(tree, condition.terms)], "breaks": said}


def _parts(formula: Formula) -> dict[str, Expr]:
    """Return the total of each role; empty for a ratio and for a traced model, whose parts have no roles."""
    if not formula.additive or isinstance(formula.root.part, MeasuredModel | RecognizedModel):
        return {}
    found = role_totals(formula)
    return {role: found[role] for role in ROLES if role in found}


def _ordered(sizes: set[Symbol]) -> list[Symbol]:
    return sorted(sizes, key=print_order)


def _place(place: ConfigLocation, size: str) -> str:
    """Return the place of a size in its config, in plain text."""
    if place.counted:
        return f"{place.counted} in {place.field}"
    if place.of:
        return f"{place.field} of {place.of}"
    return "" if place.field == size else place.field + (f" less {place.less}" if place.less else "")


def _plain(said: str) -> str:
    """Return a sentence without its citations."""
    return " ".join("".join(split_at_keys(said)[::2]).split())


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
