"""The trace: closed forms read off torch code that nobody here wrote, checked against formulas worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from click.testing import CliRunner
from torch import nn

import symformer as sf
from symformer.cli import cli
from symformer.errors import WitnessError
from symformer.quantities import quantities
from symformer.witness import trace
from symformer.witness.sources import letters


class Block(nn.Module):
    """A GPT's layer, written out."""

    def __init__(self, E: int, H: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(E)
        self.qkv = nn.Linear(E, 3 * E, bias=False)
        self.out = nn.Linear(E, E)
        self.up = nn.Linear(E, H)
        self.down = nn.Linear(H, E, bias=False)


class GPT(nn.Module):
    """A GPT, written out, its head tied to its table."""

    def __init__(self, V: int, E: int, H: int, L: int) -> None:
        super().__init__()
        self.table = nn.Embedding(V, E)
        self.layers = nn.ModuleList(Block(E, H) for _ in range(L))
        self.head = nn.Linear(E, V, bias=False)
        self.head.weight = self.table.weight


def encoder(E: int, A: int, H: int, L: int) -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(E, A, H), L)


def transformer(E: int, A: int, H: int, L_enc: int, L_dec: int) -> nn.Module:
    return nn.Transformer(E, A, L_enc, L_dec, H)


# A layer of the encoder: qkv 3E²+3E, out E²+E, two matrices 2EH+H+E, two norms 4E. The decoder has 4E²+4E more for
# its second attention and 2E for its norm; nn.Transformer adds a norm of 2E after each stack.
ENCODER = "4*E**2 + 2*E*H + 9*E + H"
CASES: dict[str, tuple[Callable[..., nn.Module], dict[str, int], str]] = {
    # norm 2E, qkv 3E², out E²+E, up EH+H, down EH; the tied head is the table
    "GPT": (GPT, {"V": 101, "E": 12, "H": 7, "L": 2}, "L*(4*E**2 + 2*E*H + 3*E + H) + V*E"),
    "TransformerEncoder": (encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, f"L*({ENCODER})"),
    "Transformer": (
        transformer,
        {"E": 24, "A": 3, "H": 11, "L_enc": 2, "L_dec": 5},
        f"L_enc*({ENCODER}) + L_dec*({ENCODER} + 4*E**2 + 6*E) + 4*E",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_modules_trace_to_the_formula_worked_by_hand(name: str) -> None:
    build, sizes, expected = CASES[name]
    found = sf.trace(build, sizes)
    assert found.model.params.equals(expected), found.model.params
    with torch.device("meta"):
        stored = sum(each.numel() for each in build(**sizes).parameters())
    assert found.model.params.value({name: sizes[name] for name in found.symbols}) == stored > 0
    assert len(found.checked) == 3


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "bert"])
def test_composed_and_traced_are_the_same_polynomial(name: str) -> None:
    """BERT's masked model has a head that ours composes by an option; gpt2 and llama differ only in what is tied."""
    composed = sf.architecture(name, head="mlm") if name == "bert" else sf.architecture(name)
    traced = trace(f"hf:{name}").model.params if name != "bert" else trace("hf:bert", head="masked").model.params
    relations = composed.relations
    assert traced.expanded.xreplace(relations) != 0
    assert composed.params.equals(traced.expanded), (composed.params, traced)


def odd(E: int) -> nn.Module:
    """A width that is rounded: no polynomial holds everywhere."""
    return nn.Linear(E, E * E % 97 + 1, bias=False)


def test_what_is_no_polynomial_is_refused() -> None:
    with pytest.raises(WitnessError, match="axis 0 of weight is not a short sum of products of E"):
        trace(odd, {"E": 5})


def padded(E: int) -> nn.Module:
    """A width that is rounded up to a multiple of 12, which is what the trace draws."""
    return nn.Linear(E, -(-E // 12) * 12, bias=False)


def test_a_rounded_width_says_what_it_must_be_a_multiple_of() -> None:
    found = trace(padded, {"E": 12})
    assert found.model.params.equals("E**2")
    with pytest.raises(sf.SymformerError, match="E=13 is not a multiple of 12"):
        found.model.params.value(E=13)


def fixed(E: int, A: int) -> nn.Module:
    """Code that takes one number of heads only."""
    if A != 3:
        raise ValueError("A is 3 here")
    return nn.Linear(E, A, bias=False)


def test_a_size_that_the_code_fixes_is_said_to_be_pinned() -> None:
    found = trace(fixed, {"E": 5, "A": 3})
    assert found.model.params.equals("3*E")
    assert [(each.name, each.value, each.why) for each in found.pinned] == [("A", 3, "ValueError: A is 3 here")]


def test_a_field_without_a_letter_becomes_a_symbol_of_its_own() -> None:
    found = letters(["hidden_size", "mamba_d_state"])
    assert [str(each) for each in found.values()] == ["E", "mamba_d_state"]
    # the parser knows it, and the formula prints in every notation
    assert sf.component("mlp").params.partial(H="4*mamba_d_state").latex().count(r"\mathrm{mamba\_d\_state}") == 2


def test_the_command_prints_one_document_and_evaluates_at_a_config(tmp_path: object) -> None:
    from pathlib import Path

    config = Path(str(tmp_path)) / "config.json"
    config.write_text(json.dumps({"model_type": "gpt2", "n_embd": 24, "n_head": 3, "n_layer": 5, "vocab_size": 101}))
    done = CliRunner().invoke(cli, ["trace", "hf:gpt2", "--at", str(config), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["symbols"] == {"L": "n_layer", "V": "vocab_size", "P": "n_positions", "E": "n_embd"}
    # 12·5·24² + 13·5·24 + 101·24 + 1024·24 + 2·24
    assert shown["values"] == [34_560 + 1_560 + 2_424 + 24_576 + 48]


def test_a_config_that_differs_in_more_than_sizes_is_refused(tmp_path: object) -> None:
    from pathlib import Path

    config = Path(str(tmp_path)) / "config.json"
    config.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "attention_bias": True,
                "hidden_size": 24,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
            }
        )
    )
    done = CliRunner().invoke(cli, ["trace", "hf:llama", "--at", str(config)])
    assert done.exit_code == 2
    assert "differs from the config traced in more than sizes" in done.stderr


def test_an_unknown_type_is_one_sentence() -> None:
    done = CliRunner().invoke(cli, ["trace", "hf:lama"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "did you mean" in done.stderr


@pytest.mark.parametrize(
    "quantity", [name for name in quantities() if name not in ("params", "train-memory", "activations")]
)
def test_what_a_trace_does_not_know_is_refused(quantity: str) -> None:
    """It knows what is stored; a zero FLOPs would be a lie."""
    with pytest.raises(sf.SymformerError, match="what a trace stores is known and not what is done with it"):
        trace("hf:gpt2").model.formula(quantity)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["hf:gpt2", "--size", "E=64"], "--size E=64 is a factory's argument, and hf:gpt2 has its sizes in its config"),
        (["math:sqrt", "--size", "E=" + "9" * 5000], "the expression has 5,000 characters; at most 2,000 are read"),
        (["math:sqrt", "--size", "E=x"], "unknown symbol 'x'"),
    ],
)
def test_sizes_that_are_refused(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["trace", *arguments])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""
