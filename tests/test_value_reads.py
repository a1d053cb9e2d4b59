"""Factories whose code reads tensor values while it builds: counted as by torch on the CPU, or refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from symformer.language.errors import WitnessError
from symformer.witness import trace
from symformer.witness.value_reads import MOST, ValueReads

from .samples import sampled


class Sinusoids(nn.Module):
    """An encoder as in OpenAI's Whisper: a computed table of sines, and a scale read from a tensor."""

    pos: torch.Tensor

    def __init__(self, P: int, E: int, L: int) -> None:
        super().__init__()
        rates = torch.exp(-torch.arange(E // 2) / (E // 2 - 1))
        angles = torch.arange(P)[:, None] * rates
        self.register_buffer("pos", torch.cat([angles.sin(), angles.cos()], dim=1))
        self.scale = torch.tensor(E**-0.25).item()
        self.layers = nn.ModuleList([nn.Linear(E, E, bias=False) for _ in range(L)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.pos[: x.shape[1]]
        for layer in self.layers:
            x = layer(x) * self.scale
        return x


class Rates(nn.Module):
    """Drop rates as in CCT and many models of timm; the second half of the layers has a bias."""

    def __init__(self, E: int, L: int) -> None:
        super().__init__()
        rates = torch.linspace(0, 1, L)
        self.layers = nn.ModuleList([nn.Linear(E, E, bias=rate > 0.5) for rate in rates.tolist()])


class Compared(nn.Module):
    """A branch on a comparison of tensors. On the meta device it has no result, and "true" would be a guess."""

    def __init__(self, E: int) -> None:
        super().__init__()
        self.layer = nn.Linear(E, E, bias=not bool((torch.arange(E) < 0).any()))


class Projected(nn.Module):
    """Random features as in Performer, in orthogonal blocks."""

    def __init__(self, E: int, M: int) -> None:
        super().__init__()
        block = torch.linalg.qr(torch.randn(E, E))[0]
        self.register_buffer("features", torch.cat([block] * -(-M // E))[:M] * torch.randn(M).norm().item())
        self.query = nn.Linear(E, M, bias=False)


class Tied(nn.Module):
    def __init__(self, V: int, E: int) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(V, E), nn.Linear(E, V, bias=False)
        self.head.weight = self.table.weight
        self.scale = float(torch.ones(()))


FORMULAS: dict[str, tuple[Callable[..., nn.Module], dict[str, int], str]] = {
    "sinusoids": (Sinusoids, {"P": 30, "E": 16, "L": 3}, "L*E**2"),
    "drop rates": (Rates, {"E": 16, "L": 4}, "L*E**2 + E*floor(L/2)"),
    "a comparison": (Compared, {"E": 16}, "E**2 + E"),
    "random features": (Projected, {"E": 16, "M": 40}, "E*M"),
    "tied": (Tied, {"V": 101, "E": 16}, "V*E"),
}


@pytest.mark.parametrize("name", sampled(2, FORMULAS))
def test_code_that_reads_tensor_values_during_construction_is_traced(name: str) -> None:
    build, sizes, formula = FORMULAS[name]
    assert trace(build, sizes).model.params.equals(formula)


def test_a_model_built_from_tensor_values_runs() -> None:
    def inputs(B: int, S: int, E: int) -> torch.Tensor:
        return torch.empty(B, S, E)

    found = trace(Sinusoids, {"P": 30, "E": 16, "L": 3}, inputs=inputs)
    assert found.model.formula("flops").equals("2*B*S*L*E**2")


class Drawn(nn.Module):
    def __init__(self, E: int) -> None:
        super().__init__()
        self.layer = nn.Linear(E, int((torch.rand(E) > 0.5).sum()))


def test_a_width_that_depends_on_random_values_is_refused_with_its_line() -> None:
    line = Drawn.__init__.__code__.co_firstlineno + 2
    said = rf"the code reads values of tensors while it builds \(tests/test_value_reads.py:{line}: self.layer = .*\)"
    before = torch.random.get_rng_state()
    with pytest.raises(WitnessError, match=said):
        trace(Drawn, {"E": 16})
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_large_tensor_has_no_values_and_takes_no_memory() -> None:
    with torch.device("cpu"), ValueReads():  # type: ignore[no-untyped-call]
        row = torch.arange(MOST)
        table = row[:, None] * row  # 8 TB
        assert (table.is_meta, row.is_meta, (row + 1).is_meta) == (True, False, False)
        assert int(row[-1]) == MOST - 1
        with pytest.raises(WitnessError, match="writes values of a meta tensor"):
            row.copy_(table[0])
