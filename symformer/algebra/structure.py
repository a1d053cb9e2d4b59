"""The difference between the structures of two models: in words, and in parameters, FLOPs and bytes of cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Integer, Symbol

from ..formulas.factorization import factored
from ..language.errors import OptionError, joined
from ..language.frozen import FrozenDict
from ..language.notation.display_tree import sizes_of
from ..language.notation.text import code
from ..language.symbols import print_order
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Heading, Line, Math, Paragraph, Piece, Table, capital, formulas_in, plain
from ..quantities import quantity as find_quantity
from .result import Answer
from .structure_words import IT, SHORT, StructureChange, amount_sentence, line, spoken

QUANTITIES = ("params", "flops", "kv-cache")
NOTHING = Integer(0)
NONE = "none"
# What models of the same structure have in common, if they are of different classes.
SAME = (
    "at equal sizes, all counts are equal; details that no count depends on, such as the order of rotated elements, "
    "can differ"
)


@dataclass(frozen=True)
class PartDifference:
    """One part in which two models differ.

    Attributes
    ----------
    part
        The name of the part, such as "query and key norms"; with the name of the stack if there are several.
    changes
        The phrases that only the first model has, and those that only the second has, for each aspect of the part.
    amounts
        The first model minus the second, by quantity.
    sides
        The amount of each model, by quantity, if the part has the same phrases in both models.
    cause
        A clause on why the amounts differ, if the changes do not say it: a formula excludes weights, or one model has
        further tokens.

    """

    part: str
    changes: tuple[StructureChange, ...]
    amounts: Mapping[str, Expr]
    sides: Mapping[str, tuple[Expr, Expr]] = FrozenDict({})
    cause: str = ""

    @property
    def kind(self) -> str:
        """Whether the first model has the part in addition ("added"), lacks it, replaces it or changes it."""
        gained = any(each.own for each in self.changes)
        lost = any(each.other for each in self.changes)
        return "replaced" if gained and lost else "added" if gained else "removed" if lost else "changed"

    def sentences(self, first: str, second: str, terms: int | None = None) -> list[Line]:
        """Return the difference in sentences about the first model.

        The last one is on the parameters, unless their difference has more than ``terms`` terms.
        """
        stated = [each for each in self.changes if not each.implied]
        said = [each.sentence(IT if place else first) for place, each in enumerate(stated)]
        if self.cause:
            said.append(line(f"{capital(self.cause)}."))
        elif not said:
            how = "differ here in steps without parameters"
            if self._costs:
                how = f"have equally many parameters here, but different {self._costs}"
            elif any(self.amounts.values()):
                how = "differ in the sizes of this part or in the layers that have it"
            said = [line(f"{first} and {second} {how}.")]
        params = self.amounts.get("params", NOTHING)
        short = params != 0 and (terms is None or len(Add.make_args(params)) <= terms)
        return [*said, amount_sentence(params, several=len(stated) > 1)] if short else said

    @property
    def cells(self) -> tuple[Line, Line]:
        """The part in each of the two models, as in a table."""
        if not self.changes:
            sizes = any(self.amounts.values())
            how = "other sizes or layers" if sizes else "other steps, without parameters"
            return [self.cause or (f"different {self._costs}" if self._costs else how)], ["—"]
        own, other = ([each for change in self.changes for each in change.cells[side]] for side in (0, 1))
        return line("; ".join(own) or NONE), line("; ".join(other) or NONE)

    @property
    def short(self) -> str:
        """The difference in a few words, as in a list."""
        return plain(self.short_line)

    @property
    def short_line(self) -> Line:
        """The difference in a few words, with the sizes as mathematics."""
        return line(
            "; ".join(dict.fromkeys(each.short for each in self.changes if not (each.implied or each.detail)))
            or self._other
        )

    @property
    def _costs(self) -> str:
        """The quantities that differ if the parameters are compared and equal, in words; "" otherwise."""
        if self.amounts.get("params") != 0:
            return ""
        costs = [find_quantity(name).measure.title for name, amount in self.amounts.items() if amount != 0]
        return joined(costs) if costs else ""

    @property
    def _other(self) -> str:
        if self.cause or self._costs:
            return f"{self.part}: {self.cause or f'different {self._costs}'}"
        return (
            f"{self.part} in other sizes or layers" if any(self.amounts.values()) else f"other steps in the {self.part}"
        )


@dataclass(frozen=True, repr=False)
class StructureComparison(Answer):
    """How the structures of two models differ, at equal sizes.

    The amounts are the first model minus the second, as formulas in which a letter has the same value in both models.
    Over all parts, they sum to the difference of the totals.

    Attributes
    ----------
    models
        The two models.
    differences
        The parts that differ, in the order of the model.
    totals
        The difference of the totals, by quantity.
    refused
        The reason for each quantity that cannot be compared.
    equalities
        For each model, the sizes that the formulas express in sizes of the other model, such as G = A.
    size_notes
        Sentences about these sizes.

    Examples
    --------
    >>> import symformer as sf
    >>> found = sf.compare("qwen3", "llama").structure
    >>> [(each.part, each.amounts["params"]) for each in found.differences]
    [('query and key norms', 2*D*L)]
    >>> print(found.sentences[0])
    Qwen3 adds an RMS norm of queries and keys, over each head.

    """

    models: tuple[Model, Model]
    differences: tuple[PartDifference, ...]
    totals: Mapping[str, Expr]
    refused: Mapping[str, str]
    equalities: tuple[Mapping[Symbol, Expr], Mapping[Symbol, Expr]]
    size_notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the models in sentences: their titles, or their targets if the titles are equal."""
        first, second = self.models
        if first.title != second.title:
            return first.title, second.title
        if first.name != second.name:
            return first.name, second.name
        return f"{first.name} (1)", f"{second.name} (2)"

    @property
    def same(self) -> bool:
        """Whether both models have the same structure, so that only sizes can differ."""
        return not self.differences

    @property
    def same_line(self) -> str:
        """What can differ between two models of the same structure, as a clause."""
        if type(self.models[0].component) is type(self.models[1].component):
            return "only sizes can differ"
        own = [set(type(model.component).choices()) for model in self.models]
        only = [
            f"only {name} has the option{'s' * (len(more) > 1)} {joined(sorted(more))}"
            for name, more in zip(self.names, (own[0] - own[1], own[1] - own[0]), strict=True)
            if more
        ]
        return "; ".join([SAME, *only])

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All sentences about the differences, as text."""
        return tuple(plain(each) for part in self.differences for each in part.sentences(*self.names))

    @property
    def short(self) -> str:
        """The differences in a few words, as in a list; "" if there are none."""
        return plain(self.short_line)

    @property
    def short_line(self) -> Line:
        """The differences in a few words, with the sizes as mathematics."""
        replaced = any(change.aspect == "norms" for each in self.differences for change in each.changes)
        implied = [each for each in self.differences if each.part == "final norm" and each.kind == "replaced"]
        shown = [each.short_line for each in self.differences if not (replaced and each in implied)]
        return [piece for place, each in enumerate(shown) for piece in (*(["; "] if place else []), *each)]

    @cached_property
    def differing_sizes(self) -> Mapping[Symbol, tuple[int, int]]:
        """The sizes with different values in the two models."""
        one, two = (model.known for model in self.models)
        both = sorted({size for size in one if size in two and one[size] != two[size]}, key=print_order)
        return FrozenDict({size: (one[size], two[size]) for size in both})

    def to_json(self) -> dict[str, Any]:
        """Return the data that ``compare --structure --json`` prints."""
        first, second = self.models
        return {
            "left": first.target,
            "right": second.target,
            "same_structure": self.same,
            "quantities": [name for name in QUANTITIES if name not in self.refused],
            "refused": dict(self.refused),
            "differences": [
                {
                    "part": each.part,
                    "kind": each.kind,
                    "sentences": [plain(said) for said in each.sentences(*self.names)],
                    "added": [spoken(phrase) for change in each.changes for phrase in change.own],
                    "removed": [spoken(phrase) for change in each.changes for phrase in change.other],
                    **{name: code(amount) for name, amount in each.amounts.items()},
                }
                for each in self.differences
            ],
            "totals": {name: code(amount) for name, amount in self.totals.items()},
            "equal_sizes": [{str(size): code(value) for size, value in each.items()} for each in self.equalities],
            "notes": [plain(line(note)) for note in self.size_notes],
            "sizes": {str(size): list(both) for size, both in self.differing_sizes.items()},
        }

    def table(self) -> dict[str, list[Any]]:
        """Return the parts that differ with the difference of each quantity; the last row is the total."""
        rows = [(each.part, each.amounts) for each in self.differences] + [("total", self.totals)]
        found: dict[str, list[Any]] = {"part": [name for name, _ in rows]}
        return found | {name: [amounts[name] for _, amounts in rows] for name in self.totals}

    def rank_lines(self) -> list[Line]:
        """Return no lines: the amounts are of whole models."""
        return []

    def _picture(self, by: str) -> Plot:
        raise OptionError("a comparison of structures has no plot; compare a quantity instead")

    def __repr__(self) -> str:
        first, second = self.names
        return (
            f"<{first} differs from {second} by: {self.short}>"
            if self.short
            else (f"<{first} has the structure of {second}>")
        )

    def to_blocks(self) -> list[BriefBlock]:
        """Return the differences in sentences, a table of the amounts, and the meanings of the symbols."""
        first, second = self.names
        blocks = [*self.body()]
        return [Heading(1, [f"{first} and {second}: structure"]), *blocks, *self._symbols(blocks)]

    def body(self) -> Iterator[BriefBlock]:
        """Yield the blocks without the heading."""
        first, second = self.names
        if self.same:
            yield Paragraph([f"{first} has the structure of {second}: {self.same_line}."])
        yield from map(Paragraph, self.paragraphs())
        if self.differing_sizes:
            yield Paragraph(self._sizes())
        if not self.same:
            yield self._table()
        for name, why in self.refused.items():
            yield Paragraph([f"{capital(find_quantity(name).measure.title)}: not compared; {why}."])

    def paragraphs(self, terms: int | None = SHORT) -> Iterator[Line]:
        """Yield the notes on sizes, and a paragraph for each part that differs.

        A paragraph states a difference in parameters of at most ``terms`` terms, or any difference if it is None.
        """
        yield from map(line, self.size_notes)
        for each in self.differences:
            sentences: list[Piece] = [f"{capital(each.part)}: "]
            for said in each.sentences(*self.names, terms):
                sentences += [*said, " "]
            yield sentences[:-1]

    def _symbols(self, blocks: Sequence[BriefBlock]) -> Iterator[BriefBlock]:
        """Yield a paragraph with the meaning of each symbol in some blocks, in the first model that has it."""
        said: list[Piece] = []
        for size in sorted({size for each in formulas_in(blocks) for size in sizes_of(each)}, key=print_order):
            owner = next((model for model in self.models if size in model.settable), self.models[0])
            said += ["; " if said else "Symbols: ", Math.of(size), ", ", owner.meaning(size)]
        if said:
            yield Paragraph([*said, "."])

    def _sizes(self) -> Line:
        said: list[Piece] = [f"Sizes that differ between {joined([model.name for model in self.models])}: "]
        for place, (size, (one, two)) in enumerate(self.differing_sizes.items()):
            said += [", " if place else "", Math.of(size), f" = {one:,} and {two:,}"]
        return [*said, "."]

    def _table(self) -> Table:
        measures = {name: find_quantity(name).measure for name in self.totals}
        head = ["part", *(measures[name].title for name in self.totals)]
        rows: list[list[Piece]] = [
            [each.part, *(Math(factored(each.amounts[name])) for name in self.totals)] for each in self.differences
        ]
        rows.append(["total", *(Math(factored(amount)) for amount in self.totals.values())])
        first, second = self.names
        caption = f"{first} minus {second}, at equal sizes"
        return Table.of(head, rows, "l" * len(head), total=True, caption=[caption])
