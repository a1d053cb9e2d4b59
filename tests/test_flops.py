"""Costs at published sizes, and identities between them; tests/test_witness.py verifies each formula."""

from __future__ import annotations

import pytest

from symformer import SymformerError, architecture, component
from symformer.language.sizes import close_relations
from symformer.language.symbols import SYMBOLS, B, S, S_enc

GIB = 2**30

PUBLISHED = [
    # nanoGPT's sizing notebook; by hand 2*1024*(84,934,656 + 38,597,376) + 4*12*1024^2*768
    ("gpt2", {"B": 1, "S": 1024}, 291_648_307_200),
    # 2*2048*(6,738,415,616 - 131,072,000 - 266,240) + 4*32*2048^2*4096
    ("llama-2-7b", {"B": 1, "S": 2048}, 29_261_612_187_648),
]


@pytest.mark.parametrize(("target", "run", "flops"), PUBLISHED)
def test_published_flops(target: str, run: dict[str, int], flops: int) -> None:
    assert architecture(target).formula("flops").value(target, **run) == flops


def test_causal_attention_counts_unmasked_pairs() -> None:
    """S(S+1)/2 of S² pairs: the difference is 2 contractions of 2*B*L*E FLOPs per pair, over S(S-1)/2 pairs."""
    model = architecture("gpt2")
    full, causal = (model.formula("flops", attention=choice) for choice in ("full", "causal"))
    spared = full.expanded - causal.expanded
    assert component("mlp").formula("flops").equals("4*B*S*E*H")
    assert (spared - (4 * SYMBOLS["L"] * B * SYMBOLS["E"] * S * (S - 1) / 2)).expand() == 0
    encoder = architecture("bert")
    assert encoder.formula("flops", attention="causal") == encoder.formula("flops")


def test_quantity_relations_are_identities() -> None:
    assert close_relations({S: B, S_enc: S}) == {S: B, S_enc: B}


def test_training_flops_are_three_times_forward_flops() -> None:
    """Each product has two gradients of its own size if everything below is trained."""
    for target in ("gpt2", "llama", "palm", "bert", "gpt-from-scratch", "vaswani-base"):
        model = architecture(target)
        assert model.formula("train-flops").equals(3 * model.formula("flops").expanded)


def test_first_layer_has_no_input_gradient() -> None:
    """Its queries, keys and values, 2*B*S*E*3E FLOPs, need no gradient of the input."""
    model = architecture("transformer-encoder-layer")
    spared = 3 * model.formula("flops").expanded - model.formula("train-flops").expanded
    assert (spared - 6 * B * S * SYMBOLS["E"] ** 2).expand() == 0


def test_recompute_flops_by_hand() -> None:
    """By hand: selective recomputes the attention core, 4*B*S²*L*E; full recomputes all layers, but not the head."""
    model = architecture("gpt2")
    none, selective, full = (model.formula("train-flops", recompute=r).expanded for r in ("none", "selective", "full"))
    layers, width, vocabulary = SYMBOLS["L"], SYMBOLS["E"], SYMBOLS["V"]
    assert (selective - none - 4 * B * S**2 * layers * width).expand() == 0
    assert (full - none - model.formula("flops").expanded + 2 * B * S * width * vocabulary).expand() == 0


def test_train_flops_match_narayanan_equation_3() -> None:
    """Narayanan et al. 2021, arXiv:2104.04473, eq. 3: 96*B*S*L*E²*(1 + S/(6E) + V/(16LE)), with full recomputation."""
    layers, width, vocabulary = SYMBOLS["L"], SYMBOLS["E"], SYMBOLS["V"]
    published = 96 * B * S * layers * width**2 * (1 + S / (6 * width) + vocabulary / (16 * layers * width))
    assert architecture("gpt2").formula("train-flops", recompute="full").equals(published)


def test_embedding_counted_as_a_product() -> None:
    """One-hot rows [B·S, V] times a table [V, E]: 2*B*S*V*E forward; the table needs a gradient, the rows do not."""
    product = 2 * B * S * SYMBOLS["V"] * SYMBOLS["E"]
    for target in ("gpt2", "llama", "bert"):  # learned positions and segments stay lookups
        model = architecture(target)
        for quantity, times in (("flops", 1), ("train-flops", 2)):
            lookup, matmul = (model.formula(quantity, embedding=e).expanded for e in ("lookup", "matmul"))
            assert (matmul - lookup - times * product).expand() == 0
    one = architecture("llama").formula("decode-flops", embedding="matmul").part("embed_tokens")
    assert one.equals("2*B*V*E")


