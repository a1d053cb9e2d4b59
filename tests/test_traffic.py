"""Memory traffic and arithmetic intensity: by hand, and what torch's own kernels are given and give."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
import torch
from sympy import Poly
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

import symformer as sf
from symformer.formulas.formula import Formula
from symformer.language.errors import OptionError
from symformer.language.notation.text import code
from symformer.language.sizes import evaluate
from symformer.language.symbols import S, symbol
from symformer.ledger.facts import Kind


def test_a_feed_forward_network_by_hand() -> None:
    # B·S = 6 tokens, E = 7, H = 11, in single precision.
    # up: reads x 6·7 = 42, weight 77, bias 11; writes 66.            196
    # act: reads 66, writes 66.                                       132
    # down: reads 66, weight 77, bias 7; writes 42.                   192
    traffic = sf.component("mlp").formula("traffic", dtype="fp32")
    assert traffic.value(B=2, S=3, E=7, H=11) == 4 * (196 + 132 + 192)
    # FLOPs: 2·6·7·11 twice = 1848.
    intensity = sf.component("mlp").formula("intensity", dtype="fp32")
    assert intensity.value(B=2, S=3, E=7, H=11) == Fraction(1848, 4 * 520)


def test_attention_by_hand() -> None:
    # One sequence of 5 tokens after 13 in the cache is read as one token: q is A·D = 6 numbers, k and v are 14 rows of
    # G·D = 2, scores 3 · 14 = 42 (A = 3 heads, G = 1, D = 2), in half precision.
    # Separate: scores read 6 + 28 and write 42; softmax 42 and 42; mix reads 42 + 28 and writes 6: 236.
    # Fused: reads 6 + 28 + 28, writes 6: 68.
    llama = sf.architecture("llama")
    sizes = {"V": 53, "E": 17, "H": 19, "L": 1, "A": 3, "G": 1, "D": 2, "B": 1, "C": 13}
    for kernels, elements in (("separate", 236), ("fused", 68)):
        formula = llama.formula("traffic", phase="decode", kernels=kernels)
        rows = {row.path.rpartition(".")[2]: row for row in formula.rows}
        numbers = {symbol(name): number for name, number in sizes.items()}
        counted = [evaluate(rows[name].each, numbers, name) for name in ("scores", "softmax", "mix") if name in rows]
        assert sum(counted) == 2 * elements


class Kernels(TorchDispatchMode):
    """The elements that torch's matrix products are given and give."""

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
    """The terms of the linear layers and of attention's two products."""
    kinds = (Kind.LINEAR, Kind.SCORES, Kind.MIX)
    lines = [(count, line) for count, line in formula.root.leaves() if line.entry and line.entry.kind in kinds]
    return sum((count * line.each for count, line in lines), start=0 * S)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_matrix_products_against_torch(name: str, seed: int) -> None:
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
            model(tokens, attention_mask=mask, position_ids=torch.zeros(1, length, dtype=torch.long))
    assert kernels.products > 2 * 6  # four or six linear layers and two products for each of two layers, and a head
    target = sf.architecture("gpt2") if name == "gpt2" else sf.architecture("bert", head="mlm")
    formula = target.formula("traffic", dtype="fp32")
    numbers = {symbol(key): number for key, number in sizes.items()}
    assert evaluate(of_products(formula), numbers, name) == 4 * kernels.elements


def test_one_kernel_for_attention_never_writes_the_scores() -> None:
    for name in ("gpt2", "llama", "bert"):
        model = sf.architecture(name)
        assert Poly(model.formula("traffic", kernels="separate").expanded, S).degree() == 2
        assert Poly(model.formula("traffic", kernels="fused").expanded, S).degree() == 1


def test_a_ratio_is_in_lowest_terms() -> None:
    # lm_head: 2BSVE FLOPs over 2(BSE + VE + BSV) bytes in half precision.
    rows = {row.path: row.each for row in sf.architecture("gpt2").formula("intensity").rows}
    assert code(rows["lm_head"]) == "B*S*V*E/(B*S*V + B*S*E + V*E)"


def test_a_ratio_is_exact_and_does_not_add_up() -> None:
    llama = sf.architecture("llama-2-7b")
    intensity = llama.formula("intensity", phase="decode")
    flops, traffic = llama.formula("decode-flops"), llama.formula("traffic", phase="decode")
    assert intensity.value(B=3, C=4096) == Fraction(flops.value(B=3, C=4096), traffic.value(B=3, C=4096))
    with pytest.raises(OptionError, match="intensity is a ratio, which does not add up over parts"):
        sf.compare("gpt2", "llama", "intensity")
