"""Traces: closed forms derived from third-party torch code, compared with formulas by hand."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner
from sympy import Expr, Integer, Max, Symbol, expand
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import symformer as sf
from symformer import architectures
from symformer.catalogue.measured_model import MEASURED
from symformer.commands.cli import cli
from symformer.language.arithmetic import parse
from symformer.language.errors import WitnessError
from symformer.language.notation.latex import latex
from symformer.language.symbols import (
    A,
    B,
    C_win,
    D,
    D_rope,
    E,
    G,
    H,
    L,
    L_dense,
    L_global,
    L_local,
    L_moe,
    M,
    S,
    name_size,
)
from symformer.quantities import quantities
from symformer.witness import error_messages, ignored_at, run_traces, trace, values_at
from symformer.witness.index_checks import IndexCheck
from symformer.witness.measured_points import Points
from symformer.witness.row_samples import Samples
from symformer.witness.run_traces import RUNS
from symformer.witness.trace_result import Trace
from symformer.witness.trace_sources import letters
from symformer.witness.tracer import Tracer

from . import traced
from .samples import sampled

REPORTS = Path(__file__).parent.parent / "reports"


class Block(nn.Module):
    """A layer of a GPT, written out."""

    def __init__(self, E: int, H: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(E)
        self.qkv = nn.Linear(E, 3 * E, bias=False)
        self.out = nn.Linear(E, E)
        self.up = nn.Linear(E, H)
        self.down = nn.Linear(H, E, bias=False)


class GPT(nn.Module):
    """A GPT, written out, with a tied head."""

    def __init__(self, V: int, E: int, H: int, L: int) -> None:
        super().__init__()
        self.table = nn.Embedding(V, E)
        self.layers = nn.ModuleList(Block(E, H) for _ in range(L))
        self.head = nn.Linear(E, V, bias=False)
        self.head.weight = self.table.weight


def encoder(E: int, A: int, H: int, L: int) -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(E, A, H), L)


def transformer(E: int, A: int, H: int, L_enc: int, L_dec: int) -> nn.Module:
    return nn.Transformer(E, A, L_enc, L_dec, H)


# An encoder layer: qkv 3E²+3E, out E²+E, two matrices 2EH+H+E, two norms 4E. A decoder layer has 4E²+4E more for its
# second attention and 2E for its norm; nn.Transformer adds a norm of 2E after each stack.
ENCODER = "4*E**2 + 2*E*H + 9*E + H"
CASES: dict[str, tuple[Callable[..., nn.Module], dict[str, int], str]] = {
    # norm 2E, qkv 3E², out E²+E, up EH+H, down EH; the tied head is the table
    "GPT": (GPT, {"V": 101, "E": 12, "H": 7, "L": 2}, "L*(4*E**2 + 2*E*H + 3*E + H) + V*E"),
    "TransformerEncoder": (encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, f"L*({ENCODER})"),
    "Transformer": (
        transformer,
        {"E": 24, "A": 3, "H": 11, "L_enc": 2, "L_dec": 5},
        f"L_enc*({ENCODER}) + L_dec*({ENCODER} + 4*E**2 + 6*E) + 4*E",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_modules_trace_to_the_formula_worked_by_hand(name: str) -> None:
    build, sizes, expected = CASES[name]
    found = sf.trace(build, sizes)
    assert found.model.params.equals(expected), found.model.params
    with torch.device("meta"):
        stored = sum(each.numel() for each in build(**sizes).parameters())
    assert found.model.params.value({name: sizes[name] for name in found.symbols}) == stored > 0
    assert len(found.checked) == 3


# Heads that are options of our models, and our letters for other config fields: transformers gives Mixtral's experts
# the width of an MLP, and Gemma 2 and DeepSeek-V3 a single depth; Gemma 2's layers alternate.
HEADS = {"bert": {"head": "mlm"}}
SAME: dict[str, dict[Symbol, Expr]] = {
    "gpt2": {H: 4 * E},
    "llama": {D: E / A},
    "bert": {},
    "mistral": {},
    "mixtral": {D: E / A, M: H},
    "gemma2": {L_local: L / 2, L_global: L / 2},
    "deepseek-v3": {L_moe: L - L_dense, D: D_rope},
}
FRESH = ("gpt2", "mixtral")  # one of each kind of feed-forward network; the others are stored
BATCHED = {"activations": {"moe": "batched"}}  # the experts that traces run
LETTER = {"params": "N", "flops": "F"}


def composed(name: str) -> sf.Model:
    return sf.architecture(name, **HEADS.get(name, {}))


@pytest.mark.parametrize("quantity", MEASURED)
@pytest.mark.parametrize("name", SAME)
def test_composed_and_traced_formulas_are_the_same_polynomial(name: str, quantity: str) -> None:
    if (name, quantity) in traced.UNKNOWN:
        with pytest.raises(sf.SymformerError):
            composed(name).formula(quantity)
        return
    # Traces read several sequences: for a single one, attention saves a view of a whole projection.
    ours = composed(name).formula(quantity, **BATCHED.get(quantity, {})).expanded.replace(Max, lambda *args: 0)
    ours = ours.xreplace(SAME[name])
    theirs = traced.formula(name, quantity).xreplace(SAME[name])
    assert ours != 0
    assert expand(ours - theirs) == 0, (ours, theirs)
    assert traced.on_file()["traces"][name][quantity]["checked"] == 3


@pytest.mark.parametrize("quantity", MEASURED)
@pytest.mark.parametrize("name", sampled(7, FRESH))
def test_stored_traces_match_fresh_traces(name: str, quantity: str) -> None:
    if (name, quantity) in traced.UNKNOWN:
        return
    assert traced.facts(traced.afresh(name).for_quantity(quantity)) == traced.on_file()["traces"][name][quantity]


def test_stored_traces_are_from_the_installed_library_versions() -> None:
    assert traced.on_file()["versions"] == traced.versions(), "run: python -m tests.traced"
    assert set(traced.on_file()["traces"]) == set(traced.TYPES) == set(SAME)


@pytest.mark.parametrize("quantity", LETTER)
@pytest.mark.parametrize("name", SAME)
def test_the_census_has_the_stored_formulas(name: str, quantity: str) -> None:
    """The census traced them separately, and its page states the same."""
    model_type, _ = traced.TYPES[name]
    page = "".join(each.read_text("utf-8") for each in sorted(REPORTS.glob("census-[0-9]*.md")))
    section = page.partition(f"## {model_type}, ")[2].partition("\n## ")[0]
    shown = section.replace(" \\\\\n&\\quad", "")  # a long sum takes several lines
    formula = sf.model(f"hf:{model_type}").formula(quantity)
    assert expand(formula.expanded - traced.formula(name, quantity).xreplace(formula.relations)) == 0
    assert f"{LETTER[quantity]} &= {latex(formula.display_expr)}\n" in shown
    assert all(f"- {str(size).replace('_', chr(92) + '_')} = " in section for size in formula.totals)


def test_stored_traces_are_of_transformers_architectures() -> None:
    """One of each family; tests/test_recognition.py checks the others row by row."""
    named = {
        name for name in architectures.names() if architectures.architecture(name).component.library == "transformers"
    }
    assert set(SAME) < named


def tokens(B: int, S: int, E: int) -> torch.Tensor:
    return torch.empty(S, B, E)


# Per token, a layer runs qkv 3E², out E², two matrices 2EH, and S² pairs twice over E; two FLOPs per multiply-add.
LAYER = "B*S*(8*E**2 + 4*E*H) + 4*B*S**2*E"


def test_flops_of_a_user_module() -> None:
    """In the backward pass each product has two gradients, except for the input of the first qkv: 2·BS·3E²."""
    found = trace(encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, inputs=tokens)
    assert found.model.formula("flops").equals(f"L*({LAYER})")
    assert found.model.formula("train-flops").equals(f"3*L*({LAYER}) - 6*B*S*E**2")
    backward = {line.path for _, line in found.model.formula("train-flops").root.leaves()}
    # the product of a gradient belongs to the module of its forward product
    assert "layers.*.linear1.mm_backward" in backward
    counter = FlopCounterMode(display=False)
    with counter, torch.device("meta"), sdpa_kernel(SDPBackend.MATH):
        encoder(E=24, A=3, H=11, L=2)(tokens(B=2, S=7, E=24))
    assert found.model.formula("flops").value(E=24, H=11, L=2, B=2, S=7) == counter.get_total_flops() > 0


def x_transformers(V: int, P: int, E: int, L: int, A: int) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    made: nn.Module = TransformerWrapper(num_tokens=V, max_seq_len=P, attn_layers=Decoder(dim=E, depth=L, heads=A))
    return made


def esm2(E: int, A: int, L: int) -> nn.Module:
    from esm.model.esm2 import ESM2

    return ESM2(num_layers=L, embed_dim=E, attention_heads=A)


def token_ids(B: int, S: int) -> torch.Tensor:
    return torch.ones(B, S, dtype=torch.long)


# x-transformers: heads have width 64 for any E, so q, k, v and out are 4·64EA; the MLP 8E²+5E; two norms with only a
# scale, 2E; a table of tokens, one of positions, a norm, and an untied head. ESM-2: attention 4E²+4E, the MLP 8E²+5E,
# two norms 4E; a table of 33 tokens, a norm, a head with a layer E²+E and a norm 2E before the tied table and its bias
# 33; and a regression of contacts over every head of every layer, LA+1, which is not run.
PACKAGES = {
    "x-transformers": (
        x_transformers,
        {"V": 101, "P": 640, "E": 24, "L": 2, "A": 3},
        "L*(8*E**2 + 256*E*A + 7*E) + 2*V*E + P*E + E",
        "B*S*L*(16*E**2 + 512*E*A) + 256*B*S**2*L*A + 2*B*S*V*E",
    ),
    "fair-esm": (
        esm2,
        {"E": 24, "A": 3, "L": 2},
        "L*(12*E**2 + 13*E) + 33*E + 2*E + E**2 + 3*E + 33 + L*A + 1",
        "24*B*S*L*E**2 + 4*B*S**2*L*E + 2*B*S*E**2 + 66*B*S*E",
    ),
}


@pytest.mark.parametrize("package", PACKAGES)
def test_models_of_public_packages_trace_exactly(package: str) -> None:
    build, sizes, params, flops = PACKAGES[package]
    found = trace(build, sizes, inputs=token_ids)
    assert found.model.params.equals(params), found.model.params
    assert found.model.formula("flops").equals(flops), found.model.formula("flops")
    assert ("S is at most P" in found.for_quantity("flops").conditions) == ("P" in sizes)
    with torch.device("meta"):
        stored = sum(each.numel() for each in build(**sizes).parameters())
    assert found.model.params.value({name: sizes[name] for name in found.symbols}) == stored > 0


@pytest.mark.exhaustive
def test_a_model_of_671_billion_parameters_takes_no_memory(tmp_path: Path) -> None:
    """DeepSeek-V3 from its default config, 671 billion parameters: tracing takes less than 2 GB of memory."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "deepseek_v3"}))
    script = (
        "from pathlib import Path; from symformer.commands.cli import cli\n"
        f"cli(['trace', 'hf:deepseek_v3', '--at', {str(config)!r}], standalone_mode=False)\n"
        # the peak of this program; getrusage also counts the program that started it
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *printed, kilobytes = done.stdout.splitlines()
    assert printed[-1].endswith("671,026,404,352")  # as in test_architectures: the checkpoint, without 58 biases of 256
    assert 100_000 < int(kilobytes) < 2_000_000


def strange(B: int, Q: int) -> torch.Tensor:
    return torch.empty(B, Q)


@pytest.mark.parametrize(
    ("inputs", "quantity", "sentence"),
    [
        (None, "flops", "flops needs a forward pass; describe its inputs with"),
        (tokens, "kv-cache", "the module of a factory has no cache that can be traced"),
        (strange, "flops", "inputs requires Q, which is not a size; available sizes: E, A, H, L, B, B_vis, S, S_enc"),
    ],
)
def test_a_module_that_cannot_be_run_is_refused(
    inputs: Callable[..., Any] | None, quantity: str, sentence: str
) -> None:
    with pytest.raises(sf.SymformerError, match=sentence):
        trace(encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, inputs=inputs or "").for_quantity(quantity)


def batches(B: int, S: int, E: int) -> torch.Tensor:
    return torch.empty(B, S, E)


def block(L: int, E: int) -> nn.Module:
    """Layers that read tokens in blocks of 1,000, and pad the last block."""

    class Blocks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(E, E, bias=False) for _ in range(L))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 1000))
            for layer in self.layers:
                x = layer(x)
            return x

    return Blocks()


