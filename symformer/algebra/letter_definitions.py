r"""The meanings that a paper gives to its letters, as in "the hidden size ($h$)" or "$l$ is the number of layers"."""

from __future__ import annotations

import re

from ..language.errors import ReadingError
from ..language.parsing.name_tokens import is_one_name, one_name

# The size for each description, the most specific first.
_SIZES = (
    (r"key[/ -]?value heads|kv heads|query groups|number of groups|groups in gqa", "G"),
    (r"attention heads|query heads|number of heads|heads per layer", "A"),
    (r"dimension per (attention )?head|per-head dim|head (dimension|size)|size of (each|a) head", "D"),
    (r"feed-?forward (layer|dim|size|width|network)|intermediate (size|dim)|ffn (hidden )?(size|dim)", "H"),
    (r"vocab", "V"),
    (r"sequence length|context length|length of the (sequence|context)|input context", "S"),
    (r"micro-?batch(es)? (in|per) a batch|number of micro-?batches", "N_micro"),
    (r"batch size", "B"),
    (r"pipeline (stages|parallel|model.parallel)", "N_pp"),
    (r"tensor.(model.)?parallel", "N_tp"),
    (r"data.parallel", "N_dp"),
    (r"number of (transformer )?layers|layers in the|depth|number of blocks", "L"),
    (r"number of experts|experts per layer|total experts", "X"),
    (r"embedding dim|hidden (size|dim)|model (dim|width)|residual stream|d_?model|width of the model", "E"),
    (r"non-embedding param|number of (model |non-embedding |trainable )*param|param(eter)? count|model size", "N"),
    (r"training tokens|number of tokens|dataset size|tokens of training", "N_tok"),
)
_NAME = r"\$\s*([^$=<>]{1,30}?)\s*\$"
_PATTERNS = (
    rf"(?P<words>[A-Za-z][A-Za-z -]{{2,45}}) \({_NAME}\)",
    rf"{_NAME} \((?P<words>[A-Za-z][^()$]{{2,60}})\)",
    rf"{_NAME} (?:is|are|be|denotes?|as|for|represents?) (?:the |a |an )?(?P<words>[A-Za-z][^.,;$]{{2,60}})",
    rf"(?P<words>[A-Za-z][A-Za-z -]{{2,45}}) \(denoted by {_NAME}\)",
    rf"use {_NAME} to denote (?:the )?(?P<words>[^.;$]{{3,80}})",
    rf"(?P<words>[A-Za-z][A-Za-z -]{{2,60}}),? (?:as|by) {_NAME}",
    rf"(?P<words>number of parameters in a model), {_NAME}",
)


def letter_definitions(source: str) -> dict[str, str]:
    r"""Return the meanings of the letters that a LaTeX paper defines in words, over our sizes.

    A letter that is defined twice with different meanings is left out.

    Parameters
    ----------
    source
        The text of the paper.

    Examples
    --------
    >>> letter_definitions("the hidden size ($h$), and $l$ is the number of layers")
    {'h': 'E', 'l': 'L'}

    """
    text = " ".join(re.sub(r"(?<!\\)%[^\n]*", " ", source).split())
    found: dict[str, set[str]] = {}
    for pattern in _PATTERNS:
        for match in re.finditer(pattern, text):
            name = next(each for key, each in enumerate(match.groups()) if each and each != match["words"])
            size = next((size for words, size in _SIZES if re.search(words, match["words"], re.IGNORECASE)), "")
            if size and is_one_name(name):
                found.setdefault(_spelled(name), set()).add(size)
    return {name: next(iter(sizes)) for name, sizes in found.items() if len(sizes) == 1}


def _spelled(name: str) -> str:
    try:
        return one_name(name)
    except ReadingError:
        return name
