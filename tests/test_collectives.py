"""Bytes sent per rank, compared with collectives simulated message by message and with volumes from papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sympy import Integer

import symformer as sf
from symformer.language.errors import RuleError, SizeError
from symformer.quantities import quantity as find_quantity
from symformer.quantities.communication import BACKWARD, DATA, FORWARD, Collective

Held = list[set[int]]  # the pieces that each rank holds


def all_gather(ranks: int) -> int:
    """Pass the last received piece to the next rank until all ranks have all pieces; return what rank 0 sent."""
    held: Held = [{rank} for rank in range(ranks)]
    last = list(range(ranks))
    sent = 0
    while any(len(pieces) < ranks for pieces in held):
        last = [last[rank - 1] for rank in range(ranks)]
        for rank, piece in enumerate(last):
            held[rank].add(piece)
        sent += 1
    return sent


def reduce_scatter(ranks: int) -> int:
    """Send one partial sum to the next rank at each step, until each rank holds a sum over all ranks."""
    held: Held = [{rank} for rank in range(ranks)]  # the ranks included in the partial sum at each rank
    sent = 0
    while any(len(summed) < ranks for summed in held):
        held = [held[rank - 1] | {rank} for rank in range(ranks)]
        sent += 1
    return sent


def all_reduce(ranks: int) -> int:
    """Scatter the sums, then gather them; Rajbhandari et al. 2020, section 7.1."""
    return reduce_scatter(ranks) + all_gather(ranks)


def all_to_all(ranks: int) -> int:
    """Send every other rank its piece."""
    return len([rank for rank in range(ranks) if rank != 0])


SENT: dict[str, Callable[[int], int]] = {
    "all-reduce": all_reduce,
    "all-gather": all_gather,
    "reduce-scatter": reduce_scatter,
    "all-to-all": all_to_all,
}
RANKS, PIECE = 5, 14  # a tensor of 5 pieces of 14 elements
MOVES = sorted(
    {(what, ranks is None) for table in (FORWARD, BACKWARD) for moves in table.values() for what, ranks, _ in moves}
    | {(what, False) for stage in DATA.values() for step in stage for what in step}
)


@pytest.mark.parametrize(("what", "message"), MOVES)
def test_simulated_collectives_send_the_stated_bytes(what: str, message: bool) -> None:
    """A tensor of 70 elements of 4 bytes; with very many ranks, the piece of one rank tends to 0."""
    collective = Collective("x", what, (Integer(RANKS * PIECE),), None if message else Integer(RANKS))
    ring, limit, payload = (
        collective.term({"count": count, "dtype": "fp32"}).expr for count in ("ring", "limit", "payload")
    )
    assert payload == 4 * RANKS * PIECE
    if message:
        assert ring == limit == 4 * RANKS * PIECE
        return
    play = next(play for name, play in SENT.items() if what.startswith(name))
    assert ring == 4 * PIECE * play(RANKS)
    assert limit == 4 * RANKS * PIECE * round(play(100) / 100)


# Rajbhandari et al. 2020, sections 7.1 and 7.2: 2Ψ with replicas and with stages 1 and 2, and 3Ψ with stage 3.
@pytest.mark.parametrize(("data", "times"), [("replicated", 2), ("zero1", 2), ("zero2", 2), ("zero3", 3)])
def test_data_parallelism_as_published(data: str, times: int) -> None:
    llama = sf.architecture("llama")
    weights = llama.params.code()
    limit = llama.formula("communication", data=data, count="limit", dtype="symbolic")
    assert limit.equals(f"{times}*W*({weights})")
    ring = llama.formula("communication", data=data, dtype="symbolic")
    assert ring.equals(f"{times}*W*({weights})*(N_dp - 1)/N_dp")


# One layer of GPT-2 or Llama on t ranks. Megatron-LM (Narayanan et al. 2021, section 3.2): 8·b·s·h·(t-1)/t elements per
# layer, two all-reduces forward and two backward. Korthikanti et al. 2022, section 4.2.2: the same number of bytes with
# sequence parallelism, plus 2·b·s·h·(t-1)/t for gathering the inputs of two products again. The gradients of the scales
# of both norms, which each rank has for its own tokens, are all-reduced: 2 · 2 · E · (t-1)/t.
TENSOR = [
    ("on", {}, "8*B*S*E"),
    ("sequence", {}, "10*B*S*E + 4*E"),
    ("sequence", {"gather": "once"}, "8*B*S*E + 4*E"),
    ("on", {"step": "forward"}, "4*B*S*E"),
    ("sequence", {"step": "forward"}, "4*B*S*E"),
]


@pytest.mark.parametrize(("tensor", "way", "elements"), TENSOR)
def test_tensor_parallelism_as_published(tensor: str, way: dict[str, str], elements: str) -> None:
    layer: Any = (
        sf.architecture("llama").formula("communication", tensor=tensor, dtype="symbolic", **way).part("layers")
    )
    assert layer.equals(f"W*({elements})*(N_tp - 1)/N_tp")


def test_context_parallelism_sends_keys_and_values_around_a_ring() -> None:
    """Llama's layer over c context-parallel ranks: keys and values of S tokens, 2·B·S·G·D elements, are gathered in the
    forward pass and again in the backward pass, where their gradients are scattered: (c-1)/c of each. Ranks process
    different tokens, so the gradients of all weights are all-reduced, twice (c-1)/c.
    """
    llama = sf.architecture("llama")
    found = llama.formula("communication", context="on", dtype="symbolic")
    assert found.equals(f"W*(3*2*L*B*S*G*D + 2*({llama.params.code()}))*(N_cp - 1)/N_cp")
    forward = llama.formula("communication", context="on", dtype="symbolic", step="forward")
    assert forward.equals("W*2*L*B*S*G*D*(N_cp - 1)/N_cp")


@pytest.mark.parametrize(("stage", "forward", "backward"), [("first", 1, 0), ("middle", 1, 1), ("last", 0, 1)])
def test_pipeline_stages_send_activations_forward_and_gradients_back(stage: str, forward: int, backward: int) -> None:
    """Narayanan et al. 2021, section 3.2: b·s·h elements of each micro-batch, in either direction."""
    llama = sf.architecture("llama")
    for step, times in (("forward", forward), ("training", forward + backward)):
        for count in ("ring", "limit", "payload"):
            found = llama.formula("communication", pipeline=stage, step=step, count=count, dtype="symbolic")
            assert found.equals(f"{times}*B*S*E*W")


def test_an_untrained_input_has_no_gradient_to_scatter() -> None:
    """One encoder layer with sequence parallelism: each sublayer gathers and scatters, 4·B·S·E; in the backward pass
    the gradients of both outputs are gathered, 2, and what both read is gathered again, 2; only the second sublayer's
    input has a gradient to scatter, 1. The scales and biases of two norms and two biases of E are reduced for all.
    """
    layer = sf.architecture("transformer-encoder-layer")
    found = layer.formula("communication", tensor="sequence", count="payload", dtype="symbolic")
    assert found.equals("W*(9*B*S*E + 6*E)")


@pytest.mark.parametrize("data", ["replicated", "zero1", "zero3"])
def test_weights_in_a_ring_are_cut_into_equal_pieces(data: str) -> None:
    llama = sf.architecture("llama-2-7b").formula("communication", data=data)
    assert llama.value(N_dp=1) == 0
    assert llama.value(N_dp=8) > 0
    with pytest.raises(SizeError, match="E=4096 is not a multiple of N_dp=7"):
        llama.value(N_dp=7)


def test_a_single_rank_sends_nothing() -> None:
    assert sf.architecture("llama-2-7b").formula("communication", tensor="on").value(N_tp=1, B=1, S=8) == 0


def test_a_decoding_step_needs_causal_attention_and_whole_sequences() -> None:
    decode = {"step": "decode", "tensor": "on"}
    llama = sf.architecture("llama").formula("communication", **decode, dtype="symbolic")
    assert llama.equals("2*W*B*E*(2*L + 1)*(N_tp - 1)/N_tp")  # after the embeddings, the attention and the MLP
    with pytest.raises(RuleError, match="this attention is not causal"):
        sf.architecture("bert").formula("communication", **decode)
    with pytest.raises(RuleError, match="one new token cannot be sharded"):
        sf.architecture("llama").formula("communication", step="decode", tensor="sequence")


def test_routed_and_shared_experts_are_summed_separately() -> None:
    """Megatron-LM: attention, routed and shared experts each sum B·E elements, twice 3/4 of them sent by 4 ranks."""
    model = sf.model("deepseek-v3").set({"B": 3, "N_tp": 4, "E": 16})
    formula = model.formula("communication", tensor="on", step="decode")
    sent = 2 * 3 * (3 * 16) // 4 * 2  # bytes of one all-reduce in bf16
    layers = 3 * 2 + 58 * 3  # dense layers have one MLP
    assert formula.value() == sent * (layers + 1)  # and the embedding
    (note,) = find_quantity("communication").notes_for(formula)
    assert "in two separate all-reduces, as in Megatron-LM" in note
    for other in (
        model.formula("communication", step="decode", expert="on"),
        sf.model("llama").formula("communication", tensor="on"),
    ):
        assert find_quantity("communication").notes_for(other) == []
