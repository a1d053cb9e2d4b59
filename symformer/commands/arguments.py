"""What most commands are given: a target, what to count, sizes and options, and whether to print JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from . import completing

if TYPE_CHECKING:
    from sympy import Expr

    from ..formulas.formula import Formula
    from ..models.model import Model

target = click.argument("target", shell_complete=completing.target)
quantity = click.option(
    "--quantity",
    "-q",
    default="params",
    metavar="Q",
    show_default=True,
    shell_complete=completing.quantity,
    help="What to count; see `symformer list`.",
)
sets = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completing.size,
    help="A size, such as E=1024 or H=4*E.",
)
quantities = click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    default=("params",),
    metavar="Q",
    show_default=True,
    shell_complete=completing.quantity,
    help="What to count; repeat for more than one.",
)
given = click.option(
    "--given",
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completing.size,
    help="A size with a fixed value, such as V=32000. Also spelled --set.",
)
where = click.option(
    "--where", multiple=True, metavar="NAME=VALUE", help="A size that follows others, such as 'H = 4*E'."
)
option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completing.option,
    help="An option of the model or a convention, such as tied=false or attention=causal.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


def formula(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]) -> tuple[Model, Formula]:
    """The model that these name, and its formula; every size that is set is one that it asks for."""
    from ..answers.targets import pairs, resolve

    model, conventions = resolve(target, pairs(options), sets, [quantity])
    found = model.formula(quantity, **conventions)
    model.asked_by([found])
    return model, found


class Posed(NamedTuple):
    """A model, the conventions among its options, the sizes that are given, and those that follow others."""

    model: Model
    conventions: dict[str, str]
    given: Mapping[str, Expr]
    where: Mapping[str, Expr]


def posed(
    target: str, quantities: Sequence[str], given: Sequence[str], where: Sequence[str], options: Sequence[str]
) -> Posed:
    """What a question is about that leaves some sizes open. Raises SizeError for a size that is given twice."""
    from ..answers.targets import pairs, resolve
    from ..language.sizes import assignments
    from ..language.target import Kind, parse

    fixed = assignments([*given, *where])
    own = given if parse(target).kind is Kind.FACTORY else ()  # whose sizes are its arguments
    model, conventions = resolve(target, pairs(options), own, quantities)
    sides = [{str(name): fixed[name] for name in assignments(each)} for each in (given, where)]
    return Posed(model, conventions, sides[0], sides[1])
