"""Sizes of a run: missing ones are listed, and one without effect is accepted if it defines the quantity."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import SizeError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def facts(*arguments: str) -> dict[str, object]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["show", "llama-2-7b", "-q", "kv-cache"], ["B", "C"]),
        (["show", "llama-2-7b", "-q", "kv-cache", "--set", "C=7"], ["B"]),
        (["show", "llama-2-7b", "-q", "kv-cache", "--set", "C=7", "--set", "B=3"], []),
        (["show", "llama", "-q", "params", "--part", "layers.mlp"], ["E", "H"]),
        (["show", "llama-2-7b", "-q", "intensity", "--set", "S=5"], ["B"]),
        (["tree", "llama-2-7b", "-q", "flops", "--set", "B=3"], ["S"]),
        (["compare", "gpt2", "llama-2-7b", "-q", "flops", "--set", "S=5"], {"left": ["B"], "right": ["B"]}),
        (["compare", "gpt2", "gpt2-xl", "llama-2-7b", "-q", "flops"], [["B", "S"]] * 3),
        (["compare", "gpt2", "-q", "flops", "--divide-by", "params", "--set", "S=5"], ["B"]),
    ],
)
def test_json_lists_the_sizes_that_are_missing(arguments: list[str], missing: object) -> None:
    assert facts(*arguments)["missing"] == missing


def test_each_convention_lists_the_sizes_that_it_needs() -> None:
    for variant in facts("show", "gpt2", "-q", "flops", "--conventions", "--set", "B=3")["variants"]:  # type: ignore[attr-defined]
        assert variant["missing"] == ([] if variant["refused"] else ["S"])
        assert variant["value"] is None


@pytest.mark.parametrize("quantity", ["kv-cache", "inference-memory", "decode-flops"])
def test_every_model_accepts_the_sizes_that_define_a_quantity(quantity: str) -> None:
    """The size of Mamba's state does not depend on C, so C is accepted with a note that it has no effect."""
    values = {}
    for target in ("llama-2-7b", "mamba2-2.7b", "mamba-130m", "nemotron-h-8b"):
        for length in (5, 4096):
            found = facts("show", target, "-q", quantity, "--set", "B=3", "--set", f"C={length}")
            values[target, length] = found["value"]
            idle = [note for note in found["notes"] if "has no effect" in note]  # type: ignore[attr-defined]
            assert found["missing"] == []
            assert bool(idle) == target.startswith("mamba")
            assert all(note.startswith(f"C = {length:,} (tokens already in the cache) has no effect") for note in idle)
        same = values[target, 5] == values[target, 4096]
        assert same == target.startswith("mamba")
    said = run("show", "mamba-130m", "-q", quantity, "--set", "B=3", "--set", "C=11").stdout
    assert f"C = 11 (tokens already in the cache) has no effect: mamba.{quantity} is the same for every C." in said
    assert "has no effect" in run("tree", "mamba-130m", "-q", quantity, "--set", "B=3", "--set", "C=11").stdout
    both = run("compare", "mamba-130m", "llama-2-7b", "-q", quantity, "--set", "B=3", "--set", "C=11").stdout
    assert both.count("has no effect") == 1
    page = run(
        "derive", "mamba-130m", "-q", quantity, "--set", "B=3", "--set", "C=11", "-o", "-", "--format", "md"
    ).stdout
    assert "$`C`$ = 11 (tokens already in the cache) has no effect" in page
    formula = sf.architecture("mamba-130m").formula(quantity)
    assert formula.value(B=3, C=11) == formula.value(B=3) == values["mamba-130m", 5]


def test_a_size_that_defines_no_quantity_is_refused() -> None:
    for arguments in (["-q", "kv-cache", "--set", "S=5"], ["-q", "kv-cache", "--option", "tokens=one", "--set", "C=5"]):
        result = run("show", "mamba-130m", *arguments)
        assert result.exit_code == 2
        assert "has no effect: mamba.kv-cache does not depend on" in result.stderr
    with pytest.raises(SizeError, match="has no size S"):
        sf.architecture("mamba-130m").formula("kv-cache").value(B=3, S=5)
    solved = run("solve", "mamba-130m", "-q", "kv-cache", "--total", "1e9", "--find", "C", "--set", "B=1")
    assert solved.exit_code == 2
    assert "C has no effect" in solved.stderr


def test_the_error_for_a_foreign_convention_lists_the_own_conventions() -> None:
    result = run("show", "gpt2", "-q", "inference-memory", "--option", "dtype=fp8")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "inference-memory has the conventions weights, cache, " in result.stderr
    assert (
        "unknown option 'dtype' of gpt2; it is a convention of activations, communication, intensity, kv-cache, traffic"
        in result.stderr
    )
    assert "name the quantity" not in result.stderr
    unnamed = run("show", "gpt2", "--option", "attention=causal")
    assert "it is a convention of " in unnamed.stderr
    assert unnamed.stderr.rstrip().endswith("; select one of these quantities with -q")
