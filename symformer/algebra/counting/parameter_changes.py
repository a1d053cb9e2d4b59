"""Alternative parameter counts: embeddings, heads, biases, norms, vocabularies, packed weights, replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from sympy import Add, Expr, Integer, Mul, ceiling, expand

from ...formulas.formula import Formula
from ...language.symbols import A, E, G, L, P, V, X, symbol
from ...ledger.facts import OperationKind
from ...models.model import Model
from ..role_totals import leaves_by_role
from .counting_changes import CountingChange, FormulaTerm, Rank, RowTotal, addition, exclusion, row_total, rows_of
from .published_sizes import has_published_sizes

BLOCKS = (64, 128, 256, 1024)  # multiples to which vocabularies are padded
# Other vocabularies used in counts of an architecture: the tokenizer's own, or another model's.
VOCABULARIES: Mapping[str, Mapping[int, str]] = {
    "gpt2": {40478: "GPT-1's", 50257: "GPT-2's", 51200: "Megatron's"},
    "gpt-neo": {50257: "GPT-2's"},
    "gptj": {50257: "GPT-2's", 50400: "GPT-J's"},
    "opt": {50265: "RoBERTa's", 50257: "GPT-2's"},
    "gpt-neox": {50254: "the tokenizer, without added tokens", 50277: "its tokenizer's"},
    "llama": {32000: "Llama's", 32001: "Llama's, plus a padding token", 128000: "Llama 3's without special tokens"},
    "mistral": {32000: "Llama's", 32768: "Mistral v3's"},
    "mixtral": {32000: "Llama's", 32768: "Mistral v3's"},
    "qwen2": {151643: "the tokenizer, without added tokens", 151646: "its tokenizer's", 151665: "its tokenizer's"},
    "qwen3": {151643: "the tokenizer, without added tokens", 151665: "its tokenizer's", 151669: "its tokenizer's"},
    "t5": {32000: "its tokenizer's", 32100: "the tokenizer, with sentinels"},
    "bert": {30000: "rounded in the paper", 28996: "cased BERT's", 30522: "uncased BERT's"},
    "gemma": {256128: "the paper's"},
    "bloom": {250680: "its tokenizer's"},
    "phi": {50295: "its tokenizer's", 50257: "GPT-2's"},
}
REPLICAS = (2, 4, 8)
MASKED = ("gpt2", "gpt-neo")  # architectures whose classes stored causal masks
OUTSIDE = "tokens positions segments head pooler norms biases fixed V"  # decided if only the layers are counted
_EITHER = frozenset({"tokens", "head"})  # two tables of equal size: the number does not show which one is left out
BACK = ("out_proj", "o_proj", "c_proj", "fc_out", "fc2", "dense_4h_to_h", "down_proj")  # row-parallel layers


def parameter_changes(model: Model, formula: Formula, width: Fraction | None = None) -> list[CountingChange]:
    """Return the alternative conventions for a count of parameters.

    ``width`` is the number of bytes per element if the count is in bytes; packed weights then have another width.
    """
    rows = rows_of(formula)
    groups = {
        Rank.EMBEDDINGS: _tables(rows, formula),
        Rank.HEAD: _heads(rows, formula),
        Rank.PARTS: [*_small(rows), *_layers(rows), *(_packed_bytes(rows, width) if width is not None else ())],
        Rank.KNOWN: [
            *_masks(model),
            *_vocabularies(model, formula, rows),
            *all_key_heads(model, formula),
            *_of_experts(model, formula),
        ],
        Rank.RARE: [
            *_fixed(rows),
            *_padded(model, formula, rows),
            *(_packed(rows) if width is None else ()),
            *_replicas(rows),
        ],
    }
    found = [replace(each, rank=rank) for rank, group in groups.items() for each in group]
    if width is not None:  # sizes in bytes rarely leave out embeddings, and files store grouped keys as they are
        found = [replace(each, rank=Rank.PARTS) if each.rank is Rank.EMBEDDINGS else each for each in found]
        found = [replace(each, rank=Rank.RARE) if G in each.sizes else each for each in found]
    found = [replace(each, rank=Rank.HEAD) if each.decides == _EITHER else each for each in found]
    if not has_published_sizes(model):  # another vocabulary explains nothing if the model's own is not published
        found = [replace(each, rank=Rank.RARE) if each.sizes else each for each in found]
    return [*found, *(repository_files(model, formula) if width is None else [])]


def scope_changes(formula: Formula, scope: str) -> list[CountingChange]:
    """Return the changes that count only one part of a model, such as everything except the embeddings."""
    rows = rows_of(formula)
    if scope == "non-embedding":
        return _without_embeddings(rows)
    head, tables = _head(rows), _table(rows, "tokens", "positions", "segments")
    if scope in ("attention", "MLP"):
        kept = [(line.path, count * line.each) for role, count, line in leaves_by_role(formula) if role == scope]
        wanted = [(f"only the {scope} counted", RowTotal(Add(*(each for _, each in kept)), tuple(p for p, _ in kept)))]
    elif scope == "head":
        wanted = [("only the head counted", head if head.there else _table(rows, "tokens"))]
    elif scope == "embedding and head":
        wanted = [("only the embedding and the head counted", _table(rows, "tokens") + head)]
    else:
        wanted = [("only the token embedding counted", _table(rows, "tokens"))]
        wanted += [("only the embeddings counted", tables)]
        wanted += [("only the token embedding and the head counted", _table(rows, "tokens") + head)] * head.there
    whole = formula.root.each
    found = {expand(kept.total): (says, kept) for says, kept in reversed(wanted) if kept.there}
    return [
        CountingChange(frozenset(OUTSIDE.split()) - {"V"}, says, total - whole, rows=kept.rows)
        for total, (says, kept) in reversed(found.items())
    ]


def _without_embeddings(rows: list[FormulaTerm]) -> list[CountingChange]:
    tokens, others, head = _table(rows, "tokens"), _table(rows, "positions", "segments"), _head(rows)
    says = "the embeddings and the head left out" if head.there else "the embeddings left out"
    ways = [(says, tokens + others + head)]
    if others.there:
        ways.append((says.replace("embeddings", "token embedding"), tokens + head))
    if head.there:
        ways.append(("the embeddings left out, but not the head", tokens + others))
    decides = "tokens positions segments head"
    return [change for says, out in ways for change in exclusion(decides, says, out)]


def _head(rows: list[FormulaTerm]) -> RowTotal:
    """Return the rows of the head if its matrix is not tied."""
    own = [row for row in rows if row.entry.logits or row.line.path.partition(".")[0] == "classifier"]
    return row_total(own) if any(len(row.term.factors) > 1 for row in own) else RowTotal(Integer(0), ())


def _table(rows: list[FormulaTerm], *functions: str) -> RowTotal:
    return row_total(row for row in rows if row.entry.kind is OperationKind.LOOKUP and row.entry.function in functions)


def _tables(rows: list[FormulaTerm], formula: Formula) -> list[CountingChange]:
    tokens, positions, segments = (_table(rows, name) for name in ("tokens", "positions", "segments"))
    head = _head(rows)
    padding = row_total(
        replace(row, term=replace(row.term, factors=(row.entry.skipped, *row.term.factors[1:])))
        for row in rows
        if row.entry.kind is OperationKind.LOOKUP and row.entry.skipped != 0
    )
    ids = [row for row in rows if "position_embedding" in row.term.label or "embed_positions" in row.term.label]
    several = positions.there or segments.there
    everything = tokens + positions + segments
    return [
        *(exclusion("tokens positions segments", "every embedding left out", everything) if several else []),
        *_one_of_two(tokens, head),
        *exclusion("positions", "the position embedding left out", positions),
        *(
            exclusion("tokens positions segments head", "every embedding and the head left out", everything + head)
            if head.there and tokens.there
            else []
        ),
        *(exclusion("segments", "the segment embedding left out", segments)),
        *exclusion("positions", "the rows of the position embedding before the first token left out", padding),
        *(
            switch
            for row in ids
            for switch in addition(
                f"ids {row.line.path}",
                f"the position ids of {row.line.path} counted as parameters",
                Mul(row.count, *row.term.factors[:-1]),
                [row.line.path],
            )
        ),
    ]


def _one_of_two(tokens: RowTotal, head: RowTotal) -> list[CountingChange]:
    """Return switches that omit the token embedding or the head: a single one if the two have the same size."""
    if head.there and expand(tokens.total - head.total) == 0:
        either = RowTotal(head.total, (*tokens.rows, *head.rows))
        return exclusion(" ".join(_EITHER), "either the token embedding or the head left out", either)
    return [*exclusion("tokens", "the token embedding left out", tokens), *exclusion("head", "the head left out", head)]


def _heads(rows: list[FormulaTerm], formula: Formula) -> list[CountingChange]:
    made: list[CountingChange] = []
    for count, line in formula.root.leaves():
        if line.entry is not None and line.entry.logits and line.entry.shared and not _head(rows).there:
            again = Mul(count, *line.entry.shared[0].shape)
            made += addition("head", "the tied head counted a second time", again, [line.path])
    pooler = row_total(row for row in rows if row.line.path.startswith("pooler"))
    made += exclusion("pooler", "the pooler left out", pooler)
    encoder = any(row.entry.function == "segments" for row in rows)
    if encoder and not pooler.there and not any(line.entry and line.entry.logits for line in formula.root.walk()):
        made += addition("pooler", "a pooler (E × E with a bias) added", E**2 + E)
    return made


def _small(rows: list[FormulaTerm]) -> list[CountingChange]:
    norms = [row for row in rows if row.entry.kind is OperationKind.NORM]
    last = [row for row in norms if "*" not in row.line.path and "embed" not in row.line.path.lower()]
    final = [row for row in last if row.line.path == last[-1].line.path]
    return [
        *exclusion("biases", "the biases left out", row_total(row for row in rows if row.is_bias)),
        *exclusion("norms biases", "the norms left out", row_total(norms)),
        *exclusion(
            "norms biases",
            "the biases and the norms left out",
            row_total(row for row in rows if row.entry.kind is OperationKind.NORM or row.is_bias),
        ),
        *exclusion("norms biases", "the final norm left out", row_total(final)),
    ]


def _layers(rows: list[FormulaTerm]) -> list[CountingChange]:
    """Return the switches that count only the layers, or only their weight matrices."""
    outside = row_total(row for row in rows if "*" not in row.line.path)
    small = row_total(
        row for row in rows if "*" in row.line.path and (row.entry.kind is OperationKind.NORM or row.is_bias)
    )
    if not outside.there or not any("*" in row.line.path for row in rows):
        return []
    alone = exclusion(OUTSIDE, "only the layers counted", outside)
    return alone + (
        exclusion(OUTSIDE, "only the weight matrices of the layers counted", outside + small) if small.there else []
    )


def _masks(model: Model) -> list[CountingChange]:
    """Return the switch that adds the causal masks that some classes store: P × P per layer."""
    if model.id not in MASKED or P not in model.known:
        return []
    return addition("masks", "the causal-mask buffers (P × P per layer) added", L * P**2)


def _fixed(rows: list[FormulaTerm]) -> list[CountingChange]:
    return exclusion(
        "fixed", "the fixed sinusoidal positions left out", row_total(row for row in rows if row.entry.fixed)
    )


def _vocabularies(model: Model, formula: Formula, rows: list[FormulaTerm]) -> list[CountingChange]:
    """Return the switches to the other vocabularies that are used in counts of an architecture."""
    return _with_vocabularies(model, formula, rows, VOCABULARIES.get(model.id, {}))


def _padded(model: Model, formula: Formula, rows: list[FormulaTerm]) -> list[CountingChange]:
    """Return the switches to a padded vocabulary."""
    tokens = model.known.get(V, 0)
    blocks: dict[int, list[str]] = {}
    for block in BLOCKS:
        blocks.setdefault(ceil(Fraction(tokens, block)) * block, []).append(str(block))
    known = VOCABULARIES.get(model.id, {})
    padded = {
        other: f"padded to a multiple of {' or '.join(multiples)}"
        for other, multiples in blocks.items()
        if other not in known
    }
    return _with_vocabularies(model, formula, rows, padded)


def _with_vocabularies(
    model: Model, formula: Formula, rows: list[FormulaTerm], others: Mapping[int, str]
) -> list[CountingChange]:
    if V not in model.known or V not in formula.root.each.free_symbols:
        return []
    own = model.known[V]
    tables = tuple(dict.fromkeys(row.line.path for row in rows if V in row.term.expr.free_symbols))
    return [
        CountingChange(
            frozenset({"V"}), f"a vocabulary of {other:,} ({whose}) instead of {own:,}", sizes={V: other}, rows=tables
        )
        for other, whose in others.items()
        if other != own
    ]


def all_key_heads(model: Model, formula: Formula) -> list[CountingChange]:
    """Return the switch that counts keys and values for every query head."""
    numbers = model.known
    if G not in numbers or A not in numbers or numbers[G] == numbers[A] or G not in formula.root.each.free_symbols:
        return []
    grouped = tuple(dict.fromkeys(row.line.path for row in rows_of(formula) if G in row.term.expr.free_symbols))
    said = f"keys and values for all {numbers[A]:,} heads (G = A) instead of {numbers[G]:,}"
    return [CountingChange(frozenset({"G"}), said, sizes={G: numbers[A]}, rows=grouped, rank=Rank.KNOWN)]


def _packed(rows: list[FormulaTerm]) -> list[CountingChange]:
    """Return the numbers of stored elements for packed weights: 8 bits with scales, or several 4-bit weights in one."""
    matrices = [
        row
        for row in rows
        if len(row.term.factors) > 1 and row.entry.kind in (OperationKind.LINEAR, OperationKind.LOOKUP)
    ]
    channels = [row for row in matrices if row.entry.function in ("", "tokens")]
    scales = Add(*(row.count * row.term.factors[0] for row in channels))
    inner, whole, inputs, _ = _inner(rows)
    one_of = {
        "an int8 scale per output channel of each matrix": scales,
        "4-bit weights packed in eights, a scale and a zero point per 128 weights, and input order (GPTQ)": -whole
        + whole / 8
        + whole / 128
        + whole / 1024
        + inputs,
        "4-bit weights packed in eights, and a scale and a zero point per 128 weights (AWQ)": -whole
        + whole / 8
        + whole / 128
        + whole / 1024,
        "4-bit weights packed two to a byte": -whole / 2,
        "an fp8 scale per block of 128 × 128 weights": whole / 128**2,
    }
    paths = tuple(dict.fromkeys(row.line.path for row in inner))
    return [switch for says, change in one_of.items() for switch in addition("packed", says, expand(change), paths)]


def _packed_bytes(rows: list[FormulaTerm], width: Fraction) -> list[CountingChange]:
    """Return the packed formats of the layers' matrices if all other weights have 2 bytes per element; else none.

    Each change is in elements of that width. Scales have 2 bytes (GPTQ, AWQ) or 4 (other formats); packed zero points
    and the input order have 4, as in GPTQModel, AutoAWQ and bitsandbytes.
    """
    if width != 2:
        return []
    inner, whole, inputs, outputs = _inner(rows)
    grouped = whole / 2 + 2 * whole / 128 + 4 * whole / 1024
    bytes_of = {
        "the layers' weight matrices in 4 bits": whole / 2,
        "the layers' weight matrices in 4 bits, with a scale and a zero point per 128 weights (AWQ)": grouped,
        "the layers' weight matrices in 4 bits, with a scale and a zero point per 128 weights and input order (GPTQ)": (
            grouped + 4 * inputs
        ),
        "the layers' weight matrices in 1 byte": whole,
        "the layers' weight matrices in int8, with a scale per output": whole + 4 * outputs,
        "the layers' weight matrices in fp8, with a scale per block of 128 × 128": whole + 4 * whole / 128**2,
    }
    paths = tuple(dict.fromkeys(row.line.path for row in inner))
    found = []
    for says, stored in bytes_of.items():
        found += addition("packed", says, expand(stored / 2 - whole), paths)
    return found


def _inner(rows: list[FormulaTerm]) -> tuple[list[FormulaTerm], Expr, Expr, Expr]:
    """Return the rows of the layers' matrices and, over all copies, their elements, inputs and outputs."""
    inner = [
        row
        for row in rows
        if "*" in row.line.path and row.entry.kind in (OperationKind.LINEAR, OperationKind.EXPERTS) and not row.is_bias
    ]
    whole = Add(*(row.total for row in inner))
    inputs = Add(*(row.count * Mul(*row.term.factors[:-2]) * row.term.factors[-1] for row in inner))
    outputs = Add(*(row.count * Mul(*row.term.factors[:-1]) for row in inner))
    return inner, whole, inputs, outputs