def test_a_formula_is_bounded_if_longer_texts_run_differently() -> None:
    """The first tried lengths fit one block, and no other length is a whole block: up to 1,000 they are one."""
    found = trace(block, {"E": 24, "L": 2}, inputs=batches).model.formula("flops")
    assert found.equals("2000*B*L*E**2")
    assert found.value(B=1, S=1000, E=3, L=5) == 2000 * 5 * 9
    with pytest.raises(sf.SymformerError, match="1,000 is less than S=1001"):
        found.value(B=1, S=1001, E=3, L=5)


class Positions(nn.Module):
    """Tokens and a table of positions, with or without a check of the length, as in minGPT."""

    def __init__(self, V: int, P: int, E: int, asks: bool) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, E), nn.Embedding(P, E)
        self.project = nn.Linear(E, E, bias=False)
        self.asks = asks

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        length = ids.shape[1]
        assert not self.asks or length <= self.positions.num_embeddings, "too long"
        places: torch.Tensor = self.positions(torch.arange(length, device=ids.device))
        projected: torch.Tensor = self.project(self.tokens(ids) + places)
        return projected


def named_as_mingpt(vocab_size: int, block_size: int, n_embd: int) -> nn.Module:
    return Positions(vocab_size, block_size, n_embd, asks=True)


def two_kept_free(V: int, P: int, E: int) -> nn.Module:
    return Positions(V, P + 2, E, asks=False)


def at_most_90(V: int, E: int) -> nn.Module:
    return Positions(V, 90, E, asks=True)


