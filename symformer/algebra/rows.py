"""Configs from a file, one a row: CSV, Parquet or JSON lines, whose columns are sizes by their letters."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from ..language.errors import ConfigError, SizeError, listed, quoted
from ..language.sizes import whole
from ..language.symbols import symbol
from .grid import PIECE, Piece

FORMATS = ("csv", "parquet", "jsonl")
LINE = 100_000  # characters of a line
DIGITS = 24  # of a number; a size has fewer


def _read(cell: str) -> int | str:
    """A number where it is one; what else stands there is refused by its name."""
    found = cell.strip()
    return int(found) if found.isascii() and found.isdigit() and len(found) <= DIGITS else cell


@dataclass(frozen=True)
class File:
    """The rows of a file. It is gone through twice: once to look at every number, and once to reckon with them."""

    path: str

    @classmethod
    def open(cls, path: str) -> File:
        """A file whose every row is whole numbers under the same sizes. Raises ConfigError, SizeError."""
        found = cls(path)
        if found._format not in FORMATS:
            raise ConfigError(f"{path[:200]} is read as .csv, .parquet or .jsonl, and ends in none of these")
        if not Path(path).is_file():
            raise ConfigError(f"{path[:200]} is no file")
        if not os.access(path, os.R_OK):
            raise ConfigError(f"{path[:200]} cannot be read: permission denied")
        try:
            _ = found._looked
        except UnicodeDecodeError:
            raise ConfigError(f"{path[:200]} is no text in UTF-8") from None
        return found

    @property
    def _format(self) -> str:
        return Path(self.path).suffix.removeprefix(".").lower()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes, in the order of the columns."""
        found = [name.strip() for name in self._head()]
        if not found or found == [""]:
            raise ConfigError(f"{self.path} has no columns; its first line is to name sizes, such as E,L")
        for name in found:
            try:
                symbol(name)
            except Exception as error:
                raise ConfigError(f"{self.path}: the column {quoted(name)} is no size: {error}") from None
            if found.count(name) > 1:
                raise ConfigError(f"{self.path} has two columns {name}; keep one")
        return tuple(found)

    @property
    def count(self) -> int:
        """How many rows."""
        return self._looked[0]

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """Between what each size is."""
        return self._looked[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a whole piece."""
        return (min(PIECE, max(self.count, 1)),)

    @cached_property
    def _looked(self) -> tuple[int, dict[str, tuple[int, int]]]:
        count, ranges = 0, dict[str, tuple[int, int]]()
        for piece in self._read():
            for name, array in piece.items():
                low, high = int(array.min()), int(array.max())
                before = ranges.get(name, (low, high))
                ranges[name] = min(low, before[0]), max(high, before[1])
            count += len(next(iter(piece.values())))
        if not count:
            raise ConfigError(f"{self.path} has no rows")
        return count, ranges

    def pieces(self) -> Iterator[Piece]:
        """The rows, a piece at a time."""
        for piece in self._read():
            yield Piece(piece, (len(next(iter(piece.values()))),))

    def _head(self) -> Sequence[str]:
        if self._format == "parquet":
            return [str(name) for name in self._parquet().schema_arrow.names]
        with self._text() as file:
            if self._format == "csv":
                return next(csv.reader(file), [])
            return list(self._object(1, next(file, "{}")))

    def _read(self) -> Iterator[dict[str, Any]]:
        if self._format == "parquet":
            yield from self._batches()
            return
        import numpy

        lines = self._csv() if self._format == "csv" else self._jsonl()
        while rows := list(islice(lines, PIECE)):
            yield {name: numpy.array(each) for name, each in zip(self.names, zip(*rows, strict=True), strict=True)}

    def _csv(self) -> Iterator[list[int]]:
        names = self.names
        with self._text() as file:
            reader = csv.reader(file)
            next(reader, None)
            try:
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(names):
                        at = f"{self.path}, line {reader.line_num}"
                        raise ConfigError(f"{at}: {len(row)} values stand under {len(names)} columns")
                    yield [
                        self._size(name, _read(cell), reader.line_num) for name, cell in zip(names, row, strict=True)
                    ]
            except csv.Error as error:
                raise ConfigError(f"{self.path}, line {reader.line_num}: {error}") from None

    def _jsonl(self) -> Iterator[list[int]]:
        names = self.names
        with self._text() as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                found = self._object(number, line)
                if found.keys() != set(names):
                    other = listed(sorted(found.keys() ^ set(names)))
                    raise ConfigError(f"{self.path}, line {number}: not the names of the first line: {other}")
                yield [self._size(name, found[name], number) for name in names]

    def _object(self, number: int, line: str) -> dict[str, Any]:
        try:
            found = json.loads(line) if len(line) <= LINE else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ConfigError(f'{self.path}, line {number}: no JSON object, such as {{"E": 768}}')
        return found

    def _size(self, name: str, value: object, line: int) -> int:
        try:
            return whole(name, value)
        except SizeError as error:
            raise SizeError(f"{self.path}, line {line}: {error}") from None

    def _text(self) -> Any:
        return open(self.path, encoding="utf-8-sig", newline="")

    def _parquet(self) -> Any:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise ConfigError(
                f"{self.path} is Parquet, which needs pyarrow; pip install pyarrow, or pip install symformer[parquet]"
            ) from None
        try:
            return parquet.ParquetFile(self.path)
        except Exception as error:  # of which pyarrow has many
            raise ConfigError(f"{self.path} is no Parquet file: {' '.join(str(error).split())[:200]}") from None

    def _batches(self) -> Iterator[dict[str, Any]]:
        names = self.names
        for batch in self._parquet().iter_batches(batch_size=PIECE):
            found = {}
            for name, column in zip(names, batch.columns, strict=True):
                if column.null_count or "int" not in str(column.type):
                    what = "no value in some row" if column.null_count else f"values of {column.type}"
                    raise SizeError(f"{self.path}: the column {name} has {what}; sizes are whole numbers")
                array = column.to_numpy()
                for each in (array.min(), array.max()) if len(array) else ():
                    self._size(name, int(each), 0)
                found[name] = array.astype("int64")
            if len(batch):
                yield found
