"""Shared code of decoders; layers of several kinds, whose common part is counted once."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from statistics import median

import pytest
import torch
from sympy import Min, expand
from torch.autograd.graph import saved_tensors_hooks

from symformer import SymformerError
from symformer.architectures import architecture, architecture_class, names
from symformer.architectures.base_architecture import Architecture
from symformer.architectures.bases.decoder import Decoder
from symformer.architectures.bases.llama_like import LlamaLike
from symformer.architectures.bases.multimodal import Multimodal
from symformer.architectures.bases.stacked import Stacked
from symformer.components.self_attention import SelfAttention
from symformer.language.notation.display_tree import value
from symformer.language.symbols import SYMBOLS, A, B, C, C_win, D, E, G, H, L, L_dense, L_global, L_local, L_moe, S, V
from symformer.ledger.facts import OperationKind
from symformer.witness.model_calls import unpadded
from symformer.witness.stored_weights import build
from symformer.witness.torch_counts import activation_bytes

from .floors import lines

SIZES = {
    **{"V": 29, "E": 48, "H": 14, "L": 2, "A": 6, "G": 3, "D": 8, "C_win": 4, "X": 5, "K": 2, "M": 11, "M_shared": 13},
    **{"L_local": 2, "L_global": 3, "L_dense": 2, "L_moe": 3, "X_shared": 1, "R_q": 19, "R_kv": 17, "D_nope": 10},
    **{"D_rope": 4, "D_v": 9, "P": 31, "L_rope": 2, "L_nope": 3},
    **{"L_ssm": 3, "L_attn": 2, "L_conv": 3, "L_conv_x": 3, "A_ssm": 8, "D_ssm": 96, "G_ssm": 4, "N_state": 15},
    **{"K_conv": 5, "C_chunk": 9, "L_ssm_d": 4, "H_ssm": 96, "R_dt": 7, "L_hyb": 3, "R_adapter": 10},
    **{"L_glo_x": 2, "N_group": 2, "L_lin": 3, "A_k_lin": 2, "A_v_lin": 4, "D_k_lin": 12, "D_v_lin": 20},
    **{"L_lin_x": 2, "A_lin": 4, "D_lin": 12, "D_shared": 6, "L_rec": 3, "H_lru": 18},
    **{"L_csa": 2, "L_hca": 3, "C_csa": 3, "C_hca": 5, "G_out": 4, "R_out": 7, "N_hc": 3, "A_idx": 5, "D_idx": 10},
    **{"K_idx": 1, "L_loc_re": 2, "L_glo_re": 3, "L_sparse": 4, "V_pli": 31, "E_pli": 9, "R_lau": 6, "N_alt": 3},
}
NUMBERS = {SYMBOLS[name]: number for name, number in SIZES.items()}
# Multimodal models are compared with torch by their own tests; their language models are in these lists.
TEXT = [name for name in names() if not issubclass(architecture_class(name), Multimodal)]
DECODERS = [name for name in TEXT if issubclass(architecture_class(name), Decoder)]
FAMILY = [name for name in TEXT if issubclass(architecture_class(name), LlamaLike)]


@cache
def component(name: str) -> Architecture:
    return architecture_class(name)()


@pytest.mark.parametrize("name", [name for name in FAMILY if name != "deepseek-v4"])  # its activations are refused
def test_softmax_precision_matches_torch(name: str) -> None:
    """In half precision torch saves the scores in single precision for each layer that computes its softmax so."""
    part, kept = component(name), dict[int, torch.Tensor]()

    def keep(tensor: torch.Tensor) -> None:
        kept.setdefault(tensor.untyped_storage()._cdata, tensor.detach())  # without the graph, which keeps this

    with unpadded():
        model = build(part, NUMBERS, "cpu").to(torch.bfloat16)
        model.config._attn_implementation = "eager"
        model.config._experts_implementation = "batched_mm"
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            model(torch.zeros(2, 7, dtype=torch.long), use_cache=False)
    softmaxes = [(count, entry) for count, entry in part.ledger if entry.kind is OperationKind.SOFTMAX]
    sink = any(entry.shared for _, entry in softmaxes)  # one more column of scores
    shaped = [each for each in kept.values() if tuple(each.shape) == (2, SIZES["A"], 7, 7 + sink)]
    singles = sum(each.dtype == torch.float32 for each in shaped)
    numbers = {**NUMBERS, L: sum(NUMBERS[size] for size in totals(name)) or NUMBERS[L]}
    assert shaped
    assert singles == sum(count.xreplace(numbers) for count, entry in softmaxes if entry.function == "float32")
    assert (singles == 0) == (
        name in ("gpt-oss", "llama4", "mimo-v2-flash")
    )  # their softmax has the dtype of its scores


@pytest.mark.parametrize(("implementation", "dtype"), [("eager", "bf16"), ("sdpa", "bf16"), ("eager", "fp32")])
@pytest.mark.parametrize("name", ["qwen2", "qwen3", "olmo", "olmo2", "granite"])
def test_decoder_activations_match_saved_bytes(name: str, implementation: str, dtype: str) -> None:
    """Norms per head and over all heads, norms in single precision, and factors that save nothing."""
    sizes = {"B": 2, "S": 7, "V": 29, "E": 48, "H": 14, "L": 3, "A": 6, "G": 3 if name != "olmo2" else 6, "D": 10}
    numbers = {SYMBOLS[size]: number for size, number in sizes.items()}
    way = {"implementation": implementation, "dtype": dtype}
    theirs = activation_bytes(component(name), numbers, **way, fake=False)
    assert architecture(name).formula("activations", **way).value(sizes) == theirs > 0


def totals(name: str) -> set[object]:
    return {size for value in component(name).totals.values() for size in value.free_symbols}


def test_rotary_attention_is_defined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotary attention is written in one place, so a change there affects every rotary model.

    Only the file of the base constructs such an attention, and each model of the family derives its own from it.
    """
    whole = LlamaLike.rotary_attention
    assert isinstance(whole, property)
    assert whole.fget is not None
    drifted = property(lambda self: SelfAttention(**{**vars(whole.fget(self)), "weight_dropout": "drifted"}))
    monkeypatch.setattr(LlamaLike, "rotary_attention", drifted)
    changed = {
        name for name in FAMILY if any(entry.path.endswith("drifted") for _, entry in architecture_class(name)().ledger)
    }
    own = {  # latent attention, and attention to compressed keys
        name
        for name in FAMILY
        if any(entry.latent or entry.compressed is not None for _, entry in component(name).ledger)
    }
    assert changed == set(FAMILY) - own
    assert len(changed) >= 12
    for name in changed:
        source = Path(inspect.getfile(architecture_class(name))).read_text("utf-8")
        assert "RotaryPositions()" not in source, f"{name} writes its rotary attention out"


