"""The parts of a GGUF file that llama.cpp stores on different devices: token embeddings, layers and output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Symbol

from ...language.errors import RuleError
from ...language.sizes import evaluate
from ...ledger.facts import ONE, Entry, Ledger, OperationKind
from .gguf import PREFIX, GGUFPlan
from .gguf_mixtures import BetterLayers, is_better


@dataclass(frozen=True)
class GGUFParts:
    """The bytes of the parts of a GGUF file.

    Attributes
    ----------
    embeddings : int
        The token embeddings.
    layers : tuple[int, ...]
        Each layer, from the first to the last.
    output : int
        The final norm and the LM head. llama.cpp stores a second copy of tied embeddings.
    shared : int
        The factors of the rotary frequencies, of which every device stores a copy.

    """

    embeddings: int
    layers: tuple[int, ...]
    output: int
    shared: int


def gguf_parts(ledger: Ledger, name: str, numbers: Mapping[Symbol, int], rope: str, layers: int) -> GGUFParts:
    """Return the bytes of the parts of a GGUF file.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model, all of whose layers have the same weights.
    name : str
        The mixture, such as "q4_k_m".
    numbers : Mapping[Symbol, int]
        The sizes of the model.
    rope : str
        The type of scaling of the rotary frequencies.
    layers : int
        The number of layers.

    Raises
    ------
    RuleError
        If the format does not support the model, or if its parts are not known.

    """
    GGUFPlan(ledger, name, numbers, rope)  # raises RuleError
    places = _places(ledger, name)

    def bytes_of(better: frozenset[BetterLayers]) -> dict[str, int]:
        found = dict.fromkeys(("embeddings", "layer", "output", "shared"), 0)
        for entry, terms in GGUFPlan(ledger, name, numbers, rope, better).terms.items():
            found[places[entry]] += sum(evaluate(term.expr, numbers, term.label) for term in terms)
        return found

    each = [frozenset(rule for rule in BetterLayers if is_better(rule, layer, layers)) for layer in range(layers)]
    parts = {better: bytes_of(better) for better in dict.fromkeys(each)}
    whole = next(iter(parts.values()))
    tied = any(entry.logits and entry.shared for _, entry in ledger)
    output = whole["output"] + (whole["embeddings"] if tied else 0)
    return GGUFParts(whole["embeddings"], tuple(parts[better]["layer"] for better in each), output, whole["shared"])


def _places(ledger: Ledger, name: str) -> dict[int, str]:
    """Return the part to which each operation belongs. Raises RuleError for weights before the layers."""
    found: dict[int, str] = {}
    is_before = True
    for count, entry in ledger:
        if count != ONE:
            is_before = False
        found[id(entry)] = _place(count, entry, is_before)
        if found[id(entry)] == "" and entry.weights:
            raise RuleError(
                f"{entry.path}: the device on which llama.cpp stores it is not known, so weights={PREFIX}{name} is not "
                "supported on several devices"
            )
        if any(weight.share != 1 for weight in entry.weights):
            raise RuleError(f"weights={PREFIX}{name} is not supported on several devices for layers of several kinds")
    return found


def _place(count: Expr, entry: Entry, is_before: bool) -> str:
    if count != ONE:
        return "layer"
    if entry.kind is OperationKind.POSITIONS:
        return "shared"
    if entry.kind is OperationKind.LOOKUP:
        return "embeddings"
    return "" if is_before else "output"
