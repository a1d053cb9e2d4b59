"""FLOPs per element of each elementwise function, counted from the operations that torch runs for its formula.

Each formula also gives the same values as the function of torch or transformers that it represents.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sympy import Expr, expand
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.activations import ACT2FN, XIELUActivation
from transformers.models.gemma3n.modeling_gemma3n import Gemma3nTextMLP
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb, rotate_half

from symformer import architecture, component
from symformer.components.base import Component
from symformer.language.symbols import (
    A,
    B,
    D,
    D_rope,
    E,
    E_vis,
    G,
    H,
    L,
    L_sparse,
    L_vis,
    N_alt,
    P_enc,
    S,
    S_enc,
    V,
    Z,
    Z_patch,
)
from symformer.models.model import Model
from symformer.quantities.elementwise import printed_table

Function = Callable[..., Tensor]
ROWS, WIDTH = 7, 12


class Operations(TorchDispatchMode):
    """Count one FLOP per element of a result, and per element that a sum adds.

    Results computed once per row have fewer elements than the tensor and are not counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        work = args[0] if func.overloadpacket is torch.ops.aten.sum else out
        self.flops += work.numel() if work.numel() == ROWS * WIDTH else 0
        return out


def layer_norm(x: Tensor) -> Tensor:
    difference = x - x.sum(-1, keepdim=True) / WIDTH
    return difference / ((difference * difference).sum(-1, keepdim=True) / WIDTH + 1e-5).sqrt()


def rms_norm(x: Tensor) -> Tensor:
    return x / ((x * x).sum(-1, keepdim=True) / WIDTH + 1e-5).sqrt()


def l2_norm(x: Tensor) -> Tensor:
    return x / (x * x).sum(-1, keepdim=True).sqrt()


def gaussian_top_k(x: Tensor) -> Tensor:
    """Return the excess over a threshold that a normally distributed element exceeds with probability 0.2."""
    mean = x.sum(-1, keepdim=True) / WIDTH
    difference = x - mean
    std = ((difference * difference).sum(-1, keepdim=True) / WIDTH).sqrt()
    return (x - (mean + NormalDist().inv_cdf(0.8) * std)).clamp(min=0)


def softmax(x: Tensor) -> Tensor:
    powers = x.exp()
    return powers / powers.sum(-1, keepdim=True)


def xielu(x: Tensor) -> Tensor:
    """Evaluate xIELU with stored parameters whose factors are both 0.8, and with 0.5 as the factor of x."""
    above, below = x.clamp(min=0), x.clamp(max=0)
    return 0.8 * (above * above) + 0.8 * (below.expm1() - below) + 0.5 * x


def gelu_new(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + (sqrt(2 / pi) * (x + 0.044715 * x * x * x)).tanh())


LAYER = (layer_norm, lambda x: functional.layer_norm(x, (WIDTH,)))
RMS = (rms_norm, lambda x: functional.rms_norm(x, (WIDTH,), eps=1e-5))
ADD = (torch.add, lambda x, y: x + y)
MULTIPLY = (torch.mul, lambda x, y: x * y)

