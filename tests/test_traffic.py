"""Memory traffic and arithmetic intensity: by hand, and compared with the inputs and outputs of torch's kernels."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
import torch
from sympy import Poly
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    ViTConfig,
    ViTModel,
)

import symformer as sf
from symformer.formulas.formula import Formula
from symformer.language.errors import OptionError, RuleError
from symformer.language.notation.text import code
from symformer.language.sizes import evaluate
from symformer.language.symbols import S, symbol
from symformer.ledger.facts import OperationKind


def test_traffic_of_a_feed_forward_network_by_hand() -> None:
    # B·S = 6 tokens, E = 7, H = 11, in single precision.
    # up: reads x 6·7 = 42, weight 77, bias 11; writes 66.            196
    # act: reads 66, writes 66.                                       132
    # down: reads 66, weight 77, bias 7; writes 42.                   192
    traffic = sf.component("mlp").formula("traffic", dtype="fp32")
    assert traffic.value(B=2, S=3, E=7, H=11) == 4 * (196 + 132 + 192)
    # FLOPs: 2·6·7·11 twice = 1848.
    intensity = sf.component("mlp").formula("intensity", dtype="fp32")
    assert intensity.value(B=2, S=3, E=7, H=11) == Fraction(1848, 4 * 520)


def test_traffic_of_attention_by_hand() -> None:
    # One sequence of 5 tokens after 13 in the cache is read as one token: q has A·D = 6 numbers, k and v 14 rows of G·D
    # = 2, scores 3 · 14 = 42 (A = 3 heads, G = 1, D = 2), in half precision. Separate: scores read 6 + 28 and write 42;
    # softmax 42 and 42; mix reads 42 + 28 and writes 6: 236. Fused: reads 6 + 28 + 28, writes 6: 68.
    llama = sf.architecture("llama")
    sizes = {"V": 53, "E": 17, "H": 19, "L": 1, "A": 3, "G": 1, "D": 2, "B": 1, "C": 13}
    for kernels, elements in (("separate", 236), ("fused", 68)):
        formula = llama.formula("traffic", phase="decode", kernels=kernels)
        rows = {row.path.rpartition(".")[2]: row for row in formula.rows}
        numbers = {symbol(name): number for name, number in sizes.items()}
        counted = [evaluate(rows[name].each, numbers, name) for name in ("scores", "softmax", "mix") if name in rows]
        assert sum(counted) == 2 * elements


class Kernels(TorchDispatchMode):
    """Record the elements that torch's matrix products read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0
        self.products = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm):
            self.products += 1
            self.elements += out.numel() + sum(arg.numel() for arg in args if isinstance(arg, torch.Tensor))
        return out


def of_products(formula: Formula) -> Any:
    """Return the terms of the linear layers and of attention's two products."""
    kinds = (OperationKind.LINEAR, OperationKind.SCORES, OperationKind.MIX)
    lines = [(count, line) for count, line in formula.root.leaves() if line.entry and line.entry.kind in kinds]
    return sum((count * line.each for count, line in lines), start=0 * S)


@pytest.mark.parametrize(
    ("name", "seed", "logits"),
    [("gpt2", 1, "all"), ("gpt2", 2, "all"), ("gpt2", 3, "last"), ("bert", 1, "all"), ("bert", 2, "all")],
)
def test_traffic_of_matrix_products_matches_torch(name: str, seed: int, logits: str) -> None:
    draw = random.Random(seed).sample  # noqa: S311
    batch, length, heads, width, hidden, rows, positions = draw(range(2, 40), 7)
    positions += length
    sizes = {
        "B": batch,
        "S": length,
        "A": heads,
        "E": heads * width,
        "H": hidden,
        "V": rows + 50,
        "P": positions,
        "L": 2,
    }
    model: Any
    with torch.device("meta"):
        if name == "gpt2":
            config: Any = GPT2Config(
                vocab_size=sizes["V"], n_positions=positions, n_embd=sizes["E"], n_inner=hidden, n_head=heads, n_layer=2
            )
            model = GPT2LMHeadModel
        else:
            config = BertConfig(
                vocab_size=sizes["V"],
                max_position_embeddings=positions,
                hidden_size=sizes["E"],
                intermediate_size=hidden,
                num_attention_heads=heads,
                num_hidden_layers=2,
            )
            model = BertForMaskedLM
        config._attn_implementation = "eager"
        model = model(config).eval()
        tokens = torch.zeros(batch, length, dtype=torch.long)
        mask = torch.zeros(batch, 1, length, length)
        with torch.no_grad(), Kernels() as kernels:
            positions_read = torch.zeros(1, length, dtype=torch.long)
            last = {"logits_to_keep": 1} if logits == "last" else {}
            model(tokens, attention_mask=mask, position_ids=positions_read, **last)
    assert kernels.products > 2 * 6  # four or six linear layers and two products for each of two layers, and a head
    target = sf.architecture("gpt2") if name == "gpt2" else sf.architecture("bert", head="mlm")
    formula = target.formula("traffic", dtype="fp32", logits=logits)
    numbers = {symbol(key): number for key, number in sizes.items()}
    assert evaluate(of_products(formula), numbers, name) == 4 * kernels.elements


