"""The reading of each name in a printed formula: the size of the target that it stands for.

An ambiguous name is an error that lists the possible readings. A name with one usual reading and rarer ones is read in
the usual way; if the formula then differs from ours, an error lists the rarer readings, because the reading may be
wrong rather than the formula.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from sympy import Add, Expr, Mul, Pow, Symbol, cancel, expand, nan, zoo

from ..formulas.formula import Formula
from ..language.arithmetic import parse
from ..language.errors import ReadingError, SizeError, alternatives, listed, quoted
from ..language.limits import ExpansionBound, Quotient
from ..language.notation.text import code, text
from ..language.parsing.name_tokens import name_symbol, one_name
from ..language.symbols import FORMER, LETTERS, SYMBOLS, is_size, letter, print_order

# Names that papers and code use for the sizes, in addition to config fields and our own alphabet. Readings separated by
# a semicolon are all possible, so the name is ambiguous. A bar separates fallbacks: the first in the target counts.
_COMMON = """
d_model d_embd d_embed d_emb n_embed embed_dim hidden_dim hidden model_dim dmodel width: E
n_layer n_layers num_layers layers n_l N_layer N_layers nlayers depth l ell n_blocks num_blocks: L
n_head n_heads num_heads heads n_h n_q n_heads_q num_query_heads nheads nhead n_a N_heads a: A
n_kv n_kv_heads kv_heads num_kv_heads n_g n_groups kvheads n_heads_kv g num_key_value_groups: G | A
d_head d_h d_k head_dim head_size d_attn_head headdim key_size d_kv key: D | E/A
d_v value_size: D_v | D | E/A
d_attn: A*D | E
d_ff d_ffn d_mlp ffn ffw ffn_dim ffw_size ffn_hidden_size ffn_hidden d_hidden f F intermediate mlp: H | M
d_inner: H | M | H_ssm
n_vocab vocab d_vocab num_vocab vocabulary N_vocab v: V
n_ctx ctx context n_positions n_pos context_length block_size: S | C | P ; C | S | P
seq seq_len seq_length seqlen l_seq n_seq T s S: S | C | P ; C | S | P
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
n: S | C | P ; L ; X
k: K ; G ; D
p: P ; N_pp
c: C ; N_chan
q: A*D | E ; A
w: W ; C_win
i: H ; L
Q: D | E/A
"""
# Rarer readings of names that also have a usual one. Most are letters of our alphabet that other papers use for
# something else, such as D, the model width of the scaling book and the training tokens of Kaplan and Hoffmann.
_ELSEWHERE = """
B: B*S
D: E ; B*S ; N_tok
E: X
H: E ; A ; D | E/A
K: G ; D | E/A
N: A ; N_dp
P: COUNT ; Z_patch
T: N_tok ; B*S
d: D | E/A
hidden hidden_dim d_hidden: H | M
f F d_ff d_ffn d_mlp ffn ffw ffn_dim ffw_size ffn_hidden_size ffn_hidden d_inner intermediate mlp: M ; H_ssm
n_ctx n_positions: S ; C
"""
PARAMETERS = frozenset(["N", "Psi", "Phi", "n_params", "num_params", "params", "N_params", "n_param"])
STORED = ("params", "active-params", "trainable-params")
COUNT = Symbol("number of parameters", positive=True)  # the placeholder for N, until a parameter count replaces it
_MEANINGS = {
    "A*D": "width of all heads",
    "B*S": "tokens of a batch",
    "E/A": "width of one head",
    "number of parameters": "number of parameters",
}


@dataclass(frozen=True)
class NameBinding:
    """The reading of one name in a formula, with its source and the rarer readings that are also possible."""

    name: str
    expr: Expr
    source: str  # "the alphabet", "a usual name", "--paper kaplan2020", "--where"
    others: tuple[Expr, ...] = ()
    counts: str = ""  # for N: the key of the parameters that the paper counts, if it states them

    @property
    def meaning(self) -> str:
        """The meaning of the size, for a table; empty for an expression without one."""
        return meaning(self.expr)

    @property
    def spelt(self) -> str:
        """The size as text: ``E``, ``E/A``, ``N`` for the number of parameters."""
        return "N" if self.expr == COUNT else text(self.expr)

    def to_json(self) -> dict[str, str]:
        """The reading as ``check --json`` prints it."""
        expr = "N" if self.expr == COUNT else code(self.expr)
        return {"name": self.name, "reading": expr, "meaning": self.meaning, "source": self.source}


def meaning(expr: Expr) -> str:
    """The meaning of a size or of a common product of sizes; empty if it has none."""
    if is_size(expr):
        return letter(expr).meaning
    return _MEANINGS.get(str(expr), "")


def parse_bindings(pairs: Iterable[str]) -> dict[str, str]:
    """Parse NAME=EXPR arguments, with names spelled as in parsed formulas. Raises ReadingError."""
    found: dict[str, str] = {}
    for each in pairs:
        name, equals, value = each.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ReadingError(f"{quoted(each)} does not have the form NAME=EXPR, such as h=E")
        own = one_name(name.strip())
        if own in found:
            raise ReadingError(
                f"{own} is given twice, as {quoted(found[own])} and as {quoted(value.strip())}; remove one"
            )
        found[own] = value.strip()
    return found


def bind_names(
    names: Iterable[str],
    formula: Formula,
    where: Mapping[str, str],
    letters: Mapping[str, str],
    target: str,
    paper: str = "",
) -> list[NameBinding]:
    """Return the reading of each name, including N for the number of parameters.

    Parameters
    ----------
    names
        The names of the printed formula.
    formula
        Our formula, whose sizes the names can stand for.
    where
        Readings that the user gives: arithmetic over our sizes, or ``N`` for the number of parameters.
    letters
        The notation of a paper, as ``letters_of`` returns it.
    target, paper
        The target and the key of the paper, for messages.

    Raises
    ------
    ReadingError
        If a name is ambiguous or unknown, or if ``where`` has a name that the formula lacks.

    """
    names = list(names)
    if unused := [each for each in where if each not in names]:
        raise ReadingError(f"--where {unused[0]}: the formula has no name {unused[0]}; its names are {listed(names)}")
    found = []
    for name in names:
        if name in where:
            found.append(NameBinding(name, _stated(name, where[name], formula, target), "--where"))
        elif (told := _told(letters.get(name, ""), formula)) is not None:
            expr, counts = told
            found.append(NameBinding(name, expr, f"--paper {paper}".rstrip(), counts=counts))
        else:
            found.append(_guessed(name, names, formula, target))
    return _with_others(found, formula)


def _stated(name: str, stated: str, formula: Formula, target: str) -> Expr:
    """Return the reading given by the user. Raises ReadingError for a size that the target lacks."""
    if stated.strip() in PARAMETERS:
        return COUNT
    expr = parse(stated, formula.accepted_sizes).xreplace(_absent(formula))
    if strange := sorted(map(str, expr.free_symbols - formula.accepted_sizes)):
        raise ReadingError(f"{name}={stated}: {target} has no size {strange[0]}; it has {_sizes(formula)}")
    return expr


def _told(stated: str, formula: Formula) -> tuple[Expr, str] | None:
    """Return the reading in the notation of a paper: the first that the target has, or None.

    ``parameters: matrices`` is the number of parameters; the key names those that the paper counts.
    """
    word, colon, counts = stated.partition(": ")
    if colon and word == "parameters":
        return COUNT, counts
    for way in filter(None, stated.split("|")):
        expr = parse(way).xreplace(_absent(formula))
        if expr.free_symbols <= formula.accepted_sizes:
            return expr, ""
    return None


def _guessed(name: str, names: Collection[str], formula: Formula, target: str) -> NameBinding:
    """Return the usual reading of a name. Raises ReadingError if there are several, or none."""
    candidates, source = _candidates(name, formula)
    if name == "D" and not PARAMETERS.isdisjoint(names):
        candidates = [*_tokens(formula), *candidates]
    if len(candidates) == 1:
        return NameBinding(name, candidates[0], source)
    if not candidates and name in PARAMETERS:
        return NameBinding(name, COUNT, "a usual name")
    if not candidates and (rarer := _elsewhere(name, formula)):
        return NameBinding(name, rarer[0], "a rarer name")
    raise _ambiguous(name, candidates, formula, target)


def _with_others(found: list[NameBinding], formula: Formula) -> list[NameBinding]:
    """Add to each guessed reading the rarer ones that remain after excluding sizes that other names certainly have."""
    rarer = {each.name: () if each.source.startswith("--") else _elsewhere(each.name, formula) for each in found}
    own = {each.name: each.expr for each in found}
    while True:
        taken = {own[name] for name, others in rarer.items() if not others}
        left = {name: tuple(each for each in others if not _taken(each, taken)) for name, others in rarer.items()}
        if left == rarer:
            return [replace(each, others=tuple(one for one in left[each.name] if one != each.expr)) for each in found]
        rarer = left


def _taken(expr: Expr, taken: AbstractSet[Expr]) -> bool:
    """Return True if another name has this reading, alone or as a factor of a product, as S in B*S."""
    return expr in taken or (expr.is_polynomial() and not taken.isdisjoint(Mul.make_args(expr)))


def _elsewhere(name: str, formula: Formula) -> tuple[Expr, ...]:
    """Return the rarer readings of a name that occur in our formula."""
    if name == "N" and formula.measure.name not in STORED and formula.whole_account is None:
        return ()  # N is the number of parameters, except in a formula of parameters or of one part
    there = formula.expanded.free_symbols | ({COUNT} if formula.measure.name not in STORED else set())
    found = []
    for ways in _table(_ELSEWHERE).get(name, ()):
        for way in ways:
            expr = COUNT if way == "COUNT" else parse(way)
            if expr.free_symbols <= formula.accepted_sizes | {COUNT}:
                found += [expr] if expr.as_numer_denom()[0].free_symbols <= there else []
                break
    return tuple(found)


def ambiguity_error(named: Iterable[NameBinding], paper: str = "") -> ReadingError | None:
    """Return the error for a formula that differs although a name in it has further readings, or None."""
    said, ways = [], dict[Expr, str]()
    for each in named:
        if each.others:
            readings = [_spelt(expr) for expr in (each.expr, *each.others)]
            said.append(f"{each.name} can be {' or '.join(readings)}")
            other = next((one for one in each.others if one not in ways), each.others[0])
            ways.setdefault(other, f"--where {each.name}={'N' if other == COUNT else code(other)}")
    if not said:
        return None
    name = "" if paper else ", or name the paper with --paper"
    return ReadingError(
        f"the formula differs if every letter has its usual meaning, but {'; '.join(said)}; state the meaning, as in "
        f"{' '.join(ways.values())}{name}"
    )


def _absent(formula: Formula) -> dict[Symbol, Expr]:
    """Return sizes that the target defines by others: E/A for the head dimension, A for the key/value heads."""
    taken, e, a, g, d = formula.accepted_sizes, SYMBOLS["E"], SYMBOLS["A"], SYMBOLS["G"], SYMBOLS["D"]
    found: dict[Symbol, Expr] = {}
    if d not in taken and {e, a} <= taken:
        found[d] = e / a
    if g not in taken and a in taken:
        found[g] = a
    return found


def _candidates(name: str, formula: Formula) -> tuple[list[Expr], str]:
    """Return the possible readings of a name, and their source."""
    taken = formula.accepted_sizes
    name = FORMER.get(name, name)
    if name in LETTERS and SYMBOLS[name] in taken:
        return [SYMBOLS[name]], "the alphabet"
    fields = [SYMBOLS[each.name] for each in LETTERS.values() if name in each.config and SYMBOLS[each.name] in taken]
    if plain := [each for each in fields if "_" not in each.name]:
        fields = plain
    if fields:
        return fields, "a config field"
    found: list[Expr] = []
    for ways in _table(_COMMON).get(name, ()):
        for way in ways:
            expr = parse(way)
            if expr.free_symbols <= taken:
                if expr not in found:
                    found.append(expr)
                break
    if not found and name in LETTERS and (absent := _absent(formula)) and SYMBOLS[name] in absent:
        found = [absent[SYMBOLS[name]]]
    return found, "a usual name"


def _tokens(formula: Formula) -> list[Expr]:
    """Return the reading of D next to a number of parameters, as in 6ND: the tokens of a FLOP count."""
    if formula.measure.unit not in ("FLOPs", "MACs"):
        return []
    ways = (SYMBOLS["N_tok"], SYMBOLS["B"] * SYMBOLS["S"])
    return [each for each in ways if each.free_symbols <= formula.accepted_sizes][:1]


@cache
def _table(lines: str) -> dict[str, list[list[str]]]:
    """Return the readings of each name in a table: alternatives, each a list whose first size in the target counts."""
    found: dict[str, list[list[str]]] = {}
    for line in lines.strip().splitlines():
        names, _, ways = line.partition(": ")
        several = [[each.strip() for each in way.split("|")] for way in ways.split(";")]
        for name in names.split():
            found.setdefault(name, []).extend(several)
    return found


def _ambiguous(name: str, candidates: list[Expr], formula: Formula, target: str) -> ReadingError:
    if candidates:
        ways = alternatives(map(_spelt, candidates))
        return ReadingError(
            f"{name} can be {ways} of {target}; choose one, as in --where {name}={code(candidates[0])}, or name the "
            "paper with --paper"
        )
    hint = ""
    if ["W"] in _table(_COMMON).get(name, ()) and "dtype" in formula.conventions:
        hint = "; for the bytes per element, use --option dtype=symbolic"
    return ReadingError(
        f"{name} has no known meaning for {target}; define it with --where {name}=..., in terms "
        f"of the sizes {_sizes(formula)}{hint}"
    )


def _spelt(expr: Expr) -> str:
    """Return a reading as a phrase: ``E (embedding (model) width)``."""
    if expr == COUNT:
        return "the number of parameters (N)"
    return text(expr) + (f" ({said})" if (said := meaning(expr)) else "")


def _sizes(formula: Formula) -> str:
    return listed(sorted(formula.accepted_sizes, key=print_order))


def substitute_names(expr: Expr, named: Iterable[NameBinding], formula: Formula) -> Expr:
    """Return a formula over names as one over the target's sizes.

    Raises SizeError if it divides by zero, and ReadingError if it is too long to expand.
    """
    values = {name_symbol(each.name): each.expr for each in named}
    found = expr.xreplace(values).xreplace(formula.relations)
    check_length(found)
    found = expand(found)
    if any(isinstance(each.base, Add) and each.exp.is_Integer for each in found.atoms(Pow)):
        found = expand(cancel(found))
    if found.is_finite is False or found.has(nan, zoo):
        raise SizeError("with these names, the formula divides by zero")
    return found


def check_length(expr: Expr) -> None:
    """Raise ReadingError if a formula over sizes is too long to expand."""
    excess = Quotient.of(expr).excess
    with suppress(ValueError):  # roots, which have their own error
        excess = excess or ExpansionBound.of(expr, {}).excess
    if excess:
        raise ReadingError(f"with these names, the expanded formula can have {excess}")
