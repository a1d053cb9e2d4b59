"""Architectures, components, quantities and rule sets of another package, registered as entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import RegistrationError, UnknownNameError
from symformer.symbols import E, H, L

# A package that registers one object of each kind.
MODELS = '''
from dataclasses import dataclass

from symformer.extend import Component, Fields, LlamaLike, WitnessSpec, usual
from symformer.symbols import A, D, E, G, H, L, V


@dataclass(frozen=True, kw_only=True)
class Tiny(LlamaLike):
    """A Llama of another package, Touvron et al. 2023 [touvron2023]."""

    title = "Tiny"
    config = Fields(usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: E / A}), model_types=("acme-tiny",))
    witness = WitnessSpec("Llama")


@dataclass(frozen=True, kw_only=True)
class Twice(Component):
    """Two matrices of H rows and E columns."""

    title = "Twice"
    role = "other"
    shapes = "x[B,S,E] -> y[B,S,E]"

    def forward(self, ops, x):
        return ops.linear("down", ops.linear("up", x, H, bias=False), E, bias=False)
'''
COUNTS = """
from dataclasses import replace

from symformer.extend import STORING, Measure, OperationKind, RuleSet, Term, counts_nothing, quantity, rows, weights


def one_per_weight(entry, conventions):
    return tuple(Term(weight.path, ()) for weight in entry.weights)


TENSORS = replace(
    quantity("params"),
    measure=Measure("acme-tensors", "tensors", "N_tensors", "tensors"),
    statement="The number of weight tensors.",
    rules={**rows(counts_nothing, *OperationKind), **rows(one_per_weight, *STORING)},
    conventions={},
)
RULES = RuleSet(
    "acme-six", "ACME", "count.py", "https://example.com", "6 FLOPs for each parameter and token", "6N FLOPs.",
    {**dict.fromkeys(OperationKind, lambda entry, reading: ()), **dict.fromkeys(STORING, weights)},
    quantity="train-flops",
)
"""
POINTS = """
[symformer.architectures]
tiny = acme.models:Tiny
[symformer.components]
twice = acme.models:Twice
[symformer.quantities]
tensors = acme.counts:TENSORS
[symformer.rule_sets]
six = acme.counts:RULES
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "acme", POINTS, {"models": MODELS, "counts": COUNTS})


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, points: str, modules: dict[str, str]) -> Path:
    """Write a package and its dist-info to a folder, and add the folder to the path."""
    (folder / name).mkdir()
    for module, text in {"__init__": "", **modules}.items():
        (folder / name / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(folder))
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    return folder


def test_an_architecture_of_another_package_is_a_target(acme: Path) -> None:
    tiny = sf.model("acme-tiny")
    assert tiny.id == "acme-tiny"
    assert tiny.params.id == "acme-tiny.params"
    assert tiny.params == sf.model("llama").params  # the same parts
    config = {"model_type": "acme-tiny", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2}
    at = sf.from_config({**config, "vocab_size": 11, "intermediate_size": 12})
    # 2*V*E + L*(4*E*E + 3*E*H + 2*E) + E = 176 + 2*(256 + 288 + 16) + 8
    assert at.params.value() == 1304
    assert at.params.part("layers").id == "acme-tiny.params.layers"


def test_a_component_of_another_package_is_a_target(acme: Path) -> None:
    twice = sf.component("acme-twice")
    assert twice.params == 2 * E * H
    assert twice.params.id == "acme-twice.params"
    assert sf.model("component:acme-twice").params(E=3, H=5) == 30


def test_a_quantity_and_a_rule_set_of_another_package_are_counted(acme: Path) -> None:
    tensors = sf.model("gpt2").formula("acme-tensors")
    assert (tensors.id, tensors.unit) == ("gpt2.acme-tensors", "tensors")
    assert tensors == 12 * L + 4  # 2 norms and 4 matrices with biases in a layer; 2 tables; the last norm
    six = sf.model("llama-2-7b").formula("train-flops", counted="acme-six")
    assert six(B=1, S=2) == 6 * 2 * 6_738_415_616
    with pytest.raises(sf.SymformerError, match="counted=acme-six is not supported by flops"):
        sf.model("gpt2").formula("flops", counted="acme-six")


def test_the_command_line_lists_and_answers_them(acme: Path) -> None:
    found = json.loads(run(acme, "list", "--json"))  # in a new process
    assert "acme-tiny" in found["architectures"]
    assert "component:acme-twice" in found["components"]
    assert found["quantities"]["acme-tensors"] == "tensors"
    shown = json.loads(printed("show", "acme-tiny", "-q", "acme-tensors", "--json"))
    assert (shown["architecture"], shown["formula"]) == ("acme-tiny", "9*L + 3")
    assert "counted=acme-six" in printed("list")
    assert "@misc{" in printed("cite", "acme-tiny.params.layers")


def printed(*arguments: str) -> str:
    found = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert found.exit_code == 0, found.stderr
    return found.stdout


def run(folder: Path, *arguments: str) -> str:
    found = subprocess.run(
        [sys.executable, "-m", "symformer", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_misspelt_name_suggests_the_registered_one(acme: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean acme-tiny"):
        sf.model("acme-tyny")
    with pytest.raises(UnknownNameError, match="did you mean acme-tensors"):
        sf.model("gpt2").formula("acme-tensor")


@pytest.mark.parametrize(
    ("point", "text", "sentence"),
    [
        ("[symformer.architectures]\nbad = odd.models:Bad", "raise OSError('no')", "cannot be imported: OSError: no"),
        ("[symformer.architectures]\nbad = odd.models:Bad", "", "cannot be imported: AttributeError"),
        ("[symformer.architectures]\nbad = odd.models:Bad", "class Bad: pass", "is a Bad; it must be a Architecture"),
        ("[symformer.quantities]\nbad = odd.models:Bad", "Bad = 7", "is a int; it must be a Quantity"),
        (
            "[symformer.quantities]\nbad = odd.models:Q",
            "from symformer.quantities.params import QUANTITY as Q",
            "the quantity odd-bad has the name params in its measure; name it odd-bad",
        ),
    ],
)  # fmt: skip
def test_an_object_that_cannot_be_used_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, text: str, sentence: str
) -> None:
    installed(tmp_path, monkeypatch, "odd", point, {"models": text})
    ask = sf.model("gpt2").formula if "quantities" in point else sf.model
    with pytest.raises(RegistrationError, match=sentence):
        ask("odd-bad")


def test_other_packages_are_not_searched_for_a_built_in_name() -> None:
    code = (
        "import sys, symformer as sf; sf.model('gpt2-xl').formula('train-flops', counted='palm').code();"
        "print('importlib.metadata' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
