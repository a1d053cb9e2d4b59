"""The command line: thin, and quick to start. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from . import completion as completion_of
from .shell import Program
from .terminal import put, put_bytes, say, spell, table, tell
from .terminal import put_json as _print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Symbol

    from ..formulas.formula import Formula
    from ..models.model import Model

_BRIEF = 64  # characters of a formula in a list
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_target = click.argument("target", shell_complete=completion_of.target)
_quantity = click.option(
    "--quantity",
    "-q",
    default="params",
    metavar="Q",
    show_default=True,
    shell_complete=completion_of.quantity,
    help="What to count; see `symformer list`.",
)
_set = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completion_of.size,
    help="A size, such as E=1024 or H=4*E.",
)
_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion_of.option,
    help="An option of the model or a convention, such as tied=false or attention=causal.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@click.group(cls=Program, context_settings=_SETTINGS)
@click.version_option(package_name="symformer", message="%(prog)s %(version)s")
def cli() -> None:
    """Transformer architectures in closed form: formulas that are derived, printed and proved against torch.

    A TARGET is an architecture (gpt2), a preset (gpt2-xl), a path to a config.json (- for standard input), or a part
    (component:mlp); with torch, hf:MODEL_TYPE is traced from its own code.

    \b
    symformer show gpt2-xl             the formula, its value, row by row
    symformer derive gpt2 -o gpt2.pdf  the derivation, to staple to a paper
    symformer tree llama-2-7b          the modules, each with its share
    symformer verify gpt2              the proof against the real torch model
    """


@cli.command(name="list")
@_json
def list_(as_json: bool) -> None:
    """List architectures, parts and quantities."""
    from .. import architectures, components
    from ..quantities import quantities
    from ..quantities.quantity import PLACEMENT

    presets = architectures.presets()
    if as_json:
        _print_json(
            {
                "architectures": architectures.names(),
                "presets": {name: facts["architecture"] for name, facts in presets.items()},
                "components": [f"component:{name}" for name in components.names()],
                "quantities": {name: question.measure.unit for name, question in quantities().items()},
                "placement": {name: list(convention.meanings) for name, convention in PLACEMENT.items()},
            }
        )
        return
    say("Architectures and their presets")
    rows = []
    for name in architectures.names():
        model = architectures.architecture(name)
        rows.append([name, model.title, _brief(spell(model.params.written)), ", ".join(architectures.presets_of(name))])
    table(["name", "title", "parameters", "presets"], rows, "llll")
    say("\nComponents")
    rows = []
    for name in components.names():
        part = components.component(name)
        rows.append([f"component:{name}", part.title, _brief(spell(part.params.written))])
    table(["name", "title", "parameters"], rows, "lll")
    say("\nQuantities")
    rows = []
    for name, question in quantities().items():
        choices = [f"{key}={'|'.join(rule.meanings)}" for key, rule in question.conventions.items()]
        rows.append([name, question.measure.title, question.measure.unit, " ".join(choices)])
    table(["name", "title", "unit", "conventions"], rows, "llll")
    say("\nOne rank's share, of any quantity")
    rows = []
    for name, convention in PLACEMENT.items():
        rows += [[f"{name}={choice}", meaning] for choice, meaning in convention.meanings.items()]
    table(["option", "meaning"], rows, "ll")


@cli.command()
@_target
@_quantity
@_set
@_option
@click.option(
    "--conventions", "every", is_flag=True, help="Every value of each convention, side by side, and who counts so."
)
@_json
def show(
    target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], every: bool, as_json: bool
) -> None:
    """Show a formula, its value and its breakdown."""
    from ..answers.summary import amount, conventions, show_json, value_of
    from ..language.notation.text import text

    if every:
        _conventions(target, quantity, sets, options, as_json)
        return
    model, formula = _formula(target, quantity, sets, options)
    if as_json:
        _print_json(show_json(model, formula))
        return
    value = value_of(formula, model)
    say(f"{model.title} ({model.target}): {formula.measure.title}")
    closed = f"{formula.measure.letter} = {spell(formula.written)}"
    if value is not None and formula.symbols:
        closed += f" = {amount(value, formula.measure.unit)}"
    say(closed)
    missing = [name for name in formula.symbols if name not in model.known]
    if model.known:
        say("with " + ", ".join(f"{name} = {size:,}" for name, size in model.known.items()))
    for total in formula.totals & formula.written.free_symbols:
        say(f"where {total} = {text(formula.relations[total])}")
    if missing:
        say(_unnumbered(model, missing))
    for name, choice in conventions(model, formula).items():
        say(f"{name} = {choice}")
    say()
    _breakdown(model, formula, value)


@cli.command()
@_target
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completion_of.file,
    help="FILE.pdf, .tex, .md or .typ; - for standard output.",
)
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completion_of.quantity,
    help="What to derive; repeat for more than one chapter. [default: params]",
)
@_set
@_option
@click.option("--as", "form", type=click.Choice(["pdf", "tex", "md", "typ"]), help="The format, where -o is -.")
@click.option(
    "--engine",
    type=click.Choice(["typst", "latex"]),
    default="typst",
    show_default=True,
    help="What makes the PDF; latex needs pdflatex on PATH.",
)
def derive(
    target: str,
    output: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    form: str | None,
    engine: str,
) -> None:
    """Write the derivation as a document."""
    from ..answers.targets import pairs, resolve
    from ..documents.derivation import document
    from ..documents.render import check_output, render, write

    extension = check_output(output, chosen=form or "")
    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    model, conventions = resolve(target, pairs(options), sets, asked)
    paper = document(model, asked, _version(), **conventions)
    content = render(paper, extension, engine)  # type: ignore[arg-type]
    if output == "-":
        put_bytes(content)
        return
    write(output, content)
    tell(f"wrote {output}")


@cli.command()
@_target
@_quantity
@_set
@_option
@_json
def tree(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    """Show the module tree, each line with its share."""
    from ..answers.summary import module_tree, share, value_of
    from ..language.notation.text import code, percent, text
    from ..language.sizes import evaluate

    model, formula = _formula(target, quantity, sets, options)
    root, whole = module_tree(model, formula), value_of(formula, model)
    rows, facts, guides = [], [], []
    for guide, node in root.lines():
        value = None if whole is None else evaluate(node.total, model.known, node.name)
        cells = [node.title(spell), spell(node.total)]
        if whole is not None and value is not None:
            cells += [f"{value:,}", percent(share(value, whole))]
        rows.append(cells)
        guides.append(guide)
        facts.append({"module": guide[0] + node.title(text), "formula": code(node.total), "value": value})
    if as_json:
        _print_json({"target": model.target, "quantity": quantity, "unit": formula.measure.unit, "modules": facts})
        return
    numbered = whole is not None
    head = ["module", formula.measure.title, *([formula.measure.unit, "share"] if numbered else [])]
    table(head, rows, "llrr" if numbered else "ll", guides=guides)


@cli.command()
@click.argument("targets", nargs=-1, shell_complete=completion_of.target)
@click.option("--all", "everything", is_flag=True, help="Every architecture, in every variant.")
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completion_of.quantity,
    help="What to prove; repeat for more. [default: all that torch settles]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Repeat a run; otherwise the seed is drawn."
)
@click.option("--write", is_flag=True, help="Keep the certificates in the package (of a checkout).")
@_option
@_json
def verify(
    targets: tuple[str, ...],
    everything: bool,
    quantities: tuple[str, ...],
    seed: int | None,
    write: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Prove formulas against torch models.

    Parameters are compared row by row; the rows that differ are printed, and the exit status is then 1.
    """
    if bool(targets) == everything:
        raise click.UsageError("name one or more targets, or give --all and no target")
    import gc

    from .. import architectures
    from ..answers.targets import pairs, resolve
    from ..certificates import keep
    from ..witness import provable, verify_all

    gc.enable()  # this one builds hundreds of models
    tasks, wholes = [], set()
    for name in architectures.names() if everything else targets:
        model, _ = resolve(name, pairs(options))
        whole = name in architectures.names() and not options
        for variant in architectures.variants(model) if whole else [model]:
            settled = provable(variant) or [("params", {})]
            named = {name for name, _ in settled}
            tasks += [(variant, *each) for each in settled if each[0] in quantities or not quantities]
            tasks += [(variant, name, {}) for name in quantities if name not in named]  # refused, with what is settled
        if whole and not quantities:
            wholes.add(model.id)
    verdicts = verify_all(tasks, seed)
    if write:
        for name in sorted(wholes):
            keep(name, [verdict.certificate for verdict in verdicts if verdict.model.id == name])
    if as_json:
        _print_json([verdict.to_json() for verdict in verdicts])
    else:
        rows = [verdict.row() for verdict in verdicts]
        table(
            ["target", "options", "quantity", "torch class", "points", "degree", "bound", "seed", ""], rows, "llllrrrrl"
        )
        for verdict in verdicts:
            for mismatch in verdict.mismatches:
                say(f"{verdict.model.target}: {mismatch}")
        exact = sum(verdict.exact for verdict in verdicts)
        libraries = {
            f"{key} {value}" for v in verdicts if v.certificate for key, value in v.certificate.versions.items()
        }
        say(f"\n{exact} of {len(verdicts)} exact" + (f", with {', '.join(sorted(libraries))}" if libraries else ""))
    if not all(verdict.exact for verdict in verdicts):
        sys.exit(1)