# The formula and the function that it represents, of one or more tensors.
WRITTEN: dict[str, tuple[Function, Function]] = {
    "norm layer": LAYER,
    "norm channel": (layer_norm, lambda x: functional.group_norm(x[None], ROWS)[0]),  # of ROWS channels
    "norm layer_cast": LAYER,
    "norm l2": (l2_norm, functional.normalize),
    "norm rms": RMS,
    "norm rms_late": RMS,
    "norm rms_single": RMS,
    "norm rms_uncast": RMS,
    "norm gaussian_top_k": (
        gaussian_top_k,
        lambda x: Gemma3nTextMLP._gaussian_topk(SimpleNamespace(activation_sparsity=0.8), x),  # type: ignore[arg-type]
    ),
    "activation relu": (lambda x: x.clamp(min=0), ACT2FN["relu"]),
    "activation tanh": (torch.tanh, ACT2FN["tanh"]),
    "activation silu": (lambda x: x / (1 + (-x).exp()), ACT2FN["silu"]),
    "activation quick_gelu": (lambda x: x / (1 + (-1.702 * x).exp()), ACT2FN["quick_gelu"]),
    "activation exp": (torch.exp, torch.exp),
    "activation xielu": (xielu, XIELUActivation(dtype=torch.float64)),
    "activation gelu": (lambda x: x * 0.5 * (1 + (x / sqrt(2)).erf()), ACT2FN["gelu"]),
    "activation gelu_pytorch_tanh": (gelu_new, ACT2FN["gelu_pytorch_tanh"]),
    "activation gelu_new": (gelu_new, ACT2FN["gelu_new"]),
    "softmax": (softmax, lambda x: functional.softmax(x, -1)),
    "rotate": (  # x' is x with its halves exchanged and one of them negated, which does not count as arithmetic
        lambda x, turned, cos, sin: x * cos + turned * sin,
        lambda x, turned, cos, sin: apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0][0],
    ),
    "add": ADD,
    "multiply": MULTIPLY,
    "bias": ADD,
    "scale": MULTIPLY,
    "scale of scores": (lambda x: x * (1 / sqrt(WIDTH)), lambda x: x / sqrt(WIDTH)),
    "lifted": (lambda x: 1 + x, lambda x: x + torch.ones(())),
    "weight norm": (lambda x, y: y[:, :1] * l2_norm(x), lambda x, y: torch._weight_norm(x, y[:, :1])),
    "interpolation": (lambda x, y, w: x + w * (y - x), torch.lerp),
    "mean": ADD,  # of each element, and a division of each mean, which counts the same
    "weighted mean": (torch.mul, torch.mul),  # and a sum, which counts the same
    "mean of streams": ADD,  # of each element, and a division of each mean, which counts the same
    "magnitude": (
        lambda x: ((x * x).sum(-1, keepdim=True) / WIDTH).sqrt(),
        lambda x: x.norm(dim=-1, keepdim=True) / sqrt(WIDTH),
    ),
    "sum of a row": (lambda x: x.sum(-1, keepdim=True), lambda x: x @ torch.ones(WIDTH, 1, dtype=x.dtype)),
    "mask": ADD,
}
READS = {
    "weight norm": 2,
    "rotate": 4,
    "add": 2,
    "multiply": 2,
    "bias": 2,
    "scale": 2,
    "interpolation": 3,
    "mean": 2,
    "weighted mean": 2,
    "mean of streams": 2,
    "mask": 2,
}


def test_every_row_of_the_table_is_checked() -> None:
    assert [name for name, _ in printed_table()] == list(WRITTEN)


@pytest.mark.parametrize("name", WRITTEN)
def test_flops_of_one_element(name: str) -> None:
    written, known = WRITTEN[name]
    draw = torch.Generator().manual_seed(1)
    given = [torch.randn(ROWS, WIDTH, generator=draw, dtype=torch.float64) for _ in range(READS.get(name, 1))]
    if name == "rotate":
        given[1] = rotate_half(given[0])
    with Operations() as counted:
        found = written(*given)
    assert torch.allclose(found, known(*given), atol=1e-6)
    assert counted.flops == dict(printed_table())[name].flops * ROWS * WIDTH > 0


def beside_products(model: Model | Component, **conventions: str) -> Expr:
    """Return the FLOPs of everything except matrix products."""
    counted = [model.formula("flops", count=count, **conventions).expanded for count in ("all", "contractions")]
    return expand(counted[0] - counted[1])


def test_residual_streams_by_hand() -> None:
    """Gemma 3n, by hand.

    The router runs twice, with a norm 4E, a scale E and N_alt hyperbolic tangents. The prediction adds the old streams,
    N_alt E. The correction has a difference E, N_alt sums with 1, a product and a sum of N_alt E each. The output is
    scaled, E, and added to all streams but the first, (N_alt - 1)E. The rest is the layer and its per-layer input.
    """
    block, layer, own = (
        beside_products(component(name)) for name in ("alt-up-block", "laurel-block", "per-layer-input")
    )
    router = 2 * (4 * E + E + N_alt)
    assert expand(block - layer - own - B * S * (router + N_alt * E + E + N_alt + 2 * N_alt * E + N_alt * E)) == 0


def test_interpolated_positions_by_hand() -> None:
    """Qwen3-VL's encoder, by hand: a bias, four products and three sums of rows, and a sum, for each patch."""
    encoder = component("native-resolution-encoder")
    layers = beside_products(encoder).coeff(L_vis)
    patches = B * Z**2 / Z_patch**2
    assert expand(beside_products(encoder) - L_vis * layers - patches * E_vis * (1 + 4 + 3 + 1)) == 0


