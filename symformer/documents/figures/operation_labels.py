"""The names and colours of operations in a figure."""

from __future__ import annotations

from ...algebra import role_totals
from ...formulas.account import Line
from ...ledger.facts import Entry, Kind

OPERATIONS = {
    Kind.LINEAR: "Linear",
    Kind.CONVOLUTION: "Convolution",
    Kind.SCORES: "Scores",
    Kind.SOFTMAX: "Softmax",
    Kind.MIX: "Weighted values",
    Kind.MULTIPLY: "Product",
    Kind.ADD: "Sum",
    Kind.ROTATE: "Rotary positions",
    Kind.JOIN: "Concatenation",
    Kind.SELECT: "Position selection",
    Kind.ROUTE: "Expert selection",
    Kind.EXPERTS: "Experts",
    Kind.COMBINE: "Weighted sum",
    Kind.MATCH: "Match",
    Kind.SCAN: "Scan",
    Kind.PRODUCT: "Product",
    Kind.DROPOUT: "Dropout",
}
TABLES = {
    "tokens": "Token embedding",
    "positions": "Position embedding",
    "segments": "Segment embedding",
    "distances": "Distance embedding",
    "classes": "Class embedding",
}
FUNCTIONS = {"gelu": "GELU", "gelu_new": "GELU", "silu": "SiLU", "relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid"}
ROLES = {
    **dict.fromkeys((Kind.LOOKUP, Kind.POSITIONS), "embeddings"),
    **dict.fromkeys((Kind.SCORES, Kind.SOFTMAX, Kind.MIX), "attention"),
    Kind.SCAN: "state-space mixer",
    Kind.NORM: "norms",
}


def operation(entry: Entry) -> str:
    """Return the name of an operation."""
    if entry.kind is Kind.LOOKUP:
        return TABLES.get(entry.function, "Embedding")
    if entry.kind in (Kind.PARAMETER, Kind.OBSERVED):
        return ""
    if entry.kind is Kind.POSITIONS and entry.inputs:
        return "Sines and cosines"
    if entry.kind is Kind.POSITIONS:
        return "Fixed positions"
    if entry.kind is Kind.NORM:
        return "Layer normalisation" if entry.function == "layer" else f"Normalisation ({entry.function})"
    if entry.kind is Kind.MOVE:
        return entry.function.capitalize()
    if entry.kind is Kind.ACTIVATION:
        return FUNCTIONS.get(entry.function, entry.function)
    if entry.kind is Kind.MULTIPLY and len(entry.inputs) == 1:
        return "Scaling"
    return OPERATIONS.get(entry.kind, entry.kind.value)


def role(line: Line) -> str:
    """Return the role that determines the colour of a box: the role of its part, or of its operation."""
    if line.entry is not None:
        return ROLES.get(line.entry.kind, "other")
    found = getattr(line.part, "role", "")
    return found if found in role_totals.ROLES else "other"
