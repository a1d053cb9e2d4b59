"""Model options in a few words, for the titles of documents: "untied LM head", "without attention bias"."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS = {
    ("tied", "true"): "tied LM head",
    ("tied", "false"): "untied LM head",
    ("head", "none"): "no head",
    ("head", "mlm"): "masked-language-model head",
    ("head", "ctc"): "CTC head",
    ("multi_query", "true"): "multi-query attention",
    ("multi_query", "false"): "multi-head attention",
    ("norm_first", "true"): "pre-norm",
    ("norm_first", "false"): "post-norm",
    ("parallel", "true"): "parallel sublayers",
    ("parallel", "false"): "sequential sublayers",
}
_CAPITALS = {"qk": "QK", "qkv": "QKV", "mlp": "MLP", "alibi": "ALiBi", "prob": "probabilities", "topk": "top-k"}


def option_words(options: Mapping[str, str]) -> list[str]:
    """Return each option as a phrase.

    >>> option_words({"tied": "false", "attention_bias": "true", "head": "classifier", "qk_norm": "false"})
    ['untied LM head', 'with attention bias', 'classifier head', 'without QK norm']
    """
    return [_WORDS.get((name, value)) or _phrase(name, value) for name, value in options.items()]


def _phrase(name: str, value: str) -> str:
    said = " ".join(_CAPITALS.get(word, word) for word in name.split("_"))
    if value in ("true", "false"):
        return f"{'with' if value == 'true' else 'without'} {said}"
    return f"{value} {said}"