@pytest.mark.parametrize("name", ["gemma2", "deepseek-v3"])
def test_rows_shared_by_two_layer_kinds_are_counted_once(name: str) -> None:
    params = architecture(name).params
    first, second = {"gemma2": (L_local, L_global), "deepseek-v3": (L_dense, L_moe)}[name]
    attention = [line for line in params.root.parts() if line.name == "self_attn" and line.each != 0]
    assert [line.path for line in attention] == ["layers.*.self_attn"]
    assert params.display_expr.free_symbols >= {L}
    assert expand(params.display_expr.xreplace({L: first + second})) == params.expanded
    assert L not in params.expanded.free_symbols
    # Every stored weight is under the list that all kinds share or under the list of its kind, never both.
    stored = [weight.path for _, weight in component(name).ledger.weights]
    assert len(stored) == len(set(stored))


@pytest.mark.parametrize("name", ["gemma2", "deepseek-v3"])
def test_separate_stacks_give_the_same_totals(name: str) -> None:
    """Two kinds of layers as two stacks give the same polynomials as one list."""

    class Apart(architecture_class(name)):  # type: ignore[misc]
        totals = {}

        def forward(self, ops, tokens):  # type: ignore[no-untyped-def]
            x, context = self.embed(ops, tokens), self.context(ops, tokens)
            for stack in self.stacks:
                x = ops.repeat(stack.name, stack.count, stack.layer, x, *context)
            return self.finish(ops, ops.call("norm", self.norm, x))

    apart, whole = Apart(), component(name)
    for quantity in ("params", "flops", "train-flops", "decode-flops", "kv-cache", "active-params", "inference-memory"):
        assert apart.formula(quantity).expanded == whole.formula(quantity).expanded, quantity


