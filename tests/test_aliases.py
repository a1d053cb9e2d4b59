"""Former names, and other spellings of a name, give the same answer."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import click
import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import Commands, cli
from symformer.commands.option_spellings import OPTIONS, others
from symformer.language.aliases import Alias
from symformer.quantities import quantities, quantity
from symformer.quantities.spellings import CONVENTIONS, QUANTITIES, VALUES, spelled

# Attributes and methods


def aliases() -> list[tuple[type, str, Alias]]:
    """Return every former name in the package, with its class."""
    found = []
    for module in walk_packages(sf.__path__, "symformer."):
        if not module.name.startswith(("symformer.witness", "symformer.__main__")):  # torch is not needed here
            for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
                if kind.__module__ == module.name and name != "Alias":
                    found += [(kind, old, each) for old, each in vars(kind).items() if isinstance(each, Alias)]
    return found


def test_every_former_name_refers_to_an_attribute_or_a_field() -> None:
    found = aliases()
    assert len(found) > 50
    for kind, old, each in found:
        fields = {item.name for item in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        assert each.new in {*dir(kind), *fields}, f"{kind.__name__}.{old}"


@pytest.mark.parametrize(
    ("build", "old", "new"),
    [
        (lambda: sf.model("gpt2"), "checked", "validated"),
        (lambda: sf.model("gpt2").params, "asks", "dependencies"),
        (lambda: sf.model("gpt2").params, "written", "display_expr"),
        (lambda: sf.model("gpt2").formula("intensity"), "over", "denominator"),
        (lambda: sf.ratio("gpt2", "flops", "params"), "below", "denominator"),
        (lambda: sf.compare("gpt2", "gpt2-xl"), "per", "divisor"),
        (lambda: sf.compare("gpt2", "gpt2-xl"), "card", "to_blocks"),
        (lambda: sf.check("12 L E^2", "gpt2"), "says", "verdict_text"),
        (lambda: sf.explain("gpt2", "124M"), "because", "reason"),
        (lambda: sf.sensitivity("gpt2"), "broken", "violated_conditions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_former_name_returns_what_the_new_name_returns(build: Any, old: str, new: str) -> None:
    found = build()
    mine, other = getattr(found, old), getattr(found, new)
    assert mine() == other() if callable(mine) and not isinstance(mine, sf.Formula) else mine == other


def test_a_former_name_does_not_hide_an_overridden_method() -> None:
    """A subclass overrides the new name only."""
    ratio, formula = sf.model("gpt2").formula("intensity"), sf.model("gpt2").params
    assert ratio.asks == ratio.dependencies
    assert type(ratio).dependencies is not type(formula).dependencies


# Parameters

GRID = {"L": [12, 24]}
PARAMETERS = {
    "solve": (
        lambda: sf.solve("gpt2", "124M", unknowns="L", tolerance="1%", sizes={"V": 50000}, relations={"H": "3*E"}),
        lambda: sf.solve("gpt2", "124M", for_="L", within="1%", given={"V": 50000}, where={"H": "3*E"}),
    ),
    "sweep": (
        lambda: sf.sweep("gpt2", grid=GRID, sizes={"V": 7}, relations={"P": "E"}, limit=1, sort_by="max:params"),
        lambda: sf.sweep("gpt2", over=GRID, given={"V": 7}, where={"P": "E"}, top=1, by="max:params"),
    ),
    "compare": (
        lambda: sf.compare("gpt2-xl", "llama-2-7b", match="params", adjust="L"),
        lambda: sf.compare("gpt2-xl", "llama-2-7b", same="params", by="L"),
    ),
    "check": (
        lambda: sf.check("12 L h^2", "gpt2", names={"h": "E"}),
        lambda: sf.check("12 L h^2", "gpt2", where={"h": "E"}),
    ),
    "ratio": (
        lambda: sf.ratio("gpt2", numerator="flops", denominator="params"),
        lambda: sf.over("gpt2", quantity="flops", divisor="params"),
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_former_parameters_give_the_same_answer(name: str) -> None:
    new, old = (build() for build in PARAMETERS[name])
    assert new.to_json() == old.to_json()


def test_both_spellings_of_a_parameter_are_an_error() -> None:
    with pytest.raises(sf.OptionError, match="within is the former name of tolerance; give one of the two"):
        sf.solve("gpt2", "124M", unknowns="L", tolerance="1%", within="1%")


# The command line


def spellings() -> list[tuple[click.Command, click.Option, str]]:
    """Return every other spelling of an option, with its command."""
    return [
        (command, option, other)
        for command in Commands().values()
        for option in command.params
        if isinstance(option, click.Option)
        for shown in option.opts
        for other in others(command.name or "", shown)
    ]


def test_each_spelling_of_an_option_is_parsed_alike() -> None:
    used = set()
    for command, option, other in spellings():
        parse = command.make_parser(click.Context(command, info_name=command.name)).parse_args
        value = [] if option.is_flag else ["2:E=3"]
        shown, spelt = (parse([name, *value])[0] for name in (option.opts[0], other))
        assert shown == spelt != {}, (command.name, other)
        used |= {option.opts[0], f"{command.name} {option.opts[0]}"}
    assert OPTIONS.keys() <= used  # no entry is out of date


def test_former_options_give_the_same_answer() -> None:
    new = "sweep gpt2 --grid L=12,24 --set E=768 --where P=E --sort-by max:params --limit 1 --json"
    old = "sweep gpt2 --over L=12,24 --given E=768 --relation P=E --by max:params --top 1 --json"
    for one, other in (
        (new, old),
        ("compare gpt2 -q flops --divide-by params --json", "compare gpt2 -q flops --over params --json"),
        ("show component:mlp --format latex", "show component:mlp --as latex"),
        ("catalogue --help", "catalog --help"),
    ):
        both = [CliRunner().invoke(cli, line.split(" ")) for line in (one, other)]
        assert both[0].exit_code == 0, both[0].output
        assert both[0].stdout == both[1].stdout


def test_help_shows_one_spelling() -> None:
    for command, _, other in spellings():
        text = CliRunner().invoke(cli, [command.name or "", "--help"]).stdout
        assert f" {other} " not in text, (command.name, other)
    listed = CliRunner().invoke(cli, ["--help"]).stdout
    assert "catalogue" in listed
    assert "literature" not in listed


# Quantities and conventions


def test_each_spelling_of_a_quantity_finds_it() -> None:
    for other, name in QUANTITIES.items():
        assert quantity(other) is quantity(other.replace("-", "_")) is quantity(name)


def test_each_spelling_of_a_convention_finds_it() -> None:
    for other, (name, sample) in CONVENTIONS.items():
        having = [each for each in quantities().values() if other not in each.choices and name in each.choices]
        found = [each for each in having if sample in each.choices[name].meanings]
        assert found, other
        for each in found:
            assert spelled({other: sample}, each.choices) == {name: sample}
    for (name, other), value in VALUES.items():
        having = [each.choices[name] for each in quantities().values() if name in each.choices]
        assert any(value in each.meanings for each in having), (name, other)
        assert not any(other in each.meanings for each in having)


@pytest.mark.parametrize(
    ("other", "own"),
    [
        (
            lambda: sf.model("gpt2").formula("memory_traffic", traffic_model="fused"),
            lambda: sf.model("gpt2").formula("traffic", kernels="fused"),
        ),
        (
            lambda: sf.component("self-attention").formula("flops", mask="causal", operations="with-elementwise"),
            lambda: sf.component("self-attention").formula("flops", attention="causal", count="all"),
        ),
        (
            lambda: sf.solve("gpt2", "85M", unknowns="L", tolerance="2%", exclude="embeddings").formula,
            lambda: sf.solve("gpt2", "85M", unknowns="L", tolerance="2%", without="embeddings").formula,
        ),
        (
            lambda: sf.ratio("gpt2", "training-flops", "parameters", rules="symformer").numerator,
            lambda: sf.ratio("gpt2", "train-flops", "params", counted="here").numerator,
        ),
    ],
)
def test_answers_state_the_names_themselves(other: Any, own: Any) -> None:
    assert (other().id, other().conventions) == (own().id, own().conventions)
    assert other() == own()


def test_spellings_of_quantities_and_conventions_work_in_commands() -> None:
    for one, two in (
        ("show gpt2 -q memory-traffic --option traffic_model=fused", "show gpt2 -q traffic --option kernels=fused"),
        ("compare gpt2 gpt2-xl --option exclude=embeddings", "compare gpt2 gpt2-xl --option without=embeddings"),
    ):
        other, own = (CliRunner().invoke(cli, [*line.split(" "), "--json"]) for line in (one, two))
        assert own.exit_code == 0, own.output
        assert other.stdout == own.stdout


def test_two_spellings_of_one_convention_are_an_error() -> None:
    with pytest.raises(sf.OptionError, match="without is given twice, as exclude and as without; keep one"):
        sf.model("gpt2").formula("params", exclude="embeddings", without="positions")
