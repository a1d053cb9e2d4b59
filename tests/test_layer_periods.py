"""Periods of a layer pattern as sizes of a trace: they are no numbers of copies, and a shallow model hides them.

The factories imitate the patterns of Jamba and Zamba. Their weights are counted by hand in the comments.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from torch import nn

import symformer as sf
from symformer.witness.run_traces import MOST_OPERATIONS, check_operations
from symformer.witness.trace_result import OutOfTimeError

E, H, X, L = 12, 20, 5, 32
OWN = {"attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1}
SIZES = {"hidden_size": E, "intermediate_size": H, "num_experts": X, "num_hidden_layers": L, **OWN}


class Layer(nn.Module):
    """A mixer, which is attention or not, and a feed-forward part of one or several experts."""

    def __init__(self, width: int, hidden: int, experts: int, attends: bool) -> None:
        super().__init__()
        if attends:
            self.attention = nn.Linear(width, width, bias=False)
        else:
            self.mixer = nn.Linear(width, 3 * width, bias=False)
            self.norm = nn.LayerNorm(width, bias=False)
        if experts > 1:
            self.experts = nn.Linear(experts * width, hidden, bias=False)
        else:
            self.mlp = nn.Linear(width, hidden, bias=False)


def hybrid(
    hidden_size: int,
    intermediate_size: int,
    num_experts: int,
    num_hidden_layers: int,
    attn_layer_period: int,
    attn_layer_offset: int,
    expert_layer_period: int,
    expert_layer_offset: int,
) -> nn.Module:
    if attn_layer_offset >= attn_layer_period or expert_layer_offset >= expert_layer_period:
        raise ValueError("an offset must be smaller than its period")
    return nn.ModuleList(
        Layer(
            hidden_size,
            intermediate_size,
            num_experts if layer % expert_layer_period == expert_layer_offset else 1,
            layer % attn_layer_period == attn_layer_offset,
        )
        for layer in range(num_hidden_layers)
    )


def test_a_longer_period_is_no_number_of_copies() -> None:
    periods: list[int] = []

    def watched(expert_layer_period: int, **sizes: int) -> nn.Module:
        periods.append(expert_layer_period)
        return hybrid(expert_layer_period=expert_layer_period, **sizes)

    found = sf.trace(watched, SIZES)
    # the trace is not repeated at a longer period, whose formula would differ from the formula of period 2
    assert periods.count(2) > 100 > 2 * periods.count(12)
    # 32 layers: attention in 4, 12, 20, 28, which is 4 * 144; 28 others with 3 * 144 + 12 each; 16 layers with five
    # experts and 16 with one, each of 240
    assert found.model.params.value({"E": E, "H": H, "X": X, "L": L}) == 4 * 144 + 28 * 444 + 16 * 6 * 240
    # 46 layers: attention also in 36 and 44; 23 layers with experts
    assert found.model.params.value({"E": E, "H": H, "X": X, "L": 46}) == 6 * 144 + 40 * 444 + 23 * 6 * 240
    held = {each.name: each.value for each in found.pinned}
    assert {"attn_layer_period", "expert_layer_period"} <= held.keys()
    assert held.items() <= OWN.items()


def test_a_class_that_needs_some_layers_is_traced_with_few() -> None:
    depths: list[int] = []

    def shared(hidden_size: int, num_hidden_layers: int) -> nn.Module:
        depths.append(num_hidden_layers)
        if num_hidden_layers < 7:
            raise ValueError("the second shared block is in layer 7")
        return nn.ModuleList(nn.Linear(hidden_size, 3 * hidden_size, bias=False) for _ in range(num_hidden_layers))

    found = sf.trace(shared, {"hidden_size": 14, "num_hidden_layers": 90})
    assert found.model.params.value({"E": 14, "L": 90}) == 90 * 3 * 14 * 14
    assert sorted(depths)[len(depths) // 2] < 30


def test_a_loop_over_tokens_with_too_many_operations_is_refused_before_the_trace() -> None:
    depths: list[int] = []

    def operations(point: Mapping[str, int]) -> int:
        depths.append(point["num_hidden_layers"])
        if point["num_hidden_layers"] < 7:
            raise ValueError("the second shared block is in layer 7")
        return point["num_hidden_layers"] * point["C"] * 10

    begin = {"num_hidden_layers": 76, "hidden_size": 30}
    check_operations(operations, {**begin, "C": MOST_OPERATIONS // 80}, 4, 250)  # 8 layers of 250 tokens
    assert depths == [4, 8]
    with pytest.raises(OutOfTimeError, match="251 tokens has 20,080 operations"):  # 8 * 251 * 10
        check_operations(operations, {**begin, "C": 251}, 4, 251)


def test_the_period_of_one_tower_is_not_blamed_for_a_row_of_another() -> None:
    """As in NLLB-MoE: every fourth layer of the encoder has experts, and every third of the decoder."""

    def tower(width: int, inner: int, experts: int, layers: int, step: int) -> nn.ModuleList:
        return nn.ModuleList(
            Layer(width, inner, experts if (layer + 1) % step == 0 else 1, False) for layer in range(layers)
        )

    def towers(
        d_model: int,
        ffn_dim: int,
        num_experts: int,
        encoder_layers: int,
        decoder_layers: int,
        encoder_sparse_step: int,
        decoder_sparse_step: int,
    ) -> nn.Module:
        both = nn.ModuleDict()
        both["encoder"] = tower(d_model, ffn_dim, num_experts, encoder_layers, encoder_sparse_step)
        both["decoder"] = tower(d_model, ffn_dim, num_experts, decoder_layers, decoder_sparse_step)
        return both

    sizes = {"d_model": 14, "ffn_dim": 22, "num_experts": 5, "encoder_layers": 8, "decoder_layers": 9}
    found = sf.trace(towers, {**sizes, "encoder_sparse_step": 4, "decoder_sparse_step": 3})
    reasons = {each.name: each.why for each in found.pinned}
    assert {"encoder_sparse_step", "decoder_sparse_step"} <= reasons.keys()
    assert "decoder" not in reasons["encoder_sparse_step"]
    assert "encoder" not in reasons["decoder_sparse_step"]
