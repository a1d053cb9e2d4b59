"""Activations of experts and routers, compared with what autograd saves on the CPU with real memory."""

from __future__ import annotations

import pytest

from symformer import SymformerError, architecture
from symformer.architectures.base_architecture import Architecture
from symformer.language.symbols import SYMBOLS
from symformer.witness.torch_counts import activation_bytes, train_bytes

# Rows of matrices of 16 bytes, as the grouped product requires: E, M and M_shared are multiples of 8.
SIZES = {
    **{"B": 3, "S": 7, "V": 29, "E": 48, "H": 10, "A": 12, "G": 2, "D": 14, "X": 9, "K": 4, "M": 16, "M_shared": 40},
    **{"L": 2, "L_dense": 1, "L_moe": 2, "X_shared": 1, "D_rope": 6, "L_attn": 2, "L_conv": 1, "L_conv_x": 3},
    **{"K_conv": 5, "L_local": 1, "L_global": 2, "C_win": 13, "L_glo_x": 2, "R_q": 22, "R_kv": 18, "D_nope": 8},
    "D_v": 26,
}
NUMBERS = {SYMBOLS[name]: number for name, number in SIZES.items()}


def compared(target: str, options: dict[str, bool], **way: str) -> tuple[int, int]:
    """Return our bytes and torch's."""
    model = architecture(target, **options)
    assert isinstance(model.component, Architecture)
    formula = model.formula("activations", **way)
    named = {str(size) for size in formula.dependencies} - {str(size) for size in model.component.totals}
    ours = formula.value({name: SIZES[name] for name in SIZES if name in named})
    return ours, activation_bytes(model.component, NUMBERS, **way, fake=False)


