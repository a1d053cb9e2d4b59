"""Every target of ``list``, every quantity, every output format: answered, or refused with one sentence.

Presets of one component share its formula and its documents and differ in numbers. Each command therefore runs for one
target per component, the last one, which has numbers if any has. For the other presets only the value is computed, for
some quantities each if there are many. Each quantity is printed in one format, its neighbours in other formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli
from symformer.formulas.formula import Formula
from symformer.language.errors import SymformerError
from symformer.language.symbols import SYMBOLS, letter
from symformer.models.model import Model
from symformer.quantities import quantities
from symformer.targets.opened_target import names
from symformer.targets.resolution import resolve

from .samples import sampled

# A run whose sizes all differ: no more tokens than any model has positions, and more than the ranks' defaults.
RUN = {"B": 2, "S": 48, "S_enc": 36, "C": 40, "N_new": 5, "N_tp": 1, "N_pp": 1, "N_dp": 1, "N_cp": 1, "N_ep": 1}
SENTENCE = 700  # characters


@cache
def groups() -> list[list[str]]:
    """Return the targets, grouped by component.

    It records the ledger of every architecture, so it is called by tests and not when pytest collects them.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in names():
        model, _ = resolve(name)
        found.setdefault((repr(model.component), str(sorted(map(str, model.relations.items())))), []).append(name)
    return list(found.values())


PARTS = 120  # the groups are divided among this many tests
# presets of one component whose value is computed per quantity, if there are many; the next quantity uses others
NEIGHBOURS = 3
DERIVED = ["derive", "-o", "-", "--format", "md"]  # is long
WAYS = (DERIVED, ["show"], ["show"], ["tree"], ["show"], ["show"], ["show"])
APART = 5  # of this many targets in a row, one is tested for a quantity that is derived from another
SHARE = 2  # of this many targets in a row, one is tested for any other quantity


def test_the_sweep_covers_every_listed_target() -> None:
    listed = json.loads(CliRunner().invoke(cli, ["list", "--json"]).stdout)
    targets = {*listed["architectures"], *listed["presets"], *listed["components"]}
    assert {name for group in groups() for name in group} == targets
    assert len(groups()) > PARTS
    assert set(listed["quantities"]) == set(quantities())
    assert len(quantities()) >= 14


@pytest.mark.parametrize("part", sampled(20, range(PARTS)))
def test_every_target_is_answered_or_refused_in_one_sentence(part: int) -> None:
    problems = [
        problem for place, group in list(enumerate(groups()))[part::PARTS] for problem in problems_of(group, place)
    ]
    assert not problems, "\n".join(problems)


