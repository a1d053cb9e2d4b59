"""Layers of several kinds: the tensors they save, including shared ones."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import pytest

from symformer import architecture, witness
from symformer.architectures import architecture_class, names
from symformer.architectures.base_architecture import WitnessSpec, usual
from symformer.architectures.bases.local_global import LocalGlobal, local_global
from symformer.components.base import Component
from symformer.components.pre_norm_block import PreNormBlock
from symformer.components.self_attention import SelfAttention
from symformer.components.token_embedding import TokenEmbedding
from symformer.language.symbols import SYMBOLS, A, B, C_win, D, E, L, L_global, L_local, S
from symformer.ledger.facts import Order, Tensor
from symformer.ledger.operations import Operations
from symformer.models.model import Model
from symformer.witness.torch_counts import activation_bytes, train_bytes

Qwen3 = architecture_class("qwen3")


@dataclass(frozen=True, kw_only=True)
class Windowed(LocalGlobal, Qwen3):  # type: ignore[misc, valid-type]
    """Return Qwen3 with a window in some of its layers, as its config may state."""

    fields = replace(
        Qwen3.fields,
        layers=local_global(1, 8),
        sizes={**{size: each for size, each in Qwen3.fields.sizes.items() if size != L}, **usual({C_win: 4096})},
    )
    witness = WitnessSpec("Qwen3", arguments={"use_sliding_window": True, "sliding_window": C_win})

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm)


SIZES = {"B": 2, "S": 7, "V": 29, "E": 48, "H": 14, "A": 6, "G": 3, "D": 10, "C_win": 4, "L_local": 5, "L_global": 8}
NUMBERS = {SYMBOLS[name]: number for name, number in SIZES.items()}
WAYS = [
    ("eager", "none", "fp32", 4),
    ("eager", "none", "bf16", 9),
    ("eager", "selective", "bf16", 4),
    ("eager", "full", "fp32", 4),
    ("eager", "full", "bf16", 9),
    ("sdpa", "none", "bf16", 9),
    ("sdpa", "full", "fp32", 9),
]


@pytest.mark.parametrize(("implementation", "recompute", "dtype", "window"), WAYS)
def test_saved_bytes_of_full_and_windowed_layers(implementation: str, recompute: str, dtype: str, window: int) -> None:
    """Both kinds share all matrices, each has its own scores, and transformers creates a mask for each."""
    way = {"implementation": implementation, "recompute": recompute, "dtype": dtype}
    part, numbers = Windowed(), {**NUMBERS, C_win: window}
    formula = part.formula("activations", **way)
    assert formula.value({**SIZES, "C_win": window}) == activation_bytes(part, numbers, **way, fake=False) > 0


def test_train_memory_of_full_and_windowed_layers() -> None:
    part = Windowed()
    way = {"recipe": "bf16", "implementation": "eager"}
    formula = part.formula("train-memory", **way)
    assert formula.value({**SIZES, "C_win": 9}) == train_bytes(part, {**NUMBERS, C_win: 9}, "cpu", **way) > 0


@dataclass(frozen=True, kw_only=True)
class OneTable(architecture_class("olmo3")):  # type: ignore[misc]
    """OLMo 3 with the rotary table of layers with a window in all layers."""

    rotary = "shared"


def test_a_missing_rotary_table_is_named() -> None:
    """The torch class has a table for each kind of layer, and attention saves its cosines and sines."""
    (found,) = witness.verify_all([(Model(target="olmo3", component=OneTable()), "activations", {})], seed=3)
    for row in found.mismatches:
        shape = f"a tensor 1 × 1 × {row.numbers[S]} × {row.numbers[D]} of 4 bytes each"
        size = f"{4 * row.numbers[S] * row.numbers[D]:,}"
        assert str(row).startswith(
            f"local_layers.*.self_attn ({shape}): formula has no such row, torch 2 of {size} (at "
        )
    assert found.mismatches


def test_each_layer_kind_saves_its_own_activations() -> None:
    """GPT-Neo is GPT-2 with a window in some layers, and Megatron's kernels save the same for both kinds.

    Korthikanti et al. 2022, eq. 1, without the dropout masks: 34 - 2 bytes per token and width, 2 of 5 per pair.
    """
    neo = architecture("gpt-neo").formula("activations", implementation="megatron").partial(H="4*E")
    layers = (32 * B * S * E + 2 * B * S**2 * A) * (L_local + L_global)
    assert neo.equals(layers + 4 * B * S * E)  # the input, and the output of the final norm


@pytest.mark.parametrize("name", names())
def test_shared_tensors_of_an_operation_are_stored(name: str) -> None:
    """By their path, as gpt-oss's sinks: all layers have them, and each kind's softmax reads them."""
    part = architecture_class(name)()
    for ledger in (part.ledger, part.ledger.apart):
        stored = {weight.path for _, entry in ledger for weight in entry.weights}
        assert {weight.path for _, entry in ledger for weight in entry.shared} <= stored


def test_pickled_model_gives_the_same_answers() -> None:
    """Its merged entries are not identified by their memory addresses."""
    model = architecture("gpt-neo")
    there = pickle.loads(pickle.dumps((model, model.component.ledger)))[0]  # noqa: S301
    way = {"implementation": "megatron"}
    assert there.formula("activations", **way).digest == model.formula("activations", **way).digest


@dataclass(frozen=True, kw_only=True)
class Twice(Component):
    """x[B,S,E] -> y[B,S,E]: x + x, which saves nothing."""

    title = "Twice"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.add("sum", x, ops.dropout("drop", x))


@dataclass(frozen=True, kw_only=True)
class Some(Component):
    """Layers that save their input, and layers that do not."""

    title = "Some that keep"
    role = "block"
    shapes = "tokens[B,S] -> y[B,S,E]"
    order: Order = "any"

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        kinds = {"some": (L_local, PreNormBlock(), ()), "others": (L_global, Twice(), ())}
        return ops.mix_layers("layers", L, kinds, ops.call("table", TokenEmbedding(), tokens), self.order)


@pytest.mark.parametrize("order", ["any", "kind by kind"])
def test_layers_of_which_only_some_save_their_input_count_in_any_order(order: Order) -> None:
    """Each layer of the first kind saves its own input, whichever layer computes it, and no other tensor outside it."""
    known = Some(order=order).formula("activations", implementation="megatron")
    layers = (32 * B * S * E + 2 * B * S**2 * A) * L_local  # no layer saves the last output
    assert known.partial(H="4*E", G="A", E="A*D").equals(layers)
