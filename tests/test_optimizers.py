"""Optimizer states, against the tensors that real optimizers keep after a step, collected numbers and arithmetic."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from sympy import Integer

from symformer import SymformerError, architecture
from symformer.architectures.base_architecture import Architecture
from symformer.language.arithmetic import parse
from symformer.language.symbols import SYMBOLS, R
from symformer.quantities.optimizers import OPTIMIZERS, UpdatedWeight
from symformer.quantities.train_memory import QUANTITY, USUAL
from symformer.witness.torch_counts import TorchWitness

Parameters = list[torch.Tensor]
# Vectors and matrices around the smallest quantized weight (4096 elements), of whole blocks of 128 or 256, and others.
SHAPES = (
    (37,), (4096,), (4224,), (5003,), (5120,), (70, 61), (65, 63), (96, 64), (9, 64), (3, 40, 50), (2, 3, 5),
    (5, 32, 40),
)  # fmt: skip
DTYPES = {torch.float32: 4, torch.bfloat16: 2}
LIBRARIES = "torch", "bitsandbytes", "transformers"


def ours(name: str, shape: tuple[int, ...], size: int = 4, linear: bool = False, rank: int | None = None) -> int:
    """Return our bytes of the state of one weight."""
    weight = UpdatedWeight(tuple(map(Integer, shape)), Integer(size), linear)
    found = [prod(tensor.factors, start=Integer(1)) for tensor in OPTIMIZERS[name].state(weight)]
    total = sum((each.xreplace({R: Integer(rank)}) if rank else each for each in found), start=Integer(0))
    assert total.is_Integer, (name, shape, total)
    return int(total)


def constructors(library: str) -> dict[str, Callable[[Parameters], torch.optim.Optimizer]]:
    """Return the optimizers of a library by our names."""
    if library == "torch":
        optim = torch.optim
        return {
            "adam": optim.AdamW,
            "amsgrad": lambda weights: optim.AdamW(weights, amsgrad=True),
            "nadam": optim.NAdam,
            "radam": optim.RAdam,
            "adamax": optim.Adamax,
            "adagrad": optim.Adagrad,
            "adadelta": optim.Adadelta,
            "adafactor": optim.Adafactor,
            "rmsprop": optim.RMSprop,
            "rmsprop-centered-momentum": lambda weights: optim.RMSprop(weights, centered=True, momentum=0.9),
            "asgd": optim.ASGD,
            "rprop": optim.Rprop,
            "sgd": optim.SGD,
            "momentum": lambda weights: optim.SGD(weights, momentum=0.9),
        }
    if library == "transformers":
        from transformers.optimization import Adafactor

        return {
            "adafactor-transformers": Adafactor,
            "adafactor-beta1": lambda weights: Adafactor(weights, beta1=0.9),
        }
    theirs = pytest.importorskip("bitsandbytes").optim
    return {
        "adam-8bit": theirs.AdamW8bit,
        "lion": theirs.Lion,
        "lion-8bit": theirs.Lion8bit,
        "ademamix": theirs.AdEMAMix,
        "ademamix-8bit": theirs.AdEMAMix8bit,
        "lamb": theirs.LAMB,
        "lamb-8bit": theirs.LAMB8bit,
        "lars": lambda weights: theirs.LARS(weights, lr=0.1, momentum=0.9),
        "lars-8bit": lambda weights: theirs.LARS8bit(weights, lr=0.1, momentum=0.9),
        "momentum-8bit": lambda weights: theirs.SGD8bit(weights, lr=0.1, momentum=0.9),
        "rmsprop-8bit": theirs.RMSprop8bit,
        "adagrad-8bit": theirs.Adagrad8bit,
        "paged-adam": theirs.PagedAdamW,
        "paged-adam-8bit": theirs.PagedAdamW8bit,
        "paged-lion": theirs.PagedLion,
        "paged-lion-8bit": theirs.PagedLion8bit,
        "paged-ademamix": theirs.PagedAdEMAMix,
        "paged-ademamix-8bit": theirs.PagedAdEMAMix8bit,
    }


def held(optimizer: torch.optim.Optimizer, weight: torch.Tensor) -> int:
    """Return the bytes of the tensors kept of one weight, without bitsandbytes' tables that all weights share."""
    tensors = [
        value
        for name, value in optimizer.state[weight].items()
        if isinstance(value, torch.Tensor) and name not in ("qmap1", "qmap2")
    ]
    return sum(each.numel() * each.element_size() for each in tensors)


