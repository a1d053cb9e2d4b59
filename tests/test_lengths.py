"""A table of P learned positions bounds every run, with the same message in Python, commands and derive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from sympy import Integer, Symbol

from symformer import SymformerError, architecture, from_config
from symformer.commands.cli import cli
from symformer.language.symbols import B, C, N_new, P, S
from symformer.quantities import quantities
from symformer.targets.resolution import model

# The last position of each quantity in a model with P of them; None: no run. Every quantity is listed.
REACH = {
    "params": None,
    "weight-memory": None,
    "active-params": None,
    "trainable-params": None,
    "flops": S,
    "macs": S,
    "prefill-flops": S,
    "train-flops": S,
    "run-flops": S,
    "activations": S,
    "train-memory": S,
    "attention-share": S,
    "mfu": S,
    "hfu": S,
    "pipeline-bubble": None,
    "traffic": S,
    "intensity": S,
    "communication": S,
    "decode-flops": C + 1,  # the new token follows those in the cache
    "inference-memory": C + 1,
    "kv-cache": C,  # the cache may be full
    "decode-time": C + 1,
    "prefill-time": S,
    "train-time": S,
    "generation-flops": S + N_new - 1,  # the last token is not read again
}


@pytest.mark.parametrize("quantity", REACH)
def test_length_condition_of_each_quantity(quantity: str) -> None:
    assert REACH.keys() == quantities().keys()
    gpt2 = architecture("gpt2")
    conventions = {"tensor": "on", "vocab": "padded"} if quantity == "communication" else {}
    formula = gpt2.formula(quantity, **conventions)
    found = [(each.low, each.high) for each in formula.constraints if getattr(each, "high", None) == P]
    reach = REACH[quantity]
    assert found == ([] if reach is None else [(reach, P)])
    run = {
        "B": 2,
        "S": 1_017,
        "N_new": 8,
        "C": 1_023,
        "N_tp": 3,
        "N_tok": 5,
        "N_tps": 6,
        "N_dev": 7,
        "N_peak": 9,
        "N_bw": 6,
        "N_pp": 4,
        "N_micro": 5,
    }  # each limit is then 1,024 = P, or less
    if quantity == "kv-cache":
        run["C"] = 1_024
    run = {name: number for name, number in run.items() if name in map(str, formula.dependencies)}
    assert formula.value(**run) > 0
    if reach is not None:
        more = {"S": 8 if reach == S else 1, "C": 1}
        further = {name: number + more.get(name, 0) for name, number in run.items()}
        with pytest.raises(SymformerError, match=r"P=1024 \(learned positions\) is less than .*1025"):
            formula.value(**further)


@pytest.mark.parametrize("target", ["gpt2", "gpt-from-scratch", "bert-base-uncased", "bare-bones-transformer-lm"])
def test_length_condition_of_every_model_with_learned_positions(target: str) -> None:
    model = architecture(target)
    rows = model.known[P]
    flops = model.formula("flops")
    assert flops.value(B=3, S=rows) > 0
    for ask in (
        lambda: flops.value(B=3, S=rows + 1),
        lambda: model.set({S: P + 1, B: Integer(3)}).formula("flops").value(),
        lambda: model.formula("flops", attention="causal").value({**_named(model.known), "B": 3, "S": rows + 1}),
    ):
        with pytest.raises(SymformerError, match=f"P={rows} .* is less than S={rows + 1} "):
            ask()
    for other in ("llama-2-7b", "palm-8b"):  # positions without a table have no limit
        assert not any(getattr(each, "high", None) == P for each in architecture(other).formula("flops").constraints)


def _named(numbers: dict[Symbol, int]) -> dict[str, int]:
    return {str(name): number for name, number in numbers.items()}


def test_more_positions_allow_longer_runs(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt2", "n_positions": 4_096}), "utf-8")
    assert from_config(str(path)).formula("flops").value(B=1, S=4_096) > 0
    with pytest.raises(SymformerError, match=r"P=4096 .* is less than S=4097"):
        from_config(str(path)).formula("flops").value(B=1, S=4_097)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "gpt2", "--quantity", "flops", "--set", "B=1", "--set", "S=4096"),
        ("show", "gpt2", "--quantity", "flops", "--set", "B=1", "--set", "S=4*P", "--json"),
        ("show", "gpt2", "--quantity", "decode-flops", "--set", "B=1", "--set", "C=4095"),
        ("show", "gpt2", "--quantity", "generation-flops", "--set", "B=1", "--set", "S=4001", "--set", "N_new=96"),
        ("tree", "gpt2", "--quantity", "activations", "--set", "B=1", "--set", "S=4096"),
        ("derive", "gpt2", "--quantity", "flops", "--set", "B=1", "--set", "S=4096", "-o", "gpt2.md"),
    ],
    ids=lambda arguments: " ".join(arguments[:4]),
)
def test_length_condition_is_enforced_by_every_command(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, arguments, prog_name="symformer")
    assert result.exit_code == 2, result.output
    assert "P=1024 (learned positions) is less than" in " ".join(result.stderr.split())
    assert "4096" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_table_that_a_run_reads_at_one_index_does_not_bound_its_length() -> None:
    """The class has a table of numbers of speakers, which the catalogue reads like a table of positions."""
    found = model("hf:gradium_phonon_tts").formula("train-memory", implementation="none")
    assert [each for each in found.constraints if getattr(each, "low", None) == S] == []
