"""Whole models: what their parts are said to compute, evaluated from tokens to logits, is what a class gives.

The classes are transformers', small, in double precision and with random weights; no two sizes are the same. Norms and
routers of some compute in single precision whatever they are given, so numbers agree to about six places.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from symformer import from_config
from symformer.language.symbols import SYMBOLS
from symformer.models.model import Model

from .evaluating import Class, Function, Reader
from .test_config_fields import TYPES, base, nested

BATCH, LENGTH = 2, 9
RUN = {"B": BATCH, "S": LENGTH, "S_enc": 12, "B_vis": 4}


def halves(x: Tensor, angles: Tensor) -> Tensor:
    """Su et al. 2021, eq. 34, which pairs an element with the one half a head on; what has no angle stays."""
    turned, rest = x[..., : angles.shape[-1]], x[..., angles.shape[-1] :]
    one, other = turned.chunk(2, -1)
    return torch.cat((turned * angles.cos() + torch.cat((-other, one), -1) * angles.sin(), rest), -1)


def neighbours(x: Tensor, angles: Tensor) -> Tensor:
    """The same with an element and the next one as a pair, as the paper has it."""
    turned, rest = x[..., : angles.shape[-1]], x[..., angles.shape[-1] :]
    angles = angles[..., : angles.shape[-1] // 2].repeat_interleave(2, -1)
    swapped = torch.stack((-turned[..., 1::2], turned[..., ::2]), -1).flatten(-2)
    return torch.cat((turned * angles.cos() + swapped * angles.sin(), rest), -1)


def interleaved(x: Tensor, angles: Tensor) -> Tensor:
    """Neighbours are pairs, and come out half a head apart; scores are the same, whatever the order."""
    return halves(torch.cat((x[..., ::2], x[..., 1::2]), -1), angles)


def angles(width: int, theta: float = 1e4, length: int = LENGTH) -> Tensor:
    """Position times theta^(-2i/width), twice."""
    steps = theta ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.cat(2 * [torch.arange(length, dtype=torch.float64)[:, None] * steps], -1)


def scan(u: Tensor, step: Tensor, decay: Tensor, write: Tensor, read: Tensor, skip: Tensor) -> Tensor:
    """Gu and Dao 2023, eq. 2, by hand: h = exp(Δ·A) h + Δ u b, y = h c + D u, token by token."""
    heads, width = step.shape[-1], u.shape[-1]
    decay = decay if decay.dim() == 2 else decay[:, None]  # [heads, N] or the same for all N
    groups = write.shape[-1] // N_STATE[0]
    write, read = (
        each.unflatten(-1, (groups, N_STATE[0])).repeat_interleave(heads // groups, 2) if heads != groups * 0 else each
        for each in (write, read)
    )
    state: Tensor = torch.zeros(u.shape[0], heads, width // heads, N_STATE[0], dtype=u.dtype)
    found = []
    for token in range(u.shape[1]):
        x, d = u[:, token].unflatten(-1, (heads, -1)), step[:, token]
        state = state * (d[..., None] * decay).exp()[:, :, None] + (d[..., None] * x)[..., None] * write[:, token][:, :, None]
        found.append(((state * read[:, token][:, :, None]).sum(-1) + skip[:, None] * x).flatten(1))
    return torch.stack(found, 1)


N_STATE = [0]


def conv(weight: Tensor, x: Tensor) -> Tensor:
    """Each channel over its last places, or patches side by side; the positions before the channels."""
    if weight.dim() == 3 and weight.shape[1] == 1:
        padded = nn.functional.pad(x.transpose(1, 2), (weight.shape[-1] - 1, 0))
        return nn.functional.conv1d(padded, weight, groups=len(weight)).transpose(1, 2)
    if weight.dim() == 3:  # of Whisper: the second moves by two
        x = x if x.shape[1] == weight.shape[1] and not hasattr(x, "second") else x.transpose(1, 2)
        return nn.functional.conv1d(x, weight, padding=1).transpose(1, 2)
    return nn.functional.conv2d(x, weight, stride=weight.shape[-1]).flatten(2).transpose(1, 2)


def words(epsilon: float, gelu: str, **others: Function) -> dict[str, Function]:
    sums: dict[str, Function] = {
        "mean": lambda x: x.mean(-1, keepdim=True),
        "std": lambda x: (x.var(-1, keepdim=True, unbiased=False) + epsilon).sqrt(),
        "rms": lambda x: (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt(),
        "length": lambda x: x.pow(2).sum(-1, keepdim=True).sqrt(),
        "SiLU": nn.functional.silu,
        "ReLU": nn.functional.relu,
        "relu2": lambda x: nn.functional.relu(x).square(),
        "GELU": transformers.activations.ACT2FN[gelu] if gelu else nn.functional.gelu,
        "tanh": torch.tanh,
        "σ": torch.sigmoid,
        "exp": torch.exp,
        "softplus": nn.functional.softplus,
        "select": lambda x: x[:, 0],
        "conv": conv,
        "scan": scan,
        "rotate": halves,
    }
    return sums | others


def config_of(kind: str, **changed: Any) -> dict[str, Any]:
    return nested({**base(kind), **changed})


@cache
def made(kind: str, written: str) -> tuple[nn.Module, Any]:
    config = json.loads(written)
    made_by = getattr(transformers, config["architectures"][0])
    torch.manual_seed(7)
    model = made_by(made_by.config_class.from_dict(config | {"attn_implementation": "eager"}))
    model.config._attn_implementation = "eager"
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = "eager"
            module.config._experts_implementation = "eager"
    torch.manual_seed(8)
    for name, tensor in model.named_parameters():
        nn.init.normal_(tensor, 0.0, 0.5)
    return model.double().eval(), model.config


def ours(config: Mapping[str, Any], tmp_path: Path) -> Model:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    return from_config(str(path))


TOKENS = torch.tensor([[3, 17, 5, 22, 9, 1, 14, 8, 26], [11, 2, 25, 4, 19, 7, 23, 6, 12]])


def chosen(logits: Tensor, k: int, how: str, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """The best k, and their weights: of a softmax over all, or over the chosen, which is the same made to add up to 1."""
    if how == "groups":
        return grouped(logits, k)
    best = logits.topk(k, -1)
    weights = logits.softmax(-1).gather(-1, best.indices) if how == "all" else best.values.softmax(-1)
    return scale * weights, best.indices


def grouped(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """DeepSeek-AI 2024, V3, eq. 13 to 16: sigmoids; of two groups the one whose two best add up to more."""
    scores = logits.sigmoid()
    halves = scores.unflatten(-1, (2, -1))
    worse = halves.topk(2, -1).values.sum(-1).argmin(-1, keepdim=True)
    left = halves.scatter(-2, worse[..., None].expand(*worse.shape, halves.shape[-1]), float("-inf")).flatten(-2)
    best = left.topk(k, -1)
    return 2.5 * best.values / best.values.sum(-1, keepdim=True), best.indices


SIMPLE = ["gpt2", "llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe", "olmo", "olmo2", "olmoe", "phi3",
    "stablelm", "starcoder2", "glm4", "gemma", "cohere", "gptj", "gpt_neox", "opt", "bloom", "falcon", "mpt", "phi", "openai-gpt",
    "granite", "qwen2_moe", "deepseek_v2", "deepseek_v3", "mamba", "mamba2", "gemma2", "gemma3_text", "gpt_oss", "gpt_neo"]


CHANGED: dict[str, dict[str, Any]] = {
    "granite": {"embedding_multiplier": 3.0, "attention_multiplier": 0.7, "residual_multiplier": 0.4, "logits_scaling": 2.5},
    "cohere": {"logit_scale": 1.0},
    "gemma3_text": {"query_pre_attn_scalar": 13, "rope_parameters": {kind: {"rope_type": "default", "rope_theta": 1e4} for kind in ("full_attention", "sliding_attention")}},
    "gemma2": {"query_pre_attn_scalar": 13},
    "gpt_oss": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
}


@pytest.mark.parametrize("kind", [k for k in SIMPLE if k in TYPES])
def test_a_model_computes_what_its_class_does(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(kind, **CHANGED.get(kind, {}))
    model = ours(config, tmp_path)
    theirs, real = made(kind, json.dumps(config))
    sizes = {**model.known, **{SYMBOLS[name]: number for name, number in RUN.items()}}
    N_STATE[0] = getattr(real, "state_size", 0)
    how = {"mixtral": "chosen", "gpt_oss": "chosen", "deepseek_v3": "groups"}.get(kind, "all")
    k = getattr(real, "num_experts_per_tok", 0)
    epsilon = next((getattr(real, n) for n in ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "layernorm_epsilon", "norm_eps", "norm_epsilon") if hasattr(real, n)), 1e-5)
    gelu = {"gpt2": "gelu_new", "openai-gpt": "gelu_new", "gptj": "gelu_new", "gemma": "gelu_pytorch_tanh", "gemma2": "gelu_pytorch_tanh", "gemma3_text": "gelu_pytorch_tanh", "gpt_oss": "quick_gelu", "gpt_neo": "gelu_new", "bloom": "gelu_new", "phi": "gelu_new", "starcoder2": "gelu_pytorch_tanh"}.get(kind, "")
    functions = words(epsilon, gelu)
    if kind in ("gptj", "cohere", "glm4"):
        functions["rotate"] = neighbours
    if kind in ("deepseek_v2", "deepseek_v3"):
        functions["rotate"] = interleaved
    turned = next((each.width for _, each in model.component.ledger if each.kind == "rotate" for each in each.inputs[1:]), None)
    given = {"t": TOKENS, "i": torch.arange(LENGTH)[None]}
    if turned is not None:
        rope = getattr(real, "rope_parameters", None) or {}
        given["θ"] = angles(int(turned.xreplace(model.relations).subs(sizes)), rope.get("rope_theta", 1e4))
    if kind in ("bloom", "mpt"):
        heads = next(n for s, n in model.known.items() if s.name == "A")
        slopes = alibi(heads, kind)
        given["β"] = slopes[None, :, None, None] * torch.arange(LENGTH, dtype=torch.float64)
    if kind == "phi3" or kind == "mistral":
        pass
    listed = getattr(type(model.component), "names").layers if hasattr(type(model.component), "names") else ""
    types = getattr(real, "layer_types", None) or getattr(real, "attention_layers", None) or []
    kinds = [{"sliding_attention": "local_layers", "full_attention": "global_layers", "local": "local_layers", "global": "global_layers"}.get(t) for t in types]
    functions["rms_group"] = lambda x: functions["rms"](x.unflatten(-1, (real.n_groups, -1))).expand(*x.shape[:-1], real.n_groups, x.shape[-1] // real.n_groups).flatten(-2)
    functions["cap"] = lambda x: 30.0 * (x / 30.0).tanh() if x.dim() == 3 else 50 * (x / 50).tanh()
    def arranged(name: str, weight: Tensor) -> Tensor:
        if kind in ("bloom", "gpt_neox") and "query_key_value" in name:  # a head's query, key and value together
            return weight.unflatten(0, (real.num_attention_heads, 3, -1)).transpose(0, 1).flatten(0, 2)
        if kind == "falcon" and "query_key_value" in name:  # the queries of a group, its key, its value
            group = real.num_attention_heads // real.num_kv_heads
            rows = weight.unflatten(0, (real.num_kv_heads, group + 2, -1))
            return torch.cat((rows[:, :group].flatten(0, 2), rows[:, group].flatten(0, 1), rows[:, -1].flatten(0, 1)))
        if kind == "gpt_oss" and "experts.gate_up_proj" in name:
            weight = weight if "bias" in name else weight.transpose(1, 2)
            return torch.cat((weight[:, ::2], weight[:, 1::2]), 1)
        if kind == "gpt_oss" and name.endswith("experts.down_proj"):
            return weight.transpose(1, 2)
        return weight

    def factor(path: str, place: int) -> float:
        if kind == "granite":
            at = "attention_multiplier" if "self_attn" in path else "residual_multiplier" if path else ("embedding_multiplier", "logits_scaling")[place]
            return 1 / real.logits_scaling if at == "logits_scaling" else getattr(real, at)
        return real.query_pre_attn_scalar ** -0.5

    whose = Class(theirs, sizes, functions, given, arranged=arranged, factor=factor, route=lambda x, module: chosen(x, k, how),
        path=lambda path: re.sub(r"(^|\.)(dense|moe|local|global|ssm|attention|mlp|first)_layers?\b(?=\.)", rf"\1{listed}", path),
        layers={"dense_layers": [0], "moe_layers": [1]}, kinds=kinds)
    monkeypatch.setattr(torch, "float32", torch.float64)
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    with torch.no_grad():
        expected = theirs(TOKENS).logits
        found = Reader(whose, model.component.ledger.apart.root, "", given).run()
    assert expected.abs().max() > 0.1
    off = float((found - expected).abs().max() / expected.abs().max())
    assert off < 1e-6


def alibi(heads: int, kind: str) -> Tensor:
    near = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (n + 1) / near) for n in range(near)]
    more = [2 ** (-4 * (2 * n + 1) / near) for n in range(heads - near)]
    return torch.tensor(first + more, dtype=torch.float64)
