"""Recomputation in the backward pass, and savings from frozen weights, compared with torch."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from symformer import SymformerError, architecture, component
from symformer.architectures.base_architecture import Architecture
from symformer.language.symbols import SYMBOLS
from symformer.witness.torch_counts import train_flops


def draw(target: str, seed: int) -> dict[str, int]:
    """Return random sizes, all different; widths are multiples of the heads."""
    source = random.Random(f"{target} {seed}")  # noqa: S311
    while True:
        sizes = {name: source.randint(2, 90) for name in ("B", "S", "A", "V", "P", "H")} | {"L": source.randint(2, 7)}
        if target == "llama":
            del sizes["P"]
            sizes |= {"G": source.randint(2, 9), "D": 2 * source.randint(2, 9)}
            sizes["A"] = sizes["G"] * source.randint(2, 4)
        if target == "bert":
            sizes["V_type"] = source.randint(2, 60)
        sizes["E"] = sizes["A"] * source.randint(2, 9)
        if "P" in sizes:  # a position for every token
            sizes["P"] += sizes["S"]
        if len(set(sizes.values())) == len(sizes):
            return sizes


def both(target: str, sizes: dict[str, int], recompute: str, early_stop: bool = False) -> tuple[int, int]:
    """Return the FLOPs of the formula and of torch."""
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    formula = model.formula("train-flops", recompute=recompute).partial(H="H")
    return formula.value(sizes), train_flops(model.component, numbers, recompute, early_stop)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("target", ["gpt2", "llama", "bert"])
def test_recomputed_flops_match_torch_checkpoints(target: str, recompute: str, seed: int) -> None:
    ours, theirs = both(target, draw(target, seed), recompute)
    assert ours == theirs > 0


def test_early_stopping_of_torch_checkpoints_saves_known_products() -> None:
    """Recomputation stops early: Llama's layer ends in a product whose result is not needed, the core in its mix.

    By hand: the down projection 2*B*S*H*E of each layer, and the mix 2*B*A*S*S*D of each layer.
    """
    at = draw("llama", 4)
    full, stopped = both("llama", at, "full", early_stop=True)
    assert full - stopped == 2 * at["B"] * at["S"] * at["H"] * at["E"] * at["L"]
    selective, stopped = both("llama", at, "selective", early_stop=True)
    assert selective - stopped == 2 * at["B"] * at["A"] * at["S"] ** 2 * at["D"] * at["L"]


class Updated(nn.Module):
    """A frozen linear layer with a low-rank update, Hu et al. 2021, arXiv:2106.09685, eq. 3."""

    def __init__(self, base: nn.Module, rank: int) -> None:
        super().__init__()
        rows, columns = base.weight.shape
        inner, outer = (rows, columns) if isinstance(base, Conv1D) else (columns, rows)
        self.base = base
        self.down = nn.Parameter(torch.empty(rank, inner, device="meta"))
        self.up = nn.Parameter(torch.empty(outer, rank, device="meta"))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + nn.functional.linear(nn.functional.linear(x, self.down), self.up)


def update(model: nn.Module, rank: int) -> None:
    """Freeze a model, and add an update to each linear layer of its repeated layers."""
    model.requires_grad_(False)
    linear = [name for name, part in model.named_modules() if isinstance(part, (nn.Linear, Conv1D))]
    layers = [name for name in linear if any(word.isdigit() for word in name.split("."))]
    assert layers
    for name in layers:
        above, _, own = name.rpartition(".")
        setattr(model.get_submodule(above), own, Updated(model.get_submodule(name), rank))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("target", ["gpt2", "llama", "bert"])
def test_lora_flops_match_torch(target: str, recompute: str, seed: int) -> None:
    sizes, rank = draw(target, seed), 97  # all other sizes are at most 90, except for products
    model = architecture(target)
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    formula = model.formula("train-flops", train="lora", recompute=recompute).partial(H="H")
    theirs = train_flops(model.component, numbers, recompute, prepare=lambda built: update(built, rank))
    assert formula.value({**sizes, "R": rank}) == theirs > 0


def test_lora_needs_linear_layers() -> None:
    with pytest.raises(SymformerError, match="and this model has none"):
        component("mlp").formula("train-flops", train="lora")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("mixtral", "experts.gate_up_proj: adapters of expert matrices are not supported"),
        ("deepseek-v3", "experts.gate_up_proj: adapters of expert matrices are not supported"),
        ("transformer", "^train=lora: .*self_attn.in_proj is not a module"),
    ],
)
def test_lora_of_fused_matrices_is_refused(target: str, reason: str) -> None:
    with pytest.raises(SymformerError, match=reason):
        architecture(target).formula("train-flops", train="lora")


def freeze_tables(model: nn.Module) -> None:
    """No table is trained; a tied head is the same weight."""
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    assert tables
    for table in tables:
        table.weight.requires_grad_(False)


@pytest.mark.parametrize("recompute", ["none", "selective"])
@pytest.mark.parametrize(("target", "tied"), [("gpt2", True), ("gpt2", False), ("llama", False), ("bert", True)])
def test_flops_with_frozen_embeddings_match_torch(target: str, tied: bool, recompute: str) -> None:
    sizes = draw(target, 5)
    model = architecture(target, **({"tied": tied} if target == "gpt2" else {}))
    assert isinstance(model.component, Architecture)
    numbers = {SYMBOLS[name]: number for name, number in sizes.items()}
    theirs = train_flops(model.component, numbers, recompute, prepare=freeze_tables)
    formula = model.formula("train-flops", recompute=recompute, train="frozen-embeddings").partial(H="H")
    assert formula.value(sizes) == theirs > 0


def test_flops_saved_by_frozen_embeddings_by_hand() -> None:
    """By hand, for GPT-2: the tied head's table, 2*B*S*E*V. The first norm is trained, so its readers are unchanged."""
    model = architecture("gpt2")
    whole, frozen = (model.formula("train-flops", train=train).expanded for train in ("all", "frozen-embeddings"))
    width, vocabulary, batch, length = (SYMBOLS[name] for name in ("E", "V", "B", "S"))
    assert (whole - frozen - 2 * batch * length * width * vocabulary).expand() == 0
