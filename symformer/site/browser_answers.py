"""Answers questions in the browser: views of a model as HTML, and any command, with the files that it writes.

A question and its answer are JSON. Each question runs in an empty folder, with the files that the page gives, so that
no question depends on the one before it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..language.errors import SymformerError
from ..models.model import Model
from ..output.blocks import Block, BriefBlock, Paragraph, Strong, Table
from .browser_typst import BrowserCompiler, typst_module

if TYPE_CHECKING:
    import click

_BLANK = "\N{BRAILLE PATTERN BLANK}"  # stands for a space that a browser must not fold, which is not printable
USUAL_SIZES = {"B": 1, "S": 512, "C": 512}  # for the table of costs, unless the question sets them

# Packages that need compiled code, which the playground has only if its site was built with their wheels.
COMPILED = ("torch", "transformers", "diffusers", "numpy", "matplotlib", "pyarrow", "dask", "typst", "huggingface_hub")
MOST_FILES = 50_000_000  # bytes that an answer may carry
USUAL_COSTS = (
    "params",
    "active-params",
    "weight-memory",
    "flops",
    "train-flops",
    "kv-cache",
    "inference-memory",
    "activations",
    "train-memory",
)


@dataclass(frozen=True)
class Question:
    """A question about a model.

    Attributes
    ----------
    target
        A target as on the command line.
    quantity
        The quantity to count.
    sets
        Sizes, each as NAME=VALUE.
    options
        Options and conventions, each as KEY=VALUE.
    memory
        The memory of a device, for what fits.
    devices
        The number of devices, for what fits.

    """

    target: str
    quantity: str = "params"
    sets: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    memory: str = "80GiB"
    devices: int = 1

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Question:
        """Return the question that a page states."""
        lists = {name: tuple(map(str, told[name])) for name in ("sets", "options") if name in told}
        texts = {name: str(told[name]) for name in ("quantity", "memory") if told.get(name)}
        return cls(str(told["target"]), **lists, **texts, devices=int(told.get("devices") or 1))  # type: ignore[arg-type]


def browser_answer(asked: str, cli: click.Command, compiler: BrowserCompiler | None = None) -> str:
    """Return the answer to a question as JSON: ``html``, ``text`` and ``files``, or ``error``, one sentence.

    Parameters
    ----------
    asked
        The question as JSON: ``view`` and the fields of :class:`Question`, or ``arguments`` of a command; and
        ``files``, the texts of files by name.
    cli
        The group of all commands.
    compiler
        The Typst compiler, if the question needs a PDF and the page has loaded it.

    """
    told = json.loads(asked)
    with _folder(told.get("files", {})), typst_module(compiler), _missing_packages() as missing:
        try:
            if "arguments" in told:
                found = _command(cli, [*map(str, told["arguments"])])
            else:
                found = VIEWS[told["view"]](Question.of(told))
        except SymformerError as error:
            found = {"error": str(error)}
        except (MemoryError, RecursionError) as error:
            found = {"error": f"the input is too large to compute ({type(error).__name__})"}
        except Exception as error:
            found = {"error": f"internal error, a bug in symformer: {type(error).__name__}: {str(error)[:200]}"}
        if "error" in found and missing:
            found["error"] = _without(missing[-1], found["error"])
        return json.dumps(found)


@contextmanager
def _folder(files: Mapping[str, str]) -> Iterator[None]:
    """Work in an empty folder with some files."""
    before = os.getcwd()
    folder = tempfile.mkdtemp()
    try:
        os.chdir(folder)
        for name, text in files.items():
            place = Path(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _missing_packages() -> Iterator[list[str]]:
    """Yield a list, to which the compiled packages are added that a block imports and that are not there."""
    missing: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name in COMPILED:
                missing.append(name)
            return None

    finder = Finder()
    sys.meta_path.append(finder)
    try:
        yield missing
    finally:
        sys.meta_path.remove(finder)


_ADVICE = re.compile(r"(?:, which is not installed)?[:;] (?:run )?pip install .*", re.DOTALL)


def _without(package: str, error: str) -> str:
    """Return the sentence for an error that a missing package causes, or the error if it does not.

    >>> _without("numpy", "this needs numpy; run pip install numpy, or pip install symformer[sweep]")
    'this needs numpy, which this playground does not have; run the command on your own computer'
    """
    lacking = "runs only for a .pdf, if its site has PDF" if package == "typst" else "does not have"
    advice = f"which this playground {lacking}; run the command on your own computer"
    if "ModuleNotFoundError" in error:
        return f"this needs {package}, {advice}"
    if not _ADVICE.search(error):
        return error
    needed = _ADVICE.sub("", error)
    return f"{needed}, {advice}" if package in needed else f"{needed}; this needs {package}, {advice}"


def _command(cli: click.Command, arguments: Sequence[str]) -> dict[str, Any]:
    """Run a command and return its output and its files."""
    from click.testing import CliRunner

    before = {path for path in Path().rglob("*") if path.is_file()}
    ran = CliRunner().invoke(cli, [*arguments], prog_name="symformer")
    found: dict[str, Any] = {"text": ran.stdout, "status": ran.exit_code, "files": []}
    said = ran.stderr.strip()
    if ran.exit_code not in (0, 1) or (ran.exit_code and not ran.stdout):
        found["error"] = said.removeprefix("symformer: ")
    elif said:
        found["said"] = said
    size = 0
    for path in sorted(Path().rglob("*")):
        if path.is_file() and path not in before:
            size += path.stat().st_size
            if size > MOST_FILES:
                found["error"] = f"the command writes more than {MOST_FILES:,} bytes; run it on your own computer"
                found["files"] = []
                break
            found["files"].append({"name": path.as_posix(), "content": b64encode(path.read_bytes()).decode()})
    return found


def _html(blocks: Sequence[Block | BriefBlock]) -> str:
    from ..documents.formats.site_html import FORMAT

    return FORMAT.body([*blocks])


def _resolved(asked: Question, quantity: str) -> tuple[Model, Any]:
    from ..targets.resolution import pairs, resolve

    model, conventions = resolve(asked.target, pairs(asked.options), asked.sets, [quantity])
    return model, model.formula(quantity, **conventions)


def formula_view(asked: Question) -> dict[str, Any]:
    """Return a formula, its value and its breakdown."""
    from ..language.notation.text import amount
    from ..views.formula_blocks import formula_blocks
    from ..views.summary import value_of

    model, formula = _resolved(asked, asked.quantity)
    model.check_run_sizes([formula])
    blocks = formula_blocks(model, formula, formula)
    heading, *rest = blocks
    number = value_of(formula, model)
    if number is None:
        return {"html": _html(blocks)}
    words = formula.measure.title if formula.measure.unit == "elements" else formula.measure.unit
    return {"html": _html([heading, Paragraph([Strong(amount(number, formula.measure.unit)), f" {words}"]), *rest])}


def costs_view(asked: Question) -> dict[str, Any]:
    """Return a table of the usual quantities, each with its formula, and its value if all sizes are given."""
    from ..language.notation.text import amount
    from ..output.blocks import Code, Line, Math
    from ..quantities import quantities, quantity
    from ..targets.resolution import pairs, resolve
    from ..views.summary import missing_of, value_of

    given = pairs(asked.options)
    conventions = {name for each in quantities() for name in quantity(each).choices}
    rows: list[list[Line]] = []
    refused: list[str] = []
    used: dict[str, str] = {}
    named = {each.partition("=")[0].strip() for each in asked.sets}
    usual = [f"{name}={size}" for name, size in USUAL_SIZES.items() if name not in named]
    for name in USUAL_COSTS:
        measure = quantity(name).measure
        own = {key: value for key, value in given.items() if key in quantity(name).choices or key not in conventions}
        try:
            model, chosen = resolve(asked.target, own, (), [name])
            formula = model.formula(name, **chosen)
            taken = {str(size) for size in formula.accepted_sizes}
            open_sizes = {str(size) for size in missing_of(formula, model)}
            sizes = [each for each in asked.sets if each.partition("=")[0].strip() in taken]
            sizes += [each for each in usual if each.partition("=")[0] in open_sizes]
            model, _ = resolve(asked.target, own, sizes, [name])
            model.check_run_sizes([formula])
            number = value_of(formula, model)
        except SymformerError as error:
            refused.append(f"{measure.title}: {error}")
            continue
        used |= {each: each for each in sizes}
        missing = ", ".join(map(str, missing_of(formula, model)))
        shown = f"needs {missing}" if number is None else amount(number, measure.unit)
        rows.append([[measure.title], [Math.of(formula.display_expr)], [shown], [Code(f"-q {name}")]])
    if not rows:
        raise SymformerError("; ".join(refused))
    head: list[Line] = [["quantity"], ["formula"], ["value"], ["option"]]
    sizes_line = [Paragraph(["with " + ", ".join(used) + "; the field Sizes sets others"])] if used else []
    return {"html": _html([Table(head, rows, "llrl"), *sizes_line, *map(_line, refused)]), "sets": [*used]}


def fit_view(asked: Question) -> dict[str, Any]:
    """Return which weight formats fit on devices."""
    from ..algebra.fit import check_conventions, fit
    from ..targets.resolution import pairs, resolve

    given = pairs(asked.options)
    check_conventions(given)
    model, conventions = resolve(asked.target, {**given, "weights": "bf16"}, asked.sets, ["inference-memory"])
    del conventions["weights"]
    run: dict[str, Any] = {"devices": asked.devices, "memory": asked.memory, **conventions}
    found = fit(model, **run)
    return {"html": _html(found.to_blocks())}


def tree_view(asked: Question) -> dict[str, Any]:
    """Return the module tree with each module's share."""
    from ..views.module_tree import ModuleTree

    model, formula = _resolved(asked, asked.quantity)
    blocks: list[Block | BriefBlock] = []
    for block in ModuleTree.of(model, formula).to_blocks():
        if isinstance(block, Table):
            indents = [before.replace(" ", _BLANK) for before, _ in block.branches]
            rows = [[[before, *row[0]], *row[1:]] for before, row in zip(indents, block.rows, strict=True)]
            blocks.append(Table(block.head, rows, block.align))
        else:
            blocks.append(block)
    return {"html": _html(blocks).replace(_BLANK, "&nbsp;")}


