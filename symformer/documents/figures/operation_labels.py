"""The names and colours of operations in a figure."""

from __future__ import annotations

from ...algebra import role_totals
from ...formulas.account import Line
from ...formulas.operation_names import standard_term
from ...ledger.facts import (
    AVERAGED,
    COPIES,
    GAUSSIAN_TOP_K,
    INTERPOLATED,
    JOINED_STREAMS,
    LISTED,
    MAGNITUDE,
    OTHER_STREAMS,
    PLACED,
    POOLED,
    RESAMPLED,
    SCATTERED,
    SHIFTED,
    STREAM,
    STREAMS,
    SUBTRACTED,
    SUMMED,
    Entry,
    OperationKind,
)
from ...output.blocks import capital

OPERATIONS = {
    OperationKind.LINEAR: "Linear",
    OperationKind.CONVOLUTION: "Convolution",
    OperationKind.SCORES: "Attention scores",
    OperationKind.SOFTMAX: "Softmax",
    OperationKind.MIX: "Weighted values",
    OperationKind.MULTIPLY: "Product",
    OperationKind.ADD: "Sum",
    OperationKind.ROTATE: "Rotary positions",
    OperationKind.JOIN: "Concatenation",
    OperationKind.SELECT: "Position selection",
    OperationKind.ROUTE: "Expert selection",
    OperationKind.EXPERTS: "Linear of each expert",
    OperationKind.COMBINE: "Weighted sum",
    OperationKind.MATCH: "Pairwise products",
    OperationKind.CHOOSE: "Key selection",
    OperationKind.COMPRESS: "Compression",
    OperationKind.SCAN: "Scan",
    OperationKind.DELTA_RULE: "Delta rule",
    OperationKind.RECURRENCE: "Recurrence",
    OperationKind.PRODUCT: "Product",
    OperationKind.DROPOUT: "Dropout",
}
READS = "reads "  # before the name of a weight that another module stores
# The titles of matrix products, which a layer has several of, so that only their names distinguish them.
PRODUCTS = (OPERATIONS[OperationKind.LINEAR], OPERATIONS[OperationKind.EXPERTS])
TABLES = {
    "tokens": "Token embedding",
    "layers": "Per-layer embedding",
    "positions": "Position embedding",
    "segments": "Segment embedding",
    "distances": "Distance embedding",
    "classes": "Class embedding",
}
# Parameters that are added to or joined with the input of a model, by their names in torch.
PARAMETERS = {
    **dict.fromkeys(("position_embeddings", "position_embedding", "pos_embed"), "Learned positions"),
    **dict.fromkeys(("cls_token", "class_embedding"), "Class token"),
    "distillation_token": "Distillation token",
    "mask_token": "Mask token",
}
FUNCTIONS = {
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"), "GELU (tanh)"),
    **{"gelu": "GELU", "gelu_python": "GELU", "gelu_10": "GELU", "quick_gelu": "QuickGELU", "relu2": "Squared ReLU"},
    **{"silu": "SiLU", "relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid"},
    "xielu": "xIELU",
}
NORMS = {
    "layer": "Layer normalization",
    "l2": "L2 normalization",
    "rms": "RMS normalization",
    "rms_groups": "RMS normalization of groups",
}
LABELS = {
    AVERAGED: "Mean of streams",
    MAGNITUDE: "Magnitude",
    STREAM: "Stream selection",
    OTHER_STREAMS: "Stream selection",
    JOINED_STREAMS: "Streams",
    SUBTRACTED: "Difference",
    LISTED: "Listed layers",
    PLACED: "Image tokens",
}
ROLES = {
    **dict.fromkeys((OperationKind.LOOKUP, OperationKind.POSITIONS), "embeddings"),
    **dict.fromkeys((OperationKind.SCORES, OperationKind.SOFTMAX, OperationKind.MIX), "attention"),
    OperationKind.SCAN: "state-space mixer",
    OperationKind.DELTA_RULE: "linear attention",
    OperationKind.RECURRENCE: "recurrent block",
    OperationKind.NORM: "norms",
}


def operation(entry: Entry) -> str:
    """Return the name of an operation."""
    if entry.kind is OperationKind.LOOKUP:
        return TABLES.get(entry.function, "Embedding")
    if entry.kind is OperationKind.PARAMETER:
        names = [weight.path.rpartition(".")[2] for weight in entry.weights]
        return PARAMETERS.get(names[0], "") if len(names) == 1 else ""
    if entry.kind is OperationKind.OBSERVED:
        return ""
    if entry.kind is OperationKind.POSITIONS and entry.inputs:
        return "Sines and cosines"
    if entry.kind is OperationKind.POSITIONS:
        return "Fixed positions"
    if entry.function == GAUSSIAN_TOP_K:
        return "Gaussian top-k"
    if entry.kind is OperationKind.NORM:
        return NORMS.get(entry.function, f"Normalization ({entry.function})")
    if entry.kind is OperationKind.MOVE:
        return entry.function.capitalize()
    if entry.kind is OperationKind.ACTIVATION:
        return FUNCTIONS.get(entry.function, entry.function)
    if entry.kind is OperationKind.MULTIPLY and len(entry.inputs) == 1:
        return "Scaling"
    if entry.function in (STREAMS, COPIES):
        return {OperationKind.COMBINE: "Sum of streams", OperationKind.MATCH: "Mixed streams"}.get(
            entry.kind, "Streams"
        )
    if entry.function == SHIFTED and entry.kind is OperationKind.SELECT:
        return "Token shift"
    if entry.function == INTERPOLATED:
        return "Interpolation"
    if entry.function == SUMMED:
        return "Sum of rows"
    if entry.function == RESAMPLED:
        return "Interpolation"
    if entry.function == POOLED:
        return "Average pooling"
    if entry.function in LABELS:
        return LABELS[entry.function]
    if entry.function == SCATTERED:
        return "Insertion"
    term = standard_term(entry)  # tells the scores of an indexer from those of attention
    return capital(term) if term else OPERATIONS.get(entry.kind, entry.kind.value)


def role(line: Line) -> str:
    """Return the role that determines the colour of a box: the role of its part, or of its operation."""
    if line.entry is not None:
        return ROLES.get(line.entry.kind, "other")
    found = getattr(line.part, "role", "")
    return found if found in role_totals.ROLES else "other"
