"""A table of models: sizes and quantities, one row per model, as papers print it, with its conventions as notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol

from ..algebra.result import Answer
from ..algebra.table_cells import TableCell
from ..algebra.token_costs import DIVIDED, divisor_of, tokens_of
from ..formulas import ranks
from ..formulas.formula import Formula
from ..language.errors import UNSUPPORTED, OptionError, SizeError, joined
from ..language.notation.significant import OF_COSTS, OF_PARAMETERS, significant
from ..language.notation.text import code, exact_text, json_number
from ..language.sizes import Numbers
from ..language.symbols import NamedSizes, letter, print_order, symbol
from ..language.target import AnyTarget
from ..ledger.facts import CARRYING, ONE
from ..models.model import Model
from ..models.provenance import size_meaning
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Code, Line, Math, Paragraph, Piece, Table, capital, listed, plain, setting
from ..papers import split_at_keys
from ..quantities import canonical
from ..quantities import quantity as find_quantity
from ..quantities.quantity import BY_LAYOUT, Convention, Quantity
from ..quantities.spellings import spelled
from ..targets.resolution import model as find_model
from ..views.formula_facts import changed_conventions, subject_of
from .sentences import sentence

NO_VALUE, NO_SIZE = "—", "–"
EVERY = "every"  # the sizes that several models have
_MARKED = re.compile(r"[A-Za-z0-9.,=:/_-]+")  # an id and options without signs that need escapes, except "_"
PLAIN = ("params",)  # quantities that need no definition in a table


def model_letter(place: int) -> str:
    """Return the letter of the model at a place, counted from 1.

    >>> model_letter(1), model_letter(27)
    ('a', 'aa')
    """
    before, last = divmod(place - 1, 26)
    return (model_letter(before) if before else "") + "abcdefghijklmnopqrstuvwxyz"[last]


@dataclass(frozen=True, repr=False)
class ModelTable(Answer):
    """A table with one row per model and one column per size and quantity.

    Attributes
    ----------
    models
        The models, with their sizes.
    quantities
        The names of the quantities.
    cells
        The value of each quantity, or the reason why there is none: one row per model.
    sizes
        The sizes that have a column.
    per_token
        Whether costs that have a number of tokens are divided by it.
    exact
        Whether values are printed exactly, instead of with a few significant digits.
    lettered
        Whether models of the same name have letters instead of numbers, because equations have numbers.

    """

    models: tuple[Model, ...]
    quantities: tuple[str, ...]
    cells: tuple[tuple[TableCell, ...], ...]
    sizes: tuple[Symbol, ...] = ()
    per_token: bool = False
    exact: bool = False
    lettered: bool = False

    @classmethod
    def of(
        cls,
        models: Sequence[Model],
        quantities: Sequence[str],
        conventions: Sequence[Mapping[str, str]],
        columns: Sequence[str] | str = (),
        per_token: bool = False,
        exact: bool = False,
        totals: bool = False,
    ) -> ModelTable:
        """Return the table of models, with the conventions of each.

        ``columns`` names the sizes that have a column; EVERY selects the sizes that at least two of the models have, or
        all sizes of a single model. With ``totals``, quantities without a cost per token are stated as a whole. Raises
        UnknownNameError, and OptionError for other quantities without a cost per token.
        """
        asked = tuple(map(canonical, quantities))
        if per_token and not totals:
            for name in asked:
                tokens_of(name)
        known = [find_quantity(name).choices for name in asked]
        cells = tuple(
            tuple(
                TableCell.of(
                    model,
                    name,
                    {key: value for key, value in own.items() if key in choices},
                    per_token and divisor_of(name) != 1,
                )
                for name, choices in zip(asked, known, strict=True)
            )
            for model, own in zip(models, conventions, strict=True)
        )
        return cls(tuple(models), asked, cells, _columns(models, columns), per_token, exact)

    def divisor(self, quantity: str) -> Expr:
        """Return the number of tokens that the values of a quantity are divided by, or 1."""
        return divisor_of(quantity) if self.per_token else ONE

    @property
    def names(self) -> list[str]:
        """The name of each model, with its position or letter if another has the same name."""
        names = [model.name for model in self.models]
        mark = model_letter if self.lettered else str
        return [f"{name} ({mark(place)})" if names.count(name) > 1 else name for place, name in enumerate(names, 1)]

    @property
    def run(self) -> dict[Symbol, int]:
        """The sizes of the run that a value depends on, if all models have the same."""
        found: dict[Symbol, set[int]] = {}
        for cell in self._every_cell():
            for size, number in cell.at.items():
                found.setdefault(size, set()).add(number)
        return {size: values.pop() for size, values in found.items() if len(values) == 1}

    def _every_cell(self) -> Iterable[TableCell]:
        return (cell for row in self.cells for cell in row)

    def table(self) -> dict[str, list[Any]]:
        """Return the columns: the model, its sizes, and its exact values; None for a value that does not exist.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.table(["gpt2", "gpt2-xl"], ["params"], columns=["L"]).table()
        {'model': ['gpt2', 'gpt2-xl'], 'L': [12, 48], 'params': [124439808, 1557611200]}

        """
        columns: dict[str, list[Any]] = {"model": self.names}
        columns |= {str(size): [model.known.get(size) for model in self.models] for size in self.sizes}
        values = zip(*self.cells, strict=True)
        return columns | {
            name: [cell.value for cell in column] for name, column in zip(self.quantities, values, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the data that the command prints with ``--json``."""
        units = [find_quantity(name).measure.unit for name in self.quantities]
        divided = [self.divisor(name) for name in self.quantities]
        return {
            "quantities": [
                {"name": name, "unit": unit, "per": None if tokens == 1 else code(tokens)}
                for name, unit, tokens in zip(self.quantities, units, divided, strict=True)
            ],
            "sizes": {str(size): letter(size).meaning for size in self.sizes},
            "models": [
                {
                    "target": model.target,
                    "architecture": model.id,
                    "sizes": {str(size): model.known[size] for size in self.sizes if size in model.known},
                    "quantities": {
                        name: _cell_json(cell, model) for name, cell in zip(self.quantities, row, strict=True)
                    },
                }
                for model, row in zip(self.models, self.cells, strict=True)
            ],
        }

    def latex(self) -> str:
        """Return the table in LaTeX: a float that needs the package booktabs.

        A table that is wider than a column is a ``table*``. It fits the pages of the ACM, IEEE, NeurIPS and ACL.
        `symformer audit` checks its sizes and values.
        """
        from .formats.table_float import float_of

        return float_of(self.as_table(), self.notes(brief=True), self.notes(), self.marks())

    def marks(self) -> dict[tuple[int, int], str]:
        r"""Return the mark of each cell that `symformer audit` can check, by row and column: ``\symformer{id}``.

        A cell without a value has a mark, too. No cell of a model whose name needs escapes in LaTeX has one.
        """
        found: dict[tuple[int, int], str] = {}
        for row, (model, cells) in enumerate(zip(self.models, self.cells, strict=True)):
            marks = [_mark_of_size(model, size) for size in self.sizes]
            marks += [
                _mark(model, name, cell, self.divisor(name) != 1)
                for name, cell in zip(self.quantities, cells, strict=True)
            ]
            found |= {(row, column): mark for column, mark in enumerate(marks, 1) if mark}
        return found

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks if values are per rank."""
        found = [
            line
            for model, row in zip(self.models, self.cells, strict=True)
            for cell in row
            if cell.formula is not None
            for line in ranks.stated(cell.formula.ranks, model.known)
        ]
        return _distinct(found)

    def _picture(self, by: str) -> Plot:
        raise OptionError("a table of models has no plot; use table(), latex(), to_markdown() or to_json()")

    def __repr__(self) -> str:
        return f"<{', '.join(self.quantities)} of {joined(self.names)}>"

    def to_markdown(self) -> str:
        """Return the table and its notes in Markdown, as printed.

        Examples
        --------
        >>> import symformer as sf
        >>> print(sf.table(["gpt2", "gpt2-xl"], ["params"], exact=True).to_markdown())
        Parameters.
        <BLANKLINE>
        | Model | Parameters |
        |---|---:|
        | `gpt2` | 124,439,808 |
        | `gpt2-xl` | 1,557,611,200 |

        """
        from ..output.notebook import markdown

        return markdown([self.as_table(), *map(Paragraph, self.notes())])

    def to_blocks(self) -> list[BriefBlock]:
        """Return the table and its notes."""
        return [self.as_table(), *map(Paragraph, self.notes())]

    def as_table(self) -> Table:
        """Return the table with its caption."""
        head: list[Line] = [["Model"], *([Math.of(size)] for size in self.sizes)]
        head += [[capital(self.column_name(name))] for name in self.quantities]
        rows: list[Sequence[Line]] = [
            [
                [Code(name)],
                *([f"{model.known[size]:,}" if size in model.known else NO_SIZE] for size in self.sizes),
                *([self._printed(cell)] for cell in row),
            ]
            for name, model, row in zip(self.names, self.models, self.cells, strict=True)
        ]
        return Table(head, rows, "l" + "r" * (len(head) - 1), caption=self.caption())

    def caption(self) -> Line:
        """Return the caption: the quantities, and the sizes of the run that are the same for all models."""
        line: list[Piece] = [capital(joined(self.column_name(name) for name in self.quantities))]
        if run := self.run:
            line += [" at ", *listed(*_equal(run))]
        return [*line, "."]

    def column_name(self, name: str) -> str:
        """Return the name of a quantity in the head of a column: without its unit, which each value has."""
        title = re.sub(r"^bytes of (the )?", "", find_quantity(name).measure.title)
        if name == "kv-cache" and self._has_states(name):
            title = "cache and state"
        return f"{title} per token" if self.divisor(name) != 1 else title

    def _has_states(self, name: str) -> bool:
        """Return whether the cache of a model has a recurrent state."""
        formulas = (row[self.quantities.index(name)].formula for row in self.cells)
        return any(
            each is not None and any(entry.kind in CARRYING for _, entry in model.ledger)
            for each, model in zip(formulas, self.models, strict=True)
        )

    def _printed(self, cell: TableCell) -> str:
        if cell.value is None or cell.formula is None:
            return NO_VALUE
        unit = cell.formula.measure.unit
        if not self.exact:
            return significant(cell.value, unit)
        return exact_text(cell.value) if unit == "elements" else f"{exact_text(cell.value)} {unit}"

    def notes(self, brief: bool = False) -> list[Line]:
        """Return the conventions of each quantity, the meanings of the sizes, and the reason for each missing value.

        Parameters
        ----------
        brief
            Whether to name the conventions only, for the float of a paper, instead of stating their meanings.

        """
        columns = list(zip(*self.cells, strict=True))
        found = [
            line
            for name, column in zip(self.quantities, columns, strict=True)
            for line in (self._named(name, column) if brief else self._counted(name, column))
        ]
        found += [*self._remarks(), *self._changes(), *self.rank_lines(), *self._other_runs()]
        if not brief and any(self._rounded(cell) for cell in self._every_cell()):
            found.append(
                [
                    f"Parameters are rounded to {OF_PARAMETERS} significant digits and other values to {OF_COSTS}; "
                    "prefixes are powers of 1,000."
                ]
            )
        if self.sizes:
            found.append(self._meanings())
        return [*found, *self._reasons(columns)]

    def _rounded(self, cell: TableCell) -> bool:
        return not self.exact and cell.value is not None and not self._printed(cell).startswith(exact_text(cell.value))

    def _meanings(self) -> Line:
        """Return the meaning of each size that has a column."""
        where = {name: place for model in reversed(self.models) for name, place in model.provenance.places.items()}
        meanings: list[Line] = [[Math.of(size), f": {size_meaning(size, where.get(str(size)))}"] for size in self.sizes]
        line: list[Piece] = [*_separated(meanings, "; "), "."]
        if any(size not in model.known for size in self.sizes for model in self.models):
            line.append(f" {NO_SIZE} marks a size that a model does not have.")
        return line

    def _named(self, name: str, column: Sequence[TableCell]) -> list[Line]:
        """Return the conventions of a quantity by name."""
        question = find_quantity(name)
        chosen = self._conventions(question, column, brief=True)
        basis = " at 2 FLOPs per multiply-add" if question.measure.unit == "FLOPs" else ""
        if not chosen and not basis:
            return []
        line: list[Piece] = [capital(self.column_name(name)), basis]
        line += [", with ", *listed(*chosen)] if chosen else []
        return [
            [*line, ".", *(self._dependence(column) if self.divisor(name) != 1 else []), *self._basis(question, column)]
        ]

    def _basis(self, question: Quantity, column: Sequence[TableCell]) -> Line:
        """Return a sentence on values that are not exact by layout, such as those by an engine's convention."""
        shown = [cell.formula for cell in column if cell.formula is not None and cell.value is not None]
        labels = {question.basis_for(formula) for formula in shown} - {"", BY_LAYOUT}
        return [f" The values are {joined(sorted(labels))}."] if labels else []

    def _counted(self, name: str, column: Sequence[TableCell]) -> list[Line]:
        """Return the definition of a quantity and its conventions."""
        question = find_quantity(name)
        if all(cell.value is None for cell in column):
            return []
        line: list[Piece] = [f"{capital(self.column_name(name))}: "]
        defined = name not in PLAIN or self.lettered
        if defined:
            line += self._defined(question, column)
        if chosen := self._conventions(question, column):
            line += [" Counted with " if defined else "counted with ", *listed(*chosen), "."]
        if (tokens := self.divisor(name)) != 1:
            line += [" Divided by the ", Math.of(tokens), " tokens.", *self._dependence(column)]
        line += self._basis(question, column)
        return [line] if len(line) > 1 else []

    def _defined(self, question: Quantity, column: Sequence[TableCell]) -> list[Piece]:
        """Return the definition of parameters, and the first sentence of any other; models with another are named."""
        owners: dict[str, list[str]] = {}
        for name, cell in zip(self.names, column, strict=True):
            if cell.formula is not None and cell.value is not None:
                said = question.statement_for(cell.formula)
                said = said if question.measure.name in PLAIN else said.partition(". ")[0]
                owners.setdefault(_without_papers(said.rstrip(".")), []).append(name)
        usual, *others = sorted(owners, key=lambda said: -len(owners[said]))
        line = [*sentence(f"{usual}.")]
        for said in others:
            defined = f"{said[0].lower()}{said[1:]}."
            line += [" For ", *listed(*([Code(name)] for name in owners[said])), ": ", *sentence(defined)]
        return line

    def _dependence(self, column: Sequence[TableCell]) -> list[Piece]:
        """Return a sentence on the sizes of the run that a cost per token still depends on, and for which models."""
        owners: dict[tuple[Symbol, ...], list[str]] = {}
        for name, cell in zip(self.names, column, strict=True):
            if cell.value is not None:
                owners.setdefault(tuple(cell.at), []).append(name)
        line: list[Piece] = []
        for sizes, names in owners.items():
            if sizes:
                line += [" The values depend on ", *listed(*([Math.of(size)] for size in sizes))]
                line += [*(_of(names) if len(owners) > 1 else []), "."]
        return line

    def _conventions(self, question: Quantity, column: Sequence[TableCell], brief: bool = False) -> list[Line]:
        """Return each convention with its meaning, and with the models it holds for if they differ."""
        owners: dict[tuple[str, str], list[str]] = {}
        for name, cell in zip(self.names, column, strict=True):
            if cell.formula is not None and cell.value is not None:
                for setting_ in question.shown_conventions(cell.formula).items():
                    owners.setdefault(setting_, []).append(name)
        several = [key for key, _ in owners]
        return [
            [
                setting(key, value),
                *([] if brief else _meaning(question.choices[key], value)),
                *(_of(owners[key, value]) if several.count(key) > 1 else []),
            ]
            for key, value in sorted(owners, key=lambda each: [*question.choices].index(each[0]))
        ]

    def _remarks(self) -> list[Line]:
        """Return the further sentences of the quantities that apply to some models, with the names of these."""
        owners: dict[str, dict[str, None]] = {}
        for name, row in zip(self.names, self.cells, strict=True):
            for cell in row:
                if cell.formula is not None and cell.value is not None:
                    for said in _further(find_quantity(cell.formula.measure.name), cell.formula):
                        owners.setdefault(_without_papers(said), {})[name] = None
        together: dict[tuple[str, ...], list[str]] = {}
        for said, names in owners.items():
            together.setdefault(tuple(names), []).append(said)
        return [
            [*listed(*([Code(name)] for name in names)), ": ", *sentence(" ".join(sentences))]
            for names, sentences in together.items()
        ]

    def _changes(self) -> list[Line]:
        """Return the options and sizes in which a model differs from what its name stands for."""
        found: list[Line] = []
        for name, model in zip(self.names, self.models, strict=True):
            subject = subject_of(model)
            changes: list[Line] = [[Code(option)] for option in subject.changed_options]
            if subject.has_own_sizes:
                changes += [
                    [Math.of(size), " = ", *([f"{int(value):,}"] if value.is_Integer else [Math.of(value)])]
                    for size, value in subject.changed_sizes.items()
                ]
            if changes:
                found.append([Code(name), " has ", *listed(*changes), "."])
        return found

    def _other_runs(self) -> list[Line]:
        """Return the sizes of the run that differ between models."""
        shared = self.run
        found: list[Line] = []
        for name, row in zip(self.names, self.cells, strict=True):
            own = {size: number for cell in row for size, number in cell.at.items() if size not in shared}
            if own:
                found.append([Code(name), " is run with ", *listed(*_equal(own)), "."])
        return found

    def _reasons(self, columns: Sequence[Sequence[TableCell]]) -> list[Line]:
        """Return the reason for each missing value, once for all models that share it."""
        owners: dict[tuple[str, str], list[str]] = {}
        for quantity, column in zip(self.quantities, columns, strict=True):
            for name, cell in zip(self.names, column, strict=True):
                if cell.value is None:
                    owners.setdefault((quantity, cell.reason), []).append(name)
        return [
            [
                f"{NO_VALUE} No {self.column_name(quantity)} of ",
                *listed(*([Code(name)] for name in names)),
                f": {reason}{'' if reason.endswith('.') else '.'}",
            ]
            for (quantity, reason), names in owners.items()
        ]