@pytest.mark.parametrize(
    ("target", "options", "way"),
    [
        ("mixtral", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("mixtral", {}, {"moe": "looped", "dtype": "bf16", "implementation": "sdpa"}),
        ("mixtral", {}, {"moe": "batched", "dtype": "fp32"}),
        ("mixtral", {}, {"moe": "grouped", "dtype": "bf16", "recompute": "full"}),
        ("qwen3-moe", {}, {"moe": "grouped", "dtype": "fp32"}),
        ("qwen3-moe", {"norm_topk_prob": True}, {"moe": "looped", "dtype": "bf16"}),
        ("qwen2-moe", {"norm_topk_prob": True}, {"moe": "batched", "dtype": "bf16"}),
        ("olmoe", {}, {"moe": "looped", "dtype": "fp32"}),
        ("flex-olmo", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("minimax-m2", {}, {"moe": "batched", "dtype": "bf16"}),
        ("granitemoe", {}, {"moe": "batched", "dtype": "bf16"}),
        ("granitemoe", {}, {"moe": "batched", "dtype": "fp32"}),
        ("solar-open", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("dots1", {}, {"moe": "looped", "dtype": "bf16"}),
        ("glm4-moe", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("lfm2-moe", {}, {"moe": "batched", "dtype": "bf16"}),
        ("lfm2-moe", {}, {"moe": "looped", "dtype": "fp32"}),
        ("gpt-oss", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("gpt-oss", {}, {"moe": "looped", "dtype": "fp32"}),
        ("gpt-oss", {}, {"moe": "batched", "dtype": "bf16", "recompute": "selective"}),
        ("mimo-v2-flash", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("mimo-v2-flash", {}, {"moe": "looped", "dtype": "fp32", "recompute": "full"}),
        ("deepseek-v3", {}, {"moe": "grouped", "dtype": "bf16"}),
        ("deepseek-v3", {}, {"moe": "looped", "dtype": "fp32", "implementation": "sdpa", "recompute": "selective"}),
        ("deepseek-v2", {"grouped": False}, {"moe": "batched", "dtype": "fp32"}),
        ("deepseek-v2", {"grouped": True}, {"moe": "grouped", "dtype": "bf16"}),
        ("glm4-moe-lite", {"query_latent": False}, {"moe": "looped", "dtype": "bf16"}),
        ("axk1", {}, {"moe": "batched", "dtype": "bf16", "recompute": "full"}),
        ("youtu", {}, {"dtype": "bf16"}),
    ],
)
def test_experts_save_what_torch_saves(target: str, options: dict[str, bool], way: dict[str, str]) -> None:
    """In a loop the share of each expert depends on the tokens, but their sum does not."""
    ours, theirs = compared(target, options, **way)
    assert ours == theirs > 0


@pytest.mark.parametrize("alone", [1, 3])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_fused_attention_needs_values_as_wide_as_keys(dtype: str, alone: int) -> None:
    """As in GLM-4.7-Flash: 192 + 64 = 256; otherwise torch computes attention in float32."""
    model = architecture("deepseek-v3")
    assert isinstance(model.component, Architecture)
    way = {"implementation": "sdpa", "dtype": dtype, "moe": "looped"}
    formula = model.formula("activations", **way)
    named = {str(size) for size in formula.dependencies} - {"L"}
    sizes = {name: SIZES[name] for name in SIZES if name in named} | {"D_v": 14, "B": alone}
    numbers = {**NUMBERS, SYMBOLS["D_v"]: 14, SYMBOLS["B"]: alone}
    assert formula.value(sizes) == activation_bytes(model.component, numbers, **way, fake=False)
    with pytest.raises(SymformerError, match=r"D_v=26 .* no fused attention on the CPU for values of another width"):
        formula.value({**sizes, "D_v": 26})


@pytest.mark.parametrize(
    ("target", "less"),
    [("deepseek-v3", {}), ("gpt-neox", {"D_rope": 2}), ("phi3", {"D_rope": 4}), ("phi3", {"G": 12})],
)
def test_one_sequence_saves_views_of_joint_projections(target: str, less: dict[str, int]) -> None:
    """For several sequences a product by head copies the values; for one it saves the projection that has them.

    With as many key/value heads as query heads, that is true of Phi-3, too.
    """
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    drawn = {**SIZES, "B": 1, **less}
    formula = model.formula("activations", moe="looped").partial(H="H")
    named = {str(size) for size in formula.dependencies} - {str(size) for size in model.component.totals}
    numbers = {SYMBOLS[name]: number for name, number in drawn.items()}
    theirs = activation_bytes(model.component, numbers, moe="looped", fake=False)
    assert formula.value({name: number for name, number in drawn.items() if name in named}) == theirs > 0


def test_experts_take_part_in_training_memory() -> None:
    model = architecture("mixtral")
    assert isinstance(model.component, Architecture)
    sizes = {str(size): SIZES[str(size)] for size in model.formula("train-memory").dependencies if str(size) in SIZES}
    way = {"recipe": "pure-bf16", "optimizer": "sgd"}
    theirs = train_bytes(model.component, NUMBERS, **way, implementation="eager")
    assert model.formula("train-memory", **way, moe="batched").value(sizes) == theirs
    # by hand, for each of 2 layers and 3·7·4 pairs of a token and an expert, with 2 bytes per element: batched products
    # copy matrices of 3·48·16 elements. Grouped products save four indices of 8 bytes per pair, one of which batched
    # products save, too; a copy of the weights, as large as the weights themselves; and the ends of 9 experts, 4 bytes
    # each.
    pairs = 2 * 3 * 7 * 4
    grouped = theirs + pairs * (3 * 8 - 2 * 3 * 48 * 16) + 2 * 9 * 4
    assert model.formula("train-memory", **way).value(sizes) == grouped


def test_narrow_experts_have_no_grouped_product() -> None:
    formula = architecture("mixtral").formula("activations", dtype="bf16")
    narrow = {str(size): SIZES[str(size)] for size in formula.dependencies if str(size) in SIZES} | {"M": 20}
    with pytest.raises(SymformerError, match=r"M=20 is not a multiple of 8 .* choose moe=batched or moe=looped"):
        formula.value(narrow)
    assert architecture("mixtral").formula("activations", moe="looped").value(narrow) > 0


def test_unknown_routers_are_refused() -> None:
    with pytest.raises(
        SymformerError, match="the tensors that the class saves for the choice of experts are not known"
    ):
        architecture("phimoe").formula("activations")
