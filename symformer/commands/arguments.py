"""The arguments and options shared by most commands: target, quantity, sizes, options and JSON output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from . import completion_values

if TYPE_CHECKING:
    from sympy import Expr

    from ..formulas.formula import Formula
    from ..models.model import Model
    from ..views.device_bounds import DeviceMemory, DeviceRates

target = click.argument("target", shell_complete=completion_values.target)
quantity = click.option(
    "--quantity",
    "-q",
    default="params",
    metavar="Q",
    show_default=True,
    shell_complete=completion_values.quantity,
    help="The quantity to count; see `symformer list`.",
)
sets = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completion_values.size,
    help="Set a size, such as E=1024 or H=4*E.",
)
quantities = click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    default=("params",),
    metavar="Q",
    show_default=True,
    shell_complete=completion_values.quantity,
    help="The quantity to count; repeatable.",
)
given = click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completion_values.size,
    help="Fix a size, such as V=32000.",
)
where = click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help="Define a size by sizes and quantities, such as 'H = 4*E' or 'N_tok = 20*params', or state a condition, such "
    "as 'N_tok >= 20*params'.",
)
per = click.option("--per", metavar="EXPRESSION", help="Divide the quantity by sizes or quantities, such as params.")
option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion_values.option,
    help="Set a model option or a convention, such as tied=false or attention=causal.",
)
numbered_options = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="[N:]KEY=VALUE",
    help="Set a convention, such as attention=causal, or an option, such as tied=false, in every model that has it; "
    "2:tied=false sets it in the second model only.",
)
forms = click.option(
    "--rewrite",
    "forms",
    multiple=True,
    metavar="FORM",
    shell_complete=completion_values.form,
    help="Write the formula in another form: factor; 'collect E' (by powers of E); 'apart L' (partial fractions); "
    "'series L' (powers of 1/L), or 'series L 3' up to 1/L^3; or print its leading part or its limit as sizes grow: "
    "'leading S >> E', 'limit L'. Repeatable.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")


def formula(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]) -> tuple[Model, Formula]:
    """Return the model of a target and its formula. Raises SizeError if a size that is set has no effect on it."""
    model, found, _ = formula_on_device(target, quantity, sets, options, None)
    return model, found


def formula_on_device(
    target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], device: str | None
) -> tuple[Model, Formula, DeviceRates | DeviceMemory | None]:
    """Return the model of a target, its formula, and the rates or the memory of its device.

    Raises SizeError if a size that is set has no effect on the formula, and OptionError if the device has none.
    """
    from ..targets.resolution import pairs, resolve

    model, conventions = resolve(target, pairs(options), sets, [quantity])
    found = model.formula(quantity, **conventions)
    chosen: DeviceRates | DeviceMemory | None = None
    if device is not None:
        from ..devices import chosen_device
        from ..views.device_bounds import DeviceRates, on_device

        chosen = on_device(chosen_device(device), found)
        if isinstance(chosen, DeviceRates):
            model = chosen.set_in(model, found)
            found = model.formula(quantity, **conventions)
    model.check_run_sizes([found])
    return model, found, chosen


class OpenModelArguments(NamedTuple):
    """A model, the conventions among its options, the fixed sizes, the sizes defined by others, and the conditions."""

    model: Model
    conventions: dict[str, str]
    given: Mapping[str, str | Expr]
    where: Mapping[str, str | Expr]
    conditions: tuple[str, ...]


def parse_open_model(
    target: str,
    quantities: Sequence[str],
    given: Sequence[str],
    where: Sequence[str],
    options: Sequence[str],
    texts: Sequence[str] = (),
) -> OpenModelArguments:
    """Return the model and its given sizes, with the others left open. Raises SizeError for a size given twice.

    ``texts`` are expressions and conditions, whose quantities can have conventions too.
    """
    from ..algebra.quantity_conditions import quantities_in, quantity_named
    from ..language.errors import SizeError
    from ..language.parsing.quantity_text import is_arithmetic, is_condition
    from ..language.sizes import assignments
    from ..language.symbols import symbol
    from ..language.target import TargetKind, parse
    from ..quantities import is_quantity
    from ..targets.resolution import pairs, resolve

    own = given if parse(target).kind is TargetKind.FACTORY else ()  # the sizes of a factory are its arguments
    conditions = tuple(each for each in where if is_condition(each))
    definitions = [each for each in where if not is_condition(each)]
    named = [name for name in quantities if is_quantity(name) or not quantities_in(name)]
    more = [name for text in [*quantities, *given, *where, *texts] for name in quantities_in(text)]
    model, conventions = resolve(target, pairs(options), own, list(dict.fromkeys([*named, *more])))
    sides: list[dict[str, str | Expr]] = []
    for each in (given, definitions):
        own_text = [text for text in each if not is_arithmetic(text.partition("=")[2], quantity_named)]
        found: dict[str, str | Expr] = {
            str(name): value
            for name, value in assignments([t for t in each if t not in own_text], model.settable).items()
        }
        for text in own_text:
            name, _, value = text.partition("=")
            size = str(symbol(name.strip(), model.settable))
            if size in found:
                raise SizeError(f"{size} is given twice; keep one")
            found[size] = value.strip()
        sides.append(found)
    assignments([f"{name}=1" for side in sides for name in side], model.settable)  # raises SizeError for a duplicate
    return OpenModelArguments(model, conventions, sides[0], sides[1], conditions)