def test_equal_rows_of_layer_kinds_are_merged() -> None:
    """By hand: queries and output have width A·D, keys and values G·D; S² pairs per head, or C + 1.

    With a full mask every pair counts, regardless of the window; a layer with a window reads at most C_win - 1 cached
    tokens.
    """
    model = architecture("gemma2")
    projections = 4 * B * L * E * A * D + 4 * B * L * E * G * D + 6 * B * L * E * H
    full = model.formula("flops")
    assert full.display_expr == expand(4 * B * S**2 * L * A * D + S * projections + 2 * B * S * V * E)
    assert full.derivation.whole.chain is not None
    assert value(full.derivation.whole.chain.steps[-1]) == full.display_expr
    cached = 4 * B * A * D * (L_local * Min(C, C_win - 1) + L_global * C + L)
    assert model.formula("decode-flops").display_expr == expand(cached + projections + 2 * B * V * E)
    causal = model.formula("flops", attention="causal").display_expr
    assert causal.has(L_local)  # a window leaves fewer pairs
    assert causal.has(L_global)


def test_total_layer_count_is_the_sum_over_kinds() -> None:
    model = architecture("deepseek-v3")
    assert model.known[L] == 61  # 3 dense layers and 58 with experts, DeepSeek-AI 2024, section 4.2
    assert model.set({L_moe: 70}).known[L] == 73
    with pytest.raises(SymformerError, match=r"L=70 is not L_dense \+ L_moe=61; set the terms of this sum instead"):
        model.set({L: 70})
    with pytest.raises(SymformerError, match=r"L is L_dense \+ L_moe in deepseek-v3.params; set those sizes instead"):
        model.params.partial(L=70)
    with pytest.raises(SymformerError, match=r"L=70 is not L_dense"):
        model.params.value(L=70)
    with pytest.raises(SymformerError, match="DeepSeek-V3 has layers of 2 kinds; pipeline stages support one"):
        model.formula("params", pipeline="first")


# target -> active parameters, by hand: embedding and head, L times attention, norms, router and the routed experts, and
# the final norm.
ACTIVE = {
    # 4 heads of 128 for keys: 2*2048*(4096 + 512) + 2*128 + 2*2048 + 2048*128 + 8*3*2048*768
    "qwen3-30b-a3b": 2 * 151_936 * 2_048 + 48 * (18_874_368 + 256 + 4_096 + 262_144 + 37_748_736) + 2_048,
    # 4*2048² + 3*2048 biases + 2*2048 norms + 60*2048 router + 4*3*2048*1408 + 3*2048*5632 + 2048 gate
    "qwen1.5-moe-a2.7b": 2 * 151_936 * 2_048
    + 24 * (16_777_216 + 6_144 + 4_096 + 122_880 + 34_603_008 + 34_603_008 + 2_048)
    + 2_048,
    # 4*2048² + 4*2048 norms + 64*2048 router + 8*3*2048*1024
    "olmoe-1b-7b": 2 * 50_304 * 2_048 + 16 * (16_777_216 + 8_192 + 131_072 + 50_331_648) + 2_048,
    # 2*5120² + 2*5120*1024 + 2*5120 norms + 16*5120 router + a routed and a shared expert of 3*5120*8192
    "llama-4-scout-text": 2 * 202_048 * 5_120 + 48 * (62_914_560 + 10_240 + 81_920 + 251_658_240) + 5_120,
    # the same with 128 experts in 24 layers, and 3*5120*16384 in the 24 others; Meta prints 17B for both
    "llama-4-maverick-text": 2 * 202_048 * 5_120
    + 48 * (62_914_560 + 10_240)
    + 24 * (655_360 + 251_658_240)
    + 24 * 251_658_240
    + 5_120,
}


@pytest.mark.parametrize("target", ACTIVE)
def test_active_parameters_of_mixed_layers(target: str) -> None:
    assert architecture(target).formula("active-params").value() == ACTIVE[target]


def test_stack_names_are_unique() -> None:
    for name in names():
        part = component(name)
        if isinstance(part, Stacked):
            called = [stack.name for stack in part.stacks]
            assert len(called) == len(set(called)) > 0


def test_decoders_state_only_their_differences() -> None:
    found = {name: size for name, size in lines().items() if name in DECODERS}
    assert len(found) >= 38
    assert median(found.values()) <= 45, found
