"""Memory in bytes: real optimizers after a real step, real caches, and published sums."""

from __future__ import annotations

import pytest
import torch
from sympy import Expr

from symformer import SymformerError, architecture
from symformer.architectures.base_architecture import Architecture
from symformer.language.arithmetic import parse
from symformer.language.sizes import Numbers
from symformer.language.symbols import SYMBOLS, W
from symformer.quantities import cache_rules, traffic_rules
from symformer.quantities.kernels import saves
from symformer.quantities.train_memory import RECIPES
from symformer.witness.torch_counts import TorchWitness, train_bytes

STEPPED = ["adam", "sgd", "momentum", "adafactor"]  # tests/test_optimizers.py has the others, one weight at a time
SIZES = {"B": 2, "S": 7, "V": 29, "P": 18, "V_type": 4, "E": 24, "H": 11, "L": 5, "A": 6, "G": 3, "D": 10}


def numbers(target: str) -> tuple[Architecture, Numbers, dict[str, int]]:
    model = architecture(target)
    component = model.component
    assert isinstance(component, Architecture)
    names = {str(size) for size in model.sizes} | {"B", "S"}
    sizes = {name: number for name, number in SIZES.items() if name in names}
    return component, {SYMBOLS[name]: number for name, number in sizes.items()}, sizes


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("optimizer", STEPPED)
@pytest.mark.parametrize("target", ["gpt2", "llama", "bert", "bare-bones-transformer-lm"])
def test_training_memory_equals_a_real_optimizer_after_one_step(target: str, optimizer: str, recipe: str) -> None:
    component, where, sizes = numbers(target)
    way = {"recipe": recipe, "optimizer": optimizer, "implementation": "none"}
    formula = architecture(target).formula("train-memory", **way).partial(H="H")
    stored = {name: number for name, number in sizes.items() if name not in ("B", "S")}  # no activations, so no tokens
    assert formula.value(stored) == train_bytes(component, where, **way, device="cpu") > 0


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize(("recipe", "implementation"), [("fp32", "eager"), ("bf16", "eager"), ("bf16", "sdpa")])
@pytest.mark.parametrize("target", ["gpt2", "llama", "bert"])
def test_training_memory_includes_the_saved_activations(
    target: str, recipe: str, implementation: str, recompute: str
) -> None:
    component, where, sizes = numbers(target)
    way = {"recipe": recipe, "implementation": implementation, "recompute": recompute}
    formula = architecture(target).formula("train-memory", **way).partial(H="H")
    assert formula.value(sizes) == train_bytes(component, where, **way, device="cpu")


TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "fp8": torch.float8_e4m3fn}


@pytest.mark.parametrize("sizes", [cache_rules.SIZES, saves.SIZES], ids=["cache", "activations"])
def test_bytes_per_element_equal_those_of_torch(sizes: dict[str, Expr]) -> None:
    assert {name: size for name, size in sizes.items() if name != "symbolic"} == {
        name: dtype.itemsize for name, dtype in TORCH.items() if name in sizes
    }
    assert sizes["symbolic"] == W
    assert (torch.float.itemsize, torch.long.itemsize, torch.long.itemsize) == (
        saves.SINGLE,
        saves.LONG,
        traffic_rules.LONG,
    )


def test_bytes_per_parameter_match_zero_paper() -> None:
    """Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1: 2 + 2 + 12 = 16 with Adam; 18 with 4-byte gradients."""
    model = architecture("llama-2-7b")
    count = model.params.value()
    steps = 4 * (32 * 9 + 3)  # torch has a step counter for each of nine weights per layer, and three more
    for recipe, each in (("fp32", 16), ("bf16", 16), ("bf16-fp32-gradients", 18)):
        formula = model.formula("train-memory", recipe=recipe, implementation="none")
        assert formula.value() == each * count + steps
    pure = model.formula("train-memory", recipe="pure-bf16", implementation="none")
    assert pure.value() == (2 + 2 + 2 * 2) * count + steps  # two moments of 2 bytes
    assert set(RECIPES) == {"fp32", "bf16", "bf16-fp32-gradients", "pure-bf16"}


def test_eight_bit_adam_state_matches_bitsandbytes() -> None:
    """By hand; GPT-2's vectors are all small: of E, 3E and 4E elements with E = 768."""
    gpt2 = architecture("gpt2")
    formula = gpt2.formula("train-memory", optimizer="adam-8bit", implementation="none")
    # the 12E² of a layer's matrices are whole blocks of 256; so are 1024E, and 50,257E = 150,771 blocks
    matrices = 12 * 12 * 768**2 + 1024 * 768 + 50_257 * 768
    vectors = 12 * 13 * 768 + 2 * 768
    assert formula.value() == 8 * (matrices + vectors) + 2 * (matrices + 4 * matrices // 256) + 8 * vectors
    assert parse(formula.code()) == formula.expanded


def test_megatron_activations_add_to_the_model_states() -> None:
    """34sbh + 5as²b of activations, plus 16 bytes for each of 12h² + 13h parameters and 12 step counters."""
    model = architecture("gpt2")
    layer = model.formula("train-memory", recipe="bf16", implementation="megatron", dropout="on").part("h")
    assert layer.equals("34*B*S*E + 5*B*A*S**2 + 16*(12*E**2 + 13*E) + 4*12")


def test_megatron_activations_require_half_precision() -> None:
    with pytest.raises(SymformerError, match="implementation=megatron needs half precision"):
        architecture("gpt2").formula("train-memory", implementation="megatron")
    with pytest.raises(SymformerError, match="transformers does not have this model"):
        architecture("palm").formula("train-memory")


def test_inference_memory_of_llama_2_70b() -> None:
    """Llama-2-70B: 2 bytes per parameter, 1.25 GiB of cache, 4 bytes for each of 32,000 logits."""
    memory = architecture("llama-2-70b").formula("inference-memory")
    assert memory.value("llama-2-70b", B=1, C=4096) == 2 * 68_976_648_192 + 5 * 2**28 + 4 * 32_000


@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
@pytest.mark.parametrize("recipe", ["fp32", "bf16"])
def test_offloaded_state_is_counted_on_the_host(recipe: str, optimizer: str) -> None:
    """The parameters and gradients that torch has stay on the device; the master copies and the state do not."""
    component, where, sizes = numbers("llama")
    parameters, gradients, masters, state = TorchWitness(component, where).states(optimizer, recipe == "fp32", "cpu")
    way = {"recipe": recipe, "optimizer": optimizer, "implementation": "none"}
    stored = {name: number for name, number in sizes.items() if name not in ("B", "S")}
    on_device, on_host = (
        architecture("llama").formula("train-memory", **way, offload=place).partial(H="H").value(stored)
        for place in ("optimizer", "host")
    )
    assert (on_device, on_host) == (parameters + gradients, masters + state)
    assert on_host > 0
