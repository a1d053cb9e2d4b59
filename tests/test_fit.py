"""What fits: the table of formats against a loop over every context and batch, and against hand arithmetic."""

from __future__ import annotations

import json
import random

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.algebra.fit import USUAL
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, SizeError

TINY: dict[str, int] = {"V": 392, "E": 128, "H": 192, "L": 4, "A": 4, "G": 2, "D": 32}


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, arguments, prog_name="symformer")
    return found.exit_code, found.stdout, found.stderr


def bytes_of(form: str, tensor: int, stage: str, pipeline: int, batch: int, context: int) -> int:
    """Return the bytes of a rank of a Llama of TINY, worked out from its shapes."""
    sizes = TINY
    matrices = [
        (sizes["A"] * sizes["D"] // tensor, sizes["E"]), (sizes["G"] * sizes["D"] // tensor, sizes["E"]),
        (sizes["G"] * sizes["D"] // tensor, sizes["E"]), (sizes["E"], sizes["A"] * sizes["D"] // tensor),
        (sizes["H"] // tensor, sizes["E"]), (sizes["H"] // tensor, sizes["E"]), (sizes["E"], sizes["H"] // tensor),
    ]  # fmt: skip
    stored = {
        "bf16": lambda rows, cols: 2 * rows * cols,
        "int8": lambda rows, cols: rows * cols + 4 * rows,
        "mxfp4": lambda rows, cols: rows * cols // 2 + rows * cols // 32,
    }[form]
    layers = sizes["L"] // pipeline
    table = 2 * sizes["V"] // tensor * sizes["E"]
    found = layers * (sum(stored(rows, cols) for rows, cols in matrices) + 2 * 2 * sizes["E"])
    found += layers * 2 * batch * context * sizes["G"] // tensor * sizes["D"] * 2
    if stage in ("first", "only"):
        found += table
    if stage in ("last", "only"):
        found += table + 2 * sizes["E"] + 4 * batch * sizes["V"] // tensor
    return found


@pytest.mark.parametrize("seed", range(25))
def test_contexts_and_batches_are_those_of_brute_force(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    devices = draw.choice([1, 2, 4])
    batch, context = draw.randint(1, 5), draw.randint(1, 40)
    room = draw.randint(100_000, 900_000) // devices
    model = sf.model("llama").set(TINY)
    found = sf.fit(model, devices=devices, memory=room, batch=batch, context=context, weights=["bf16", "int8", "mxfp4"])
    for row in found.formats:
        tensor, pipeline = row.tensor, row.pipeline
        assert tensor * pipeline == devices
        assert tensor == min(devices, 2)  # two key/value heads

        def most(
            sequences: int, tokens: int, form: str = row.weights, ranks: int = tensor, stages: int = pipeline
        ) -> int:
            ends = ["only"] if stages == 1 else ["first", "last"]
            return max(bytes_of(form, ranks, end, stages, sequences, tokens) for end in ends)

        assert row.needed == most(batch, context)
        assert row.missing == max(0, row.needed - room)
        longest = max((tokens for tokens in range(1, 4000) if most(batch, tokens) <= room), default=0)
        assert row.context == longest
        assert row.batch == max((number for number in range(1, 4000) if most(number, context) <= room), default=0)


def test_llama_3_8b_on_a_device_of_24_gib() -> None:
    """(24 GiB - 16,060,522,496 of weights - 4 * 128,256 of logits) / 131,072 bytes per token = 74,072.02 tokens."""
    (row,) = sf.fit("llama-3-8b", memory="24GiB", weights="bf16").formats
    assert (row.weight_bytes, row.context, row.cap) == (16_060_522_496, 74_072, "")
    assert sf.fit("llama-3-8b", memory="24GiB", weights="gguf:q4_k_m", context=8192).formats[0].batch == 19


def test_a_context_beyond_the_positions_is_capped() -> None:
    found = sf.fit("gpt2", memory="1GB", context=8192, weights="bf16")
    assert found.context == 1023  # GPT-2 has 1,024 positions, one of them for the new token
    assert found.formats[0].context == 1023
    assert "P=1024" in found.formats[0].cap


def test_a_model_without_a_cache_has_any_context() -> None:
    (row,) = sf.fit("mamba-130m", memory="1GB", weights="bf16").formats
    assert row.context is None
    assert row.batch > 1


def test_the_table_and_the_data_have_the_same_rows() -> None:
    status, text, _ = run("fit", "llama-3-8b", "--memory", "12GB")
    assert status == 0
    status, data, _ = run("fit", "llama-3-8b", "--memory", "12GB", "--json")
    assert status == 0
    rows = json.loads(data)["formats"]
    assert {row["weights"] for row in rows} == {*USUAL}
    assert all(row["weights"] in text for row in rows)
    totals = [row["weight_bytes"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    # 16,060,522,496 of weights, 4 * 128,256 of logits and 8,192 * 131,072 of cache less 12e9
    assert next(row["missing"] for row in rows if row["weights"] == "bf16") == 5_134_777_344
    assert "5.13 GB too much" in text


def test_no_format_that_fits_has_the_exit_status_1() -> None:
    status, text, _ = run("fit", "llama-3-8b", "--memory", "1GB")
    assert status == 1
    assert "no format fits" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "0"], "out of range"),
        (["--memory", "24GiB", "--share", "120%"], "at most 100%"),
        (["--memory", "24GiB", "--reserve", "30GiB"], "leaves nothing"),
        (["--memory", "24GiB", "--weights", "q4"], "gguf:TYPE"),
        ([], "--memory"),
    ],
)
def test_invalid_limits_are_one_sentence(arguments: list[str], message: str) -> None:
    status, _, error = run("fit", "llama-3-8b", *arguments)
    assert status == 2
    assert message in error
    assert "Traceback" not in error


def test_sizes_without_a_value_are_named() -> None:
    with pytest.raises(SizeError, match="llama has no value for A"):
        sf.fit("llama", memory="1GB")
    with pytest.raises(OptionError, match="devices=0"):
        sf.fit("gpt2", memory="1GB", devices=0)
