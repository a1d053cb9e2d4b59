"""Forward FLOPs against torch's own counter, at sizes that all differ, and at the sizes that others published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from sympy import Symbol
from torch import nn

from symformer import architecture, component
from symformer.architectures.base import Architecture
from symformer.sizes import close
from symformer.symbols import SYMBOLS, B, S, S_enc
from symformer.witness.measure import build

from .oracle import counted_flops, distinct


@dataclass
class Case:
    """An architecture, some options and sizes, and how its witness is called."""

    target: str
    sizes: dict[str, int]
    call: Callable[[nn.Module, dict[Symbol, int]], int]
    options: dict[str, object] = field(default_factory=dict)


def tokens(*names: Symbol) -> Callable[[dict[Symbol, int]], torch.Tensor]:
    return lambda numbers: torch.zeros([numbers[name] for name in names], dtype=torch.long, device="meta")


def _hugging_face(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    """Eager attention, a 4-D mask and no cache: on meta nothing else is counted whole."""
    module.config._attn_implementation = "eager"
    length = numbers[S]
    mask = torch.zeros(numbers[B], 1, length, length, device="meta")
    return counted_flops(
        module.eval(),
        tokens(B, S)(numbers),
        attention_mask=mask,
        position_ids=torch.zeros(1, length, dtype=torch.long, device="meta"),
        must=("bmm", "mm") if module.config.model_type == "llama" else ("bmm", "addmm"),
        **({} if module.config.model_type == "bert" else {"use_cache": False}),
    )


def _plain(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    return counted_flops(module, tokens(B, S)(numbers), must=("bmm",))


def _without_attention(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    return counted_flops(module, tokens(B, S)(numbers), must=("addmm",))


def _layer(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    width = numbers[SYMBOLS["E"]]
    x = torch.zeros(numbers[S], numbers[B], width, device="meta")
    return counted_flops(module, x, must=("bmm", "addmm"))


def _two_sided(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    width = numbers[SYMBOLS["E"]]
    x = torch.zeros(numbers[S], numbers[B], width, device="meta")
    memory = torch.zeros(numbers[S_enc], numbers[B], width, device="meta")
    first, second = (x, memory) if isinstance(module, nn.TransformerDecoderLayer) else (memory, x)
    return counted_flops(module, first, second, must=("bmm", "addmm"))


def _translated(module: nn.Module, numbers: dict[Symbol, int]) -> int:
    return counted_flops(module, tokens(B, S_enc)(numbers), tokens(B, S)(numbers), must=("bmm", "addmm"))


RUN = {"B": 2, "S": 7}
CASES = [
    Case("feed-forward-lm", {"V": 29, "E": 5, "H": 16, **RUN}, _without_attention),
    Case("bare-bones-transformer-lm", {"V": 29, "P": 13, "E": 5, "H": 16, **RUN}, _plain),
    Case("gpt2", {"V": 29, "P": 13, "E": 12, "H": 11, "L": 5, "A": 3, **RUN}, _hugging_face),
    Case("gpt2", {"V": 29, "P": 13, "E": 12, "H": 11, "L": 5, "A": 3, **RUN}, _hugging_face, {"head": "none"}),
    Case("gpt-from-scratch", {"V": 29, "P": 13, "E": 12, "L": 5, "A": 3, **RUN}, _plain),
    Case("bert", {"V": 29, "P": 13, "V_type": 4, "E": 12, "H": 11, "L": 5, "A": 3, **RUN}, _hugging_face),
    Case("bert", {"V": 29, "P": 13, "V_type": 4, "E": 12, "H": 11, "L": 5, "A": 3, **RUN}, _hugging_face,
         {"head": "mlm"}),
    Case("bert", {"V": 29, "P": 13, "V_type": 4, "E": 12, "H": 11, "L": 5, "A": 3, **RUN}, _hugging_face,
         {"head": "pretraining"}),
    Case("llama", {"V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "G": 3, "D": 10, **RUN}, _hugging_face),
    Case("palm", {"V": 29, "E": 24, "H": 11, "L": 5, "A": 6, "D": 10, **RUN}, _plain),
    Case("transformer-encoder-layer", {"E": 12, "H": 11, "A": 3, **RUN}, _layer),
    Case("transformer-decoder-layer", {"E": 12, "H": 11, "A": 3, "S_enc": 9, **RUN}, _two_sided),
    Case("transformer", {"E": 12, "H": 11, "A": 3, "L_enc": 4, "L_dec": 5, "S_enc": 9, **RUN}, _two_sided),
    Case("transformer", {"V": 29, "E": 12, "H": 11, "A": 3, "L_enc": 4, "L_dec": 5, "S_enc": 9, **RUN}, _translated,
         {"embeddings": True}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case.target, *map(str, case.options.values())]))
def test_flops_equal_torchs_counter(case: Case) -> None:
    numbers = distinct(case.sizes)
    model = architecture(case.target, **case.options)
    general = model.set({SYMBOLS[name]: _integer(number) for name, number in case.sizes.items()})
    assert isinstance(model.component, Architecture)
    module = build(model.component, {name: number for name, number in numbers.items() if name not in (B, S, S_enc)})
    assert general.formula("flops").value() == case.call(module, numbers)


def _integer(number: int) -> object:
    from sympy import Integer

    return Integer(number)


def test_every_architecture_is_counted() -> None:
    from symformer.architectures import names

    assert {case.target for case in CASES} == set(names())


PUBLISHED = [
    # nanoGPT's sizing notebook; by hand 2*1024*(84,934,656 + 38,597,376) + 4*12*1024^2*768
    ("gpt2", {"B": 1, "S": 1024}, 291_648_307_200),
    # 2*2048*(6,738,415,616 - 131,072,000 - 266,240) + 4*32*2048^2*4096
    ("llama-2-7b", {"B": 1, "S": 2048}, 29_261_612_187_648),
]


@pytest.mark.parametrize(("target", "run", "flops"), PUBLISHED)
def test_published(target: str, run: dict[str, int], flops: int) -> None:
    assert architecture(target).formula("flops").value(target, **run) == flops


def test_causal_attention_counts_the_pairs_it_keeps() -> None:
    """S(S+1)/2 pairs of S²: the difference is 2 contractions of 2*B*L*E FLOPs a pair, over S(S-1)/2 pairs."""
    model = architecture("gpt2")
    full, causal = (model.formula("flops", attention=choice) for choice in ("full", "causal"))
    spared = full.expanded - causal.expanded
    assert component("mlp").formula("flops").equals("4*B*S*E*H")
    assert (spared - (4 * SYMBOLS["L"] * B * SYMBOLS["E"] * S * (S - 1) / 2)).expand() == 0
    encoder = architecture("bert")
    assert encoder.formula("flops", attention="causal") == encoder.formula("flops")


def test_relations_close() -> None:
    assert close({S: B, S_enc: S}) == {S: B, S_enc: B}