def _columns(models: Sequence[Model], columns: Sequence[str] | str) -> tuple[Symbol, ...]:
    """Return the sizes that have a column. Raises UnknownNameError, or SizeError for a size that no model has."""
    own = [{size for size in model.known if not letter(size).run} for model in models]
    if columns == EVERY:
        enough = min(2, len(models))
        every = sorted(set().union(*own), key=print_order)
        return tuple(size for size in every if sum(size in each for each in own) >= enough)
    sizes = NamedSizes.joined(model.settable for model in models)
    found = [symbol(name, sizes) for name in ([columns] if isinstance(columns, str) else columns)]
    for size in found:
        if not any(size in each for each in own):
            known = ", ".join(map(str, sorted(set().union(*own), key=print_order)))
            raise SizeError(f"{size} ({letter(size).meaning}) is not a known size of any of the models; known: {known}")
    return tuple(dict.fromkeys(found))


def _mark(model: Model, quantity: str, cell: TableCell, per_token: bool) -> str:
    """Return the mark of a value, with all differences from the named model."""
    changed = changed_conventions([cell.formula]) if cell.formula is not None else cell.asked
    given = [f"{name}={value}" for name, value in changed.items()]
    return _spelt_mark(model, quantity, [DIVIDED, *given] if per_token else given, cell.at)


