"""Rows of a sweep as a file: CSV, Parquet or JSON lines, written as they come, and whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any, BinaryIO

from ..algebra.sweep import Sweep, Told
from ..language.errors import DocumentError
from ..output.files import replacing

FORMATS = ("csv", "parquet", "jsonl")
NARROW, WIDE = 38, 76  # digits that a decimal of Parquet has

Put = Callable[[dict[str, Any]], None]


def write(sweep: Sweep, path: str, extension: str, told: Told = lambda done: None) -> int:
    """Write every row that stays, and say how many there were. Raises DocumentError, and then nothing is written."""
    writers = {"csv": _csv, "parquet": _parquet, "jsonl": _jsonl}
    count = 0
    with replacing(path) as file:
        put, close = writers[extension](sweep, file)
        for block in sweep.blocks(told):
            put(block)
            count += len(block[sweep.columns[0]])
        close()
    return count


def _nothing() -> None:
    pass


def _csv(sweep: Sweep, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    names = sweep.columns
    file.write((",".join(names) + "\n").encode())
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
        rows = zip(*(map(str, each.tolist()) for each in columns), strict=True)
        file.write("".join(f"{','.join(row)}\n" for row in rows).encode())

    return put, _nothing


def _jsonl(sweep: Sweep, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    names = sweep.columns
    spelt = [json.dumps(name) for name in names]

    def put(block: dict[str, Any]) -> None:
        for row in zip(*(block[name].tolist() for name in names), strict=True):
            line = ", ".join(f"{name}: {number}" for name, number in zip(spelt, row, strict=True))
            file.write(f"{{{line}}}\n".encode())

    return put, _nothing


def _parquet(sweep: Sweep, file: BinaryIO) -> tuple[Put, Callable[[], None]]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise DocumentError(
            "Parquet needs pyarrow; pip install pyarrow, or pip install symformer[parquet]; or write .csv"
        ) from None
    types = {}
    for name, kind in sweep.kinds.items():
        digits = len(str(sweep.largest.get(name, 0)))
        if kind == "object" and digits > WIDE:
            raise DocumentError(f"{name} can have {digits} digits here, and Parquet has numbers of {WIDE}; write .csv")
        make = arrow.decimal128 if digits <= NARROW else arrow.decimal256
        types[name] = make(NARROW if digits <= NARROW else WIDE, 0) if kind == "object" else arrow.int64()
    schema = arrow.schema([arrow.field(name, types[name], nullable=False) for name in sweep.columns])
    writer = parquet.ParquetWriter(file, schema)

    def put(block: dict[str, Any]) -> None:
        columns = []
        for name in sweep.columns:
            column = block[name]
            values = [Decimal(int(each)) for each in column] if sweep.kinds[name] == "object" else column
            columns.append(arrow.array(values, types[name]))
        writer.write_table(arrow.Table.from_arrays(columns, schema=schema))

    def close() -> None:
        writer.close()

    return put, close
