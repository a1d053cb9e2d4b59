"""Write the rows of a sweep to a file in CSV, Parquet or JSON Lines: as a stream, and completely or not at all."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from io import StringIO
from math import prod
from typing import Any, BinaryIO

from ..algebra.sweep import Sweep
from ..formulas.ranks import degrees
from ..language.errors import DocumentError
from ..ledger.facts import ONE
from ..output.files import replace_file

FORMATS = ("csv", "parquet", "jsonl")
NARROW, WIDE = 38, 76  # digits of Parquet's two decimal types

WIDE_INTEGER = 2**63  # from here a number does not fit a signed 64-bit integer

Put = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class _Columns:
    """The columns of a file: the columns of the sweep and, for per-rank quantities, the number of ranks of each row."""

    names: tuple[str, ...]
    kinds: Mapping[str, str]
    largest: Mapping[str, int]
    ranks: Mapping[str, tuple[str, ...]]  # by column, the degrees whose product is the number of ranks
    numbers: Mapping[str, int]  # the degrees that are the same in all rows

    @classmethod
    def of(cls, sweep: Sweep) -> _Columns:
        """Return the columns for a sweep.

        Raises DocumentError for a degree without a value, or a label with the name of a column of ranks.
        """
        products = {each.measure.name: each.ranks for each in sweep.formulas}
        shared = len(set(products.values())) == 1
        ranks = {
            "ranks" if shared else f"ranks of {name}": tuple(map(str, degrees(product)))
            for name, product in products.items()
            if product != ONE
        }
        for name in ranks:
            if name in sweep.columns:
                raise DocumentError(f"the label {name} is also the name of the column of ranks; choose another label")
        numbers = {str(size): number for size, number in sweep.model.known.items()} | sweep.numbers
        largest = dict(sweep.largest)
        for name, factors in ranks.items():
            for degree in factors:
                if degree not in sweep.columns and degree not in numbers:
                    raise DocumentError(f"the number of ranks of each row needs a value for {degree}; set it")
            largest[name] = prod(_most(sweep, degree, numbers) for degree in factors)
        kinds = sweep.kinds | {name: "int64" if largest[name] < WIDE_INTEGER else "object" for name in ranks}
        return cls((*sweep.columns, *ranks), kinds, largest, ranks, numbers)

    def completed(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """Return a block of the sweep with the columns of ranks added."""
        import numpy

        found = dict(block)
        for name, factors in self.ranks.items():
            column = numpy.ones(len(next(iter(block.values()))), object)
            for degree in factors:
                column = column * (block[degree].astype(object) if degree in block else self.numbers[degree])
            found[name] = column.astype(self.kinds[name])
        return found


def _most(sweep: Sweep, degree: str, numbers: Mapping[str, int]) -> int:
    """Return an upper bound on one parallel degree in a row; columns computed from others fit 64 bits."""
    if degree in sweep.rows.ranges:
        return sweep.rows.ranges[degree][1]
    return WIDE_INTEGER - 1 if degree in sweep.columns else numbers[degree]


def write(sweep: Sweep, path: str, extension: str) -> int:
    """Write the rows that pass the filters and return their number. Raises DocumentError, with no file written."""
    writers = {"csv": _csv, "parquet": _parquet, "jsonl": _jsonl}
    count = 0
    columns = _Columns.of(sweep)
    with replace_file(path) as file:
        put, close = writers[extension](columns, file)
        for block in sweep.chunks():
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
        if arrow is not None and all(each.dtype != object for each in columns):  # same bytes, ten times faster
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
            values = (str(each) if isinstance(each, Fraction) else each for each in row)
            line = ", ".join(
                f"{name}: {json.dumps(each, ensure_ascii=False)}" for name, each in zip(spelt, values, strict=True)
            )
            file.write(f"{{{line}}}\n".encode())

    return put, _nothing


def _parquet(found: _Columns, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise DocumentError(
            "Parquet needs pyarrow; run pip install pyarrow or pip install symformer[parquet], or write .csv"
        ) from None
    types = {}
    for name, kind in found.kinds.items():
        digits = len(str(found.largest.get(name, 0)))
        if kind == "object" and digits > WIDE:
            raise DocumentError(f"{name} can have {digits} digits here, more than the {WIDE} of Parquet; write .csv")
        make = arrow.decimal128 if digits <= NARROW else arrow.decimal256
        types[name] = make(NARROW if digits <= NARROW else WIDE, 0) if kind == "object" else arrow.int64()
        if kind in ("text", "fraction"):
            types[name] = arrow.string()
    schema = arrow.schema([arrow.field(name, types[name], nullable=False) for name in found.names])
    writer = parquet.ParquetWriter(file, schema)

    def put(block: dict[str, Any]) -> None:
        columns = []
        for name in found.names:
            column = block[name]
            values = [Decimal(int(each)) for each in column] if found.kinds[name] == "object" else column
            values = list(map(str, column)) if found.kinds[name] == "fraction" else values
            columns.append(arrow.array(values, types[name]))
        writer.write_table(arrow.Table.from_arrays(columns, schema=schema))

    def close() -> None:
        writer.close()

    return put, close