def _replicas(rows: list[FormulaTerm]) -> list[CountingChange]:
    """Return switches that count the weights that tensor parallelism replicates on every rank."""
    copied = [
        row
        for row in rows
        if row.entry.kind is OperationKind.NORM or (row.is_bias and row.line.path.rpartition(".")[2] in BACK)
    ]
    each = row_total(copied)
    if not any("*" in row.line.path and row.is_bias for row in copied):
        return []
    made: list[CountingChange] = []
    for ranks in REPLICAS:
        again = (ranks - 1) * each.total
        said = f"the norms and output biases counted on each of {ranks} model-parallel ranks"
        made += addition("replicas", said, again, each.rows)
        said += ", and an embedding bias"
        made += addition("replicas", said, again + ranks * E, each.rows)
    return made


def _of_experts(model: Model, formula: Formula) -> list[CountingChange]:
    """Return switches of DeepSeek-V3 models: the multi-token-prediction layer and the routers' correction biases."""
    if model.id != "deepseek-v3":
        return []
    whole, kinds = formula.root.each, symbol("L_moe")
    layer: Expr = expand(whole.diff(kinds) + whole.diff(L))
    module = layer + 2 * E**2 + 3 * E
    paths = ("layers.*", "moe_layers.*")
    return [
        *addition("mtp", "a multi-token-prediction layer added", module, paths),
        *addition(
            "mtp", "a multi-token-prediction layer with its own embedding and head added",
            module + 2 * V * E, paths,
        ),
        *addition("router", "the routers' correction-bias buffers added", kinds * X, ("moe_layers.*",)),
    ]  # fmt: skip


