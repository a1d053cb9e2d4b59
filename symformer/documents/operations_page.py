"""The page of the operations: every method in which a ``forward`` is written, with an example of what it counts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer

from ..components import Component
from ..language.errors import RuleError
from ..language.symbols import (
    A,
    B,
    C_hca,
    D,
    E,
    G_out,
    H,
    K,
    K_conv,
    K_idx,
    M,
    N_hc,
    R_out,
    S,
    V,
    X,
    Z,
    Z_patch,
    Z_pool,
    Z_win,
)
from ..ledger.facts import ONE, Entry, OperationKind
from ..ledger.operations import Operations
from . import pages

# Methods that record parts or return tensors and add no entry of their own.
STRUCTURE = (
    "call",
    "call_shared",
    "detached",
    "repeat",
    "side_by_side",
    "mix_layers",
    "run",
    "encoder",
    "used",
    "weight",
    "read",
    "index",
)
# Kinds of entries that no method writes: traces of torch code have the first two, and a model on several ranks the
# third.
OTHERS = (OperationKind.PRODUCT, OperationKind.OBSERVED, OperationKind.MOVE)


@dataclass(frozen=True)
class Example:
    """A call of an operation on inputs of the shapes in its shape line."""

    shapes: str
    forward: Callable[..., Any]

    @property
    def component(self) -> Component:
        """Return a component of this operation alone."""
        facts = {"title": "Example", "role": "example", "shapes": self.shapes, "__doc__": "An operation."}
        forward = {"forward": lambda self_, ops, *inputs: self.forward(ops, *inputs)}
        made: type[Component] = type("Example", (Component,), {**facts, **forward})
        return dataclass(frozen=True, kw_only=True)(made)()


def _parameter(ops: Operations, x: Any) -> Any:
    ops.parameter("layer_scale", weight=(E,))
    return x


EXAMPLES: Mapping[str, Example] = {
    "lookup": Example("t[B,S] -> x[B,S,E]", lambda ops, t: ops.lookup("wte", t, V, E, "tokens")),
    "linear": Example("x[B,S,E] -> y[B,S,H]", lambda ops, x: ops.linear("fc", x, H)),
    "convolution": Example(
        "x[B,N_chan,Z,Z] -> y[B,E,Z/Z_patch,Z/Z_patch]",
        lambda ops, x: ops.convolution("patches", x, E, (Z_patch, Z_patch), stride=Z_patch),
    ),
    "causal_depthwise_convolution": Example(
        "x[B,E,S] -> y[B,E,S]", lambda ops, x: ops.causal_depthwise_convolution("conv1d", x, K_conv)
    ),
    "grouped_linear": Example(
        "x[B,S,A*D] -> y[B,S,G_out*R_out]", lambda ops, x: ops.grouped_linear("out", x, G_out, R_out)
    ),
    "experts": Example("x[B,S,E], chosen[B,S,K] -> y[B,S,K,M]", lambda ops, x, c: ops.experts("up", x, c, X, M)),
    "parameter": Example("x[B,S,E] -> x[B,S,E]", _parameter),
    "learned": Example("x[B,S,E] -> y[1,1,E]", lambda ops, x: ops.learned("class_token", ONE, ONE, E)),
    "norm": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.norm("ln", x, "layer")),
    "activation": Example("x[B,S,H] -> y[B,S,H]", lambda ops, x: ops.activation("act", x, "gelu")),
    "dropout": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.dropout("drop", x)),
    "add": Example("x[B,S,E], y[B,S,E] -> z[B,S,E]", lambda ops, x, y: ops.add("sum", x, y)),
    "subtract": Example("x[B,S,E], y[B,S,E] -> z[B,S,E]", lambda ops, x, y: ops.subtract("difference", x, y)),
    "magnitude": Example("x[B,S,E] -> y[B,S,1]", lambda ops, x: ops.magnitude("magnitude", x)),
    "interpolate": Example(
        "x[B,S,E], y[B,S,E], w[B,S,E] -> z[B,S,E]", lambda ops, x, y, w: ops.interpolate("mixed", x, y, w)
    ),
    "multiply": Example("x[B,S,H], y[B,S,H] -> z[B,S,H]", lambda ops, x, y: ops.multiply("gated", x, y)),
    "scale": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.scale("scaled", x, "root")),
    "positions": Example("x[B,S,E] -> y[1,S,E]", lambda ops, x: ops.positions("sines", S, E, "sinusoidal")),
    "sinusoids": Example("t[B] -> y[B,E]", lambda ops, t: ops.sinusoids("time", t, E)),
    "temperatures": Example("x[B,S,E] -> y[1,1,S,1]", lambda ops, x: ops.temperatures("temperature", S)),
    "slopes": Example("x[B,S,E] -> y[1,A,1,S]", lambda ops, x: ops.slopes("alibi", A, S)),
    "rotate": Example("x[B,A,S,D], angles[2,S,D] -> y[B,A,S,D]", lambda ops, x, a: ops.rotate("q_rot", x, a)),
    "concatenate": Example("x[B,S,E], y[B,S,H] -> z[B,S,E+H]", lambda ops, x, y: ops.concatenate("joined", x, y)),
    "prepend": Example("x[B,1,E], y[B,S,E] -> z[B,S+1,E]", lambda ops, x, y: ops.prepend("tokens", x, y)),
    "append_keys": Example(
        "x[B,G,S,D], y[B,G,S_enc,D] -> z[B,G,S+S_enc,D]", lambda ops, x, y: ops.append_keys("keys", x, y)
    ),
    "copies": Example("x[B,S,E] -> y[B,S,N_hc,E]", lambda ops, x: ops.copies("streams", x, N_hc)),
    "join_streams": Example("x[B,S,N_hc,E] -> y[B,S,N_hc*E]", lambda ops, x: ops.join_streams("streams", x)),
    "collapse_streams": Example(
        "x[B,S,N_hc,E], w[B,S,N_hc] -> y[B,S,E]", lambda ops, x, w: ops.collapse_streams("input", x, w)
    ),
    "expand_streams": Example(
        "x[B,S,E], w[B,S,N_hc] -> y[B,S,N_hc,E]", lambda ops, x, w: ops.expand_streams("output", x, w)
    ),
    "mix_streams": Example(
        "x[B,S,N_hc,E], w[B,S,N_hc**2] -> y[B,S,N_hc,E]", lambda ops, x, w: ops.mix_streams("mixed", x, w)
    ),
    "stream": Example("x[B,N_alt,S,E] -> y[B,S,E]", lambda ops, x: ops.stream("active", x)),
    "other_streams": Example("x[B,N_alt,S,E] -> y[B,N_alt-1,S,E]", lambda ops, x: ops.other_streams("others", x)),
    "prepend_stream": Example(
        "x[B,S,E], y[B,N_alt-1,S,E] -> z[B,N_alt,S,E]", lambda ops, x, y: ops.prepend_stream("streams", x, y)
    ),
    "mean_of_streams": Example("x[B,N_alt,S,E] -> y[B,S,E]", lambda ops, x: ops.mean_of_streams("mean", x)),
    "compress": Example(
        "x[B,S,D], gate[B,S,D] -> y[B,floor(S/C_hca),D]",
        lambda ops, x, gate: ops.compress("compress", x, gate, C_hca, {}),
    ),
    "select": Example("x[B,S,E] -> y[B,E]", lambda ops, x: ops.select("last", x)),
    "without_first": Example("x[B,S,E] -> y[B,S-1,E]", lambda ops, x: ops.without_first("patches", x)),
    "shift": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.shift("token_shift", x)),
    "part_of_sequence": Example(
        "x[B,S+S_enc,E] -> y[B,S,E]", lambda ops, x: ops.part_of_sequence("tokens", x, S, "last")
    ),
    "earlier": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.earlier("features", x, ONE)),
    "listed": Example("x[B,S,E] -> y[B,S,E]", lambda ops, x: ops.listed("features", x)),
    "image_tokens": Example(
        "x[B,S,E], y[B_vis,S_enc,E] -> z[B_vis,S_enc,E]", lambda ops, x, y: ops.image_tokens("image_tokens", x, y)
    ),
    "scatter": Example("x[B,S,E], y[B_vis,S_enc,E] -> z[B,S,E]", lambda ops, x, y: ops.scatter("image_tokens", x, y)),
    "gather": Example("s[B,A,S,2*P_rel] -> y[B,A,S,S]", lambda ops, s: ops.gather("by_distance", s, S)),
    "pairwise_products": Example(
        "x[B,E], y[B_vis,E] -> s[B,B_vis]", lambda ops, x, y: ops.pairwise_products("logits", x, y)
    ),
    "route": Example("x[B,S,X] -> w[B,S,K]", lambda ops, x: ops.route("top_k", x, K)),
    "combine": Example("x[B,S,K,E], w[B,S,K] -> y[B,S,E]", lambda ops, x, w: ops.combine("sum", x, w)),
    "pool": Example("x[B,S,E] -> y[B,Z_pool**2,E]", lambda ops, x: ops.pool("avg_pool", x, Z_pool**2)),
    "resample": Example("x[S,4,E] -> y[S,E]", lambda ops, x: ops.resample("interpolated", x)),
    "sum_rows": Example("x[B,A,S,D] -> y[B,A,S,1]", lambda ops, x: ops.sum_rows("sum", x)),
    "scan": Example(
        "x[B,A_ssm,S,D_ssm], step[B,S,A_ssm], write[B,G_ssm,S,N_state], read[B,G_ssm,S,N_state] -> y[B,A_ssm,S,D_ssm]",
        lambda ops, x, step, write, read: ops.scan("scan", x, step, write, read, {}),
    ),
    "delta_rule": Example(
        "q[B,A_k_lin,S,D_k_lin], k[B,A_k_lin,S,D_k_lin], v[B,A_v_lin,S,D_v_lin], decay[B,S,A_v_lin], "
        "strength[B,S,A_v_lin] -> y[B,A_v_lin,S,D_v_lin]",
        lambda ops, q, k, v, decay, strength: ops.delta_rule("delta_rule", q, k, v, decay, strength, {}, Integer(64)),
    ),
    "general_delta_rule": Example(
        ", ".join(f"{name}[B,A,S,D]" for name in ("r", "k", "v", "decay", "removal", "rate")) + " -> y[B,A,S,D]",
        lambda ops, *inputs: ops.general_delta_rule("wkv", *inputs),
    ),
    "windows": Example(
        "x[B,Z**2,E] -> y[B*ceil(Z/Z_win)**2,Z_win**2,E]", lambda ops, x: ops.windows("windows", x, Z, Z_win)
    ),
    "without_windows": Example(
        "x[B*ceil(Z/Z_win)**2,Z_win**2,E] -> y[B,Z**2,E]", lambda ops, x: ops.without_windows("square", x, B, Z)
    ),
    "distance_scores": Example(
        "q[B,A,Z**2,D], table[2*Z-1,D] -> s[B,A,Z**2,Z]",
        lambda ops, q, table: ops.distance_scores("rows", q, table, Z, "rows"),
    ),
    "recurrence": Example("x[B,A,S,H_lru/A] -> y[B,A,S,H_lru/A]", lambda ops, x: ops.recurrence("rg_lru", x, {})),
    "scores": Example("q[B,A,S,D], k[B,G,S,D] -> s[B,A,S,S]", lambda ops, q, k: ops.scores("qk", q, k, "causal")),
    "softmax": Example("x[B,A,S,S] -> y[B,A,S,S]", lambda ops, x: ops.softmax("softmax", x)),
    "weighted_values": Example(
        "p[B,A,S,S], v[B,G,S,D] -> y[B,A,S,D]", lambda ops, p, v: ops.weighted_values("pv", p, v, "causal")
    ),
    "choose_keys": Example(
        "s[B,A,S,S], w[B,S,A] -> m[B,1,S,S]", lambda ops, s, w: ops.choose_keys("top_k", s, w, K_idx)
    ),
    "add_to_compressed": Example(
        "s[B,A,S,S+S_enc], m[B,1,S,S_enc] -> y[B,A,S,S+S_enc]",
        lambda ops, s, m: ops.add_to_compressed("chosen", s, m),
    ),
    "split": Example("x[B,S,E+H] -> y[B,S,E], z[B,S,H]", lambda ops, x: tuple(ops.split(x, (E, H)))),
    "heads": Example("x[B,S,A*D] -> y[B,A,S,D]", lambda ops, x: ops.heads(x, A, D)),
    "repeat_heads": Example("x[B,G,S,D] -> y[B,A,S,D]", lambda ops, x: ops.repeat_heads(x, A)),
    "merge": Example("x[B,A,S,D] -> y[B,S,A*D]", lambda ops, x: ops.merge(x)),
    "channels_first": Example("x[B,S,E] -> y[B,E,S]", lambda ops, x: ops.channels_first(x)),
    "channels_last": Example("x[B,E,S] -> y[B,S,E]", lambda ops, x: ops.channels_last(x)),
}


@dataclass(frozen=True)
class OperationFacts:
    """An operation with its entry in the ledger, and the counts of its example."""

    name: str
    signature: str
    meaning: str
    entry: Entry | None  # None for a view
    inputs: str
    output: str
    counts: tuple[Expr | None, ...]  # parameters, FLOPs, FLOPs with count=all; None if not supported


def page() -> str:
    """Return the page as Markdown."""
    operations = [_facts(name, example) for name, example in EXAMPLES.items()]
    return pages.page(
        "operations.md",
        operations=operations,
        others=OTHERS,
        structure=[(signature(name), meaning(name)) for name in STRUCTURE],
    )


def _facts(name: str, example: Example) -> OperationFacts:
    entry = written(example)
    inputs, _, output = example.shapes.partition(" -> ")
    counts = (_count(example, "params"), _count(example, "flops"), _count(example, "flops", count="all"))
    return OperationFacts(
        name,
        signature(name),
        meaning(name),
        entry,
        inputs if entry is None or entry.inputs else "",
        output if entry is None or entry.output.shape else "",
        counts,
    )


def written(example: Example) -> Entry | None:
    """Return the entry that an operation adds, or None for a view."""
    entries = [entry for _, entry in example.component.ledger]
    return entries[0] if entries else None


def signature(name: str) -> str:
    """Return the call of a method, with the names of its options, but without types and defaults.

    >>> signature("scale")
    'scale(name, x, function, *, logits)'
    """
    bare = [
        each.replace(annotation=each.empty, default=each.empty)
        for each in inspect.signature(getattr(Operations, name)).parameters.values()
        if each.name != "self"
    ]
    return f"{name}{inspect.Signature(bare)}"


def meaning(name: str) -> str:
    """Return the first paragraph of a method's docstring."""
    return " ".join((inspect.getdoc(getattr(Operations, name)) or "").partition("\n\n")[0].split())


def _count(example: Example, quantity: str, **conventions: str) -> Expr | None:
    try:
        return example.component.formula(quantity, **conventions).display_expr
    except RuleError:
        return None