# By hand, at B=2, S=3, E=10, H=14, A=5, D=2, with the table of quantities/elementwise.py.
ELEMENTWISE = [
    # rows 2*3; biases 14 + 10 of each; GELU written out with erf, 5 of 14
    ("mlp", {"H": 14}, 6 * (14 + 10 + 5 * 14)),
    # silu 4 of 14, the product of the two, 14
    ("gated-mlp", {"H": 14}, 6 * (4 * 14 + 14)),
    ("layer-norm", {}, 7 * 60),  # sum, difference, square, sum, division, scale, bias
    ("rms-norm", {}, 4 * 60),  # square, sum, division, scale
    # biases 4*10 of 6 rows; of 2*5*9 scores: scale 1, mask 1, softmax 3
    ("self-attention", {"A": 5}, 6 * 40 + 5 * 90),
]


@pytest.mark.parametrize(("name", "sizes", "flops"), ELEMENTWISE)
def test_elementwise_by_hand(name: str, sizes: dict[str, int], flops: int) -> None:
    part = component(name)
    products, everything = (part.formula("flops", count=count) for count in ("contractions", "all"))
    run = {"B": 2, "S": 3, "E": 10, **sizes}
    values = [
        form.value(**{str(s): run[str(s)] for s in form.symbols}) if form.symbols else 0
        for form in (products, everything)
    ]
    assert values[1] - values[0] == flops


def test_causal_elementwise_flops_omit_masked_scores() -> None:
    """S(S+1)/2 of S² scores remain, each scaled (1) and in the softmax (3); none is masked."""
    attention = component("self-attention")
    heads, width = SYMBOLS["A"], SYMBOLS["E"]
    counts = {
        (a, c): attention.formula("flops", attention=a, count=c).expanded
        for a in ("full", "causal")
        for c in ("contractions", "all")
    }
    extra = {a: counts[a, "all"] - counts[a, "contractions"] for a in ("full", "causal")}
    assert (extra["full"] - 5 * B * heads * S**2 - 4 * B * S * width).expand() == 0
    assert (extra["causal"] - 4 * B * heads * S * (S + 1) / 2 - 4 * B * S * width).expand() == 0


def test_decode_elementwise_flops_sum_to_the_causal_prefill() -> None:
    from sympy import Sum

    model = architecture("llama")
    steps = Sum(model.formula("decode-flops", count="all").expanded, (SYMBOLS["C"], 0, S - 1)).doit()
    assert (steps - model.formula("prefill-flops", attention="causal", count="all").expanded).expand() == 0


def test_function_without_a_rule_is_refused() -> None:
    from symformer.components.mlp import MLP
    from symformer.models.model import Model

    model = Model(target="mlp", component=MLP(activation="swish-of-nobody"))
    with pytest.raises(SymformerError, match="count=all does not support 'swish-of-nobody'"):
        model.formula("flops", count="all")


def test_logits_at_the_last_position() -> None:
    model = architecture("gpt2")
    spared = model.formula("flops").expanded - model.formula("flops", logits="last").expanded
    assert (spared - 2 * B * (S - 1) * SYMBOLS["E"] * SYMBOLS["V"]).expand() == 0


def test_decode_flops_sum_to_the_causal_prefill() -> None:
    """Decoding token by token from an empty cache costs the same as the causal prompt of S tokens."""
    from sympy import Sum

    model = architecture("llama")
    cached = SYMBOLS["C"]
    steps = Sum(model.formula("decode-flops").expanded, (cached, 0, S - 1)).doit()
    prompt = model.formula("prefill-flops", attention="causal").expanded
    assert (steps - prompt).expand() == 0


