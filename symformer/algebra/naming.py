"""What the names of a printed formula stand for among a target's sizes; what can be several is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from sympy import Add, Expr, Pow, Symbol, cancel, expand, nan, zoo

from ..formulas.formula import Formula
from ..language.arithmetic import parse
from ..language.errors import ReadingError, SizeError, listed, quoted
from ..language.notation.text import code, text
from ..language.reading.names import name_symbol, one_name
from ..language.symbols import LETTERS, RANK, SYMBOLS, letter

# What papers and code call the sizes, beside the fields of configs and the alphabet itself. Of several with a semicolon
# between them a name can be each, and is asked; of those with a bar between them it is the first that there is.
_COMMON = """
d_model d_embd d_embed d_emb n_embed embed_dim hidden_dim hidden model_dim dmodel width: E
n_layer n_layers num_layers layers n_l N_layer N_layers nlayers depth l ell n_blocks num_blocks: L
n_head n_heads num_heads heads n_h n_q n_heads_q num_query_heads nheads nhead n_a N_heads a: A
n_kv n_kv_heads kv_heads num_kv_heads n_g n_groups kvheads n_heads_kv g num_key_value_groups: G | A
d_head d_h d_k head_dim head_size d_attn_head headdim key_size d_kv key: D | E/A
d_v value_size: D_v | D | E/A
d_attn: A*D | E
d_ff d_ffn d_mlp ffn ffw ffn_dim ffw_size ffn_hidden_size ffn_hidden d_inner d_hidden f F intermediate mlp: H | M
n_vocab vocab d_vocab num_vocab vocabulary N_vocab v: V
n_ctx ctx context n_positions n_pos context_length block_size: S | P
seq seq_len seq_length seqlen l_seq n_seq T s S: S | P
max_seq_len max_seq_length n_ctx_max positions: P
batch batch_size b bsz n_batch micro_batch_size: B
n_experts num_experts N_experts experts n_e E_experts n_routed: X
top_k n_active K_experts experts_per_token n_experts_per_tok k_experts: K
d_expert moe_dim d_moe moe_intermediate: M
n_shared N_shared: X_shared
d_c kv_lora d_latent kv_lora_rank d_ckv: R_kv
d_c' q_lora q_lora_rank d_cq: R_q
d_h^R d_rope d_r rope_dim: D_rope
d_nope d_n: D_nope
bytes bytes_per_element n_bytes: W
N_d N_dp n_dp dp: N_dp
t tp n_tp N_t: N_tp ; S
n_pp pp N_p: N_pp
lora_rank rank r: R
h: E ; A ; H
d: E ; D
e: E ; X
m: H ; M
n: S | P ; L ; X
k: K ; G ; D
p: P ; N_pp
c: C ; N_chan
q: A*D ; A
w: W ; C_win
i: H ; L
Q: D | E/A
"""
PARAMETERS = frozenset(["N", "Psi", "Phi", "n_params", "num_params", "params", "N_params", "n_param"])


@dataclass(frozen=True)
class Named:
    """What one name of a formula stands for, and who says so."""

    name: str
    expr: Expr
    by: str  # "the alphabet", "its name", "the paper", "--where"

    @property
    def spelt(self) -> str:
        """For a line: ``h = E (embedding (model) width)``."""
        meaning = f" ({letter(self.expr).meaning})" if isinstance(self.expr, Symbol) else ""
        return f"{self.name} = {text(self.expr)}{meaning}"


def given(pairs: Iterable[str]) -> dict[str, str]:
    """NAME=EXPR arguments, each with the name as the reader spells it. Raises ReadingError."""
    found: dict[str, str] = {}
    for each in pairs:
        name, equals, value = each.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ReadingError(f"{quoted(each)} is not of the form NAME=EXPR, such as h=E")
        own = one_name(name.strip())
        if own in found:
            raise ReadingError(
                f"{own} is given twice, as {quoted(found[own])} and as {quoted(value.strip())}; keep one"
            )
        found[own] = value.strip()
    return found


def naming(
    names: Iterable[str], formula: Formula, where: Mapping[str, str], paper: Mapping[str, str], target: str
) -> list[Named]:
    """What each name stands for; those of the number of parameters are left out where no size is called so.

    Raises ReadingError for a name that can be several sizes, or none, and for one that the formula does not have.
    """
    names = list(names)
    if unused := [each for each in where if each not in names]:
        raise ReadingError(f"{unused[0]} is given, and the formula has no such name; it has {listed(names)}")
    found = []
    for name in names:
        if name in where:
            stated = parse(where[name]).xreplace(_absent(formula))
            if strange := sorted(map(str, stated.free_symbols - formula.takes)):
                known = _sizes(formula)
                raise ReadingError(f"{name}={where[name]}: {target} has no size {strange[0]}; it has {known}")
            found.append(Named(name, stated, "--where"))
            continue
        if name in paper and (stated := parse(paper[name]).xreplace(_absent(formula))).free_symbols <= formula.takes:
            found.append(Named(name, stated, "the paper"))
            continue
        candidates, by = _candidates(name, formula)
        if name == "D" and not PARAMETERS.isdisjoint(names):
            candidates = [*_tokens(formula), *candidates]
        if len(candidates) == 1:
            found.append(Named(name, candidates[0], by))
        elif not candidates and name in PARAMETERS:
            continue
        else:
            raise _asked(name, candidates, formula, target)
    return found


def _absent(formula: Formula) -> dict[Symbol, Expr]:
    """Sizes that a target gives by others: the width of a head, where it is E/A, and as many key/value heads as A."""
    taken, e, a, g, d = formula.takes, SYMBOLS["E"], SYMBOLS["A"], SYMBOLS["G"], SYMBOLS["D"]
    found: dict[Symbol, Expr] = {}
    if d not in taken and {e, a} <= taken:
        found[d] = e / a
    if g not in taken and a in taken:
        found[g] = a
    return found


def _candidates(name: str, formula: Formula) -> tuple[list[Expr], str]:
    """What a name can stand for, and what says so."""
    taken = formula.takes
    if name in LETTERS and SYMBOLS[name] in taken:
        return [SYMBOLS[name]], "the alphabet"
    fields = [SYMBOLS[each.name] for each in LETTERS.values() if name in each.config and SYMBOLS[each.name] in taken]
    if plain := [each for each in fields if "_" not in each.name]:
        fields = plain
    if fields:
        return fields, "its name"
    found: list[Expr] = []
    for ways in _common().get(name, ()):
        for way in ways:
            expr = parse(way)
            if expr.free_symbols <= taken:
                if expr not in found:
                    found.append(expr)
                break
    if not found and name in LETTERS and (absent := _absent(formula)) and SYMBOLS[name] in absent:
        found = [absent[SYMBOLS[name]]]
    return found, "its name"


def _tokens(formula: Formula) -> list[Expr]:
    """What D is beside a number of parameters, as in 6ND: the tokens that FLOPs are counted of."""
    if formula.measure.unit not in ("FLOPs", "MACs"):
        return []
    ways = (SYMBOLS["N_tok"], SYMBOLS["B"] * SYMBOLS["S"])
    return [each for each in ways if each.free_symbols <= formula.takes][:1]


@cache
def _common() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for line in _COMMON.strip().splitlines():
        names, _, ways = line.partition(": ")
        several = [[each.strip() for each in way.split("|")] for way in ways.split(";")]
        for name in names.split():
            found.setdefault(name, []).extend(several)
    return found


def _asked(name: str, candidates: list[Expr], formula: Formula, target: str) -> ReadingError:
    if candidates:
        ways = " or ".join(text(each) + _meaning(each) for each in candidates)
        return ReadingError(
            f"{name} can be {ways} of {target}; say which, as in --where {name}={code(candidates[0])}, or whose "
            "letters these are by --paper"
        )
    hint = ""
    if ["W"] in _common().get(name, ()) and "dtype" in formula.conventions:
        hint = "; bytes of one element have a letter with --option dtype=symbolic"
    return ReadingError(
        f"{name} stands for nothing that {target} is known to have; say what it is, as in --where {name}=..., over "
        f"its sizes {_sizes(formula)}{hint}"
    )


def _sizes(formula: Formula) -> str:
    return listed(sorted(formula.takes, key=RANK.__getitem__))


def _meaning(expr: Expr) -> str:
    return f" ({letter(expr).meaning})" if isinstance(expr, Symbol) else ""


def put_in_names(expr: Expr, named: Iterable[Named], formula: Formula) -> Expr:
    """A formula over names as one over the target's sizes. Raises SizeError where it is no number then."""
    values = {name_symbol(each.name): each.expr for each in named}
    found = expand(expr.xreplace(values).xreplace(formula.relations))
    if any(isinstance(each.base, Add) and each.exp.is_Integer for each in found.atoms(Pow)):
        found = expand(cancel(found))
    if found.is_finite is False or found.has(nan, zoo):
        raise SizeError("with these names the formula divides by zero")
    return found
