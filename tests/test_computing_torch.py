"""What a part is said to compute is evaluated line by line, and is what the class of transformers gives.

The lines are read as mathematics: products of matrices, and no more of symformer than the display tree. Heads are split
where a line says that its shape has four axes, and joined before a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from symformer.documents.blocks import Assignment
from symformer.documents.computing import computed
from symformer.language.notation.text import text
from symformer.language.notation.tree import (
    Applied,
    Fraction,
    Listed,
    Minus,
    Name,
    Number,
    Pointwise,
    Product,
    Root,
    Size,
    Sum,
    Transposed,
    Tree,
    Word,
    value,
)

from .test_computing import part

BATCH, LENGTH, WIDTH, HEADS, GROUPS, HEAD, HIDDEN = 2, 5, 24, 6, 3, 8, 20
SIZES = {"B": BATCH, "S": LENGTH, "S_enc": LENGTH, "E": WIDTH, "A": HEADS, "G": GROUPS, "D": HEAD, "H": HIDDEN}
Function = Callable[..., Tensor]


class Reader:
    """Lines of mathematics, evaluated from the top."""

    def __init__(self, known: Mapping[str, Tensor], functions: Mapping[str, Function]) -> None:
        self.known, self.functions = dict(known), functions

    def last(self, lines: list[Assignment]) -> Tensor:
        for line in lines:
            found = self.of(line.shown)
            assert isinstance(line.name, Name)
            shape = [self.size(each) for each in line.shape.items] if isinstance(line.shape, Listed) else []
            if len(shape) == 4 and found.dim() == 3:
                found = found.unflatten(2, (shape[1], shape[3])).transpose(1, 2)
            assert found.dim() == 1 or [*found.shape][-1] == shape[-1], text(line.shown)
            self.known[text(line.name)] = found
        return found

    def size(self, shown: Tree) -> int:
        if isinstance(shown, Name):
            return -1  # the axes before the last, whatever they are
        numbers = {symbol: SIZES[symbol.name] for symbol in value(shown).free_symbols}
        return int(value(shown).subs(numbers))

    def of(self, shown: Tree) -> Tensor:
        match shown:
            case Name():
                return self.known[text(shown)]
            case Size() | Number():
                return torch.tensor(float(self.size(shown)), dtype=torch.float64)
            case Sum(terms):
                return sum((self.of(each) for each in terms[1:]), self.of(terms[0]))
            case Minus(operand):
                return -self.of(operand)
            case Pointwise(factors):
                left, right = map(self.of, factors)
                return left * right
            case Transposed(operand):
                return self.of(operand).transpose(-1, -2)
            case Root(operand):
                return self.of(operand).sqrt()
            case Fraction(above, below):
                return self.of(above) / self.of(below)
            case Product(factors):
                first, *others = map(self.of, factors)
                for each in others:
                    first = product(first, each)
                return first
            case Applied("softmax", (one,), below):
                scores = self.of(one)
                if below is not None:
                    assert below == Word("causal")
                    scores = scores.masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), float("-inf"))
                return scores.softmax(-1)
            case Applied(function, arguments, None):
                return self.functions[function](*(self.of(each) for each in arguments))
        raise AssertionError(text(shown))


def product(left: Tensor, right: Tensor) -> Tensor:
    if left.dim() == 4 and right.dim() == 2:  # heads are joined before a matrix
        left = left.transpose(1, 2).flatten(2)
    elif left.dim() == 4 and left.shape[1] != right.shape[1]:  # and several queries share a key
        right = right.repeat_interleave(left.shape[1] // right.shape[1], 1)
    return left @ right


NORMS: dict[str, Function] = {
    "mean": lambda x: x.mean(-1, keepdim=True),
    "std": lambda x: (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt(),
    "rms": lambda x: (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt(),
}
FUNCTIONS: dict[str, Function] = {
    **NORMS,
    "SiLU": nn.functional.silu,
    "ReLU": nn.functional.relu,
    "GELU": lambda x: nn.functional.gelu(x, approximate="tanh"),
}


def weights(module: nn.Module) -> dict[str, Tensor]:
    """By what the lines call them: ``W_q_proj``, ``b_c_fc``; of the module itself ``w`` and ``b``."""
    found: dict[str, Tensor] = {}
    for name, tensor in module.named_parameters():
        owner, _, kind = name.rpartition(".")
        flat = isinstance(module.get_submodule(owner), transformers.pytorch_utils.Conv1D) if owner else False
        letter = ("W" if owner else "w") if kind == "weight" else "b"
        found[f"{letter}_{owner}" if owner else letter] = tensor.T if flat and kind == "weight" else tensor
    return found


def layer(name: str) -> Any:
    torch.manual_seed(7)
    common = {"num_hidden_layers": 1, "vocab_size": 11, "attn_implementation": "eager"}
    if name == "gpt2":
        config: Any = transformers.GPT2Config(
            n_embd=WIDTH, n_head=HEADS, n_layer=1, n_inner=HIDDEN, vocab_size=11, attn_implementation="eager"
        )
        made = transformers.GPT2Model(config)
        found = made.h[0]
    elif name == "t5":
        config = transformers.T5Config(
            d_model=WIDTH, d_kv=HEAD, d_ff=HIDDEN, num_layers=1, num_heads=HEADS, vocab_size=11, dropout_rate=0.0
        )
        made = transformers.T5EncoderModel(config)
        found = made.encoder.block[0]
    else:
        kind = {"llama": transformers.LlamaConfig, "gemma": transformers.GemmaConfig}[name]
        sizes = {"hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_attention_heads": HEADS}
        config = kind(**sizes, num_key_value_heads=GROUPS, head_dim=HEAD, rms_norm_eps=1e-5, **common)
        made = transformers.AutoModel.from_config(config)
        found = made.layers[0]
    for tensor in made.parameters():
        nn.init.normal_(tensor)
    return found.double().eval(), made.double().eval()


def given() -> Tensor:
    torch.manual_seed(11)
    return torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "path", "where"),
    [
        ("gpt2", "h.*.ln_1", "ln_1"),
        ("gpt2", "h.*.mlp", "mlp"),
        ("llama", "layers.*.input_layernorm", "input_layernorm"),
        ("llama", "layers.*.mlp", "mlp"),
        ("gemma", "layers.*.input_layernorm", "input_layernorm"),
        ("t5", "encoder.block.*.layer.1.DenseReluDense", "layer.1.DenseReluDense"),
    ],
)
def test_a_part_without_heads_computes_what_its_class_does(name: str, path: str, where: str) -> None:
    block, _ = layer(name)
    module = block.get_submodule(where)
    reader = Reader({"x": given(), **weights(module)}, FUNCTIONS)
    theirs = module(given())
    assert theirs.abs().max() > 0.1
    assert torch.allclose(reader.last(computed(part(name, path))), theirs, atol=1e-4 if "norm" in path else 1e-10)


def rotated(x: Tensor, angles: Tensor) -> Tensor:
    """Su et al. 2021, eq. 34, with the halves of a head as transformers pairs them."""
    one, other = x.chunk(2, -1)
    return x * angles[0] + torch.cat((-other, one), -1) * angles[1]


def test_the_attention_of_llama_computes_what_its_class_does() -> None:
    block, model = layer("llama")
    angles = torch.stack(model.rotary_emb(given(), torch.arange(LENGTH)[None]))
    reader = Reader({"x": given(), "θ": angles, **weights(block.self_attn)}, {**FUNCTIONS, "rotate": rotated})
    mask = torch.full((LENGTH, LENGTH), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    theirs, _ = block.self_attn(given(), position_embeddings=tuple(angles), attention_mask=mask)
    ours = reader.last(computed(part("llama", "layers.*.self_attn")))
    assert theirs.abs().max() > 0.1
    assert torch.allclose(ours, theirs, atol=1e-10)
    assert not torch.allclose(ours, block.self_attn(given(), position_embeddings=tuple(angles), attention_mask=None)[0])


def test_a_block_of_llama_computes_what_its_class_does() -> None:
    block, model = layer("llama")
    angles = torch.stack(model.rotary_emb(given(), torch.arange(LENGTH)[None]))
    mask = torch.full((LENGTH, LENGTH), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    functions = {
        "input_layernorm": block.input_layernorm,
        "post_attention_layernorm": block.post_attention_layernorm,
        "mlp": block.mlp,
        "self_attn": lambda x, θ: block.self_attn(x, position_embeddings=tuple(θ), attention_mask=mask)[0],
    }
    ours = Reader({"x": given(), "θ": angles}, functions).last(computed(part("llama", "layers.*")))
    theirs = block(given(), attention_mask=mask, position_embeddings=tuple(angles))
    theirs = theirs[0] if isinstance(theirs, tuple) else theirs
    assert torch.allclose(ours, theirs, atol=1e-10)


def test_the_attention_of_t5_computes_what_its_class_does() -> None:
    """Without a root of D, and with a bias for distances."""
    block, _ = layer("t5")
    attention = block.layer[0].SelfAttention
    torch.manual_seed(13)
    bias = torch.randn(1, HEADS, LENGTH, LENGTH, dtype=torch.float64)
    reader = Reader({"x": given(), "β": bias, **weights(attention)}, FUNCTIONS)
    theirs = attention(given(), position_bias=bias)[0]
    lines = computed(part("t5", "encoder.block.*.layer.0.SelfAttention"))
    assert torch.allclose(reader.last(lines), theirs, atol=1e-10)
