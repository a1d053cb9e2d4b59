"""``symformer check``: a published formula, compared with ours."""

from __future__ import annotations

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_result, progress

DIFFERS = 1


@click.command("check", cls=Command)
@click.argument("formula", required=False)
@click.option(
    "--against",
    multiple=True,
    metavar="TARGET",
    shell_complete=completion_values.target,
    help="The model the formula describes. With --file, repeatable; by default gpt2 and llama.",
)
@click.option(
    "--file",
    "paper_file",
    metavar="PAPER.tex",
    shell_complete=completion_values.file,
    help="Instead of one FORMULA, check every formula of a paper whose count is recognized.",
)
@arguments.quantity
@click.option(
    "--part",
    metavar="PATH",
    shell_complete=completion_values.part,
    help="The part that the formula counts, such as h.attn; one copy of it is compared.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="NAME=EXPR",
    help="The meaning of a name in the formula, as an expression over symformer's sizes, such as h=E; P=params makes P "
    "the number of parameters. Also a relation between sizes, such as A*D=E.",
)
@click.option("--paper", metavar="KEY", help="The paper whose notation the formula uses, such as narayanan2021.")
@arguments.sets
@arguments.option
@arguments.as_json
def command(
    formula: str | None,
    against: tuple[str, ...],
    paper_file: str | None,
    quantity: str,
    part: str | None,
    where: tuple[str, ...],
    paper: str | None,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check a published FORMULA, in LaTeX, Python or plain text, or every formula of a paper.

    A name can have several meanings in the field. All of them are tried, together with relations such as A*D = E.

    Print whether FORMULA and symformer's formula are equal, equal under a convention, or different, with the reading of
    each name, the difference, the rows that explain it and the error in percent. Exit status: 0 if equal (also under a
    convention), 1 if different, 2 if the formula cannot be read.

    \b
    symformer check 'V E + 12 L E^2 + 13 L E' --against gpt2
    symformer check '12lh^2(1+\\frac{13}{12h}+\\frac{V+s}{12lh})' --against gpt2 --where h=E
    symformer check --file paper.tex --against gpt2 --against deepseek-v2
    """
    from ..algebra.check import check as hold
    from ..algebra.name_binding import parse_bindings
    from ..targets.resolution import pairs, resolve

    if paper_file is not None:
        alone = {"FORMULA": formula, "--part": part, "--where": where, "--paper": paper, "--set": sets}
        alone["--option"] = options
        if given := [name for name, value in alone.items() if value]:
            raise click.UsageError(f"{given[0]} does not apply with --file; the paper states what its formulas count")
        return _check_file(paper_file, against, as_json)
    if formula is None or len(against) != 1:
        missing = "FORMULA is missing" if formula is None else "--against is missing" if not against else ""
        missing = missing or "--against is given more than once"
        raise click.UsageError(f"{missing}; give one FORMULA and one --against, or --file PAPER.tex")
    model, conventions = resolve(against[0], pairs(options), sets, [quantity])
    if part == "":
        raise click.UsageError("the name of the part is empty; give one, such as --part h.attn, or remove --part")
    found = hold(formula, model, quantity, part=part, names=parse_bindings(where), paper=paper, **conventions)
    model.check_run_sizes([found.formula])
    print_result(found, as_json)
    return DIFFERS if found.verdict == "differs" else 0


def _check_file(path: str, against: tuple[str, ...], as_json: bool) -> int:
    """Check the formulas of a paper, and return 1 if one differs."""
    from ..algebra.paper_check import check_paper
    from ..documents.manuscript import sources
    from ..targets.resolution import resolve

    models = [resolve(each, {}, (), [])[0] for each in against]
    with progress("formulas") as told:
        found = check_paper(sources(path), models, path=path, told=told)
    print_result(found, as_json)
    return DIFFERS if found.differing else 0
