"""``symformer compare``: models side by side, or two quantities of one model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .. import __version__
from ..documents.formats import FORMATS
from . import arguments, completion_values, document_output, plot_output
from .base_command import Command
from .terminal import print_blocks, print_json, print_line, print_result

if TYPE_CHECKING:
    from ..algebra.model_comparison import Comparison
    from ..formulas.formula import Formula
    from ..output.blocks import Document
    from ..targets.side_by_side import SideBySideTargets


_WITH_STRUCTURE = ("targets", "structure", "sets", "options", "left", "right", "as_json")
PLOTS = ("svg", "png")  # .pdf writes a document


@click.command("compare", cls=Command)
@click.argument("targets", nargs=-1, required=True, metavar="A B [C]...", shell_complete=completion_values.target)
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="The quantity to count; with -o, repeatable: one chapter each. [default: params]",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="[N:]NAME=VALUE",
    help="Set a size, such as S=1024 or H=4*E, in every model that has it; 2:H=4*E sets it in the second model only.",
)
@arguments.numbered_options
@click.option(
    "--left",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a convention, an option or a size of the first of two models.",
)
@click.option("--right", multiple=True, metavar="KEY=VALUE", help="Like --left, for the second model.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="[N:]PATH",
    help="Compare one copy of a part, such as h.attn; 1:h selects a part of the first model only.",
)
@click.option(
    "--match",
    "same",
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="In every other model, adjust the size given with --adjust until this total equals the first model's.",
)
@click.option(
    "--adjust",
    "by",
    metavar="NAME",
    help="The size that --match adjusts, such as L; it is printed as a formula and as a number.",
)
@click.option("--x", metavar="NAME", help="With --divide-by, the size on the x-axis of the plot.")
@click.option(
    "--crossover",
    "crossovers",
    multiple=True,
    metavar="NAME",
    help="Print the crossovers in this size: the values at which the larger model changes, as a formula and as "
    "numbers. With --match, print them for equal totals and at the adjusted size.",
)
@click.option(
    "--growth",
    metavar="ORDER",
    help="Print the limit of the ratio as sizes grow, and the model that is larger in the end: 'S >> E' means that S/E "
    "tends to infinity, 'S >> E >> 1' that E does too.",
)
@click.option("--exact", is_flag=True, help="Print exact fractions next to their decimal values.")
@click.option("--per", metavar="SIZES", help="Divide by sizes: -q kv-cache --per B*C is bytes per token.")
@click.option(
    "--divide-by",
    "over",
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="Divide by another quantity of the same model; a single target is enough.",
)
@click.option(
    "--structure",
    is_flag=True,
    help="State how the architecture of the first model differs from the second's, part by part: in sentences, and in "
    "parameters, FLOPs and bytes of KV cache.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"Write a document: FILE.{', .'.join(FORMATS)}; - for standard output. Or write a plot: FILE.svg or .png, "
    "as bars, or against a size with --crossover NAME.",
)
@document_output.as_format
@document_output.engine
@document_output.flavour
@arguments.as_json
def command(
    targets: tuple[str, ...],
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    left: tuple[str, ...],
    right: tuple[str, ...],
    parts: tuple[str, ...],
    same: str | None,
    by: str | None,
    x: str | None,
    crossovers: tuple[str, ...],
    growth: str | None,
    exact: bool,
    per: str | None,
    over: str | None,
    structure: bool,
    output: str | None,
    form: str | None,
    engine: str,
    flavour: str | None,
    as_json: bool,
) -> None:
    """Compare models, part by part.

    Print the difference and the ratio between the first model and each other one, as numbers and as formulas, with the
    leading terms, the limit of the ratio as one size grows, and the crossovers. A size whose value differs between the
    models gets an index: E_1 for the first model, E_2 for the second.

    \b
    symformer compare gpt2-xl llama-2-7b --match params --adjust L
    symformer compare llama-2-7b llama-2-70b deepseek-v2 -q kv-cache --per B*C
    symformer compare gpt2 --quantity train-flops --divide-by params
    symformer compare qwen3 llama --structure
    """
    from ..algebra.compare import compare
    from ..targets.side_by_side import SideBySideTargets

    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    if x is not None and over is None:
        raise click.UsageError(f"--x {x} needs --divide-by; use --crossover {x} to plot the totals against {x}")
    if over is not None and not same:
        x, by = x or by, None  # --by is also a former spelling of --x
    if structure:
        _check_structure(targets)
    if growth is not None or exact:
        _check_detailed("--growth" if growth is not None else "--exact", output, over)
    _check(targets, asked, over, per, same, by, x, crossovers, output, form, flavour, as_json)
    beside = SideBySideTargets.of(targets, (*asked, *([over] if over else [])), sets, options, parts, left, right, same)

    def compared(formulas: Sequence[Formula], totals: bool = True) -> Comparison:
        return compare(*formulas, match=same or "", adjust=by or "", per=per or "", totals=totals)

    if structure:
        print_result(compared(beside.formulas()[0]).structure, as_json)
    elif over is not None:
        _over(beside, x, output, form, engine, flavour, as_json)
    elif output is not None and plot_output.is_plot(output, PLOTS):
        found = compared(beside.formulas()[0])
        plot_output.put(output, lambda: found.plot(x=crossovers[0] if crossovers else ""))
    elif output is not None:
        from ..documents.comparison_document import document

        _put(
            lambda: document(list(map(compared, beside.formulas())), __version__, exact=exact, growth=growth or ""),
            output,
            "a comparison",
            form,
            engine,
            flavour,
        )
    else:
        found = compared(beside.formulas()[0], totals=not as_json)
        found.check_crossovers(crossovers)
        if as_json:
            told = _json(found)
            if growth is not None:
                pairs = [pair.growth(growth).to_json() for pair in found.pairs]
                told["growth"] = pairs[0] if len(pairs) == 1 else pairs
            print_json(told)
        else:
            _print(found, crossovers, exact, growth or "")


def _check_detailed(option: str, output: str | None, over: str | None) -> None:
    """Raise UsageError for output that has neither exact values nor limits."""
    if output is not None and plot_output.is_plot(output, PLOTS):
        raise click.UsageError(f"{option} has no effect on a plot; remove it, or write a document such as a.pdf")
    if over is not None:
        hint = ", or use --json for exact values" if option == "--exact" else ""
        raise click.UsageError(f"{option} cannot be combined with --divide-by; remove one of the two{hint}")


def _check_structure(targets: Sequence[str]) -> None:
    """Raise UsageError for options that a comparison of structures does not have."""
    if len(targets) != 2:
        raise click.UsageError(f"--structure compares two models, not {len(targets)}; name two")
    context = click.get_current_context()
    for option in context.command.params:
        given = option.name is not None and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if given and option.name not in _WITH_STRUCTURE:
            raise click.UsageError(
                f"--structure states parameters, FLOPs and KV cache of whole models and cannot be combined with "
                f"{option.opts[0]}; remove one of the two"
            )


def _check(
    targets: Sequence[str],
    asked: Sequence[str],
    over: str | None,
    per: str | None,
    same: str | None,
    by: str | None,
    x: str | None,
    crossovers: Sequence[str],
    output: str | None,
    form: str | None,
    flavour: str | None,
    as_json: bool,
) -> None:
    """Raise UsageError for options that cannot be combined, before any work is done."""
    command = click.get_current_context().command
    if isinstance(command, Command):
        for each in targets:
            if not os.path.lexists(each) and (belongs := command.belongs(each, ())):
                raise click.UsageError(f"unexpected argument {each!r}{belongs}")
    if len(targets) == 1 and over is None:
        raise click.UsageError(
            f"{targets[0]} is the only model; name a second one, or divide by another quantity with --divide-by"
        )
    drawn = plot_output.is_plot(output, PLOTS)
    if x is not None and not drawn:
        raise click.UsageError(f"--x {x} is the x-axis of a plot; name its file with -o, such as -o ratio.svg")
    if bool(same) != bool(by):
        raise click.UsageError(
            "--match names a total and --adjust the size to adjust, as in --match params --adjust L; give both"
        )
    if output is not None:
        if as_json:
            raise click.UsageError("--json prints numbers and -o writes a document; remove one of the two")
        if drawn:
            _check_plot(str(output), asked, crossovers, form, flavour)
        elif crossovers:
            raise click.UsageError(
                "--crossover applies to terminal output and plots such as a.svg; a document always lists every "
                "crossover, so remove it"
            )
    elif form or flavour:
        raise click.UsageError(
            f"{'--format' if form else '--flavour'} applies to documents only; name the file with "
            "-o, or remove the option"
        )
    elif len(asked) > 1:
        raise click.UsageError(f"{' and '.join(asked)} need a document with one chapter each; name its file with -o")
    if over is not None:
        if len(asked) > 1:
            raise click.UsageError(f"--divide-by divides one quantity, but -q names {' and '.join(asked)}; keep one")
        for name, given in (("--match", same), ("--crossover", crossovers), ("--per", per)):
            if given:
                raise click.UsageError(
                    f"--divide-by divides two quantities of each model and cannot be combined with {name}; remove one"
                )


def _check_plot(
    output: str, asked: Sequence[str], crossovers: Sequence[str], form: str | None, flavour: str | None
) -> None:
    """Raise UsageError for options that a plot does not have, and DocumentError if its file cannot be written."""
    from ..output.files import check_output

    if form or flavour:
        raise click.UsageError(
            f"{'--format' if form else '--flavour'} applies to documents only, but {output} is a plot; "
            "remove the option"
        )
    if len(asked) > 1:
        raise click.UsageError(
            f"a plot shows one quantity, but -q names {' and '.join(asked)}; keep one, or write a document"
        )
    if len(crossovers) > 1:
        raise click.UsageError(
            f"a plot has one size on its x-axis, but --crossover names {', '.join(crossovers)}; keep one"
        )
    check_output(output, "a plot", PLOTS)


def _print(found: Comparison, crossovers: Sequence[str], exact: bool, growth: str) -> None:
    """Print the comparison, the sizes without a value, and the sources of the formulas."""
    from ..views.provenance_lines import source_sentences
    from ..views.summary import missing_line, notes

    read = [f"{model.target}: config.json at {at}" for model in found.models if (at := model.provenance.read_at)]
    answered = [
        f"{model.target}: {line}"
        for model, formula in zip(found.models, found.formulas, strict=True)
        for line in [*notes(model, formula), *source_sentences(model, formula)]
    ]
    print_blocks(found.to_blocks(crossovers, exact=exact, growth=growth))
    print_line()
    for line in [*([missing_line(found.unset)] if found.unset else []), *dict.fromkeys([*read, *answered])]:
        print_line(line)


def _json(found: Comparison) -> dict[str, object]:
    """Return the data of the comparison and, for each model, its missing sizes, ranks, commit and source."""
    from ..formulas import ranks
    from ..views.provenance_lines import provenance_json
    from ..views.summary import config_commit, missing_of

    sides = list(zip(found.models, found.formulas, strict=True))
    told: dict[str, Any] = {
        "missing": [[str(size) for size in missing_of(formula, model)] for model, formula in sides],
        "ranks": [ranks.facts(formula.ranks, model.known).get("ranks") for model, formula in sides],
        "read": [config_commit(model) for model in found.models],
        "provenance": [provenance_json(model, formula) for model, formula in sides],
    }
    for name in ("ranks", "read"):
        if not any(told[name]):
            del told[name]
    if len(sides) == 2:
        told = {name: dict(zip(("left", "right"), each, strict=True)) for name, each in told.items()}
        if "read" in told:
            told["read"] = {side: commit for side, commit in told["read"].items() if commit}
    return {**found.to_json(), **told}


def _over(
    beside: SideBySideTargets,
    x: str | None,
    output: str | None,
    form: str | None,
    engine: str,
    flavour: str | None,
    as_json: bool,
) -> None:
    """Divide one quantity by another for each target; print the quotients, or write JSON, a plot or a document."""
    from ..algebra.quantity_ratio import QuantityRatio
    from ..language.errors import OptionError
    from ..views.summary import missing_line

    above, below = beside.formulas()
    for formula in (*above, *below):
        if not formula.additive:
            raise OptionError(
                f"{formula.measure.name} is itself a {formula.form}; --divide-by divides two additive quantities"
            )
    found = [QuantityRatio(*each) for each in zip(above, below, strict=True)]
    if output is not None and plot_output.is_plot(output, PLOTS):
        from ..algebra.result_plots.ratio_plot import draw_together

        plot_output.put(output, lambda: draw_together(found, x or ""))
        return
    if output is not None:
        from ..documents.ratio_document import document

        _put(lambda: document(found, __version__), output, "a quotient", form, engine, flavour)
        return
    if as_json:
        told = [each.to_json() for each in found]
        print_json(told[0] if len(told) == 1 else {"models": told})
        return
    print_blocks([block for each in found for block in each.to_blocks()])
    lacking = dict.fromkeys(size for each in found for size in each.unset)
    if lacking:
        print_line()
        print_line(missing_line(list(lacking)))


def _put(
    make: Callable[[], Document], output: str, what: str, form: str | None, engine: str, flavour: str | None
) -> None:
    """Build a document and write it, after checking that the file can be written."""
    from ..documents.formats import render
    from ..output.files import check_output

    extension = check_output(output, what, FORMATS, form or "")
    document_output.check_flavour(flavour, extension, output)
    document_output.put(output, render(make(), extension, engine, flavour or "github"))  # type: ignore[arg-type]
