"""The parts of a cache per token, per sequence and for all sequences: worked out by hand, published, and their sum."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.architectures import names, presets_of
from symformer.commands.cli import cli
from symformer.language.errors import SymformerError
from symformer.language.symbols import SYMBOLS
from symformer.views.cache_parts import cache_ranges

from .test_cache_engines import BLOCKS, NUMBERS


def shown(target: str, *arguments: str) -> list[dict[str, Any]]:
    run = ["show", target, "-q", "kv-cache", *arguments, "--json"]
    found: list[dict[str, Any]] = json.loads(CliRunner().invoke(cli, run).stdout)["cache_parts"]
    return found


def test_bytes_per_token_and_per_sequence() -> None:
    """By hand, in bf16: 32 layers of 2 * 8 * 128 numbers; 27 states of 128 * 80 * 128 floats and 4 places of 12,288."""
    ((token,),) = ([*each["parts"]] for each in shown("llama-3-8b"))
    assert (token["per"], token["each"], token["times"], token["value"]) == ("token", 131_072, "B*C", None)
    (hybrid,) = shown("nemotron-nano-9b-v2", "--set", "B=3", "--set", "C=70")
    assert [(part["per"], part["each"]) for part in hybrid["parts"]] == [
        ("token", 4 * 2 * 8 * 128 * 2),
        ("sequence", 27 * (128 * 80 * 128 * 4 + 4 * 12_288 * 2)),
    ]
    assert [part["value"] for part in hybrid["parts"]] == [3 * 70 * 16_384, 3 * 27 * (5_242_880 + 98_304)]


def test_the_parts_change_where_a_window_fills() -> None:
    """12 layers of 24 keep 127 tokens before the next one; a layer has 2 * 8 * 64 numbers of 2 bytes per token."""
    below, above = shown("gpt-oss-20b", "--set", "B=2", "--set", "C=100")
    assert (below["range"], below["holds"]) == (["C <= C_win - 1"], True)
    assert (above["range"], above["holds"]) == (["C >= C_win - 1"], False)
    assert [(part["per"], part["each"]) for part in below["parts"]] == [("token", 24 * 2048)]
    assert [(part["per"], part["each"]) for part in above["parts"]] == [
        ("token", 12 * 2048),
        ("sequence", 12 * 127 * 2048),
    ]
    text = CliRunner().invoke(cli, ["show", "gpt-oss-20b", "-q", "kv-cache", "--set", "B=2", "--set", "C=300"]).stdout
    assert "for C >= C_win - 1 = 127 (true here):" in text
    assert "each sequence" in text


def test_a_shared_prefix_is_a_part_of_its_own() -> None:
    sizes = ("--option", "block=16", "--set", "B=5", "--set", "C=70", "--set", "C_pre=33")
    (each,) = shown("llama-3-8b", "--option", "prefix=shared", *sizes)
    assert [(part["per"], part["tokens"], part["value"]) for part in each["parts"]] == [
        ("page", 16, 5 * (5 - 2) * 16 * 131_072),
        ("constant", None, 2 * 16 * 131_072),
    ]


@pytest.mark.parametrize("name", BLOCKS)
def test_pages_have_the_tokens_that_vllm_prints(name: str) -> None:
    target, conventions = BLOCKS[name]
    options = [word for name, value in conventions.items() for word in ("--option", f"{name}={value}")]
    (each,) = shown(target, "--option", "engine=vllm", *options)
    assert [part["tokens"] for part in each["parts"]] == [NUMBERS[name]["value"], None]


def test_states_of_llama_cpp_are_the_part_of_a_sequence() -> None:
    (each,) = shown("qwen3.5-27b-text", "--option", "engine=llama.cpp", "--set", "B=3", "--set", "C=1")
    (state,) = [part["value"] for part in each["parts"] if part["per"] == "sequence"]
    assert round(state / 2**20, 2) == NUMBERS["llamacpp-rs-qwen3.6-27b-3seq"]["value"]


@pytest.mark.parametrize("engine", ["transformers", "vllm", "llama.cpp"])
def test_the_parts_sum_to_the_cache(engine: str) -> None:
    divided = 0
    for architecture in names():
        for preset in presets_of(architecture)[:1]:
            model = sf.model(preset)
            try:
                formula = model.formula("kv-cache", engine=engine)
            except SymformerError:
                continue
            positions = model.known.get(SYMBOLS["P"], 5000)
            for length in (3, min(5000, positions)):
                sizes = {"B": 3, "C": length, "S_enc": 11, "S_step": 700}
                given = {name: number for name, number in sizes.items() if name in map(str, formula.symbols)}
                known = model.set(given).known
                for each in cache_ranges(formula):
                    if each.holds(known):
                        numbers = formula.with_totals(known)
                        total = sum(part.each * part.times for part in each.parts).xreplace(numbers)
                        assert total == formula.value(**{"B": 3, "C": length, **given}), preset
                        divided += 1
    assert divided > 80


def test_other_answers_have_no_parts() -> None:
    for arguments in (["deepseek-v4-flash", "-q", "kv-cache"], ["llama-3-8b", "-q", "inference-memory"]):
        assert "cache_parts" not in json.loads(CliRunner().invoke(cli, ["show", *arguments, "--json"]).stdout)


def test_rows_without_a_cache_are_not_listed() -> None:
    """Of jamba's rows only the keys and values of attention, and the states of both kinds of Mamba layers, store."""
    printed = CliRunner().invoke(cli, ["show", "jamba-v0.1", "-q", "kv-cache", "--set", "B=1", "--set", "C=9"]).stdout
    *rows, total = printed.split("\nrow ")[1].splitlines()[1:]
    mamba = ["convolution state", "recurrent state"]
    assert [row.partition("(")[2].partition(")")[0] for row in rows] == [*mamba, "keys", "values", *mamba]
    assert total.startswith("total ")
    printed = CliRunner().invoke(cli, ["show", "dit-xl-2-256-diffusers", "-q", "kv-cache"]).stdout
    assert "U_cache = 0" in printed
    assert "\nrow " not in printed
