"""Shell completion of targets, quantities, options, sizes and ids, and of paths if none of them matches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from ..models.model import Model


def target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..targets.opened_target import names

    return _starting(names(), incomplete)


def quantity(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from ..quantities import quantities

    return [name for name in quantities() if name.startswith(incomplete)]


def device(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from ..devices import devices

    return [name for name in devices() if name.startswith(incomplete)]


def law(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from ..scaling.laws import scaling_laws

    return [name for name in scaling_laws() if name.startswith(incomplete)]


def option(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete options of the target and conventions of the quantity, with their values."""
    from ..components.base import spell_option
    from ..quantities import quantities, quantity

    choices: dict[str, list[str]] = {}
    named = ctx.params.get("quantity") or "params"
    for asked in {*(ctx.params.get("quantities") or (named,))} & quantities().keys():
        choices |= {name: list(convention.meanings) for name, convention in quantity(asked).choices.items()}
    if model := _model(ctx):
        options = model.component.choices()
        choices |= {name: [spell_option(value) for value in values] for name, values in options.items()}
    found = [f"{name}={value}" for name, values in choices.items() for value in values]
    return [each for each in found if each.startswith(incomplete)]


def size(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete sizes of the target and of the run."""
    from ..language.symbols import SYMBOLS, letter

    model = _model(ctx)
    sizes = {str(size) for size in model.sizes} if model else set() if _named(ctx) else set(SYMBOLS)
    known = [*SYMBOLS, *sorted(sizes - {*SYMBOLS})]
    known = [name for name in known if name in sizes or letter(SYMBOLS[name]).run]
    return [f"{name}=" for name in known if name.startswith(incomplete)]


def id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete ids of formulas, one word at a time."""
    from ..views.citations import completions

    return completions(incomplete)


def published(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete ids of sources, published formulas and published numbers."""
    from ..algebra.publications import publications

    found = publications()
    ids = [*found, *(each.id for one in found.values() for each in one.entries)]
    return [each for each in ids if each.startswith(incomplete)]


def part(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete parts of the target and operations in them."""
    from ..language.errors import SymformerError

    if (model := _model(ctx)) is None:
        return []
    try:
        formula = model.formula(ctx.params.get("quantity") or "params")
    except SymformerError:
        return []
    return [line.key for line in formula.root.walk() if line.key and line.key.startswith(incomplete)]


def form(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the first word of a form of the formula."""
    from ..formulas.rewriting import FORMS

    return [name for name in FORMS if name.startswith(incomplete)]


def file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _starting((), incomplete)


def _model(ctx: click.Context) -> Model | None:
    """Return the model of an unfinished command line, or None if finding it would take long.

    Pressing TAB never imports torch, downloads anything, or reads from a pipe.
    """
    from ..configs.config_json import CONFIG
    from ..language.errors import SymformerError
    from ..language.target import TargetKind, parse
    from ..targets.resolution import resolve

    given = _named(ctx)
    kind = parse(given).kind
    files = (given, os.path.join(given, CONFIG))
    if not given or kind is TargetKind.HUB or (kind is TargetKind.CONFIG and not any(map(os.path.isfile, files))):
        return None
    try:
        return resolve(given, trace=False)[0]
    except SymformerError:
        return None


def _named(ctx: click.Context) -> str:
    """Return the target of an unfinished line; click leaves it in the arguments if an option has no value."""
    named = ctx.params.get("target") or ctx.params.get("a") or next(iter(ctx.params.get("targets") or ctx.args), "")
    return str(named)


def _starting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the names that start with the typed text, or paths if there are none."""
    near = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return near or [CompletionItem(incomplete, type="file")]


class _Bash(BashComplete):
    """Completion for bash, which breaks words at ``:`` and ``=``: the text up to the last of them is omitted."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = r"""
%(complete_func)s() {
    local IFS=$'\n' response type value path
    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == file ]]; then
            compopt -o filenames
            while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$value")
        else
            [[ $value == *[:=.] ]] && compopt -o nospace
            COMPREPLY+=("$value")
        fi
    done
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        if "COMP_LINE" not in os.environ:  # called by a script other than ours
            words, self._standing = super().get_completion_args()
            return words, self._standing
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        incomplete = words.pop() if words and not line.endswith((" ", "\t")) else ""
        self._standing = incomplete
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        value = str(item.value)
        if item.type == "file":
            return f"file,{value}"
        cut = max(map(self._standing.rfind, os.environ.get("COMP_BREAKS", ":="))) + 1
        stands = self._standing[:cut]
        start = next(place for place in range(cut + 1) if value.startswith(stands[place:]))
        return f"{item.type},{value[cut - start :]}"


add_completion_class(_Bash)
