"""``symformer new architecture``: its skeletons, and the list of missing parts, in a copy of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from symformer import SymformerError
from symformer.architectures import architecture_class, names
from symformer.architectures.base_architecture import HEAD_WIDTH, HEADS_DIVIDE
from symformer.architectures.bases.multimodal import Multimodal
from symformer.commands.cli import cli
from symformer.views.new_architecture import check_name, missing, skeleton

ROOT = Path(__file__).parent.parent
OWN, CASE = "symformer/architectures/my_llama.py", "tests/models/my_llama.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the repository, in which all folders that no command writes to are links."""
    package = tmp_path / "symformer"
    package.mkdir()
    for each in (ROOT / "symformer").iterdir():
        if each.name in ("architectures", "certificates"):
            shutil.copytree(each, package / each.name)
        else:
            (package / each.name).symlink_to(each)
    (tmp_path / "reports").mkdir()
    (tmp_path / "tests" / "models").mkdir(parents=True)
    shutil.copy(ROOT / "tests/models/__init__.py", tmp_path / "tests/models")
    return tmp_path


def new(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-B", "-m", "symformer", "new", "architecture", *arguments],
        cwd=checkout,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in found.stderr
    return found


def test_an_architecture_is_written_and_completed(checkout: Path) -> None:
    """Llama under another name: its formula, sizes and certificates are known."""
    written = new(checkout, "my-llama", "--like", "llama")
    assert written.returncode == 0
    assert written.stderr == f"wrote {OWN}\nwrote {CASE}\n"
    for path in (OWN, CASE):
        compile((checkout / path).read_text(), path, "exec")
    missed = written.stdout.splitlines()
    assert missed[0] == "my-llama: 11 missing"
    assert f"- {OWN}:17: the formula of the number of parameters" in missed
    assert "- symformer/architectures/presets.json: a preset of my-llama, with its sizes and their source" in missed
    assert missed[-1] == "- a certificate: run symformer verify my-llama --write when all of the above is done"

    checked = new(checkout, "my-llama", "--check")
    assert (checked.returncode, checked.stdout, checked.stderr) == (1, written.stdout, "")
    again = new(checkout, "my-llama", "--like", "gpt2")
    assert again.returncode == 2
    assert again.stderr == (
        f"symformer: {OWN} already exists; run the command without --like to list the missing parts\n"
    )

    own = (checkout / OWN).read_text()
    own = own.replace("TODO: its paper", "Touvron et al. 2023 [touvron2023] and another [nobody2023]")
    own = own.replace(
        "TODO: the formula of the number of parameters", "2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + V*E + E"
    )
    own = own.replace("TODO: ", "").replace('WitnessSpec("MyLlama"', 'WitnessSpec("Llama"')
    (checkout / OWN).write_text(own)
    (checkout / CASE).write_text((checkout / CASE).read_text().replace("TODO: ", ""))
    presets = checkout / "symformer/architectures/presets.json"
    facts = json.loads(presets.read_text())
    facts["my-llama-7b"] = {**facts["llama-7b"], "architecture": "my-llama"}
    facts["my-llama-7b"].pop("hub")
    presets.write_text(json.dumps(facts))
    missed = new(checkout, "my-llama").stdout.splitlines()
    assert missed[0] == "my-llama: 3 missing"
    assert missed[1] == f"- {OWN}: the docstring cites [nobody2023]; add it to symformer/papers/papers.json"
    assert missed[2].startswith(f"- {OWN}: the doctest of the formula fails: ")
    assert missed[2].endswith("+ 2*L*E + V*E + E Got: 2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E")

    (checkout / OWN).write_text(own.replace(" [nobody2023]", "").replace("+ V*E", "+ 2*V*E"))
    certificate = "symformer/certificates/my-llama.json"
    assert new(checkout, "my-llama").stdout.splitlines()[1:] == [
        f"- {certificate}: run symformer verify my-llama --write",
        "- reports/my-llama.md: run symformer gallery reports",
    ]
    stored = (checkout / "symformer/certificates/llama.json").read_text().replace('"llama.', '"my-llama.')
    (checkout / certificate).write_text(stored)
    (checkout / "reports/my-llama.md").touch()
    done = new(checkout, "my-llama", "--check")
    assert (done.returncode, done.stdout) == (0, "my-llama: nothing is missing\n")
    # A certificate of another formula is not valid.
    (checkout / certificate).write_text(stored.replace('"digest": "', '"digest": "0'))
    assert f"{certificate}: no valid certificate for the default options; run" in new(checkout, "my-llama").stdout


def test_outside_a_checkout_the_command_is_refused(checkout: Path) -> None:
    shutil.rmtree(checkout / "tests")
    found = new(checkout, "my-llama")
    assert found.returncode == 2
    assert found.stderr.startswith(f"symformer: {checkout} has no tests/models, so it is not a checkout")


def test_a_skeleton_has_the_bases_and_the_sizes_of_another_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = 0
    for like in names():
        model = architecture_class(like)
        if issubclass(model, Multimodal):  # a skeleton does not import the architecture of the language model
            continue
        if not any(".bases." in base.__module__ for base in model.__bases__):
            with pytest.raises(SymformerError, match=f"{like} has no base class in architectures/bases"):
                skeleton("my-model", like)
            continue
        own, case = skeleton("my-model", like).values()
        module = ModuleType("symformer.architectures.my_model")
        module.__package__ = "symformer.architectures"
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(own, "my_model.py", "exec"), vars(module))  # noqa: S102
        assert module.MyModel.__bases__ == model.__bases__
        sizes = vars(module.MyModel)["config"].sizes
        assert sizes.keys() == (model.config.sizes or sizes).keys()
        assert {*sizes} <= {*model.fields.sizes}
        assert ("HEAD_WIDTH" in own) == (
            HEAD_WIDTH in [model.fields.sizes[size] for size in sizes]
        )  # it does not accept null
        assert ("conditions=HEADS_DIVIDE" in own) == (model.witness.conditions == HEADS_DIVIDE)
        assert not any(isinstance(field.default, int) for field in sizes.values()), like
        compile(case, "my_model.py", "exec")
        tested += 1
    assert tested > 40
    with pytest.raises(SymformerError, match="did you mean mistral"):
        skeleton("my-model", "mistrall")


def test_nothing_is_missing_from_finished_architectures() -> None:
    assert [missing(name) for name in ("gpt-neox", "palm", "t5")] == [[], [], []]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("My-Model", "'My-Model' cannot name an architecture; use lower-case letters"),
        ("3d", "begin with a letter, such as my-model"),
        ("../x", "use lower-case letters, digits and single hyphens"),
        ("a--b", "single hyphens"),
        ("class", "'class' is reserved; choose another name"),
        ("bases", "'bases' is reserved"),
        ("base-architecture", "'base-architecture' is reserved"),
        ("gpt2-xl", "'gpt2-xl' is already a preset of gpt2"),
    ],
)
def test_impossible_names_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(SymformerError, match=sentence):
        check_name(name)


def test_a_part_of_the_certificates_is_not_stored() -> None:
    done = CliRunner().invoke(cli, ["verify", "gpt2", "-q", "params", "--write"])
    assert done.exit_code == 2
    assert "--write stores all certificates of an architecture; remove --quantity and --option" in done.output