def problems_of(group: list[str], place: int) -> list[str]:
    """Return the wrong answers for one group of targets; ``place`` decides which quantity has which format."""
    problems, answered = [], 0
    for turn, (quantity, question) in enumerate(quantities().items(), place):
        if turn % (APART if question.derived_from else SHARE) and quantity != "params":
            continue
        asked = group[-1]
        formula = formula_of(resolve(asked)[0], quantity)
        given = sizes(formula) if formula else []
        command, *more = WAYS[turn % len(WAYS)]
        arguments = [command, asked, "-q", quantity, *given, *more]
        result = CliRunner().invoke(cli, arguments, prog_name="symformer")
        said = " ".join(arguments)
        if result.exit_code == 2:
            problems += [f"{said}: {problem}" for problem in refusal(result.stdout, result.stderr)]
        elif result.exit_code:
            problems.append(f"{said}: {result.stderr}")
        else:
            answered += 1
            assert formula is not None, said
            found = document(result.stdout) if command == "derive" else shown(result.stdout, formula)
            problems += [f"{said}: {problem}" for problem in found]
        apart = max(1, len(group) // NEIGHBOURS)
        for preset in group[turn % apart : -1 : apart]:
            model, _ = resolve(preset)
            formula = formula_of(model, quantity)
            if formula and {str(size) for size in formula.symbols} <= {*map(str, model.known), *RUN}:
                assert valued(formula, model) > 0 or formula.expanded == 0 or quantity == "communication", preset
    assert answered >= 1  # at least the parameters
    return problems


def formula_of(model: Model, quantity: str) -> Formula | None:
    try:
        return model.formula(quantity)
    except SymformerError:
        return None


def sizes(formula: Formula) -> list[str]:
    """Return the values of a formula's symbols in the run."""
    asked = [str(size) for size in formula.symbols if letter(size).run]
    return [word for name in asked if name in RUN for word in ("--set", f"{name}={RUN[name]}")]


def valued(formula: Formula, model: Model) -> int:
    numbers = {**RUN, **{str(size): number for size, number in model.known.items()}}
    return formula.value({name: numbers[name] for name in map(str, formula.symbols)})


def refusal(output: str, sentence: str) -> Iterator[str]:
    """Yield the defects of a refusal."""
    if output:
        yield "something is printed before it is refused"
    if not sentence.startswith("symformer: ") or sentence.count("\n") != 1 or not sentence.endswith("\n"):
        yield f"no one sentence: {sentence!r}"
    if len(sentence) > SENTENCE:
        yield f"a sentence of {len(sentence):,} characters"
    if "Traceback" in sentence or "has no rule for" in sentence:
        yield f"no reason: {sentence!r}"


def shown(output: str, formula: Formula) -> Iterator[str]:
    """Yield the defects of a printed formula."""
    if "Traceback" in output:
        yield "a traceback"
    if formula.measure.letter in map(str, formula.symbols):
        yield f"{formula.measure.letter} is the quantity and a size"


def document(markdown: str) -> Iterator[str]:
    """Yield the defects of a derivation in Markdown."""
    yield from letters(markdown)
    yield from products(markdown)
    yield from references(markdown)


def letters(markdown: str) -> Iterator[str]:
    """Yield letters with two meanings: two sizes, or a quantity and a size."""
    listed = re.findall(r"^\| \$`([^`]+)`\$ \| [a-z]", markdown, re.MULTILINE)
    twice = sorted({each for each in listed if listed.count(each) > 1})
    if twice:
        yield f"{', '.join(twice)} stand for two sizes"
    named = {match[1].strip() for match in re.finditer(r"^([^&\n]+?) &=", markdown, re.MULTILINE)}
    sizes = {letter(size).latex for size in SYMBOLS.values()}
    if clash := sorted(named & sizes):
        yield f"{', '.join(clash)} stand for a quantity, and for a size"


def products(markdown: str) -> Iterator[str]:
    """Yield products with a sum as a factor without brackets, as in 2 × B × E + D."""
    for formula in re.findall(r"\$`([^`]+)`\$", markdown):
        level, flat = 0, ""
        for each in formula:
            level -= each in ")}"
            flat += each if level == 0 else ""
            level += each in "({"
        factors = flat.split(r"\times")
        if len(factors) > 1 and any(re.search(r" [+-] ", factor) for factor in factors):
            yield f"a sum without brackets in {formula}"


def references(markdown: str) -> Iterator[str]:
    """Yield references without a citation, and citations without a reference."""
    text, _, listed = markdown.partition("\n## References\n")
    numbers = {int(number) for number in re.findall(r"^(\d+)\. ", listed, re.MULTILINE)}
    cited = {int(n) for each in re.findall(r"\\?\[(\d+(?:, ?\d+)*)\\?\](?!\()", text) for n in each.split(",")}
    if numbers != set(range(1, len(numbers) + 1)):
        yield f"references numbered {sorted(numbers)}"
    if uncited := sorted(numbers - cited):
        yield f"references that nothing cites: {uncited}"
    if unlisted := sorted(cited - numbers):
        yield f"cited and not listed: {unlisted}"


def test_the_checks_detect_planted_defects() -> None:
    assert list(products(r"| $`2 \times E \times R_{\mathrm{kv}} + D`$ |"))
    assert not list(products(r"$`2 \times (E + D) \times \frac{N - 1}{2}`$ and $`2 E + D`$"))
    assert list(letters("| $`M`$ | hidden width |\n\nM &= 2 E\n"))
    assert list(letters("| $`D`$ | head |\n| $`D`$ | depth |\n"))
    assert not list(letters("| $`E`$ | width |\n\nN &= 2 E\n"))
    assert list(references("As in \\[2\\].\n\n## References\n\n1. A.\n"))
    assert not list(references("As in \\[1, 2\\].\n\n## References\n\n1. A.\n2. B.\n"))
