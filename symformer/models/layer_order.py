"""The order of the layers of a model, which pipeline stages need if there are several kinds."""

from __future__ import annotations

from collections import Counter

from sympy import Symbol

from ..language.errors import RuleError
from ..ledger.layer_kinds import mixtures
from ..ledger.pipeline_stages import layer_counts
from .model import Model


def layer_order(model: Model) -> tuple[Symbol, ...]:
    """Return the size that counts each layer, from the first layer to the last.

    Parameters
    ----------
    model : Model
        A model whose numbers of layers have values.

    Raises
    ------
    RuleError
        If the order is not known, or if pipeline stages do not support the model.

    Examples
    --------
    >>> import symformer as sf
    >>> [str(each) for each in layer_order(sf.model("gpt-oss-20b"))][:3]
    ['L_local', 'L_global', 'L_local']

    """
    counts = layer_counts(model.ledger)
    numbers = {size: int(model.known[size]) for size in counts}
    if len(counts) == 1 or all(mixture.order == "kind by kind" for mixture in mixtures(model.ledger.apart)):
        return tuple(size for size in counts for _ in range(numbers[size]))
    order = model.provenance.layers
    if Counter(order) != numbers:
        raise RuleError(
            f"pipeline stages of {model.target} need the order of its {sum(numbers.values())} layers of "
            f"{len(counts)} kinds, which is not known; give its config.json"
        )
    return order