def _mark_of_size(model: Model, size: Symbol) -> str:
    return _spelt_mark(model, str(size), [], {})


def _spelt_mark(model: Model, name: str, conventions: Sequence[str], at: Mapping[Symbol, int]) -> str:
    r"""Return ``\symformer[options]{id}`` for a quantity or a size of a model, or "" if LaTeX cannot spell it."""
    subject = subject_of(model)
    if not all(value.is_Integer for value in subject.changed_sizes.values()):
        return ""
    sizes = {**subject.changed_sizes, **at}
    given = [*subject.changed_options, *conventions]
    given += [f"{size}={int(sizes[size])}" for size in sorted(sizes, key=print_order)]
    options, id_ = ",".join(given), f"{model.target}.{name}"
    if not _MARKED.fullmatch(f"{id_}{options}"):
        return ""
    options, id_ = options.replace("_", r"\_"), id_.replace("_", r"\_")
    return rf"\symformer[{options}]{{{id_}}}" if options else rf"\symformer{{{id_}}}"


def _cell_json(cell: TableCell, model: Model) -> dict[str, Any]:
    if cell.value is None:
        return {"value": None, "reason": cell.reason}
    found: dict[str, Any] = {"value": json_number(cell.value)}
    if cell.amount is not None:
        found["formula"] = code(cell.amount)
    if cell.formula is not None:
        found |= {"conventions": dict(cell.formula.conventions), **ranks.facts(cell.formula.ranks, model.known)}
    return {**found, "at": {str(size): number for size, number in cell.at.items()}}


