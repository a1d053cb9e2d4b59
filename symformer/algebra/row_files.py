"""Configs from a CSV, Parquet or JSON Lines file, one per row. A column is a size, by its letter, or a text label."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from sympy import Symbol

from ..language.arithmetic import MAX_INTEGER
from ..language.errors import ConfigError, SizeError, SymformerError, listed, quoted
from ..language.sizes import format_value, whole
from ..language.symbols import SYMBOLS, NamedSizes, named_symbol, symbol
from .grid import PIECE, RowChunk

FORMATS = ("csv", "parquet", "jsonl")
LINE = 100_000  # characters of a line
DIGITS = 4_000  # digits of the longest number that Python parses
NUMBER = re.compile(r"[+-]?\d[\d_,]*(\.\d*)?([eE][+-]?\d+)?|[+-]?\.\d+", re.ASCII)


def _read(name: str, cell: str) -> int:
    """Return the integer in a text cell. Raises SizeError."""
    found = cell.strip()
    if len(found) > DIGITS and found.isascii() and found.isdigit():
        raise SizeError(f"{name} is a number of {len(found):,} digits; a size has at most {len(str(MAX_INTEGER)) - 1}")
    if found.isascii() and found.isdigit():
        return whole(name, int(found))
    decimal = NUMBER.fullmatch(found) and "," not in found and len(found) < 40
    return whole(name, Decimal(found) if decimal else cell)


@dataclass(frozen=True)
class RowFile:
    """The rows of a file. It is read twice: once to check every number, and once to compute with them."""

    path: str
    own: NamedSizes = field(default_factory=lambda: NamedSizes(()))  # the sizes of the model

    @classmethod
    def open(cls, path: str, own: Iterable[Symbol] = ()) -> RowFile:
        """Open a file and check every number in it. Raises ConfigError, SizeError.

        A column is a size if its name is a letter of the alphabet or names one of ``own``, the sizes of a model.
        """
        found = cls(path, own if isinstance(own, NamedSizes) else NamedSizes(own))
        if found._format not in FORMATS:
            raise ConfigError(f"{path[:200]} has an unsupported format; use a .csv, .parquet or .jsonl file")
        if not Path(path).is_file():
            raise ConfigError(f"{path[:200]} is not a file")
        if not os.access(path, os.R_OK):
            raise ConfigError(f"{path[:200]} cannot be read: permission denied")
        try:
            _ = found._looked
        except UnicodeDecodeError:
            raise ConfigError(f"{path[:200]} is not UTF-8 text") from None
        return found

    @property
    def _format(self) -> str:
        return Path(self.path).suffix.removeprefix(".").lower()

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        found = [name.strip() for name in self._head()]
        if not found or found == [""]:
            raise ConfigError(f"{self.path} has no columns; its first line must name sizes, such as E,L")
        for name in found:
            if found.count(name) > 1:
                raise ConfigError(f"{self.path} has two columns named {name}; remove one")
        return tuple(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes, in the order of the columns."""
        found = tuple(map(self._letter, self._sizes))
        if not found:
            raise self._no_size(self._columns[0])
        for name in found:
            if found.count(name) > 1:
                twice = " and ".join(each for each in self._sizes if self._letter(each) == name)
                raise ConfigError(f"{self.path} has two columns for {name}, {twice}; remove one")
        return found

    @cached_property
    def _sizes(self) -> tuple[str, ...]:
        """The columns with sizes, as they are named in the file."""
        return tuple(name for name in self._columns if self._is_size(name))

    def _letter(self, name: str) -> str:
        return str(symbol(name, self.own))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The text columns, which are copied to the output, in their order."""
        return tuple(name for name in self._columns if not self._is_size(name))

    def _is_size(self, name: str) -> bool:
        return name in SYMBOLS or named_symbol(name) in self.own or name in self.own.names

    def _no_size(self, name: str) -> ConfigError:
        """Return the error for a column whose name is not a size although it has numbers or is the only column."""
        try:
            symbol(name, self.own)
        except SymformerError as error:
            return ConfigError(
                f"{self.path}: the column {quoted(name)} is neither a size nor a text label next to sizes: {error}"
            )
        raise AssertionError(name)

    def _label(self, name: str, value: object) -> str:
        """Return a cell of a label column. Raises ConfigError for a number, which may be a size under another name."""
        if value is None:
            return ""
        if not isinstance(value, str) or NUMBER.fullmatch(value.strip()):
            raise self._no_size(name)
        return value

    @property
    def count(self) -> int:
        """The number of rows."""
        return self._looked[0]

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """The smallest and the largest value of each size."""
        return self._looked[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a full piece."""
        return (min(PIECE, max(self.count, 1)),)

    @cached_property
    def _looked(self) -> tuple[int, dict[str, tuple[int, int]]]:
        count, ranges, names = 0, dict[str, tuple[int, int]](), self.names
        for piece in self._read():
            for name, column in zip(names, self._sizes, strict=True):
                array = piece[column]
                low, high = int(array.min()), int(array.max())
                before = ranges.get(name, (low, high))
                ranges[name] = min(low, before[0]), max(high, before[1])
            count += len(next(iter(piece.values())))
        if not count:
            raise ConfigError(f"{self.path} has no rows")
        return count, ranges

    def chunks(self) -> Iterator[RowChunk]:
        """Yield the rows, one piece at a time."""
        for piece in self._read():
            sizes = {name: piece[column] for name, column in zip(self.names, self._sizes, strict=True)}
            labels = {name: piece[name] for name in self.labels}
            yield RowChunk(sizes, (len(next(iter(piece.values()))),), labels)

    def _head(self) -> Sequence[str]:
        if self._format == "parquet":
            return [str(name) for name in self._parquet().schema_arrow.names]
        with self._text() as file:
            if self._format == "csv":
                try:
                    return next(csv.reader(file), [])
                except csv.Error as error:
                    raise ConfigError(f"{self.path}, line 1: {error}") from None
            return list(self._object(1, next(file, "{}")))

    def _read(self) -> Iterator[dict[str, Any]]:
        if self._format == "parquet":
            yield from self._batches()
            return
        import numpy

        lines = self._csv() if self._format == "csv" else self._jsonl()
        while rows := list(islice(lines, PIECE)):
            columns = zip(self._columns, zip(*rows, strict=True), strict=True)
            yield {name: numpy.array(each, object if name in self.labels else None) for name, each in columns}

    def _csv(self) -> Iterator[list[int | str]]:
        names = self._columns
        with self._text() as file:
            reader = csv.reader(file)
            next(reader, None)
            try:
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(names):
                        at = f"{self.path}, line {reader.line_num}"
                        raise ConfigError(f"{at}: {len(row)} values for {len(names)} columns")
                    yield [
                        self._size(_read, name, cell, reader.line_num)
                        if name in self._sizes
                        else self._label(name, cell)
                        for name, cell in zip(names, row, strict=True)
                    ]
            except csv.Error as error:
                raise ConfigError(f"{self.path}, line {reader.line_num}: {error}") from None

    def _jsonl(self) -> Iterator[list[int | str]]:
        names = self._columns
        with self._text() as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                found = self._object(number, line)
                if found.keys() != set(names):
                    other = listed(sorted(found.keys() ^ set(names)))
                    raise ConfigError(f"{self.path}, line {number}: the names differ from the first line: {other}")
                yield [
                    self._size(whole, name, found[name], number)
                    if name in self._sizes
                    else self._label(name, found[name])
                    for name in names
                ]

    def _object(self, number: int, line: str) -> dict[str, Any]:
        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            for place, (name, value) in enumerate(pairs):
                for other, before in pairs[:place]:
                    if other == name:
                        both = f"as {format_value(before)} and as {format_value(value)}"
                        raise ConfigError(
                            f"{self.path}, line {number}: {quoted(name)} is given twice, {both}; remove one"
                        )
            return dict(pairs)

        try:
            found = json.loads(line, object_pairs_hook=once, parse_float=Decimal) if len(line) <= LINE else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ConfigError(f'{self.path}, line {number}: not a JSON object, such as {{"E": 768}}')
        return found

    def _size(self, read: Callable[[str, Any], int], name: str, value: object, line: int) -> int:
        try:
            return read(name, value)
        except SizeError as error:
            raise SizeError(f"{self.path}, line {line}: {error}") from None

    def _text(self) -> Any:
        return open(self.path, encoding="utf-8-sig", newline="")

    def _parquet(self) -> Any:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise ConfigError(
                f"{self.path} needs pyarrow; run pip install pyarrow, or pip install symformer[parquet]"
            ) from None
        try:
            return parquet.ParquetFile(self.path)
        except Exception as error:  # pyarrow has many exception types
            raise ConfigError(f"{self.path} is not a Parquet file: {' '.join(str(error).split())[:200]}") from None

    def _batches(self) -> Iterator[dict[str, Any]]:
        import numpy

        for batch in self._parquet().iter_batches(batch_size=PIECE):
            found = {}
            for name, column in zip(self._columns, batch.columns, strict=True):
                if name in self.labels:
                    found[name] = numpy.array([self._label(name, each) for each in column.to_pylist()], object)
                    continue
                if column.null_count or "int" not in str(column.type):
                    what = "missing values" if column.null_count else f"values of type {column.type}"
                    raise SizeError(f"{self.path}: the column {name} has {what}; sizes are whole numbers")
                array = column.to_numpy()
                for each in (array.min(), array.max()) if len(array) else ():
                    self._size(whole, name, int(each), 0)
                found[name] = array.astype("int64")
            if len(batch):
                yield found
