"""The table by purpose of a memory: weights, cache and logits, with their shares of the total and of a device."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli, arguments, prog_name="symformer")
    return found.exit_code, found.stdout, found.stderr


SIZES = ("--set", "B=2", "--set", "C=4096")


def test_inference_memory_leads_with_weights_cache_and_logits() -> None:
    """Llama 3 8B: 2 * 8,030,261,248; 2 * 4,096 * 131,072; 4 * 2 * 128,256; of 80e9 bytes."""
    status, text, _ = run("show", "llama-3-8b", "-q", "inference-memory", *SIZES, "--device", "h100-80gb")
    assert status == 0
    lines = {line.split()[0]: line for line in text.splitlines() if line}
    assert "16,060,522,496  16.06 GB, 14.96 GiB" in lines["weights"]
    assert lines["weights"].split()[-2:] == ["93.7%", "20.1%"]
    assert "1,073,741,824  1.07 GB, 1.00 GiB" in lines["cache"]
    assert "1,026,048" in lines["logits"]
    assert text.index("\nweights ") < text.index("\nembed_tokens ")
    status, text, _ = run("show", "llama-3-8b", "-q", "inference-memory", *SIZES, "--json")
    found = json.loads(text)
    assert {each["purpose"]: each["value"] for each in found["purposes"]} == {
        "weights": 16_060_522_496,
        "cache": 1_073_741_824,
        "logits": 1_026_048,
    }
    assert sum(each["value"] for each in found["purposes"]) == found["value"]


def test_training_memory_leads_with_its_state_and_activations() -> None:
    """Mixed precision with Adam, Rajbhandari et al. 2020, section 3.1: 2 + 2 + 4 + 8 bytes per parameter."""
    params = 8_030_261_248
    status, text, _ = run(
        *("show", "llama-3-8b", "-q", "train-memory", "--option", "recipe=bf16", "--set", "B=2", "--set", "S=1024"),
        "--json",
    )
    assert status == 0
    values = {each["purpose"]: each["value"] for each in json.loads(text)["purposes"]}
    assert values["weights"] == values["gradients"] == 2 * params
    assert values["master weights"] == 4 * params
    assert values["optimizer's state"] == 8 * params + 4 * 291  # a step counter for each of the 291 tensors
    assert list(values) == ["weights", "gradients", "master weights", "optimizer's state", "activations"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["llama-3-8b", "-q", "inference-memory", "--device", "1TB/s,3TFLOP/s"], "--device needs a name"),
        (["llama-3-8b", "-q", "params", "--device", "h100-80gb"], "params does not depend on a device"),
    ],
)
def test_a_device_without_memory_is_refused(arguments: list[str], said: str) -> None:
    status, _, error = run("show", *arguments)
    assert status == 2
    assert said in error


def test_recurrent_states_are_apart_from_keys_and_values() -> None:
    """Falcon-H1 0.5B: 36 layers, each with 2 key/value heads of 64 elements and a state of 24 * 64 * 128 numbers.

    Keys and values: 36 * 2 * 2 * 64 * 2 bytes per token. States: 4 bytes per number; and 4 columns of 24 * 64 + 2 * 128
    channels of the convolution in bf16.
    """
    status, text, _ = run("show", "falcon-h1-0.5b", "-q", "kv-cache", "--set", "B=3", "--set", "C=100", "--json")
    assert status == 0
    values = {each["purpose"]: each["value"] for each in json.loads(text)["purposes"]}
    states = 36 * (4 * 24 * 64 * 128 + 2 * 4 * (24 * 64 + 2 * 128))
    assert values == {"cache": 3 * 100 * 36 * 2 * 2 * 64 * 2, "recurrent state": 3 * states}
