"""The commands as forms: a field for each argument and option, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click


def command_forms(commands: Mapping[str, click.Command]) -> list[dict[str, Any]]:
    """Return the forms of commands, by name, in the order in which the help lists them."""
    return [_form(name, command) for name, command in commands.items()]


def _form(name: str, command: click.Command) -> dict[str, Any]:
    text, _, _ = (command.help or "").partition("\b")
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n") if each.strip()]
    return {"name": name, "help": paragraphs, "fields": list(map(_field, _parameters(command)))}


def _parameters(command: click.Command) -> Iterator[click.Parameter]:
    """Yield the arguments and the options, each once."""
    yield from (param for param in command.params if isinstance(param, click.Argument))
    yield from (param for param in command.params if isinstance(param, click.Option) and not param.hidden)


def _field(param: click.Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"name": param.name, "kind": _kind(param)}
    if isinstance(param, click.Option):
        found["option"] = next((each for each in param.opts if each.startswith("--")), param.opts[0])
        found["spellings"] = [*param.opts]
        found["help"] = param.help or ""
        if param.secondary_opts:
            found["off"] = param.secondary_opts[0]
    found["label"] = param.make_metavar(click.Context(click.Command("symformer")))
    found["target"] = "target" in (param.name or "") or found["label"] == "TARGET"
    found["required"] = param.required
    found["several"] = bool(getattr(param, "multiple", False)) or param.nargs == -1
    if isinstance(param.type, click.Choice):
        found["choices"] = [*param.type.choices]
    if isinstance(param.default, str | int | float) and not isinstance(param.default, bool):
        found["default"] = str(param.default)
    return found


def _kind(param: click.Parameter) -> str:
    if isinstance(param, click.Option) and param.is_flag:
        return "flag"
    if isinstance(param.type, click.Choice):
        return "choice"
    return "number" if isinstance(param.type, click.types.IntParamType) else "text"
