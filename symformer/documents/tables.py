"""Rows of a sweep as a file: CSV, Parquet or JSON lines, written as they come, and whole or not at all."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from io import StringIO
from math import prod
from typing import Any, BinaryIO

from ..algebra.sweep import Sweep
from ..formulas.ranks import degrees
from ..language.errors import DocumentError
from ..ledger.facts import ONE
from ..output.files import replacing

FORMATS = ("csv", "parquet", "jsonl")
NARROW, WIDE = 38, 76  # digits that a decimal of Parquet has

WIDE_INTEGER = 2**63  # beyond which a number takes more than 64 bits

Put = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class _Columns:
    """The columns of a file: those of the sweep, and the number of ranks of each row where it is of one rank."""

    names: tuple[str, ...]
    kinds: Mapping[str, str]
    largest: Mapping[str, int]
    ranks: Mapping[str, tuple[str, ...]]  # by column, the degrees that multiply
    numbers: Mapping[str, int]  # of the degrees that are the same in all rows

    @classmethod
    def of(cls, sweep: Sweep) -> _Columns:
        """Raises DocumentError for a degree without a number, and for a label with the name of a column of ranks."""
        products = {each.measure.name: each.ranks for each in sweep.formulas}
        shared = len(set(products.values())) == 1
        ranks = {
            "ranks" if shared else f"ranks of {name}": tuple(map(str, degrees(product)))
            for name, product in products.items()
            if product != ONE
        }
        for name in ranks:
            if name in sweep.columns:
                raise DocumentError(f"the label {name} is the name of the column of ranks; give it another name")
        numbers = {str(size): number for size, number in sweep.model.known.items()} | sweep.numbers
        largest = dict(sweep.largest)
        for name, factors in ranks.items():
            for degree in factors:
                if degree not in sweep.columns and degree not in numbers:
                    raise DocumentError(f"the number of ranks of each row needs {degree}; give it a number")
            largest[name] = prod(_most(sweep, degree, numbers) for degree in factors)
        kinds = sweep.kinds | {name: "int64" if largest[name] < WIDE_INTEGER else "object" for name in ranks}
        return cls((*sweep.columns, *ranks), kinds, largest, ranks, numbers)

    def completed(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """Return a block of the sweep with its columns of ranks."""
        import numpy

        found = dict(block)
        for name, factors in self.ranks.items():
            column = numpy.ones(len(next(iter(block.values()))), object)
            for degree in factors:
                column = column * (block[degree].astype(object) if degree in block else self.numbers[degree])
            found[name] = column.astype(self.kinds[name])
        return found


def _most(sweep: Sweep, degree: str, numbers: Mapping[str, int]) -> int:
    """Return a bound on the number of ranks of one kind in a row; columns that follow others have 64 bits."""
    if degree in sweep.rows.ranges:
        return sweep.rows.ranges[degree][1]
    return WIDE_INTEGER - 1 if degree in sweep.columns else numbers[degree]


def write(sweep: Sweep, path: str, extension: str) -> int:
    """Write every row that stays, and say how many there were. Raises DocumentError, and then nothing is written."""
    writers = {"csv": _csv, "parquet": _parquet, "jsonl": _jsonl}
    count = 0
    columns = _Columns.of(sweep)
    with replacing(path) as file:
        put, close = writers[extension](columns, file)
        for block in sweep.blocks():
            put(columns.completed(block))
            count += len(block[sweep.columns[0]])
        close()
    return count


def _nothing() -> None:
    pass


def _csv(found: _Columns, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    names = found.names
    file.write(_lines([names]))
    try:
        arrow, writer = import_module("pyarrow"), import_module("pyarrow.csv")
    except ImportError:
        arrow = None

    def put(block: dict[str, Any]) -> None:
        columns = [block[name] for name in names]
        if arrow is not None and all(each.dtype != object for each in columns):  # the same bytes, ten times as fast
            table = arrow.table(dict(zip(names, columns, strict=True)))
            writer.write_csv(table, file, writer.WriteOptions(include_header=False, quoting_style="none"))
            return
        file.write(_lines(zip(*(each.tolist() for each in columns), strict=True)))

    return put, _nothing


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    """Return lines of CSV, with quotes where needed."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _jsonl(found: _Columns, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    names = found.names
    spelt = [json.dumps(name) for name in names]

    def put(block: dict[str, Any]) -> None:
        for row in zip(*(block[name].tolist() for name in names), strict=True):
            line = ", ".join(
                f"{name}: {json.dumps(each, ensure_ascii=False)}" for name, each in zip(spelt, row, strict=True)
            )
            file.write(f"{{{line}}}\n".encode())

    return put, _nothing


def _parquet(found: _Columns, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise DocumentError(
            "Parquet needs pyarrow; pip install pyarrow, or pip install symformer[parquet]; or write .csv"
        ) from None
    types = {}
    for name, kind in found.kinds.items():
        digits = len(str(found.largest.get(name, 0)))
        if kind == "object" and digits > WIDE:
            raise DocumentError(f"{name} can have {digits} digits here, and Parquet has numbers of {WIDE}; write .csv")
        make = arrow.decimal128 if digits <= NARROW else arrow.decimal256
        types[name] = make(NARROW if digits <= NARROW else WIDE, 0) if kind == "object" else arrow.int64()
        if kind == "text":
            types[name] = arrow.string()
    schema = arrow.schema([arrow.field(name, types[name], nullable=False) for name in found.names])
    writer = parquet.ParquetWriter(file, schema)

    def put(block: dict[str, Any]) -> None:
        columns = []
        for name in found.names:
            column = block[name]
            values = [Decimal(int(each)) for each in column] if found.kinds[name] == "object" else column
            columns.append(arrow.array(values, types[name]))
        writer.write_table(arrow.Table.from_arrays(columns, schema=schema))

    def close() -> None:
        writer.close()

    return put, close
