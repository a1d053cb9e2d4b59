"""158 numbers as model cards, papers and logs print them: the first explanation is right, or honestly none.

Each has its source and the arithmetic of its explanation, worked out from the published sizes of the model, without
symformer. ``also`` has the arithmetic of explanations that are as good. A number without an explanation is a typo, an
invention, or a number that its publisher rounded or counted in a way that the published sizes do not show.
"""

from __future__ import annotations

import ast
import json
import operator
from fractions import Fraction
from pathlib import Path
from random import Random  # seeded, so that it is reproducible
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.algebra.explain import explain
from symformer.commands.cli import cli
from symformer.language.errors import ArithmeticTextError, OptionError, SizeError
from symformer.language.number_words import number_words
from symformer.language.printed_number import printed

from .samples import sampled

NUMBERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "number_corpus.json").read_text("utf-8"))
# The numbers that the plain suite always checks.
ALWAYS = ("6.53B", "0.5 MB", "320 KB", "28 GB", "8.4e23", "500 MB", "684,531,386,000", "684,531,368,000", "kv self")
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: lambda base, power: base ** int(power),
}  # fmt: skip


def value_of(text: str) -> Fraction:
    """Return the exact value of the arithmetic of an explanation."""

    def walk(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            return Fraction(OPERATORS[type(node.op)](walk(node.left), walk(node.right)))
        assert isinstance(node, ast.Constant), text
        return Fraction(node.value)

    return walk(ast.parse(text, mode="eval").body)


def named(entry: dict[str, Any]) -> str:
    return f"{entry['target']} {entry['printed']}"


def test_the_corpus_is_as_described() -> None:
    assert len(NUMBERS) == len({named(entry) for entry in NUMBERS}) == 158
    assert sum(entry["explanation"] is None for entry in NUMBERS) == 24
    assert all(entry["source"] for entry in NUMBERS)
    assert all(entry["note"] for entry in NUMBERS if entry["explanation"] is None)


@pytest.mark.parametrize(
    "entry", sampled(6, NUMBERS, also=lambda entry: any(each in entry["printed"] for each in ALWAYS)), ids=named
)
def test_first_explanation_is_right_or_honestly_none(entry: dict[str, Any]) -> None:
    model = sf.model(entry["target"]).set(entry.get("sets", {}))
    found = explain(model, entry["printed"], entry.get("quantity"))
    right = [value_of(each) for each in (entry["explanation"], *entry.get("also", ())) if each]
    if right:
        assert found.verdict != "unexplained", found.reason
        assert Fraction(found.value) in right, found.reason
    else:
        assert found.verdict == "unexplained", found.reason


def test_at_most_five_explanations_have_one_line_of_arithmetic_each() -> None:
    """In 2 bytes, 1.06 or 1.0; the published file types of 2 digits are ambiguous."""
    for target, number in (("llama-3.1-8b", "4.9 GB"), ("gpt2", "85M"), ("deepseek-v3", "37B active")):
        found = explain(target, number)
        lines = [found.reason, *found.alternatives]
        assert len(lines) <= 5
        assert all("\n" not in line and any(digit.isdigit() for digit in line) for line in lines)


def test_arithmetic_of_the_files_of_deepseek_v3() -> None:
    """README_WEIGHTS.md: 671B, the MTP module, 59 correction biases of 256, and float32 scales of 128 x 128 blocks.

    Scales: 576 outputs of kv_a_proj take 5 blocks, so each attention has 12*56 + 192*12 + 5*56 + 256*4 + 56*128.
    """
    scales = 62 * (12 * 56 + 192 * 12 + 5 * 56 + 256 * 4 + 56 * 128) + 3 * 3 * 144 * 56 + 59 * 257 * 3 * 16 * 56
    assert 13_463_426_048 + 59 * 256 + scales == 684_531_386_000 - 671_026_404_352
    found = explain("deepseek-v3", "684,531,386,000")
    assert f"671,026,404,352 + 13,463,426,048 + 15,104 + {scales:,} = 684,531,386,000" in found.reason


# The words around a number: the fields that differ from those of a plain number.
WORDS: dict[str, dict[str, Any]] = {
    "6.53B non-embedding": {"scope": "non-embedding", "suffixed": True, "scale": 10**9},
    "70.0B (Non-Embedding)": {"scope": "non-embedding", "suffixed": True, "scale": 10**9},
    "1.16B embed + unembed": {"scope": "embedding and head", "suffixed": True, "scale": 10**9},
    "38.6M params w/o embeddings": {"scope": "non-embedding", "unit": "elements", "suffixed": True, "scale": 10**6},
    "0.5 MB per token": {"per_token": True, "unit": "bytes", "suffixed": True, "scale": 10**6},
    "320 KB/token": {"per_token": True, "unit": "bytes", "suffixed": True, "scale": 1000},
    "69 KiB / tok": {"per_token": True, "unit": "bytes", "suffixed": True, "scale": 1024},
    "15.62 GB for 128k tokens": {"tokens": (128_000, 131_072), "unit": "bytes", "suffixed": True, "scale": 10**9},
    "2 GiB @ 4096 tokens": {"tokens": (4096,), "unit": "bytes", "suffixed": True, "scale": 2**30},
    "730 PF-days": {"unit": "FLOPs", "suffixed": True, "scale": 86_400 * 10**15},
    "3640 petaflop/s-days": {"unit": "FLOPs", "suffixed": True, "scale": 86_400 * 10**15},
    "2.5 ZFLOPs": {"unit": "FLOPs", "suffixed": True, "scale": 10**21},
    "Q4_K_M 4.92GB": {"formats": ("q4_k_m",), "unit": "bytes", "suffixed": True, "scale": 10**9},
    "4-bit: 3.5 GB": {"formats": ("4-bit",), "unit": "bytes", "suffixed": True, "scale": 10**9},
    "~13 GB in fp16": {"formats": ("fp16",), "unit": "bytes", "suffixed": True, "scale": 10**9},
    "KV cache: 0.31 MB per token": {
        "quantity": "kv-cache", "per_token": True, "unit": "bytes", "suffixed": True, "scale": 10**6,
    },
    "≈ 46.7B total parameters": {"total": True, "unit": "elements", "suffixed": True, "scale": 10**9},
    "8.4e23 FLOPs for pretraining": {"quantity": "training", "unit": "FLOPs"},
}  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
def test_words_around_a_number_are_read(text: str) -> None:
    plain = number_words("1", "", "")
    found = printed(text).words
    changed = {name: getattr(found, name) for name in vars(plain) if getattr(found, name) != getattr(plain, name)}
    assert changed == WORDS[text]


REFUSED = {
    ("gpt2", "124M banana"): "'banana' in '124M banana' is neither a suffix",
    ("gpt2", "124M per token"): "weights do not depend on tokens",
    ("gpt2", "36 KB attention per token"): "'attention' in '36 KB attention per token' is a part of the parameters",
    ("gpt2", "124M embedding attention"): "'attention' in '124M embedding attention' contradicts 'embedding'",
    ("gpt2", "1 GB for 1k tokens for 2k tokens"): "names two numbers of tokens",
    ("gpt2", "1 GB for 1.5 tokens"): "is not a whole number of tokens",
    ("gpt2", "124M q4_k_m"): "is a weight format; name a size in bytes",
    ("gpt2", "0.1 GB q9_z"): "q9_z is not the name of a weight format",
    ("llama-2-7b", "0.1 MB per token awq"): "awq is not a type of a cache",
    ("mamba-130m", "10 KB per token"): "has no cache per token",
    ("gpt2", "1e21 FLOPs"): "the number of training tokens of gpt2 is unknown",
    ("gpt2", "8B GB"): "'GB' in '8B GB'",
    ("mamba-130m", "60M MLP"): "mamba-130m has no part 'MLP'",
    ("t5-base", "15.62 MB Q4_K_M"): "t5-base has no support for q4_k_m",
    ("gpt2", "3e20 FLOPs for 300B tokens 2 GB"): "'2' in",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_contradictory_words_are_refused(arguments: tuple[str, str]) -> None:
    result = CliRunner().invoke(cli, ["explain", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert REFUSED[arguments] in result.stderr
    assert len(result.stderr.splitlines()) == 1
    with pytest.raises((ArithmeticTextError, OptionError, SizeError, sf.SymformerError)):
        sf.explain(*arguments)


def test_unexplained_training_compute_names_the_tokens_that_would_match() -> None:
    """1.72e24 / (6 * 68,976,648,192) = 4.156e12."""
    found = sf.explain("llama-2-70b", "1.72e24 FLOPs")
    assert found.verdict == "unexplained"
    assert "6 FLOPs per parameter would equal it for 4,160,000,000,000 tokens" in found.reason


def test_header_of_a_file_can_explain_a_rounded_size() -> None:
    """A Q4_K_M file of Llama 3.1 8B has 4,912,898,304 bytes of tensors and is published as 4,920,739,232 bytes."""
    found = sf.explain("llama-3.1-8b", "Q4_K_M 4.92GB")
    assert found.verdict == "convention"
    assert "4,912,898,304 + " in found.reason
    assert 4_915_000_000 <= found.value < 4_925_000_000
    assert sf.explain("llama-3.1-8b", "Q4_K_M 4.96GB").verdict == "unexplained"  # a header of 42 MB


def test_random_words_are_read_or_refused() -> None:
    """Every other exception would be a bug."""
    words = [word for text in WORDS for word in text.split()] + ["(", ":", "=", "a:::", "½", "8x7B", "-1", "%", "1/2"]
    random = Random(5)  # noqa: S311
    read = 0
    for _ in range(100):
        text = "6.5" + random.choice(["", " "]) + " ".join(random.choices(words, k=random.randrange(1, 6)))
        try:
            explain("gpt2", printed(text))
        except sf.SymformerError:
            continue
        read += 1
    assert read > 2
