"""Compiled formulas on a GPU and in JAX, not part of the other tests: ``pytest tests/gpu/gpu_compile.py``."""

from __future__ import annotations

import pytest
import torch

import symformer as sf
from symformer.language.errors import SymformerError


def test_torch_on_a_gpu() -> None:
    wide = torch.arange(1, 10_001, device="cuda") * 12
    found = sf.model("gpt2").params.compile()(E=wide[:, None], L=torch.arange(1, 41, device="cuda"))
    assert found.device.type == "cuda"
    assert found[63, 11].item() == 124_439_808


def test_jax() -> None:
    import jax
    import jax.numpy as jnp

    compiled = sf.model("component:mlp").params.compile()
    found = compiled(E=jnp.array([3, 4]), H=jnp.array([[5], [6]]))
    assert isinstance(found, jax.Array)
    assert found.tolist() == [[30 + 8, 40 + 9], [36 + 9, 48 + 10]]
    # 2*50,000*40,000 = 4*10**9 does not fit 32 bits, JAX's default
    beyond = compiled(E=jnp.array([50_000]), H=40_000)
    assert beyond.tolist() == [2 * 50_000 * 40_000 + 90_000]
    with pytest.raises(SymformerError, match="the sizes are JAX tracers"):
        jax.jit(lambda e: compiled(E=e, H=3))(jnp.array([3]))