def stepped(make: Callable[[Parameters], torch.optim.Optimizer], weights: Parameters) -> torch.optim.Optimizer:
    """Return an optimizer after one step on the CPU."""
    for weight in weights:
        weight.grad = torch.full_like(weight, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # paged states are not paged on the CPU
        optimizer = make(weights)
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
def test_state_equals_that_of_a_real_optimizer_after_one_step(library: str, dtype: torch.dtype) -> None:
    for name, make in constructors(library).items():
        weights = [torch.ones(shape, dtype=dtype) for shape in SHAPES]
        optimizer = stepped(make, weights)
        theirs = {shape: held(optimizer, weight) for shape, weight in zip(SHAPES, weights, strict=True)}
        assert theirs == {shape: ours(name, shape, DTYPES[dtype]) for shape in SHAPES}, name
        assert (min(theirs.values()) > 0) == (name != "sgd"), name


# Bytes of the state after one step of torchao 0.18.0 and galore-torch 1.0 on the CPU under torch 2.13, for float32 and
# bfloat16 weights. GaLore's rank is 16; the shape of its projector is that of ``GaLoreProjector.ortho_matrix``.
RECORDED = {
    # 2 moments and a step of 4 bytes; a moment of 5,120 elements has 20 blocks of 256 or 40 of 128
    ("torchao-adam-8bit", (5120,), False): (2 * (5120 + 4 * 20 + 1024) + 4, 12_452),
    ("torchao-adam-4bit", (5120,), False): (2 * (2560 + 4 * 40 + 64) + 4, 5_572),
    ("torchao-adam-fp8", (5120,), False): (2 * (5120 + 4 * 20) + 4, 10_404),
    # 4,224 = 33 blocks of 128 is not a multiple of 256
    ("torchao-adam-8bit", (4224,), False): (33_796, 16_900),
    ("torchao-adam-4bit", (4224,), False): (2 * (2112 + 4 * 33 + 64) + 4, 4_620),
    ("torchao-adam-fp8", (4224,), False): (33_796, 16_900),
    # 4,270 is a multiple of neither; 4,095 and less is small
    ("torchao-adam-4bit", (70, 61), False): (2 * 4 * 4270 + 4, 17_084),
    ("torchao-adam-8bit", (65, 63), False): (2 * 4 * 4095 + 4, 16_384),
    ("torchao-adam-8bit", (96, 64), False): (14_532, 14_532),
    ("torchao-adam-8bit", (5, 32, 40), False): (15_052, 15_052),
    ("torchao-adam-4bit", (5, 32, 40), False): (6_932, 6_932),
    ("torchao-adam-fp8", (5, 32, 40), False): (13_004, 13_004),
    ("torchao-adam-fp8", (37,), False): (300, 152),
    # moments of 64 x 16, and a projector of 16 x 48; and a side of 9, which has only 9 singular vectors
    ("galore-adam", (64, 48), True): (2 * 4 * 64 * 16 + 4 * 16 * 48, 4_096 + 1_536),
    ("galore-adam", (48, 64), True): (8_192 + 3_072, 4_096 + 1_536),
    ("galore-adam", (40, 40), True): (5_120 + 2_560, 2_560 + 1_280),
    ("galore-adam", (9, 64), True): (4_608 + 324, 2_304 + 162),
    ("galore-adam", (37,), False): (296, 148),
    ("galore-adam", (3, 20, 30), False): (14_400, 7_200),
}


@pytest.mark.parametrize(("name", "shape", "linear"), RECORDED)
def test_state_equals_recorded_runs_of_torchao_and_galore(name: str, shape: tuple[int, ...], linear: bool) -> None:
    single, half = RECORDED[name, shape, linear]
    rank = 16 if linear else None
    assert ours(name, shape, 4, linear, rank) == single
    assert ours(name, shape, 2, linear, rank) == half


COLLECTED = {
    "adafactor-torch": "adafactor", "adafactor-torch-3d": "adafactor", "adagrad": "adagrad", "adam-bf16": "adam",
    "adamw-amsgrad": "amsgrad", "asgd": "asgd", "bnb-adamw8bit-128x512": "adam-8bit", "bnb-adamw8bit-5000": "adam-8bit",
    "bnb-adamw8bit-64x64": "adam-8bit", "bnb-ademamix8bit-128x512": "ademamix-8bit", "bnb-lion8bit-63x65": "lion-8bit",
    "galore-adamw-r16": "galore-adam", "galore-adamw-r16-tall": "galore-adam", "muon": "muon", "muon-bf16": "muon",
    "rmsprop": "rmsprop", "rmsprop-centered-momentum": "rmsprop-centered-momentum", "sgd-momentum": "momentum",
    "torchao-adamw8bit": "torchao-adam-8bit",
}  # fmt: skip


def test_state_equals_collected_numbers() -> None:
    rows = json.loads(Path(__file__).with_name("serving.json").read_text("utf-8"))
    collected = {row["format"]: row for row in rows if row["quantity"] == "optimizer-state-bytes"}
    assert collected.keys() == COLLECTED.keys()
    for form, row in collected.items():
        shape = tuple(row["facts"]["shape"])
        name, linear = COLLECTED[form], len(shape) == 2
        # the collected numbers of GaLore exclude the projector: 4 bytes for each of 16 x min(512, 128)
        projector = 4 * 16 * 128 if name == "galore-adam" else 0
        found = ours(name, shape, 2 if form.endswith("bf16") else 4, linear, 16)
        assert found == row["value"] + projector, form


MODELS: dict[str, dict[str, int]] = {
    "gpt2": {"V": 29, "P": 18, "E": 24, "H": 96, "L": 3, "A": 6},
    "llama": {"V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "G": 3, "D": 10},
    "mixtral": {"V": 29, "E": 24, "M": 11, "L": 5, "A": 6, "G": 3, "D": 10, "X": 7, "K": 2},
}


@pytest.mark.parametrize("recipe", ["fp32", "pure-bf16"])
@pytest.mark.parametrize("target", MODELS)
def test_muon_updates_the_matrices_of_layers_and_adam_the_other_weights(target: str, recipe: str) -> None:
    """Muon refuses weights with one or three dimensions, such as the experts of Mixtral."""
    component = architecture(target).component
    assert isinstance(component, Architecture)
    where = {SYMBOLS[name]: number for name, number in MODELS[target].items()}
    model: Any = TorchWitness(component, where).model("cpu")
    model.to(torch.float32 if recipe == "fp32" else torch.bfloat16)
    weights = dict(model.named_parameters())
    tables = [name for name in weights if any(word in name for word in ("embed", "lm_head", "wte", "wpe"))]
    assert tables
    matrices = [weight for name, weight in weights.items() if weight.ndim == 2 and name not in tables]
    others = [weight for weight in weights.values() if not any(weight is each for each in matrices)]
    kept = 0
    for make, chosen in ((torch.optim.Muon, matrices), (torch.optim.AdamW, others)):
        optimizer = stepped(make, chosen)
        kept += sum(held(optimizer, weight) for weight in chosen)
    assert kept > 0
    stored = 2 * sum(weight.numel() * weight.element_size() for weight in weights.values())  # weights and gradients
    formula = architecture(target).formula("train-memory", recipe=recipe, optimizer="muon", implementation="none")
    assert formula.value(MODELS[target]) == stored + kept


@pytest.mark.parametrize("optimizer", ["galore-adam", "torchao-adam-4bit"])
def test_formula_of_each_shape_can_be_read_again(optimizer: str) -> None:
    formula = architecture("gpt2").formula("train-memory", optimizer=optimizer, implementation="none")
    assert parse(formula.code()) == formula.expanded


def test_galore_projects_the_matrices_of_layers() -> None:
    """By hand for GPT-2 with E = 768 and R = 128: per layer, sides (768, 2304), (768, 768) and twice (768, 3072)."""
    gpt2 = architecture("gpt2")
    projected = sum(4 * 128 * (2 * longer + 768) for longer in (2304, 768, 3072, 3072))
    others = gpt2.params.value() - 12 * 12 * 768**2
    formula = gpt2.formula("train-memory", optimizer="galore-adam", implementation="none")
    assert formula.value(R=128) == 8 * gpt2.params.value() + 12 * projected + 8 * others


def test_galore_supports_neither_adapters_nor_tensor_parallelism() -> None:
    llama = architecture("llama")
    with pytest.raises(SymformerError, match="optimizer=galore-adam with tensor=on: GaLore is"):
        llama.formula("train-memory", optimizer="galore-adam", tensor="on", implementation="none")
    with pytest.raises(SymformerError, match="optimizer=galore-adam with adapters: GaLore is"):
        architecture("llama", lora="q_proj").formula("train-memory", optimizer="galore-adam", implementation="none")


@pytest.mark.parametrize("data", ["zero1", "zero2", "zero3"])
def test_state_that_is_not_per_element_is_not_sharded(data: str) -> None:
    """By hand: a matrix of 6 x 10 on 4 ranks has 15 elements per rank and 6 row means, which is one and a half."""
    gpt2 = architecture("gpt2")
    refused = [name for name, each in OPTIMIZERS.items() if each.undivided]
    assert {name for name in OPTIMIZERS if name.endswith(("8bit", "4bit", "fp8"))} < {*refused}
    assert {"adafactor", "adafactor-beta1", "galore-adam", "muon", "lamb", "lars"} < {*refused}
    for name in refused:
        with pytest.raises(SymformerError, match=f"optimizer={name} with data={data}: .* adam, momentum and sgd"):
            gpt2.formula("train-memory", optimizer=name, data=data, implementation="none")


@pytest.mark.parametrize(("optimizer", "each", "once"), [("nadam", 8, 8), ("asgd", 4, 12), ("ademamix", 12, 0)])
def test_every_rank_keeps_the_numbers_that_a_weight_has_once(optimizer: str, each: int, once: int) -> None:
    """GPT-2 has 12 weights per layer and 4 more; the weights and gradients of 4 bytes each stay whole."""
    gpt2 = architecture("gpt2")
    count = gpt2.params.value()
    formula = gpt2.formula("train-memory", optimizer=optimizer, data="zero1", implementation="none")
    assert formula.value(N_dp=8) == 8 * count + each * count // 8 + once * (12 * 12 + 4)


def test_every_optimizer_is_checked_and_states_its_bytes() -> None:
    stated = {name for library in LIBRARIES for name in constructors(library)}
    assert stated | {name for name, _, _ in RECORDED} | {"muon"} == {*OPTIMIZERS}
    assert len(OPTIMIZERS) == 39
    for name, optimizer in OPTIMIZERS.items():
        assert "byte" in optimizer.meaning or name == "sgd", name
        assert name.startswith("paged") == ("managed memory" in optimizer.meaning)
    assert {*QUANTITY.conventions["optimizer"].usual} == {*USUAL}