@cli.command()
@click.argument("target", shell_complete=completion_of.file)
@click.option("--size", "sizes", multiple=True, metavar="NAME=NUMBER", help="A factory's argument and where it starts.")
@click.option(
    "--inputs", default="", metavar="MODULE:FUNCTION", help="What a factory's model is called with, by sizes."
)
@click.option("--head", default="", metavar="HEAD", help="causal, masked, seq2seq, image or base.")
@_quantity
@click.option(
    "--at",
    "configs",
    multiple=True,
    metavar="CONFIG.json",
    shell_complete=completion_of.file,
    help="A config to evaluate the formula at.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=NUMBER", help="A size of the run at these configs: B, S, C."
)
@_json
def trace(
    target: str,
    sizes: tuple[str, ...],
    inputs: str,
    head: str,
    quantity: str,
    configs: tuple[str, ...],
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Derive a formula of a torch model from its own code.

    The quantities are params, flops, train-flops, activations and kv-cache. TARGET is hf:MODEL_TYPE, a config.json, or
    package.module:factory. It runs the code it names. The formula is checked row by row at fresh random sizes, FLOPs
    against torch's own counter too; without that nothing is shown.
    """
    from ..answers.summary import amount
    from ..answers.targets import pairs
    from ..language.arithmetic import size
    from ..language.errors import OptionError
    from ..language.sizes import whole
    from ..language.target import Kind, parse
    from ..witness import ignored_at, values_at
    from ..witness import trace as trace_model

    kind = parse(target).kind
    for option, given in (("--size", sizes), ("--inputs", (inputs,) if inputs else ())):
        if given and kind in (Kind.HF, Kind.CONFIG):
            raise OptionError(f"{option} {given[0]} is a factory's, and {target} has its sizes in its config")
    if sets and not configs:
        raise OptionError(f"--set {sets[0]} is for the configs to evaluate at; name one with --at")
    start, run = ({name: whole(name, size(value)) for name, value in pairs(given).items()} for given in (sizes, sets))
    model = trace_model(target, start, head, inputs)
    found = model.of(quantity)
    formula = found.model.formula(quantity)
    values = [values_at(model, path, quantity, run) for path in configs]
    if as_json:
        _print_json(
            {
                "target": target,
                "quantity": quantity,
                "conventions": dict(formula.conventions),
                "formula": formula.code(),
                "symbols": dict(found.symbols),
                "tied": {name: str(tie) for name, tie in found.ties.items()},
                "pinned": [
                    {"name": each.name, "value": each.value, "why": each.why, "line": each.line or None}
                    for each in found.pinned
                ],
                "conditions": found.conditions,
                "ignored": list(model.ignored),
                "values": values,
                "checked": len(found.checked),
                "seconds": round(found.seconds, 3),
            }
        )
        return
    say(f"{found.model.title}: {formula.measure.title}")
    say(f"{formula.measure.letter} = {spell(formula.written)}")
    say(f"exact, row by row, at {len(found.checked)} fresh random configs ({found.builds} builds)\n")
    table(["symbol", "field"], [[name, place] for name, place in found.symbols.items()], "ll")
    for name, other in found.ties.items():
        say(f"{name} is {other}: the trace holds with no other")
    for each in found.pinned:
        say(f"{each.name} is kept at {each.value:,}: {each.why}" + (f" ({each.line})" if each.line else ""))
    for condition in found.conditions:
        say(f"it holds where {condition}")
    for path, ignored in ((target, model.ignored), *((path, ignored_at(model, path)) for path in configs)):
        if ignored:
            say(f"{', '.join(ignored)} in {path}: nothing that {model.source.name} stores depends on it")
    for path, value in zip(configs, values, strict=True):
        say(f"{path}: {amount(value, formula.measure.unit)}")


@cli.command()
@click.argument("types", nargs=-1)
@click.option(
    "--output",
    "-o",
    default="census.md",
    show_default=True,
    metavar="FILE.md",
    shell_complete=completion_of.file,
    help="The page to write.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="HEAD",
    help="causal, masked, seq2seq, image or base; repeat for more. [default: causal, masked, seq2seq]",
)
@_quantity
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes. [default: one for each core]")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="A trace that takes longer is ended, and counts as one that failed. [default: 90; 600 for what a run tells]",
)
@_json
def census(
    types: tuple[str, ...],
    output: str,
    heads: tuple[str, ...],
    quantity: str,
    workers: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Trace every model type of transformers.

    TYPES are model types such as gpt2; without any, all are traced, which takes minutes and runs the code of them all.
    The page has every formula, and every model that has none with the reason. Results are kept beside it in FILE.jsonl
    until all are there: after Ctrl-C the same command goes on where it stopped.
    """
    import os
    from pathlib import Path

    from ..documents.census import page
    from ..documents.render import check_output, write
    from ..witness import torch_side
    from .terminal import progress

    check_output(output, "a census", ["md"])
    made_by = torch_side("census")
    torch_side("runs").answerable(quantity)
    jobs = made_by.pairs(list(dict.fromkeys(heads)) or made_by.USUAL_HEADS, types)
    kept = Path(output).with_suffix(".jsonl")
    seconds = limit or made_by.LIMITS.get(quantity, made_by.LIMIT)
    with progress("traced", len(jobs)) as advance:
        found = made_by.census(jobs, workers or os.cpu_count() or 1, seconds, kept, advance, quantity=quantity)
    write(output, page(found).encode())
    tell(f"wrote {output}")
    if as_json:
        _print_json(found.to_json())
        return
    say(
        f"{len(found.entries)} models: {len(found.built)} {found.does}, {len(found.traced)} have an exact formula, and "
        f"in {len(found.whole)} of them every usual size is a symbol; {found.share:.1f} % of those that {found.does}"
    )
    say(f"a trace takes {found.ratio:.1f} times as long as building the model once (median)")


@cli.command()
@click.argument("a", shell_complete=completion_of.target)
@click.argument("b", shell_complete=completion_of.target)
@_quantity
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="A size, such as S=1024, of each model that has it."
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A convention, such as attention=causal, or an option of each model that has it, such as tied=false.",
)
@_json
def compare(a: str, b: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    """Compare two models, part by part.

    Their difference and their ratio follow, as numbers and as formulas, with the terms that grow fastest. A letter that
    both use with different numbers is two sizes: E_1 is the first model's, E_2 the second's.
    """
    from ..algebra.compare import compare as set_side_by_side

    left, right, conventions = _pair(a, b, quantity, sets, options)
    found = set_side_by_side(left, right, quantity, **conventions)
    if as_json:
        _print_json(found.to_json())
        return
    rows = []
    for role, *sides in found.rows:
        values = [("" if side.value is None else f"{side.value:,}") for side in sides]
        rows.append([role, *(spell(side.expr) for side in sides), *values])
    below = found.lines(spell)  # all of it is reckoned before anything is printed
    table(["part", *(2 * [left.target, right.target])], rows, "lllrr", total=True)
    for line in ["", *below]:
        say(line)


@cli.command()
@click.argument("formula_id", metavar="ID", shell_complete=completion_of.id)
def cite(formula_id: str) -> None:
    """Print BibTeX for a formula and its papers.

    An ID is a target, a quantity and a part: gpt2.params, gpt2.params.h.attn.
    """
    from ..answers.citations import bibtex

    put(bibtex(formula_id, _version()) + "\n")


@cli.command()
@_json
def papers(as_json: bool) -> None:
    """Set published formulas against ours.

    Each is shown with its difference from the formula derived here, and with what explains it.
    """
    from ..algebra.published import published
    from ..language.notation.text import code

    entries = published()
    if as_json:
        facts = [
            {
                "id": entry.id,
                "paper": entry.paper,
                "where": entry.where,
                "about": entry.about,
                "formula": entry.formula,
                "ours": code(entry.derived),
                "difference": code(entry.difference),
                "because": entry.because,
            }
            for entry in entries
        ]
        _print_json(facts)
        return
    rows = [[entry.id, entry.where, entry.about, spell(entry.difference), entry.because] for entry in entries]
    table(["formula", "where", "about", "ours less theirs", "because"], rows, "lllll")


@cli.command()
@click.argument("folder", shell_complete=completion_of.file)
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 where a file is not what would be written.")
def gallery(folder: str, check: bool) -> None:
    """Write every architecture's derivation.

    FOLDER gets a Markdown and a PDF file for each, and a README.md that links them.
    """
    from ..documents.gallery import CENSUS, pages
    from ..documents.render import check_folder, stale, write_all

    check_folder(folder, to_write=not check)
    made = pages(_version())
    if check:
        if different := stale(folder, made, list(CENSUS)):
            for name in different:
                tell(f"{folder}/{name} is not what would be written now")
            sys.exit(1)
        tell(f"{len(made)} files in {folder} are up to date")
        return
    write_all(folder, made)
    tell(f"wrote {len(made)} files in {folder}")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell's completion script.

    \b
    bash: eval "$(symformer completion bash)"
    zsh:  eval "$(symformer completion zsh)"
    fish: symformer completion fish | source
    """
    from click.shell_completion import get_completion_class

    made_by = get_completion_class(shell)
    if made_by is not None:
        put(made_by(cli, {}, "symformer", "_SYMFORMER_COMPLETE").source())


def _formula(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]) -> tuple[Model, Formula]:
    from ..answers.targets import pairs, resolve

    model, conventions = resolve(target, pairs(options), sets, [quantity])
    formula = model.formula(quantity, **conventions)
    model.asked_by([formula])
    return model, formula


def _unnumbered(model: Model, missing: Sequence[Symbol]) -> str:
    """What has no number, and where one comes from: a preset has a model's sizes, and no run's."""
    from ..architectures import presets_of
    from ..language.symbols import letter

    known = presets_of(model.id) if model.id == model.target else []
    own = known and any(not letter(each).run for each in missing)
    preset = f", or name a preset, such as {known[0]}" if own else ""
    return f"no number for {', '.join(map(str, missing))}: give each with a --set of its own{preset}"


def _brief(spelt: str) -> str:
    """A formula for a list of many: as far as a column goes, with a mark where it goes on."""
    return spelt if len(spelt) <= _BRIEF else spelt[: spelt.rindex(" + ", 0, _BRIEF)] + " + …"


def _pair(
    a: str, b: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]
) -> tuple[Model, Model, dict[str, str]]:
    """Two models, with options and sizes set in each that has them, and the conventions among the options.

    Raises UnknownNameError and SizeError for what neither has.
    """
    from ..answers.targets import pairs, resolve
    from ..language.errors import SizeError, UnknownNameError
    from ..language.sizes import assignments
    from ..language.symbols import letter
    from ..quantities import quantity as find_quantity

    given, known = pairs(options), find_quantity(quantity).choices
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    models = [resolve(target)[0] for target in (a, b)]
    choices = [dict.fromkeys(model.component.choices()) for model in models]
    for name in given:
        if not any(name in each for each in choices):
            raise UnknownNameError(f"option of {a} and {b}", name, {**choices[0], **choices[1], **known})
    for place, target in enumerate((a, b)):
        if own := {name: value for name, value in given.items() if name in choices[place]}:
            models[place], _ = resolve(target, own)
    sizes = assignments(sets)
    taken = [model.formula(quantity, **conventions).takes for model in models]
    for name in sizes:
        if name not in taken[0] | taken[1]:
            raise SizeError(f"{name}: neither {a} nor {b} has such a size ({letter(name).meaning}) in {quantity}")
    left, right = (
        model.set({name: value for name, value in sizes.items() if name in each}) if sizes else model
        for model, each in zip(models, taken, strict=True)
    )
    return left, right, conventions


def _conventions(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    from ..answers.conventions import variants
    from ..answers.targets import pairs, resolve
    from ..quantities import quantity as find_quantity

    model, given = resolve(target, pairs(options), sets, [quantity])
    found, measure = variants(model, quantity, given), find_quantity(quantity).measure
    model.asked_by(variant.formula for variant in found if variant.formula is not None)
    if as_json:
        facts = [variant.to_json() for variant in found]
        _print_json({"target": model.target, "quantity": quantity, "unit": measure.unit, "variants": facts})
        return
    say(f"{model.title} ({model.target}): {measure.title}, one convention changed at a time; * marks what is chosen\n")
    table(["convention", f"{measure.letter} =", measure.unit, "counted so by"], [v.row(spell) for v in found], "llrl")


def _breakdown(model: Model, formula: Formula, value: int | None) -> None:
    from ..answers.summary import share
    from ..language.notation.text import number, percent

    rows = []
    for row in formula.rows:
        cells = [row.path, spell(row.count), spell(row.each)]
        if value is not None:
            amount = formula.of_row(row, model.known)
            cells += [number(amount), *([percent(share(amount, value))] if formula.additive else [])]
        rows.append(cells)
    if value is None:
        table(["row", "copies", "each"], rows, "lrl")
    elif not formula.additive:
        table(["row", "copies", "each", formula.measure.unit], rows, "lrlr")
    else:
        rows.append(["total", "", "", f"{value:,}", percent(share(value, value))])
        table(["row", "copies", "each", formula.measure.unit, "share"], rows, "lrlrr", total=True)


def _version() -> str:
    from importlib.metadata import version

    return version("symformer")


def main() -> None:
    """The entry point of the ``symformer`` command."""
    import gc

    gc.disable()  # a command is over before there is garbage, and collecting while it imports is a tenth of its time
    cli(prog_name="symformer")