def repository_files(model: Model, formula: Formula) -> list[CountingChange]:
    """Return the switch that counts every element in the files of a repository in fp8, as DeepSeek-V3's.

    They contain a multi-token-prediction layer with its own embedding and head, the correction biases of all routers,
    and a scale for each block of 128 × 128 weights, also if a part of the block is empty.
    """
    if model.id != "deepseek-v3" or model.provenance.weights != "fp8-block":
        return []
    rows = rows_of(formula)
    whole, kinds = formula.root.each, symbol("L_moe")
    inner = [row for row in _inner(rows)[0] if "router" not in row.line.path and "gate.weight" not in row.line.path]
    inner = [row for row in inner if row.line.path.rpartition(".")[2] not in ("router", "gate")]
    scales = Add(
        *(
            row.count * Mul(*row.term.factors[:-2]) * Mul(*(ceiling(size / 128) for size in row.term.factors[-2:]))
            for row in inner
        )
    )
    module = expand(whole.diff(kinds) + whole.diff(L)) + 2 * E**2 + 3 * E + 2 * V * E
    scales += scales.diff(kinds) + scales.diff(L)
    parts = (module, (kinds + 1) * X, scales)
    says = (
        "all elements of its files: a multi-token-prediction layer with its own embedding and head, the routers' "
        "correction biases, and a scale per block of 128 × 128 weights"
    )
    change = CountingChange(frozenset({"mtp", "router", "packed"}), says, Add(*parts), parts=parts)
    return [replace(change, rank=Rank.HEAD, rows=("layers.*", "moe_layers.*"))]
