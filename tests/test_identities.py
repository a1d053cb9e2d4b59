"""Identities between answers of any model: one rank alone is the whole, ranks sum to it, and costs grow with sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, count
from math import prod
from typing import Any
from unittest.mock import patch
from zlib import crc32

import pytest
from sympy import Expr, Integer, Symbol

import symformer as sf
from symformer.architectures import names
from symformer.formulas.account import Line
from symformer.formulas.formula import Formula
from symformer.formulas.ratio import Ratio
from symformer.language.arithmetic import parse
from symformer.language.errors import RuleError, SizeError
from symformer.language.symbols import SYMBOLS
from symformer.ledger.facts import Ledger
from symformer.ledger.placement import Divisible, Placement, place
from symformer.models.model import Model
from symformer.quantities import quantities
from symformer.quantities.quantity import Quantity
from symformer.quantities.time_quantity import TimeQuantity

from .samples import sampled

# All sizes differ; two ranks of each kind, and three stages, divide the sizes that they must divide; 128 divides V; a
# token is routed to more experts than one of two ranks stores.
SIZES = {
    **{"B": 3, "S": 28, "S_enc": 20, "C": 26, "N_new": 9, "C_win": 13},
    **{"L": 18, "L_enc": 7, "L_dec": 11, "L_local": 15, "L_global": 17, "L_dense": 19, "L_moe": 21},
    **{"V": 1280, "V_type": 23, "P": 59, "E": 48, "H": 192, "X": 6, "X_shared": 64, "K": 5, "M": 14},
    **{"A": 8, "G": 4, "D": 10, "R_q": 12, "R_kv": 16, "D_nope": 22, "D_rope": 2, "D_v": 34, "R": 29, "W": 31},
    **{"C_local": 62, "E_emb": 46, "Z": 54, "Z_patch": 27, "N_chan": 37, "N_class": 41, "N_group": 25, "N_reg": 83},
    **{"P_enc": 36, "P_rel": 33, "N_mel": 39},
    **{"L_ssm": 51, "L_attn": 53, "L_mlp": 55, "M_shared": 58, "K_conv": 40, "C_chunk": 38},
    **{"H_ssm": 96, "A_ssm": 60, "G_ssm": 30, "D_ssm": 35, "N_state": 43, "R_dt": 47},
    **{
        "N_tok": 1680,
        "N_tps": 61,
        "N_dev": 63,
        "N_peak": 65,
        "N_bw": 1009,
        "N_micro": 66,
        "N_virt": 1,
        "C_q": 32,
        "C_kv": 42,
    },
    **{"B_vis": 50, "L_vis": 52, "E_vis": 120, "H_vis": 68, "A_vis": 24, "E_proj": 57, "N_out": 67},
    **{"L_rope": 69, "L_nope": 71, "L_conv": 77, "L_conv_x": 78, "L_ssm_d": 79, "L_hyb": 81, "R_adapter": 82},
    **{"L_lin": 76, "L_lin_x": 80, "A_k_lin": 70, "A_v_lin": 140, "D_k_lin": 72, "D_v_lin": 73},
    **{"A_lin": 74, "D_lin": 75, "D_shared": 84, "A_idx": 45, "D_idx": 44, "K_idx": 49, "L_glo_x": 85},
    **{
        "D_global": 56,
        "Z_win": 86,
        "E_wave": 87,
        "K_near": 88,
        "S_txt": 89,
        "S_img": 90,
        "L_double": 91,
        "L_single": 92,
    },
    **{"E_joint": 93, "E_pool": 94, "R_w": 95, "R_a": 97, "R_v": 98, "R_g": 99, "G_near": 101},
    **{"L_rec": 103, "H_lru": 104, "L_loc_enc": 107, "L_glo_enc": 109, "C_win_enc": 111},
    **{"E_enc": 144, "H_enc": 256, "A_enc": 224, "G_enc": 112, "D_enc": 106},
    **{"V_pli": 1536, "E_pli": 113, "R_lau": 105, "N_alt": 114, "L_loc_re": 115, "L_glo_re": 117, "L_sparse": 118},
    **{"L_deep": 128, "P_vis": 129, "J_merge": 130, "T_patch": 131},
    **{"C_csa": 121, "C_hca": 122, "G_out": 123, "N_hc": 124, "R_out": 125, "L_csa": 126, "L_hca": 127},
}
assert len(set(SIZES.values())) == len(SIZES)
OWN = {
    "bamba": {"D": 44},  # half of each head is rotated in pairs of elements
    "dinov3-vit": {"E": 128},  # heads whose width is a multiple of 4
    "gemma4": {"G_global": 2},  # divides A
    "qwen3-vl": {"J_merge": 2, "L_deep": 8, "E_vis": 192},  # J_merge divides Z/Z_patch, 4*A_vis divides E_vis
    "gemma3-multimodal": {"Z_pool": 2},  # divides Z/Z_patch
    "rwkv7": {"D_lin": 12},  # divides E
    "wav2vec2": {"G_near": 12},  # divides E
    "hubert": {"G_near": 12},
    "deepseek-v4": {"C_csa": 9, "C_hca": 11, "G_out": 20},  # groups of at most S tokens; G_out divides A*D
}
ONE = dict.fromkeys(("N_tp", "N_cp", "N_ep", "N_dp"), 1)
TWO = {**dict.fromkeys(ONE, 2), "N_pp": 3, "I_pp": 1}
RANKS: Mapping[str, tuple[str, ...]] = {
    "tensor": ("on", "sequence"),
    "context": ("on",),
    "expert": ("on",),
    "vocab": ("padded",),
    "pipeline": ("first", "middle", "last"),
}
BYTES = {"bf16", "fp16", "fp32", "fp8", "symbolic"}  # of an element: only a factor of every term
OPTIONS: Mapping[str, Mapping[str, Any]] = {"bert": {"head": "mlm", "tied": False}, "transformer": {"embeddings": True}}
# Larger patches mean fewer tokens; more heads of width E/A are narrower, and so are the weights of a fixed number of
# them, and their shared angles.
FEWER: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("vit", "clip", "dinov2", "siglip", "dit", "llava", "paligemma", "gemma3-multimodal", "sd3"),
        ("Z_patch",),
    ),
    **dict.fromkeys(("sam", "dinov3-vit"), ("Z_patch", "A")),
    "qwen3-vl": ("Z_patch", "J_merge"),
    **dict.fromkeys(("wav2vec2", "hubert"), ("G_near",)),  # groups of channels
    "deepseek-v4": ("C_csa", "C_hca"),  # larger groups of tokens are fewer
    **dict.fromkeys(
        ("modernbert", "falcon", "flux", "gpt-bigcode", "stablelm", "olmoe", "helium", "bitnet", "esm"), ("A",)
    ),
}
FASTER = ("N_peak", "N_bw")  # a faster device takes less time
BLOCKS = ("C_q", "C_kv")  # larger ones are fewer, and other tensors are read once per block
DELTA_RULES = ("qwen3-next", "qwen3-5", "qwen3-5-moe", "kimi-linear", "olmo-hybrid")
SCANS = (
    *("mamba", "mamba2", "nemotron-h", "bamba", "falcon-h1", "falcon-mamba", "granitemoehybrid", "jamba", "zamba2"),
    *DELTA_RULES,
)

# Each architecture answers a sample of the conventions, and each name starts at a different one. The first architecture
# of each of the thirty kinds answers one in three, so ten kinds answer each convention; others answer one in twelve.
SAMPLED, SAMPLED_OF_A_KIND = 12, 3
Exact = int | Fraction  # rounding up costs less


class Point:
    """Numbers for every size, and the exact value of a formula at them, without expanding it."""

    def __init__(self, numbers: Mapping[str, int], relations: Mapping[Symbol, Expr]) -> None:
        self.numbers = {SYMBOLS[name]: Integer(number) for name, number in numbers.items()}
        self.numbers |= {size: expr.xreplace(self.numbers) for size, expr in relations.items()}
        self.whole = {size: int(number) for size, number in self.numbers.items()}
        self.found: dict[Expr, Exact] = {}

    def of(self, expr: Expr) -> Exact:
        if expr not in self.found:
            number = expr.xreplace(self.numbers)
            assert number.is_Rational, f"{expr} is {number}"
            self.found[expr] = int(number.p) if number.q == 1 else Fraction(int(number.p), int(number.q))
        return self.found[expr]

    def total(self, line: Line) -> Exact:
        terms = (prod(map(self.of, term.factors)) for term in line.terms)
        return sum(chain(terms, (self.of(below.count) * self.total(below) for below in line.lines)))

    def __call__(self, formula: Formula) -> Exact:
        above = self.total(formula.root)
        return Fraction(above, self.total(formula.denominator.root)) if isinstance(formula, Ratio) else above

    def holds(self, formula: Formula) -> bool:
        """Return True if these numbers satisfy the conditions of the formula."""
        try:
            for condition in formula.constraints:
                condition.check(self.whole)
        except SizeError:
            return False
        return True


@dataclass(frozen=True)
class Answer:
    """A formula with its value, and the formula of the whole model if it is per rank."""

    quantity: str
    conventions: tuple[tuple[str, str], ...]
    rank: str
    formula: Formula
    whole: Formula

    def __str__(self) -> str:
        return f"{self.quantity} {dict(self.conventions)} {self.rank}"


@cache
def of_its_kind() -> dict[frozenset[tuple[object, ...]], list[str]]:
    """Return the architectures grouped by their operations: kinds, masks, windows and latents."""
    found: dict[frozenset[tuple[object, ...]], list[str]] = {}
    for name in names():
        ledger = model_of(name).component.ledger
        kind = frozenset((entry.kind, entry.mask, entry.window is None, not entry.latent) for _, entry in ledger)
        found.setdefault(kind, []).append(name)
    return found


@cache
def answers(name: str) -> list[Answer]:
    """Return the answers of an architecture, changing one convention at a time, for the whole and per rank."""
    every = SAMPLED_OF_A_KIND if first_of_its_kind(name) else SAMPLED
    with patch(f"{Quantity.__module__}.place", cache_by_placement()):
        return _answers(model_of(name), crc32(name.encode()) % every, every)


def first_of_its_kind(name: str) -> bool:
    return any(name == alike[0] for alike in of_its_kind().values())


def model_of(name: str) -> Model:
    return sf.architecture(name, **OPTIONS.get(name, {}))


def cache_by_placement() -> Callable[[Divisible, Placement], Ledger]:
    """Return the ledger of each rank of one part, shared by all quantities."""
    ledgers: dict[Placement, Ledger] = {}

    def placed(part: Divisible, placement: Placement) -> Ledger:
        if placement not in ledgers:
            ledgers[placement] = place(part, placement)
        return ledgers[placement]

    return placed


def _answers(model: Model, first: int, every: int) -> list[Answer]:
    found, places = [], count()
    # Times are computed from counts, whose conventions come first.
    for quantity, question in sorted(quantities().items(), key=lambda each: isinstance(each[1], TimeQuantity)):
        if question.derived_from and (
            every == SAMPLED_OF_A_KIND or first
        ):  # it is a multiple of another quantity, as its own tests check
            continue
        changes = [
            (key, value)
            for key, each in question.conventions.items()
            for value in each.usual[1:]
            # Recipes and optimizers change the bytes per weight; with adam-8bit they fall at 4096 elements, by its own
            # rule.
            if key not in ("recipe", "optimizer") and value not in BYTES
            if next(places) % every == first
        ]
        for conventions in ({}, *({key: value} for key, value in changes)):
            memory = {"activations": "megatron", "train-memory": "none"}.get(quantity)  # conditions known about a rank
            given = {**({"implementation": memory} if memory else {}), **conventions}
            try:
                whole = model.formula(quantity, **given)
            except RuleError:
                continue
            found.append(Answer(quantity, tuple(given.items()), "", whole, whole))
            for kind, value in ((kind, value) for kind, values in RANKS.items() for value in values):
                try:
                    formula = model.formula(quantity, **given, **{kind: value})
                except RuleError:
                    continue
                found.append(Answer(quantity, tuple(given.items()), f"{kind}={value}", formula, whole))
    return found


def point(name: str, **numbers: int) -> Point:
    model = model_of(name)
    return Point({**SIZES, **OWN.get(name, {}), **numbers}, {**model.component.totals, **model.relations})


@pytest.mark.parametrize("name", sampled(12, names()))
def test_single_rank_equals_the_whole_model(name: str) -> None:
    """Or it is refused: one stage is not a pipeline, and the payload of a collective does not depend on its ranks."""
    one, compared = point(name, **ONE, N_pp=1, I_pp=1), 0
    for answer in answers(name):
        if answer.rank.startswith("pipeline"):
            assert not one.holds(answer.formula), f"{answer} is answered for one stage"
        elif answer.rank and one.holds(answer.formula):
            assert one(answer.formula) == one(answer.whole), str(answer)
            compared += 1
        for key, value in answer.conventions:
            if (key, answer.rank) == ("data", "") and one.holds(answer.formula):
                rest = {name: choice for name, choice in answer.conventions if name != "data"}
                alone = model_of(name).formula(answer.quantity, **rest)
                assert one(answer.formula) == one(alone), f"{answer} {value}"
                compared += 1
    # Sharding of a scan is refused, except for the vocabulary, and so is sharding of a single number.
    few = name in (*SCANS, "clip", "siglip")
    assert compared > (5 if few else 15)


@pytest.mark.parametrize("name", sampled(12, names()))
def test_costs_are_monotone_in_every_size(name: str) -> None:
    here = point(name, **TWO)
    larger = {size: point(name, **{**TWO, size: 2 * number}) for size, number in (SIZES | OWN.get(name, {})).items()}
    grown = 0
    for answer in answers(name):
        if isinstance(answer.formula, Ratio):
            continue
        if answer.rank and dict(answer.conventions) not in ({}, {"implementation": "none"}):
            continue
        base, free = here(answer.formula), answer.formula.expr.free_symbols
        fewer = ("B", "S") if answer.quantity == "run-flops" else ()  # steps, for the same number of tokens
        for size, there in larger.items():
            if SYMBOLS[size] in free and size not in (*FEWER.get(name, ()), *BLOCKS, *FASTER, *fewer):
                assert there(answer.formula) >= base, f"{answer} falls as {size} grows"
                grown += 1
    assert grown > 100


@pytest.mark.parametrize("name", sampled(12, names()))
def test_more_ranks_never_increase_the_cost_of_a_rank(name: str) -> None:
    """But more bytes are sent; and with more pipeline stages, more micro-batches are in flight."""
    here = point(name, **TWO)
    more = {ranks: point(name, **{**TWO, ranks: 2 * TWO[ranks]}) for ranks in (*ONE, "N_pp")}
    compared = 0
    for answer in answers(name):
        if (
            answer.quantity == "communication"
            or isinstance(answer.formula, Ratio)
            or (answer.quantity, answer.rank[:8])
            == (
                "activations",
                "pipeline",
            )
        ):
            continue
        base, free = here(answer.formula), answer.formula.expr.free_symbols
        for ranks, there in more.items():
            if SYMBOLS[ranks] in free:
                assert there(answer.formula) <= base, f"{answer} grows with {ranks}"
                compared += 1
    # Sharding of a table of distances (UMT5 has one in each layer) or of a scan is refused, and so are pipeline stages
    # for shared or several kinds of layers. OLMo 3 also has windows, and norms over all heads. Gemma 3n has thresholds
    # of sharded rows.
    hybrids = dict.fromkeys(
        (
            "nemotron-h",
            "bamba",
            "granitemoehybrid",
            "jamba",
            "zamba2",
            "rwkv7",
            "gemma3n",
            "recurrent-gemma",
            *DELTA_RULES,
        ),
        1,
    )
    assert compared > {"t5": 1, "mt5": 1, "umt5": -1, "olmo3": -1, **hybrids}.get(name, 10)


@pytest.mark.parametrize("name", sampled(12, names()))
def test_training_costs_at_least_its_forward_pass(name: str) -> None:
    here, compared = point(name, **TWO), 0
    found = {(a.quantity, a.conventions, a.rank): a.formula for a in answers(name)}
    model = model_of(name)
    for (quantity, conventions, rank), formula in found.items():
        placed = dict([rank.split("=")]) if rank else {}
        if quantity == "train-flops":
            shared = {key: value for key, value in conventions if key in ("attention", "embedding")}
            forward = found.get(("flops", tuple(shared.items()), rank)) or model.formula("flops", **shared, **placed)
        elif quantity == "communication" and "step" not in dict(conventions):
            forward = model.formula("communication", **dict(conventions), **placed, step="forward")
        else:
            continue
        assert here(formula) >= here(forward), f"{quantity} {conventions} {rank}"
        compared += 1
    assert compared > (3 if name == "olmo3" else 4)  # without any ranks


@pytest.mark.parametrize("name", sampled(12, names()))
def test_active_parameters_do_not_exceed_stored_parameters(name: str) -> None:
    here = point(name, **TWO)
    found = {(a.quantity, a.rank): a.formula for a in answers(name) if not a.conventions}
    ranks = [rank for quantity, rank in found if quantity == "active-params"]
    assert ranks
    for rank in ranks:
        assert here(found["active-params", rank]) <= here(found["params", rank]), rank


# Weights that every rank holds, by hand: norms, biases added after row-parallel layers, positions, and everything
# without heads or a hidden width.
LATENT = "(L_dense + L_moe)*(2*E + E*R_q + R_q + E*(R_kv + D_rope) + R_kv)"
COPIED = [
    ("gpt2", "params", "tensor=on", "P*E + L*(4*E + 2*E) + 2*E"),
    ("llama", "params", "tensor=on", "2*L*E + E"),
    ("bert", "params", "tensor=on", "P*E + V_type*E + 2*E + L*(4*E + 2*E) + E*E + E + 2*E"),
    ("palm", "params", "tensor=on", "2*L*E*D"),
    ("mixtral", "params", "tensor=on", "L*E*X + 2*L*E + E"),
    ("deepseek-v3", "params", "tensor=on", f"{LATENT} + L_moe*E*X + E"),
    ("transformer", "params", "tensor=on", "L_enc*(2*E + 4*E) + L_dec*(3*E + 6*E) + 4*E"),
    ("mixtral", "params", "expert=on", "2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E"),
    ("mixtral", "active-params", "tensor=on", "L*E*X + 2*L*E + E"),
    # Products of keys and values, of a router, of latents, and of the head's transform.
    ("gpt2", "flops", "tensor=on", "0"),
    ("gpt2", "flops", "tensor=sequence", "0"),
    ("palm", "flops", "tensor=on", "4*B*S*L*E*D"),
    ("palm", "train-flops", "tensor=on", "3*4*B*S*L*E*D"),
    ("mixtral", "prefill-flops", "tensor=on", "2*B*S*L*E*X"),
    ("deepseek-v3", "flops", "tensor=on", "2*B*S*E*((L_dense + L_moe)*(R_q + R_kv + D_rope) + L_moe*X)"),
    ("bert", "flops", "tensor=on", "2*B*S*E*E"),
    ("bert", "flops", "tensor=sequence", "0"),
    ("transformer", "flops", "tensor=on", "0"),
    ("transformer", "flops", "tensor=sequence", "0"),
    ("transformer", "train-flops", "tensor=sequence", "0"),
    ("llama", "decode-flops", "tensor=on", "0"),
    *((name, "flops", "context=on", "0") for name in ("gpt2", "llama", "palm", "mixtral", "deepseek-v3", "bert")),
    ("transformer", "flops", "context=on", "0"),
    ("transformer", "train-flops", "context=on", "0"),
    # One key and one value for all heads, and latents; 2 bytes per element.
    ("llama", "kv-cache", "tensor=on", "0"),
    ("palm", "kv-cache", "tensor=on", "2*2*B*C*L*D"),
    ("deepseek-v3", "kv-cache", "tensor=on", "2*B*C*(L_dense + L_moe)*(R_kv + D_rope)"),
    *((name, "kv-cache", "context=on", "0") for name in ("gpt2", "llama", "palm", "mixtral", "deepseek-v3")),
    # Tensors of 2 bytes that Megatron's kernels save between sharded operations: the inputs of two norms and of the two
    # products after them, in each layer; and of the final norm and the head.
    ("gpt2", "activations", "context=on", "0"),
    ("gpt2", "activations", "tensor=sequence", "0"),
    ("gpt2", "activations", "tensor=on", "8*B*S*E*L + 4*B*S*E"),
]


@pytest.mark.parametrize(("name", "quantity", "rank", "copied"), sampled(2, COPIED))
def test_ranks_sum_to_the_whole_plus_replicas(name: str, quantity: str, rank: str, copied: str) -> None:
    here = point(name, **TWO)
    plain: tuple[tuple[tuple[str, str], ...], ...] = ((), (("implementation", "megatron"),))
    found = next(a for a in answers(name) if (a.quantity, a.rank) == (quantity, rank) and a.conventions in plain)
    assert 2 * here(found.formula) == here(found.whole) + here.of(parse(copied))


@pytest.mark.parametrize("rank", ["tensor=sequence", "context=on"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
@pytest.mark.parametrize("convention", [("count", "all"), ("embedding", "matmul"), ("attention", "causal")])
def test_sequence_parallel_ranks_duplicate_no_work(name: str, rank: str, convention: tuple[str, str]) -> None:
    here = point(name, **TWO)
    conventions = dict([convention])
    whole, own = (model_of(name).formula("flops", **conventions, **placed) for placed in ({}, dict([rank.split("=")])))
    assert 2 * here(own) == here(whole)


def stages(name: str, quantity: str) -> Iterator[Exact]:
    """Yield the values of the first, the middle and the last of three stages, and of the whole."""
    here = point(name, **TWO)
    found = {a.rank: a for a in answers(name) if (a.quantity, a.conventions) == (quantity, ())}
    for stage in RANKS["pipeline"]:
        assert here.holds(found[f"pipeline={stage}"].formula)
        yield here(found[f"pipeline={stage}"].formula)
    yield here(found[""].formula)


# The last stage has a copy of a tied embedding.
@pytest.mark.parametrize(
    ("name", "quantity", "copied"),
    [
        ("gpt2", "params", 1280 * 48),
        ("llama", "params", 0),
        ("bert", "params", 0),
        *((name, quantity, 0) for name in ("gpt2", "llama") for quantity in ("flops", "train-flops", "kv-cache")),
    ],
)
def test_pipeline_stages_sum_to_the_whole(name: str, quantity: str, copied: int) -> None:
    first, middle, last, whole = stages(name, quantity)
    assert first + middle + last == whole + copied