def test_sparse_activations_by_hand() -> None:
    """The mean, the difference from it, its square, the sum, the difference from the threshold, and the maximum."""
    sparse, dense = (beside_products(architecture("gemma3n", sparse=sparse)) for sparse in (True, False))
    assert expand(sparse - dense - 6 * B * S * L_sparse * H) == 0


def test_parallel_layer_by_hand() -> None:
    """Phi, by hand.

    A norm 7E; biases of q, k, v 1 per element; D_rope of D elements of q and k rotate; scores are scaled, masked and in
    a softmax, 1 + 1 + 3; bias of the output E; the MLP has two biases and GELU written out, (1 + 9)H + E; both parts
    and the input are added, 2E. After the layers a norm, and a bias of V per token.
    """
    heads = B * S * ((A + 2 * G) * D + 3 * (A + G) * D_rope) + 5 * B * A * S**2
    layer = B * S * (7 * E + E + 10 * H + E + 2 * E) + heads
    phi = architecture("phi")
    assert expand(beside_products(phi) - L * layer - 7 * B * S * E - B * S * V) == 0
    assert expand(beside_products(phi, logits="last") - L * layer - 7 * B * S * E - B * V) == 0


def test_scaled_queries_by_hand() -> None:
    """Whisper's encoder, by hand.

    Two norms 14E; biases of q, v and the output 3E, and none of k; queries are scaled, E; no pair is masked, so 3 per
    score; biases of the MLP and GELU (1 + 5)H + E; two sums 2E.
    """
    rows = architecture("whisper").formula("flops", count="all").part("encoder.layers").expanded
    products = architecture("whisper").formula("flops").part("encoder.layers").expanded
    pairs = 3 * B * A * P_enc**2
    assert expand(rows - products - B * P_enc * (14 * E + 3 * E + E + 6 * H + E + 2 * E) - pairs) == 0


def test_conditioned_layer_by_hand() -> None:
    """DiT, by hand.

    For each of B images SiLU of the condition 4E, six biases 6E, and 1 + scale twice, 2E. Per token two norms without
    scale and bias 2·5E, each times a scale and plus a shift 2·2E; biases of q, k, v and the output 4E; the MLP's biases
    and GELU (1 + 5)H + E; two gates 2E and two sums 2E. No pair is masked: scale and softmax, 1 + 3.
    """
    found = beside_products(component("adaptive-block"))
    tokens = B * S * (10 * E + 4 * E + 4 * E + 6 * H + E + 2 * E + 2 * E)
    assert expand(found - 12 * B * E - tokens - 4 * B * A * S**2) == 0


def test_unscaled_scores_by_hand() -> None:
    """T5's encoder: two RMS norms 8E, ReLU H, two sums 2E; per score the sum with its bias and a softmax, 1 + 3."""
    t5 = architecture("t5")
    layers = [t5.formula("flops", count=count).part("encoder.block").expanded for count in ("all", "contractions")]
    by_hand = B * S_enc * (8 * E + H + 2 * E) + 4 * B * A * S_enc**2
    assert expand(layers[0] - layers[1] - by_hand) == 0


def test_fused_biases_by_hand() -> None:
    """Torch's encoder layer, by hand.

    The biases of q, k and v are one vector of 3E: with the output's 4E; two norms 14E; biases of the MLP and ReLU
    (1 + 1)H + E; two sums 2E. No pair is masked: scale and softmax, 1 + 3.
    """
    found = beside_products(architecture("transformer-encoder-layer"))
    assert expand(found - B * S * (4 * E + 14 * E + 2 * H + E + 2 * E) - 4 * B * A * S**2) == 0


def test_tied_head_bias_by_hand() -> None:
    """BERT, by hand.

    Two sums and a norm of the embeddings, 2E + 7E. Each layer has biases of q, k, v and the output 4E, two sums 2E, two
    norms 14E, and in the MLP (1 + 5)H + E; scores are scaled and in a softmax, 1 + 3. The head has a bias, GELU and a
    norm, (1 + 5 + 7)E, and a bias of V next to the shared table.
    """
    found = beside_products(architecture("bert", head="mlm"))
    layer = B * S * (4 * E + 2 * E + 14 * E + 6 * H + E) + 4 * B * A * S**2
    assert expand(found - B * S * 9 * E - L * layer - B * S * (13 * E + V)) == 0