def test_windowed_decode_flops_sum_to_the_causal_prefill() -> None:
    """The same, number by number: a sum over a min is not a polynomial."""
    model = architecture("mistral-7b-v0.1")
    sizes = {"B": 2, "V": 29, "E": 10, "H": 11, "L": 3, "A": 4, "G": 2, "D": 6, "C_win": 5}
    decode = model.formula("decode-flops").expanded.xreplace({SYMBOLS[k]: v for k, v in sizes.items()})
    steps = sum(decode.subs(SYMBOLS["C"], cached) for cached in range(9))
    assert steps == model.formula("prefill-flops", attention="causal").value({**sizes, "S": 9})


@pytest.mark.parametrize("count", ["contractions", "all"])
def test_generation_flops_are_prefill_plus_decode_passes(count: str) -> None:
    """The prompt gives the first token; the passes after S, S + 1, ..., S + N_new - 2 cached tokens give the others."""
    from sympy import Sum

    model, new = architecture("llama"), SYMBOLS["N_new"]
    one = model.formula("decode-flops", count=count).expanded
    passes = Sum(one, (SYMBOLS["C"], S, S + new - 2)).doit()
    for attention in ("full", "causal"):
        prompt = model.formula("prefill-flops", attention=attention, count=count, logits="last").expanded
        whole = model.formula("generation-flops", attention=attention, count=count).expanded
        assert (whole - prompt - passes).expand() == 0
        assert (whole.subs(new, 1) - prompt).expand() == 0