def test_traffic_of_an_encoder_decoder_matches_torch() -> None:
    """BART: the encoder's products are part of the prompt, and none of a decoding step."""
    sizes = {"V": 29, "P": 17, "E": 12, "H": 7, "A": 4, "L_enc": 2, "L_dec": 5}
    config = BartConfig(
        **{"vocab_size": 29, "max_position_embeddings": 15, "d_model": 12, "encoder_layers": 2, "decoder_layers": 5},
        **{"encoder_ffn_dim": 7, "decoder_ffn_dim": 7, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    )
    config._attn_implementation = "eager"
    with torch.device("cpu"), torch.no_grad():
        model = BartForConditionalGeneration(config).eval()
        text, start, new = (torch.zeros(3, length, dtype=torch.long) for length in (11, 6, 1))
        with Kernels() as prompt:
            found = model(text, decoder_input_ids=start, use_cache=True)
        with Kernels() as token:
            read = {"encoder_outputs": (found.encoder_last_hidden_state,), "past_key_values": found.past_key_values}
            model(decoder_input_ids=new, use_cache=True, **read)
    assert prompt.products > token.products > 5 * 8  # per decoder layer six linear layers and four products
    bart = sf.architecture("bart")
    for phase, kernels, run in (("prefill", prompt, {"S": 6}), ("decode", token, {"C": 6})):
        numbers = {symbol(name): number for name, number in {**sizes, **run, "B": 3, "S_enc": 11}.items()}
        counted = of_products(bart.formula("traffic", dtype="fp32", phase=phase))
        assert evaluate(counted, numbers, phase) == 4 * kernels.elements


class Lookups(TorchDispatchMode):
    """Record the bytes of the indices that lookups read, and of the rows that they read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket is torch.ops.aten.embedding:
            self.bytes += args[1].nbytes + 2 * out.nbytes
        return out


@pytest.mark.parametrize(("dtype", "precision"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_traffic_of_lookups_matches_torch(dtype: str, precision: torch.dtype) -> None:
    """Torch indexes with 64-bit integers."""
    with torch.device("meta"), Lookups() as lookups:
        torch.nn.Embedding(11, 5, dtype=precision)(torch.zeros(2, 3, dtype=torch.long))
    assert lookups.bytes > 0
    traffic = sf.component("token-embedding").formula("traffic", dtype=dtype)
    assert traffic.value(B=2, S=3, E=5) == lookups.bytes


class Storages(TorchDispatchMode):
    """Record the bytes that convolutions and concatenations read and write: the storage of each tensor, once."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten.convolution, torch.ops.aten.cat):
            given = [each for arg in args for each in (arg if isinstance(arg, list) else [arg])]
            tensors = [each for each in (*given, out) if isinstance(each, torch.Tensor)]
            moved = sum(each.untyped_storage().nbytes() for each in tensors)
            self.bytes[func.overloadpacket.__name__] = moved
        return out


def test_patches_and_a_class_token_equal_torch() -> None:
    """Images of 3 channels and 6 x 6 pixels are 9 patches and a class token, which is stored once for all 5 images."""
    config = ViTConfig(
        **{"image_size": 6, "patch_size": 2, "num_channels": 3, "hidden_size": 8, "intermediate_size": 7},
        **{"num_hidden_layers": 1, "num_attention_heads": 2},
    )
    with torch.device("meta"), torch.no_grad(), Storages() as moved:
        ViTModel(config, add_pooling_layer=False).eval()(torch.zeros(5, 3, 6, 6))
    assert moved.bytes.keys() == {"convolution", "cat"}
    rows = {row.path: row.each for row in sf.architecture("vit").formula("traffic", dtype="fp32").rows}
    sizes = {"B": 5, "Z": 6, "Z_patch": 2, "N_chan": 3, "E": 8}
    numbers = {symbol(name): number for name, number in sizes.items()}
    for path, name in (("embeddings.patch_embeddings.projection", "convolution"), ("embeddings.tokens", "cat")):
        assert evaluate(rows[path], numbers, path) == moved.bytes[name] > 0


def test_traffic_of_concatenation_in_latent_attention_is_refused() -> None:
    with pytest.raises(RuleError, match=r"self_attn\.query: concatenating two tensors"):
        sf.architecture("deepseek-v2").formula("traffic")


def test_fused_attention_never_writes_the_scores() -> None:
    for name in ("gpt2", "llama", "bert"):
        model = sf.architecture(name)
        assert Poly(model.formula("traffic", kernels="separate").expanded, S).degree() == 2
        assert Poly(model.formula("traffic", kernels="fused").expanded, S).degree() == 1


def test_intensity_is_in_lowest_terms() -> None:
    # lm_head: 2BSVE FLOPs over 2(BSE + VE + BSV) bytes in half precision.
    rows = {row.path: row.each for row in sf.architecture("gpt2").formula("intensity").rows}
    assert code(rows["lm_head"]) == "B*S*V*E/(B*S*V + B*S*E + V*E)"


def test_intensity_is_exact_and_not_additive() -> None:
    llama = sf.architecture("llama-2-7b")
    intensity = llama.formula("intensity", phase="decode")
    flops, traffic = llama.formula("decode-flops"), llama.formula("traffic", phase="decode")
    assert intensity.value(B=3, C=4096) == Fraction(flops.value(B=3, C=4096), traffic.value(B=3, C=4096))
    with pytest.raises(OptionError, match="intensity is a ratio, which does not add up over parts"):
        sf.compare("gpt2", "llama", "intensity")
