"""Results with columns: as a pandas table and as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sympy import Expr

from ..language.errors import DocumentError
from ..language.notation.text import number
from .blocks import Code, Line, Math, Table
from .notebook import markdown

if TYPE_CHECKING:
    import pandas


class Tabular:
    """A result with columns. Its class has ``table``."""

    def table(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name, with exact numbers and SymPy expressions."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns of ``table`` as a pandas table. Integers that do not fit 64 bits stay exact objects.

        Returns
        -------
        pandas.DataFrame
            One row per entry.

        Raises
        ------
        DocumentError
            If pandas is not installed.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.model("gpt2").params.rows.to_pandas()["value"].sum()  # doctest: +SKIP
        124439808

        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise DocumentError("to_pandas needs pandas; run pip install pandas, or use table()") from None
        return DataFrame(dict(self.table()))

    def to_markdown(self) -> str:
        """Return the columns of ``table`` as a Markdown table, with formulas in dollar signs.

        Returns
        -------
        str
            The table, without a final newline.

        Examples
        --------
        >>> import symformer as sf
        >>> print(sf.component("mlp", bias=False).params.rows.to_markdown())
        | path | count | formula |
        |---|---:|---|
        | up | $1$ | $E H$ |
        | act | $1$ | $0$ |
        | down | $1$ | $E H$ |

        """
        columns = self.table()
        rows = list(zip(*columns.values(), strict=True))
        align = "".join("r" if all(_is_number(each) for each in column) and len(column) else "l"
                        for column in columns.values())  # fmt: skip
        cells = [[_cell(each) for each in row] for row in rows]
        return markdown([Table([[name] for name in columns], cells, align)])


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction | Integral) and not isinstance(value, bool)


def _cell(value: Any) -> Line:
    if isinstance(value, Expr):
        try:
            return [Math.of(value)]
        except TypeError:
            return [Code(str(value))]
    if isinstance(value, bool) or value is None:
        return [] if value is None else [str(value).lower()]
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    if isinstance(value, int | Fraction):
        return [number(value)]
    if isinstance(value, float):
        return [f"{value:.4g}"]
    if isinstance(value, tuple | list):
        return [", ".join(map(str, value))]
    return [str(value)]