def _further(question: Quantity, formula: Formula) -> list[str]:
    """Return the sentences that apply to a formula because of its operations."""
    told = question.statement_for(formula)
    return [
        *([question.encoder] if question.encoder and question.encoder in told else []),
        *question.notes_for(formula),
    ]


def _equal(sizes: Numbers) -> list[Line]:
    """Return each size with its value, as in S = 1,024."""
    return [[Math.of(size), f" = {sizes[size]:,}"] for size in sorted(sizes, key=print_order)]


def _meaning(convention: Convention, value: str) -> Line:
    return [" (", *sentence(_without_papers(convention.meanings[value])), ")"]


def _of(names: Sequence[str]) -> Line:
    return [" for ", *listed(*([Code(name)] for name in names))]


def _without_papers(words: str) -> str:
    """Return a sentence without the keys of papers: a table is used in a paper with its own bibliography."""
    return re.sub(r"\s+(?=[,.;]|$)", "", "".join(split_at_keys(words)[::2]))


def _separated(lines: Sequence[Line], by: str) -> list[Piece]:
    return [piece for place, line in enumerate(lines) for piece in ([by, *line] if place else line)]


def _distinct(lines: Iterable[Line]) -> list[Line]:
    return list({plain(line): line for line in lines}.values())


def table(
    targets: Sequence[Model | AnyTarget] | Model | AnyTarget,
    quantities: Sequence[str] | str = ("params",),
    *,
    per: str = "",
    columns: Sequence[str] | str = (),
    sizes: Mapping[str, int | str | Expr] | None = None,
    exact: bool = False,
    **conventions: str,
) -> ModelTable:
    """Return a table of models and quantities, as papers print it.

    Parameters
    ----------
    targets
        Models or their names.
    quantities
        The quantities, one column each.
    per
        ``"token"`` divides each cost by its number of tokens: forward FLOPs by B·S, the KV cache by B·C. Numbers of
        parameters are not divided.
    columns
        Sizes that get a column, such as ``["L", "E"]``; ``"every"`` selects those that at least two of the models have.
    sizes
        Values of sizes, such as ``{"S": 1024}``, set in every model that has them.
    exact
        Print exact values instead of 3 or 4 significant digits.
    conventions
        Conventions of the quantities, such as ``attention="causal"``; each quantity uses those it has.

    Returns
    -------
    ModelTable
        The table; a value that does not exist has a reason in ``notes()``.

    Raises
    ------
    UnknownNameError, OptionError, SizeError
        For an unknown model, quantity, convention or size, and for a size that no model has.

    Examples
    --------
    >>> found = table(["gpt2", "llama-3-8b"], ["params", "kv-cache"], per="token", columns="L")
    >>> found.table()
    {'model': ['gpt2', 'llama-3-8b'], 'L': [12, 32], 'params': [124439808, 8030261248], 'kv-cache': [36864, 131072]}

    """
    if per not in ("", "token"):
        raise OptionError(f"per={per!r} is not supported; choose 'token' or leave it out")
    many = targets if isinstance(targets, Sequence) and not isinstance(targets, str) else [targets]
    if not many:
        raise OptionError("a table needs at least one model")
    asked = [quantities] if isinstance(quantities, str) else [*dict.fromkeys(quantities)]
    if not asked:
        raise OptionError("a table needs at least one quantity, such as params")
    choices = {key: each for name in asked for key, each in find_quantity(name).choices.items()}
    chosen = spelled(conventions, choices)
    for key in chosen:
        if key not in choices:
            raise OptionError(f"{key} is not a convention of {joined(asked)}")
    models = [find_model(each) for each in many]
    models = _set(models, sizes or {}, asked, chosen)
    return ModelTable.of(models, asked, [chosen] * len(models), columns, bool(per), exact)


def _set(
    models: Sequence[Model],
    sizes: Mapping[str, int | str | Expr],
    asked: Sequence[str],
    conventions: Mapping[str, str],
) -> list[Model]:
    """Return the models with sizes set in each that has them. Raises SizeError for a size that none has."""
    found = list(models)
    for name, value in sizes.items():
        owners = [place for place, model in enumerate(models) if name in _accepted(model, asked, conventions)]
        if not owners:
            raise SizeError(f"{name} is not a size of {joined(model.name for model in models)} in {joined(asked)}")
        for place in owners:
            found[place] = found[place].set_unchecked({name: value})
    return [model.validated() for model in found]


def _accepted(model: Model, asked: Sequence[str], conventions: Mapping[str, str]) -> set[str]:
    """Return the names of the sizes that can be set for the quantities of a model."""
    found: set[str] = set()
    for name in asked:
        known = find_quantity(name).choices
        with suppress(*UNSUPPORTED):
            formula = model.formula(name, **{key: value for key, value in conventions.items() if key in known})
            found |= {str(size) for size in formula.accepted_sizes | formula.defining_sizes}
    return found