@pytest.mark.parametrize(
    ("target", "size"),
    [
        ("llama-2-7b", 2 * GIB),  # 2*32*32*128 elements per token, 2 bytes each, 4096 tokens
        ("llama-2-70b", 5 * GIB // 4),  # 2*80*8*128
    ],
)
def test_cache_bytes_at_4096_tokens(target: str, size: int) -> None:
    cache = architecture(target).formula("kv-cache")
    assert cache.value(target, B=1, C=4096) == size
    assert cache.conventions == {"dtype": "bf16", "tokens": "all", "window": "needed", "latent": "compressed"}
    assert architecture(target).formula("kv-cache", dtype="symbolic").value(target, B=1, C=4096, W=2) == size


def test_cache_elements_per_token_match_deepseek_v2() -> None:
    """DeepSeek-AI 2024, arXiv:2405.04434, table 1: 2·n_g·d_h·l elements per token, and (d_c + d_h^R)·l for a latent."""
    for name in ("llama", "mistral"):
        one = architecture(name).formula("kv-cache", tokens="one", dtype="symbolic")
        assert one.equals("2*B*L*G*D*W")
        assert architecture("llama").formula("kv-cache", dtype="symbolic").equals(one.expanded * SYMBOLS["C"])
    latent = architecture("deepseek-v3").formula("kv-cache", tokens="one", dtype="symbolic")
    assert latent.equals("B*(L_dense + L_moe)*(R_kv + D_rope)*W")


@pytest.mark.parametrize(("run", "kept"), [({"C": 9_000}, (4_095, 4_096, 9_000)), ({"C": 1_000}, (1_000,) * 3)])
def test_cache_under_a_sliding_window(run: dict[str, int], kept: tuple[int, ...]) -> None:
    """Mistral-7B: 2*32*8*128 elements per token, 2 bytes each; a window of 4,096 tokens includes the new one."""
    model = architecture("mistral-7b-v0.1")
    for window, tokens in zip(("needed", "rolling", "reserved"), kept, strict=True):
        assert model.formula("kv-cache", window=window).value(B=1, **run) == 2 * 2 * 32 * 8 * 128 * tokens
    spared = [model.formula("inference-memory", window=window).value(B=1, **run) for window in ("reserved", "needed")]
    assert spared[0] - spared[1] == 2 * 2 * 32 * 8 * 128 * (kept[2] - kept[0])
    without = architecture("mistral-7b-v0.3").formula("kv-cache")
    assert without.value(B=1, C=9_000) == 2 * 2 * 32 * 8 * 128 * 9_000


def test_cache_of_mixed_layers() -> None:
    """Gemma 2 2B: 13 layers cache 4,095 tokens and 13 cache all; keys and values of 4 heads of 256, 2 bytes each."""
    model = architecture("gemma-2-2b")
    token = 2 * 4 * 256 * 2
    assert model.formula("kv-cache").value(B=3, C=8_192) == 3 * 13 * token * (4_095 + 8_192)
    assert model.formula("kv-cache", window="reserved").value(B=3, C=8_192) == 3 * 26 * token * 8_192
    assert model.formula("kv-cache").value(B=3, C=100) == 3 * 26 * token * 100


def test_latent_cache_by_hand() -> None:
    """61 layers; a latent of 512 and a rotary key of 64, or 128 heads with keys of 192 and values of 128."""
    model = architecture("deepseek-v3")
    sizes = {"B": 3, "C": 1_000}
    assert model.formula("kv-cache").value(**sizes) == 3 * 1_000 * 61 * (512 + 64) * 2
    assert model.formula("kv-cache", latent="expanded").value(**sizes) == 3 * 1_000 * 61 * 128 * (192 + 128) * 2


def test_latent_decode_expands_the_whole_cache() -> None:
    """The keys and values of C + 1 tokens are recomputed; everything else runs on the new token."""
    layer = architecture("deepseek-v3").formula("decode-flops").part("layers.self_attn")
    sizes = {"B": 2, "C": 11, "E": 24, "A": 3, "R_q": 8, "R_kv": 9, "D_nope": 10, "D_rope": 4, "D_v": 5}
    # queries 24*8 + 8*3*14, latent 24*13, output 15*24; 12 tokens by 9*3*15; 12 pairs by 3 heads of 14 and of 5
    once = 24 * 8 + 8 * 3 * 14 + 24 * 13 + 15 * 24
    assert layer.value(sizes) == 2 * 2 * (once + 12 * 9 * 3 * 15 + 12 * 3 * (14 + 5))


@pytest.mark.parametrize(("length", "window"), [(13, 5), (5, 13), (7, 7), (1, 2)])
def test_sliding_window_pairs_match_a_written_mask(length: int, window: int) -> None:
    """Query i sees the last min(i, window) keys: counted one by one, on an explicit mask."""
    pairs = sum(0 <= query - key < window for query in range(length) for key in range(length))
    layer = architecture("mistral").formula("flops", attention="causal").part("layers.self_attn")
    sizes = {"B": 3, "S": length, "E": 10, "A": 4, "G": 2, "D": 6, "C_win": window}
    # q and o 10x24, k and v 10x12, for 3 sequences; then two contractions over the pairs, for 4 heads of 6
    assert layer.value(sizes) == 2 * 3 * length * (2 * 240 + 2 * 120) + 2 * 2 * 3 * 4 * 6 * pairs


@pytest.mark.parametrize(("length", "keys"), [(13, 5), (5, 13), (7, 7)])
def test_chosen_keys_are_counted_only_once_chosen(length: int, keys: int) -> None:
    """The indexer scores all i keys of query i, and attention reads min(i, keys) of them; one more token reads all."""
    model = architecture("deepseek-v32")
    scored, read = length * (length + 1) // 2, sum(min(query, keys) for query in range(1, length + 1))
    sizes = {"B": 3, "S": length, "A": 4, "A_idx": 2, "D_idx": 10, "K_idx": keys, "D_nope": 6, "D_rope": 8, "D_v": 9}
    causal = model.formula("flops", attention="causal").partial(E="1", R_q="1", R_kv="1")
    # projections of width 1: queries 4*14, latent 1 + 8, keys and values 4*15, output 4*9; 2*10, 10 and 2
    once = 1 + 4 * 14 + 1 + 8 + 4 * 15 + 4 * 9 + 2 * 10 + 10 + 2
    products = length * once + read * 4 * (14 + 9) + scored * 2 * (10 + 1)
    assert causal.part("layers.self_attn").value(sizes) == 2 * 3 * products
    new = model.formula("decode-flops").partial(E="1", R_q="1", R_kv="1").part("layers.self_attn")
    cached = once - 4 * 15 + (length + 1) * (4 * 15 + 4 * (14 + 9) + 2 * (10 + 1))
    sizes["C"] = length
    assert new.value({size: n for size, n in sizes.items() if size not in ("S", "K_idx")}) == 2 * 3 * cached


@pytest.mark.parametrize("quantity", ["kv-cache", "prefill-flops", "decode-flops", "generation-flops"])
def test_bidirectional_attention_has_no_cache(quantity: str) -> None:
    with pytest.raises(SymformerError, match="this attention is not causal"):
        architecture("bert").formula(quantity)