@pytest.mark.parametrize(
    ("build", "sizes", "bound"),
    [
        (partial(Positions, asks=True), {"V": 101, "P": 640, "E": 24}, "S is at most P"),
        (partial(Positions, asks=False), {"V": 101, "P": 17, "E": 24}, "S is at most P"),
        (named_as_mingpt, {"vocab_size": 101, "block_size": 128, "n_embd": 24}, "S is at most block_size"),
        (two_kept_free, {"V": 101, "P": 640, "E": 24}, "S is at most P + 2"),
    ],
    ids=["asks", "does not ask", "block_size", "P + 2"],
)
def test_a_length_is_bounded_by_a_size(build: Callable[..., nn.Module], sizes: dict[str, int], bound: str) -> None:
    """A table of P rows has no row for token P + 1, whether or not the code checks: with real data it would fail."""
    found = trace(build, sizes, inputs=token_ids)
    assert found.model.formula("flops").equals("2*B*S*E**2")
    assert found.for_quantity("flops").conditions == [bound]
    size = bound.split()[4]
    more = 2 if bound.endswith("2") else 0
    sizes = {"B": 2, size: 31, "E": 3}
    assert found.model.formula("flops").value({**sizes, "S": 31 + more}) == 2 * 2 * (31 + more) * 9
    with pytest.raises(sf.SymformerError, match=f"is less than S={32 + more}"):
        found.model.formula("flops").value({**sizes, "S": 32 + more})
    with torch.no_grad(), pytest.raises((IndexError, AssertionError)):
        build(**dict(zip(found_names(build), (11, 31, 3), strict=True)))(token_ids(2, 32 + more))


def found_names(build: Callable[..., nn.Module]) -> list[str]:
    return [name for name in inspect.signature(build).parameters if name != "asks"]


TABLE = torch.empty(5, 3, device="meta")


@pytest.mark.parametrize(
    ("look", "rows"),
    [
        (lambda places: nn.functional.embedding(places, TABLE), 5),
        (lambda places: TABLE[places], 5),
        (lambda places: TABLE.index_select(0, places), 5),
        (lambda places: TABLE.gather(1, places[None].expand(5, -1)), 3),
        (lambda places: TABLE[(torch.ones_like(places).cumsum(0) - 1)[None].expand(2, -1)], 5),
        (lambda places: TABLE[torch.minimum(places, torch.full_like(places, 4))], None),  # clamped
        (lambda places: TABLE[places[:1]], None),  # only the first of them
    ],
)
def test_an_index_above_the_last_row_is_refused_without_data(look: Callable[..., object], rows: int | None) -> None:
    for count in (1, 3, 4, 5, 6, 60):
        with IndexCheck(), torch.device("meta"):
            places = torch.arange(count)
            if rows is None or count <= rows:
                look(places)
            else:
                with pytest.raises(IndexError, match=f"for a table of {rows} rows"):
                    look(places)


def test_a_constant_in_the_code_bounds_a_length() -> None:
    found = trace(at_most_90, {"V": 101, "E": 24}, inputs=token_ids)
    assert found.for_quantity("flops").conditions == ["S is at most 90"]


def test_the_positions_of_gpt2_bound_its_lengths() -> None:
    """OpenAI's table has 1,024 rows, and a cache of C tokens needs C of them."""
    stored = traced.afresh("gpt2")
    assert "S is at most P" in stored.for_quantity("flops").conditions
    assert "C is at most P" in stored.for_quantity("kv-cache").conditions
    with pytest.raises(sf.SymformerError, match=r"P=1024 .* is less than S=1025"):
        stored.model.formula("flops").value({"B": 1, "S": 1025, "L": 2, "V": 101, "E": 24, "A": 3, "P": 1024})