def figure_view(asked: Question) -> dict[str, Any]:
    """Return the figure of the model."""
    from ..documents.figures.inset import illustration
    from ..views.figure_facts import figure_facts

    (block,) = illustration(figure_facts(*_resolved(asked, asked.quantity)))
    return {"html": _html([replace(block, number=1)])}


def derivation_view(asked: Question) -> dict[str, Any]:
    """Return the whole derivation."""
    from .. import __version__
    from ..documents.derivation_document import laid_out
    from ..targets.resolution import pairs, resolve
    from ..views.derivation_facts import derivation_facts

    model, conventions = resolve(asked.target, pairs(asked.options), asked.sets, [asked.quantity])
    document = laid_out(derivation_facts(model, [asked.quantity], conventions), __version__)
    return {"html": _html(document.blocks)}


def svg_view(asked: Question) -> dict[str, Any]:
    """Return the figure of the model as a file of its own."""
    from ..documents.figures.browser_text_width import ScreenRuler
    from ..documents.figures.inset import illustration
    from ..documents.formats.html import FORMAT
    from ..documents.formats.inline_svg import svg_file
    from ..views.figure_facts import figure_facts

    (block,) = illustration(figure_facts(*_resolved(asked, asked.quantity)))
    return {"text": svg_file(block.draw(FORMAT.page, ScreenRuler()))}


def _line(text: str) -> Paragraph:
    return Paragraph([text])


VIEWS: Mapping[str, Callable[[Question], dict[str, Any]]] = {
    "formula": formula_view,
    "costs": costs_view,
    "fit": fit_view,
    "tree": tree_view,
    "figure": figure_view,
    "derivation": derivation_view,
    "svg": svg_view,
}
