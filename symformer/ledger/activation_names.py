"""The proper names of activation functions, as prose writes them."""

from __future__ import annotations

from collections.abc import Mapping

_TANH = "GELU (tanh approximation)"
# For every activation, by its name in transformers. gelu_10 also has bounds, which prose omits as computations do.
ACTIVATION_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("gelu", "gelu_python", "gelu_10"), "GELU"),
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"), _TANH),
    "quick_gelu": "QuickGELU",
    "relu": "ReLU",
    "relu2": "squared ReLU",
    "relu6": "ReLU6",
    "leaky_relu": "leaky ReLU",
    "silu": "SiLU",
    "hardswish": "Hardswish",
    "mish": "Mish",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "laplace": "the Laplace activation",
    "sqrtsoftplus": "the square root of softplus",
    "linear": "no activation",
}