class Chunked(nn.Module):
    """Attention within chunks of tokens, the last one padded, and a projection for every 64 complete tokens."""

    def __init__(self, E: int, chunk_size: int) -> None:
        super().__init__()
        self.size = chunk_size
        self.project = nn.Linear(E, E, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(x.shape[1] // 64):
            x = self.project(x)
        x = nn.functional.pad(x, (0, 0, 0, -x.shape[1] % self.size))
        chunks = x.unflatten(1, (-1, self.size))
        return chunks @ chunks.transpose(-1, -2) @ chunks


def test_a_length_may_be_read_in_chunks() -> None:
    """Each of ⌈S/Q⌉ chunks has Q² pairs, twice over E; each of ⌊S/64⌋ projections is E² per token."""
    found = trace(Chunked, {"E": 24, "chunk_size": 16}, inputs=batches).model.formula("flops")
    assert found.equals("2*B*S*E**2*floor(S/64) + 4*B*E*chunk_size**2*ceil(S/chunk_size)")
    assert found.value(B=1, S=65, E=3, chunk_size=8) == 2 * 65 * 9 + 4 * 3 * 64 * 9
    assert [str(each) for each in found.constraints] == []


class Choosy(nn.Module):
    """Code that skips a computation for a single sequence, or for few tokens."""

    def __init__(self, E: int, least: int) -> None:
        super().__init__()
        self.least = least
        self.project = nn.Linear(E, E, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if len(x) == 1 or x.shape[1] < self.least else self.project(x)


def test_a_formula_states_its_minimum_length_and_batch() -> None:
    """Of the tried short lengths, 8 is the shortest that is projected; the first tried batch is 2."""
    found = trace(partial(Choosy, least=5), {"E": 24}, inputs=batches).model.formula("flops")
    assert found.equals("2*B*S*E**2")
    assert found.value(B=2, S=8, E=3) == 2 * 2 * 8 * 9
    for sizes, sentence in (({"B": 2, "S": 7}, "S=7 .* less than 8"), ({"B": 1, "S": 8}, "B=1 .* less than 2")):
        with pytest.raises(sf.SymformerError, match=sentence):
            found.value(**sizes, E=3)


def narrow(B: int, E: int) -> nn.Module:
    """A size with the letter of a batch that is not one."""
    return nn.Linear(E, B if B > 1 else 7, bias=False)


def test_a_factory_size_may_have_the_name_of_the_batch_size() -> None:
    assert trace(narrow, {"B": 4, "E": 8}).model.params.equals("B*E")


class Cycled(nn.Module):
    """Layers that run repeatedly."""

    def __init__(self, E: int, L: int, cycles: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(E, E, bias=False) for _ in range(L))
        self.cycles = cycles

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.cycles):
            for layer in self.layers:
                x = layer(x)
        return x


def test_repeat_count_is_a_size() -> None:
    found = trace(Cycled, {"E": 24, "L": 2, "cycles": 3}, inputs=batches)
    assert found.model.formula("flops").equals("2*B*S*L*E**2*cycles")
    assert (
        max(point["cycles"] for point in found.for_quantity("flops").checked) < 10
    )  # each further repetition runs all of them


class Recurrent(nn.Module):
    """Code that reads one token after the other."""

    def __init__(self, E: int) -> None:
        super().__init__()
        self.project = nn.Linear(E, E, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for each in x.unbind(1):
            state = self.project(state + each)
        return state


def test_code_that_loops_over_tokens_is_run_on_few_tokens() -> None:
    found = trace(Recurrent, {"E": 24}, inputs=batches).for_quantity("flops")
    assert found.model.formula("flops").equals("2*B*S*E**2")
    assert max(point["S"] for point in found.checked) <= 16
    # a length 64 times as large was tried once
    assert found.model.formula("flops").value(B=1, S=1000, E=3) == 2 * 1000 * 9


def test_a_trace_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_traces, "LIMIT", 0)
    with pytest.raises(WitnessError, match="no formula was found in 0 seconds and 0 builds"):
        trace(Recurrent, {"E": 24}, inputs=batches).for_quantity("flops")


class Trains(nn.Module):
    """Code with an additional projection in training."""

    def __init__(self, E: int) -> None:
        super().__init__()
        self.project = nn.Linear(E, E, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.project(x)
        return self.project(x) if torch.is_grad_enabled() else x


def test_a_run_is_reused_only_for_the_same_mode() -> None:
    """In training: two products forward, and four gradients except for the model's own input."""
    found = trace(Trains, {"E": 24}, inputs=batches)
    assert found.model.formula("train-flops").equals("10*B*S*E**2")
    assert found.model.formula("flops").equals("2*B*S*E**2")  # requested after the other, whose runs are known


def test_products_at_different_places_in_the_code_are_different_rows() -> None:
    """Both products of a chunk are 1·8·8·8 here, and only the call sites tell them apart."""
    sizes = {"E": 8, "chunk_size": 8, "B": 1, "S": 8}
    points = Points(
        lambda point: Chunked(point["E"], point["chunk_size"]),
        lambda model, point: model(torch.empty(point["B"], point["S"], point["E"])),
    )
    assert points.forward(sizes) == {"bmm": (1, 1, 8, 8, 8), "bmm-2": (1, 1, 8, 8, 8)}


class Replaced(nn.Module):
    """Code that replaces a module while it runs, as BigBird does with its attention."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.first = None  # type: ignore[assignment]
        return nn.Linear(8, 8, bias=False)(x)  # it may have the address of the first one


def test_a_module_replaced_during_a_run_is_distinguished() -> None:
    points = Points(lambda point: Replaced(), lambda model, point: model(torch.empty(point["B"], 8)))
    assert points.forward({"B": 3}) == {"mm": (1, 3, 8, 8)}


def odd(E: int) -> nn.Module:
    """A rounded width, for which no polynomial holds everywhere."""
    return nn.Linear(E, E * E % 97 + 1, bias=False)


def test_a_size_that_is_not_a_polynomial_is_refused() -> None:
    with pytest.raises(WitnessError, match="axis 0 of weight is not a short sum of products of E"):
        trace(odd, {"E": 5})


def padded(E: int) -> nn.Module:
    """A width rounded up to a multiple of 12, which are the sampled values."""
    return nn.Linear(E, -(-E // 12) * 12, bias=False)


def test_rounded_and_unrounded_widths_in_one_formula() -> None:
    found = trace(padded, {"E": 12})
    assert found.model.params.equals("12*E*ceil(E/12)")
    assert found.model.params.value(E=13) == 13 * 24


def patched(Z: int, E: int) -> nn.Module:
    """A table of whole patches, Z/14 by 32."""
    return nn.Embedding(Z // 14 * 32, E)


def test_patches_are_rounded_down_to_an_integer() -> None:
    params = trace(patched, {"Z": 448, "E": 10}).model.params
    assert params.value(Z=462, E=3) == 3168  # 33*32*3
    assert params.value(Z=475, E=3) == 3168  # 475/14 is 33.9


def listed(num_layers: int, E: int) -> nn.Module:
    """Every fifth of 40 layers has a gate, according to a list that ends with the 39th."""
    wide = [E + 1 if place in range(3, 40, 5) else E for place in range(num_layers)]
    return nn.Sequential(*(nn.Linear(E, each, bias=False) for each in wide))


def test_a_layer_pattern_that_ends_states_where() -> None:
    params = trace(listed, {"num_layers": 40, "E": 10}).model.params
    assert params.value(num_layers=43, E=3) == 43 * 9 + 8 * 3
    with pytest.raises(sf.SymformerError, match="43 is less than num_layers=44"):
        params.value(num_layers=44, E=3)


def projected(E: int, W_emb: int) -> nn.Module:
    """A table with the width of the model needs no projection."""
    table = nn.Embedding(10, W_emb)
    return table if W_emb == E else nn.Sequential(table, nn.Linear(W_emb, E, bias=False))


def quartered(E: int, H: int) -> nn.Module:
    """A quarter of the width rotates, but at least two elements."""
    return nn.Linear(E + (E // 4 == 1), H, bias=False)


def test_a_size_without_effect_at_1_has_a_minimum() -> None:
    params = trace(quartered, {"E": 24, "H": 10}).model.params
    assert params.value(E=8, H=3) == 24
    with pytest.raises(sf.SymformerError, match=r"E=7 .* is less than 8"):
        params.value(E=7, H=3)


class Grouped(nn.Module):
    """Keys and values of G heads of floor(E/A), or of floor(G*E/A) in total."""

    def __init__(self, E: int, A: int, G: int, first: bool) -> None:
        super().__init__()
        self.kv = nn.Linear(E, G * (E // A) if first else G * E // A, bias=False)


@pytest.mark.parametrize(("A", "G"), [(12, 4), (15, 4)])  # G shares a factor with A, or not
@pytest.mark.parametrize(("first", "wide"), [(True, 120), (False, 150)])  # 10*6*(10 // 4), and 10*60 // 4
def test_a_quotient_is_rounded_as_in_the_code(A: int, G: int, first: bool, wide: int) -> None:
    model = sf.trace(lambda E, A, G: Grouped(E, A, G, first), {"E": 60, "A": A, "G": G}).model
    assert [str(each) for each in model.component.constraints] == ["A is at most E" if first else "A divides EG"]
    off = {"E": 10, "A": 4, "G": 6}  # 4 divides 60, but not 10
    assert model.params.value(off) == wide == sum(each.numel() for each in Grouped(**off, first=first).parameters())


def test_a_class_that_requires_whole_heads_states_it() -> None:
    # StableLM rejects a width that is not a multiple of its heads, although its keys and values would have integer
    # widths
    assert "A divides E" in [str(each) for each in sf.trace("hf:stablelm").model.component.constraints]


def test_a_formula_that_fails_for_equal_sizes_is_refused_there() -> None:
    found = trace(projected, {"E": 24, "W_emb": 10})
    assert found.model.params.equals("10*W_emb + W_emb*E")
    with pytest.raises(sf.SymformerError, match="does not hold for E = W_emb = 24: for equal values the code behaves"):
        found.model.params.value(E=24, W_emb=24)


def fluke(E: int) -> nn.Module:
    """One wider at a multiple of 24 that no fit samples."""
    return nn.Linear(E, E + (E == 420 * 24), bias=False)


def test_a_formula_that_holds_only_at_the_fitted_points_is_refused() -> None:
    with pytest.raises(WitnessError, match=r"the formula found does not hold at .* 10080"):
        trace(fluke, {"E": 24})


def fixed(E: int, A: int) -> nn.Module:
    """Code that accepts only one number of heads."""
    if A != 3:
        raise ValueError("A is 3 here")
    return nn.Linear(E, A, bias=False)


def test_a_size_fixed_by_the_code_is_reported_as_pinned() -> None:
    found = trace(fixed, {"E": 5, "A": 3})
    assert found.model.params.equals("3*E")
    (pinned,) = found.pinned
    assert (pinned.name, pinned.value, pinned.why) == ("A", 3, "ValueError: A is 3 here")
    raised = fixed.__code__.co_firstlineno + 3  # def, docstring, if, raise
    assert pinned.line == f'tests/test_trace.py:{raised}: raise ValueError("A is 3 here")'
    assert found.model.params.value({"E": 5, "A": 3}) == 15
    with pytest.raises(
        sf.SymformerError,
        match=r"A=4 is not 3; the formula was traced at 3 .* because the code fails",
    ):
        found.model.params.value({"E": 5, "A": 4})


def test_a_pinned_size_is_enforced_by_every_function(tmp_path: Path) -> None:
    """GPT-Neo's layers follow a list in its config, so there are 2 for any number of layers."""
    fields: dict[str, Any] = {"num_layers": 2, "attention_types": [[["global", "local"], 1]], "hidden_size": 24}
    fields |= {"num_heads": 3, "vocab_size": 101, "max_position_embeddings": 70}
    neo = trace(config_of(tmp_path, "gpt_neo", fields))
    sizes = {"V": 101, "P": 70, "E": 24}
    for given in (sizes, {**sizes, "num_layers": 2}):
        assert neo.model.params.value(given) == built("GPTNeoForCausalLM", fields) > 1_000
    doors: list[Callable[[], object]] = [
        lambda: neo.model.params.value({**sizes, "num_layers": 12}),
        lambda: neo.model.params.value(num_layers=12, **sizes),
        lambda: neo.model.set({name_size("num_layers"): Integer(12)}),
        lambda: neo.model.component.formula("params").value({**sizes, "L": 12}),
        lambda: neo.for_quantity("flops").model.formula("flops").value({**sizes, "B": 1, "S": 7, "num_layers": 12}),
    ]
    for door in doors:
        with pytest.raises(
            sf.SymformerError, match="L=12 is not 2; the formula was traced at 2 and holds for no other"
        ):
            door()


@cache
def xlnet() -> Trace:
    """An XLNet, whose heads divide the width of the model."""
    return trace("hf:xlnet", head="causal")


@pytest.mark.parametrize("given", [{"d_head": 5}, {"d_head": 8}])
def test_a_derived_size_must_match_its_relation(given: dict[str, int]) -> None:
    """24 over 3 heads is 8."""
    found = xlnet().model.params
    sizes = {"V": 101, "E": 24, "A": 3, "L": 2, "d_inner": 40, **given}
    if given["d_head"] == 8:
        assert found.value(sizes) > 0
        return
    with pytest.raises(sf.SymformerError, match="D=5 is not E/A=8; the trace is not valid for any other value"):
        found.value(sizes)


def test_a_field_without_a_letter_becomes_a_symbol_of_its_own() -> None:
    found = letters(["hidden_size", "mamba_d_state"])
    assert [str(each) for each in found.values()] == ["E", "mamba_d_state"]
    own = found["mamba_d_state"]
    assert parse("4*mamba_d_state", own=[own]) == 4 * own
    assert sf.component("mlp").params.partial(H=4 * own).latex().count(r"\mathrm{mamba\_d\_state}") == 2


def test_the_command_prints_one_document_and_evaluates_at_a_config(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "gpt2", "n_embd": 24, "n_head": 3, "n_layer": 5, "vocab_size": 101}))
    done = CliRunner().invoke(cli, ["trace", "hf:gpt2", "--at", str(config), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["symbols"] == {"L": "n_layer", "V": "vocab_size", "P": "n_positions", "E": "n_embd"}
    # 12·5·24² + 13·5·24 + 101·24 + 1024·24 + 2·24
    assert shown["values"] == [34_560 + 1_560 + 2_424 + 24_576 + 48]
    assert shown["report"] == []  # operations are not needed for stored weights


def test_a_traced_model_can_be_copied_but_not_pickled() -> None:
    """Quantities not in the cache are found by running code in the current process."""
    model = trace("hf:gpt2").model
    for same in (copy(model), deepcopy(model)):
        assert same.params == model.params
    for sent in (model, model.params, model.component):
        with pytest.raises(WitnessError, match="hf-gpt2 is traced: it runs its code in this process"):
            pickle.dumps(sent)


def test_a_config_is_traced_with_its_own_switches(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    sizes = {"vocab_size": 101, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 5}
    heads = {"num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 8}
    config.write_text(json.dumps({"model_type": "llama", "tie_word_embeddings": True, **sizes, **heads}))
    done = CliRunner().invoke(cli, ["trace", str(config), "--at", str(config), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    # the tied table 101·24, a norm 24; 5 layers of q and out 2·24·24, k and v 2·24·8, three of 24·40, norms 2·24
    assert shown["values"] == [2_424 + 24 + 5 * (1_152 + 384 + 2_880 + 48)]
    assert shown["symbols"]["L"] == "num_hidden_layers"


@pytest.mark.parametrize(
    ("pattern", "free"),
    [(["sliding_attention", "full_attention"] * 3, True), (["sliding_attention"] * 4 + ["full_attention"] * 2, False)],
)
def test_a_list_of_layers_is_repeated_by_its_period_or_pins_the_depth(
    pattern: list[str], free: bool, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    sizes = {"vocab_size": 101, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 6}
    heads = {"num_attention_heads": 3, "num_key_value_heads": 1}
    config.write_text(json.dumps({"model_type": "qwen2", "layer_types": pattern, **sizes, **heads}))
    done = CliRunner().invoke(cli, ["trace", str(config), "--at", str(config), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    # two tables 101·24, a norm 24; 6 layers of q 24·24+24, k and v 2·(24·8+8), out 24·24, three of 24·40, norms 2·24
    assert shown["values"] == [2 * 2_424 + 24 + 6 * (600 + 400 + 576 + 2_880 + 48)]
    reasons = {each["name"]: each["why"] for each in shown["pinned"]}
    assert ("L" in shown["symbols"]) is free
    assert reasons.get("num_hidden_layers", "") == (
        "" if free else "layer_types lists 6 layers without a repeating pattern"
    )


def test_the_entries_of_a_short_list_are_sizes(tmp_path: Path) -> None:
    """The stages of a CvT differ in width and depth; a second config is another point of the same formula."""
    from transformers import CvtConfig, CvtForImageClassification

    config = tmp_path / "config.json"
    stages: dict[str, Any] = {"embed_dim": [24, 42, 60], "depth": [4, 2, 3], "patch_sizes": [5, 3, 2]}
    config.write_text(json.dumps({"model_type": "cvt", **stages, "num_heads": [2, 3, 5]}))
    done = CliRunner().invoke(cli, ["trace", "hf:cvt", "--head", "image", "--at", str(config), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    with torch.device("meta"):
        model = CvtForImageClassification(CvtConfig(**stages, num_heads=[2, 3, 5]))
    assert shown["values"] == [sum(each.numel() for each in model.parameters())]
    assert shown["values"][0] > 100_000
    assert {"embed_dim[0]", "depth[2]", "patch_sizes[1]"} < set(shown["symbols"].values())
    assert shown["symbols"]["E_0"] == "embed_dim[0]"


def test_a_derived_size_states_its_relation() -> None:
    """The heads of an XLNet divide the width of the model, and likewise the heads of a state-space layer."""
    assert str(xlnet().ties["d_head"]) == "d_model/n_head"


def test_a_config_that_differs_in_more_than_sizes_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "attention_bias": True,
                "hidden_size": 24,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
            }
        )
    )
    done = CliRunner().invoke(cli, ["trace", "hf:llama", "--at", str(config)])
    assert done.exit_code == 2
    assert "differs from the traced config in more than sizes" in done.stderr


SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}
SMALL |= {"vocab_size": 101, "max_position_embeddings": 70}
TWO = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3, "vocab_size": 101}
TWO |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 40, "decoder_ffn_dim": 44, "max_position_embeddings": 70}
T5: dict[str, Any] = {"vocab_size": 101, "d_model": 24, "d_kv": 6, "d_ff": 40, "num_layers": 2, "num_heads": 3}
GPT2: dict[str, Any] = {"vocab_size": 101, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 70}
DISTIL = {"vocab_size": 101, "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 40}
# The class that a config names, its type and sizes; for most, not the class of the type's first head.
CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "RobertaModel": ("roberta", SMALL),
    "BartForConditionalGeneration": ("bart", TWO),
    "WhisperForConditionalGeneration": ("whisper", {**TWO, "num_mel_bins": 8, "pad_token_id": 1}),
    "ElectraForPreTraining": ("electra", {**SMALL, "embedding_size": 18}),
    "LlamaForSequenceClassification": ("llama", {**SMALL, "num_key_value_heads": 1}),
    "BertForTokenClassification": ("bert", SMALL),
    "GPT2ForSequenceClassification": ("gpt2", GPT2),
    "T5EncoderModel": ("t5", T5),
    "DistilBertForQuestionAnswering": ("distilbert", DISTIL),
}


def config_of(folder: Path, model_type: str, fields: dict[str, Any], *architectures: str) -> str:
    """Return a config.json that names these classes."""
    place = folder / f"{model_type}-{'-'.join(architectures)}-{len(list(folder.iterdir()))}.json"
    named = {"architectures": list(architectures)} if architectures else {}
    place.write_text(json.dumps({"model_type": model_type, **named, **fields}))
    return str(place)


def built(name: str, fields: dict[str, Any]) -> int:
    """Return the parameters of a transformers class, built on meta from its own config."""
    made_by: Any = getattr(transformers, name)
    with torch.device("meta"):
        model = made_by(made_by.config_class(**fields))
        model.tie_weights()
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("name", sampled(3, CLASSES))
def test_the_class_that_a_config_names_is_traced(name: str, tmp_path: Path) -> None:
    model_type, fields = CLASSES[name]
    path = config_of(tmp_path, model_type, fields, name)
    found = trace(path)
    assert found.model.title == f"{name} of transformers, traced"
    assert values_at(found, path) == built(name, fields) > 1_000
    # another width, from a config that names no class
    width = next(each for each in ("hidden_size", "d_model", "n_embd", "dim") if each in fields)
    other = {**fields, width: 48}
    assert values_at(found, config_of(tmp_path, model_type, other)) == built(name, other)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        (["NoSuchModel"], "names the class 'NoSuchModel', but transformers has no model with that name"),
        (["GPT2Config"], "names the class 'GPT2Config', but transformers has no model"),
        (["AutoModelForCausalLM"], "names the class 'AutoModelForCausalLM', but transformers has no model"),
        (["os.system"], r"'architectures' names 'os\.system', which is not a class name"),
        (["LlamaForCausalLM"], "which is built from a LlamaConfig, but its model_type is 'gpt2'"),
        (
            ["GPT2Model", "GPT2LMHeadModel"],
            r"is \['GPT2Model', 'GPT2LMHeadModel'\] in the config; it should be a list of one",
        ),
        ([], r"'architectures' is \[\] in the config; it should be a list of one class name"),
        ([7], r"'architectures' is \[7\] in the config; it should be a list of one class name"),
    ],
)
def test_a_class_that_is_not_a_model_is_refused(named: list[Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(sf.SymformerError, match=sentence):
        trace(config_of(tmp_path, "gpt2", {"architectures": named}))


def test_a_head_and_a_second_config_may_not_contradict_the_class(tmp_path: Path) -> None:
    model, lm = (config_of(tmp_path, "gpt2", GPT2, name) for name in ("GPT2Model", "GPT2LMHeadModel"))
    assert trace(lm, head="causal").model.params.equals("12*L*E**2 + 13*L*E + V*E + P*E + 2*E")
    with pytest.raises(sf.SymformerError, match="names GPT2Model, but the causal model of gpt2 is GPT2LMHeadModel"):
        trace(model, head="causal")
    with pytest.raises(sf.SymformerError, match="names the class GPT2Model, but the formula is for GPT2LMHeadModel"):
        values_at(traced.afresh("gpt2"), model)
    with pytest.raises(sf.SymformerError, match="has model_type='llama', but the formula is for 'gpt2'"):
        values_at(traced.afresh("gpt2"), config_of(tmp_path, "llama", {}))


def test_a_class_is_run_according_to_its_kind_or_refused_by_name(tmp_path: Path) -> None:
    """Encoder layers of 8BSE² + 4BSEH + 4BS²E, and a head with one number per token and label."""
    name = "BertForTokenClassification"
    found = trace(config_of(tmp_path, *CLASSES[name], name)).model.formula("flops")
    assert found.equals("L*(8*B*S*E**2 + 4*B*S*E*H + 4*B*S**2*E) + 2*B*S*E*N_class")
    name = "WhisperForConditionalGeneration"
    with pytest.raises(sf.SymformerError, match=f"{name} reads input_features; only models that read tokens"):
        trace(config_of(tmp_path, *CLASSES[name], name)).for_quantity("flops")


def test_a_switch_that_the_class_ignores_is_named(tmp_path: Path) -> None:
    """T5 stores the same whether or not it scales the outputs of its decoder; Llama stores what its switches say."""
    switch = "scale_decoder_outputs"
    t5 = config_of(tmp_path, "t5", {**T5, switch: False})
    scaled, plain = (built("T5ForConditionalGeneration", {**T5, switch: scales}) for scales in (True, False))
    assert scaled == plain  # if not, the test needs another switch that stores nothing
    found = trace(t5)
    assert found.ignored == (f"{switch}=false",)
    assert ignored_at(found, config_of(tmp_path, "t5", T5)) == ()
    done = CliRunner().invoke(cli, ["trace", t5, "--at", t5])
    sentence = f"{switch}=false in {t5}: no effect on the weights of T5ForConditionalGeneration\n"
    assert done.stdout.count(sentence) == 2, done.stdout
    switches = {"tie_word_embeddings": False, "attention_bias": True, "use_cache": False}
    assert trace(config_of(tmp_path, "llama", {**SMALL, "num_key_value_heads": 1, **switches})).ignored == ()


FACTORIES = """
import os, sys
from torch import nn
def fine(E, H=5, bias=True): return nn.Linear(E, H, bias=bias)
def leaves(E): sys.exit(0)
class Odd(BaseException): ...
def odd(E): raise Odd("enough")
def closes(E): print("x"); sys.stdout.close(); os.close(1); return nn.Linear(E, 7)
def picky(E, H): return nn.Linear(E, H) if E != H else nn.Bilinear(E, H, 3)
def inputs(B, S): sys.exit(0)
three = 3
"""


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with factories, used as the working directory."""
    (tmp_path / "factories.py").write_text(FACTORIES)
    (tmp_path / "leaving.py").write_text("import sys; sys.exit(0)")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("factories", "leaving"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("factories:leaves --size E=24", "cannot build the model: SystemExit: 0"),
        ("factories:odd --size E=24", "cannot build the model: Odd: enough"),
        ("factories:three --size E=24", "factories:three is 3, which is not callable; name a function or a class"),
        ("leaving:fine --size E=24", "leaving:fine cannot be imported: SystemExit: 0"),
        (
            "../evil:ok --size E=24",
            "--size E=24 applies to factories only, but ../evil:ok takes its sizes from its config",
        ),
        ("factories:fine --size E=24 --head causal", "head=causal applies only to models of transformers"),
        ("factories:picky --size E=24 --size H=24", "; E and H both start at 24, and code may treat"),
        (
            "factories:fine --size E=24 -q flops --inputs factories:inputs",
            "cannot run the model: SystemExit: 0",
        ),
        ("gpt2", "did you mean hf:gpt2?"),
        ("openai-community/gpt2", "HF_HUB_OFFLINE is set, and its config.json is not in the Hub cache"),
    ],
)
def test_a_failing_factory_is_one_sentence(arguments: str, sentence: str, factories: Path) -> None:
    done = CliRunner().invoke(cli, ["trace", *arguments.split()], prog_name="symformer")
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_factory_cannot_close_the_standard_streams(factories: Path) -> None:
    script = "from symformer.commands.cli import main; main()"
    given = [sys.executable, "-c", script, "trace", "factories:closes", "--size", "E=24", "--json"]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["formula"] == "7*E + 7"
    assert done.stderr == ""


def test_the_defaults_of_a_factory_are_stated(factories: Path) -> None:
    found = CliRunner().invoke(cli, ["trace", "factories:fine", "--size", "E=24"]).stdout
    assert "factories:fine with bias=True, traced: parameters\nN = 5E + 5\n" in found
    assert (
        "H is fixed at 5, because a default of the factory is not traced; give it an initial value to make it a size"
        in found
    )

    def fine(E: int, H: int = 5) -> nn.Module:
        return nn.Linear(E, H, bias=False)

    with pytest.raises(
        sf.SymformerError,
        match=r"H=6 is not 5; .* a default of the factory is not traced",
    ):
        trace(fine, {"E": 24}).model.params.value(E=3, H=6)
    assert trace(fine, {"E": 24, "H": 7}).model.params.equals("E*H")


def test_python_refuses_what_the_command_refuses() -> None:
    with pytest.raises(sf.SymformerError, match="head=causal applies only to models of transformers"):
        trace(encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, head="causal")
    with pytest.raises(sf.SymformerError, match="but hf:gpt2 has its sizes in its config"):
        trace("hf:gpt2", {"E": 64})


def test_activations_of_a_factory_are_refused_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before a run: saved tensors depend on a named implementation, and this code has none."""
    found = trace(encoder, {"E": 24, "A": 3, "H": 11, "L": 2}, inputs=tokens)
    monkeypatch.setattr(run_traces, "Tracer", None)
    for door in (found.for_quantity, found.model.formula):
        with pytest.raises(sf.SymformerError, match="activations depend on a named implementation"):
            door("activations")


def test_an_error_names_no_folder_of_this_machine() -> None:
    error = ValueError("neither in <module 'a' from '/home/me/lib/site-packages/a/b.py'>\n nor there")
    assert error_messages.sentence(error) == "ValueError: neither in <module 'a' from 'a/b.py'> nor there"
    assert error_messages.sentence(error, 8) == "ValueError: neither…"


def test_an_unknown_type_is_one_sentence() -> None:
    done = CliRunner().invoke(cli, ["trace", "hf:lama"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "did you mean" in done.stderr


@pytest.mark.parametrize("quantity", ["traffic", "intensity"])
def test_quantities_unknown_to_a_trace_are_refused(quantity: str) -> None:
    """A trace knows weights and products, but no elementwise operation; zero would be wrong, in any interface."""
    stored = traced.afresh("gpt2")
    for asked in (stored, stored.for_quantity("flops"), stored.for_quantity("kv-cache")):
        for door in (asked.model.formula, asked.model.component.formula, asked.for_quantity):
            with pytest.raises(sf.SymformerError, match=f"{quantity} needs the elementwise operations too"):
                door(quantity)
        question = quantities()[quantity]
        with pytest.raises(sf.SymformerError, match="this was traced for"):  # the rows unchanged
            question.account(asked.model.ledger, question.choose({}))


def test_a_trace_gives_the_requested_quantity() -> None:
    """GPT-2 with B=2, S=7, L=3, V=11, E=5: forward 4·2·49·3·5 + 24·2·7·3·25 + 2·2·7·11·5, training 3 times that."""
    assert set(MEASURED) == {"params", *RUNS}
    forward = 4 * 2 * 49 * 3 * 5 + 24 * 2 * 7 * 3 * 25 + 2 * 2 * 7 * 11 * 5
    sizes = {"B": 2, "S": 7, "L": 3, "V": 11, "E": 5}
    stored = traced.afresh("gpt2")
    for asked in (stored, stored.for_quantity("flops"), stored.for_quantity("train-flops")):
        for found in (
            asked.model.formula,
            asked.model.component.formula,
            lambda q, at=asked: at.of(q).model.formula(q),
        ):
            assert found("flops").value(sizes) == forward
            assert found("train-flops").value(sizes) == 3 * forward
            assert found("params").equals("12*L*E**2 + 13*L*E + V*E + P*E + 2*E")
    training = quantities()["train-flops"]
    with pytest.raises(sf.SymformerError, match="this was traced for flops"):
        training.account(stored.for_quantity("flops").model.ledger, training.choose({}))
    with pytest.raises(sf.SymformerError, match="tensor=on: a trace does not show how a model is divided among ranks"):
        stored.model.formula("params", tensor="on")


def test_a_run_answers_only_for_its_own_conventions() -> None:
    gpt2 = traced.afresh("gpt2").model
    with pytest.raises(sf.SymformerError, match="count=all: a torch run does not show the purpose of elementwise"):
        gpt2.formula("flops", count="all")
    assert gpt2.formula("kv-cache", dtype="fp32").equals("8*B*C*L*E")  # keys and values, 4 bytes per element


def test_the_command_evaluates_a_run_at_a_config(tmp_path: Path) -> None:
    """GPT-2's own sizes, S=1024: 24·12·768²·1024 + 4·12·768·1024² + 2·50257·768·1024."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "gpt2"}))
    given = ["trace", "hf:gpt2", "-q", "flops", "--at", str(config), "--json"]
    done = CliRunner().invoke(cli, [*given, "--set", "B=1", "--set", "S=1024"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["values"] == [291_648_307_200]
    for sizes, sentence in (
        ({"S": 1024}, "does not set B; set it with --set"),
        ({"B": 1, "S": 4, "Q": 3}, "Q is not a size of the run; flops depends on B, S"),
        ({"B": 1, "S": 1025}, r"P=1,?024 .* is less than S=1025"),
    ):
        with pytest.raises(sf.SymformerError, match=sentence):
            values_at(traced.afresh("gpt2"), str(config), "flops", sizes)
    refused = CliRunner().invoke(cli, ["trace", "hf:gpt2", "--set", "B=1"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--set B=1 requires a config to evaluate the formula at; name one with --at" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["hf:gpt2", "--size", "E=64"],
            "--size E=64 applies to factories only, but hf:gpt2 takes its sizes from its config",
        ),
        (["math:sqrt", "--size", "E=" + "9" * 5000], "the expression has 5,000 characters; the limit is 2,000"),
        (["math:sqrt", "--size", "E=x"], "E=x is not a number; a size is a positive integer"),
    ],
)
def test_invalid_sizes_are_refused(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["trace", *arguments])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""


def states(B: int, S: int, E: int) -> torch.Tensor:
    return torch.empty(B, S, E)


class Scales(nn.Module):
    """Parameters in separate lists, without a module around each."""

    def __init__(self, E: int, H: int, L: int) -> None:
        super().__init__()
        self.mixes = nn.ParameterList([nn.Parameter(torch.empty(E, E)) for _ in range(L)])
        self.heads = nn.ModuleList(
            [nn.ParameterList([*(torch.empty(E, H) for _ in range(L)), torch.empty(H)]) for _ in range(3)]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for mix in self.mixes:
            x = x @ mix
        return x


def test_a_parameter_list_is_counted_once_per_entry() -> None:
    found = trace(Scales, {"E": 7, "H": 11, "L": 4}, inputs=states).model
    assert found.params.equals("L*E**2 + 3*L*E*H + 3*H")
    stored = sum(each.numel() for each in Scales(13, 17, 5).parameters())
    assert found.params.value(E=13, H=17, L=5) == stored == 5 * 169 + 15 * 221 + 51
    assert found.formula("flops").equals("2*B*S*L*E**2")


class Mixed(nn.Module):
    """Layers of two kinds at the same path."""

    def __init__(self, E: int, H: int, L: int, L_dense: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(E, E if place < L_dense else H) for place in range(L_dense + L))


def test_two_parts_at_one_path_are_distinguished() -> None:
    found = trace(Mixed, {"E": 7, "H": 11, "L": 4, "L_dense": 2}).model
    assert found.params.equals("L_dense*E**2 + L_dense*E + L*E*H + L*H")
    keys = [line.key for line in found.params.root.walk()]
    assert len(set(keys)) == len(keys) > 4
    assert not any("*" in key for key in keys)
    with pytest.raises(sf.SymformerError, match=r"unknown part 'layers'; did you mean layers_"):
        found.params.part("layers")
    assert {str(found.params.part(f"layers_{kind}").expanded) for kind in (1, 2)} == {"E**2 + E", "E*H + H"}


@pytest.mark.parametrize(
    ("product", "operation"),
    [
        (lambda x, w: x @ w[0], "mv"),
        (lambda x, w: torch.dot(x[0, 0], w[0]), "dot"),
        (lambda x, w: torch.cdist(x, w.expand(x.shape[0], -1, -1)), "_euclidean_dist"),
        (lambda x, w: nn.functional.bilinear(x, x, w.expand(3, -1, -1)), "_trilinear"),
    ],
)
def test_a_product_that_torch_does_not_count_is_refused(product: Callable[..., Any], operation: str) -> None:
    class Scored(nn.Module):
        def __init__(self, E: int) -> None:
            super().__init__()
            self.first = nn.Linear(E, E)
            self.weight = nn.Parameter(torch.empty(E, E))

        def forward(self, x: torch.Tensor) -> Any:
            return product(self.first(x), self.weight)

    found = trace(Scored, {"E": 9}, inputs=states)
    with pytest.raises(WitnessError, match=rf"aten\.{operation} multiplies and sums, but torch's FLOP counter"):
        found.for_quantity("flops")


def normed(E: int) -> nn.Module:
    return nn.LayerNorm(E)


def test_a_run_without_products_is_reported() -> None:
    found = trace(normed, {"E": 9}, inputs=states)
    with pytest.raises(WitnessError, match=r"a run of the model has no matrix product$"):
        found.for_quantity("flops")


FIELDS = {"num_attention_heads": A, "num_key_value_heads": G, "head_dim": D, "sliding_window": C_win, "B": B, "S": S}


def held(point: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Saved tensors: keys are copied for each head, except for one head of one sequence or a window of 1."""
    heads, groups, width, window, batch, length = (point[name] for name in FIELDS)
    if heads % groups or width % 2:
        raise ValueError("these do not divide")
    copies = 1 if batch == groups == 1 else heads
    return {"0.keys": (batch, copies, length, width), "1.keys": (length if window == 1 else window,)}


def test_a_cache_formula_states_its_conditions() -> None:
    """Our formulas of Mistral refuse heads that do not divide, one group of one sequence, and a window of 1."""
    start = dict(zip(FIELDS, (12, 4, 16, 61, 2, 40), strict=True))
    samples = Samples(held, start, RUNS["kv-cache"].wanted, draws={"B": (2, 3, 5), "S": (40, 56, 72)}, lengths=("S",))
    found = Tracer(samples, lambda names: {name: FIELDS[name] for name in names}).trace("held", "Held")
    formula = found.model.formula("kv-cache")
    sizes = {"A": 6, "G": 3, "D": 8, "C_win": 5, "B": 2, "S": 40}
    assert formula.value(sizes) == 2 * (2 * 6 * 40 * 8 + 5)  # 2 bytes per element
    for changed, sentence in (
        ({"G": 4}, "A=6 is not a multiple of G=4"),
        ({"D": 7}, "D=7 is not a multiple of 2"),
        ({"C_win": 1}, "C_win=1 .* is less than 2"),
        ({"B": 1, "G": 1}, "does not hold for B=1 and G=1"),
    ):
        with pytest.raises(sf.SymformerError, match=sentence):
            formula.value({**sizes, **changed})
    assert found.conditions == ["G divides A", "2 divides D", "2 is at most C_win", "B and G are not both 1"]


def test_a_traced_model_is_compared_as_a_whole() -> None:
    """Which of its parts is attention is unknown, so no row states that it has none."""
    compared = sf.compare(traced.afresh("gpt2").model, sf.architecture("gpt2"))
    assert [role for role, _, _ in compared.rows] == ["total"]
    assert compared.difference == 0
    with pytest.raises(WitnessError, match="hf:gpt2 was checked against torch, at 3 random configs, when it was"):
        sf.verify(traced.afresh("gpt2").model)


def stepped(E: int, num_layers: int, step: int) -> nn.Module:
    """A wider layer at every n-th position: one of a few layers, for any step."""
    return nn.ModuleList(nn.Linear(E, 2 * E if i % step == 1 else E, bias=False) for i in range(num_layers))


def test_a_size_with_an_effect_only_in_deeper_models_is_pinned() -> None:
    model = trace(stepped, {"E": 10, "num_layers": 12, "step": 4}).model
    stored = sum(each.numel() for each in stepped(10, 12, 4).parameters())
    assert model.params.value(E=10, num_layers=12) == 15 * 10**2 == stored  # 3 of the 12 count twice
    with pytest.raises(sf.SymformerError, match="step=2 is not 4"):
        model.params.value(E=10, num_layers=12, step=2)


def attending(E: int, Z: int, W: int, num_layers: int) -> nn.Module:
    """Layer 9 sees all Z positions, and every other layer a window of W: equal if both are 1."""
    return nn.ModuleList(nn.Linear(E, 2 * (Z if i == 9 else W) - 1, bias=False) for i in range(num_layers))


def test_fewer_layers_than_the_special_layers_need_are_refused() -> None:
    model = trace(attending, {"E": 6, "Z": 10, "W": 4, "num_layers": 12}).model
    assert model.params.value(E=6, Z=10, W=4, num_layers=12) == 6 * (11 * 7 + 19)
    for fewer in (3, 9):
        with pytest.raises(sf.SymformerError, match=f"={fewer} .*is less than 10"):
            model.params.value(E=6, Z=10, W=4, num_layers=fewer)
