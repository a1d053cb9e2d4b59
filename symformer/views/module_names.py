"""The usual names of modules of traced models, by their names in the code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_USUAL: Mapping[str, tuple[str, ...]] = {
    "self-attention": ("self_attn", "self_attention", "SelfAttention"),
    "attention": ("attn", "attention"),
    "cross-attention": (
        "encoder_attn",
        "encoder_attention",
        "crossattention",
        "cross_attn",
        "cross_attention",
        "EncDecAttention",
    ),
    "linear attention": ("linear_attn", "linear_attention"),
    "MLP": ("mlp", "mlps", "ffn", "ff", "feed_forward", "feedforward", "DenseReluDense"),
    "experts": ("experts",),
    "shared expert": ("shared_expert",),
    "shared experts": ("shared_experts",),
    "router": ("router",),
    "Mamba mixer": ("mamba",),
    "mixer": ("mixer",),
    "indexer": ("indexer",),
    "embeddings": ("embeddings",),
    "patch embedding": ("patch_embed", "patch_embeddings", "patch_embedder", "patch_embedding"),
    "patch merger": ("merger", "patch_merger"),
    "vision encoder": ("vision_model", "vision_tower", "visual", "vision_encoder"),
    "audio encoder": ("audio_model", "audio_tower", "audio_encoder"),
    "text encoder": ("text_encoder",),
    "language model": ("language_model",),
    "projector": ("multi_modal_projector", "projector"),
    "Q-Former": ("qformer",),
    "encoder": ("encoder",),
    "decoder": ("decoder",),
    "pooler": ("pooler",),
    "classifier": ("classifier",),
    "language-model head": ("lm_head",),
}
_BY_WORD = {word: usual for usual, words in _USUAL.items() for word in words}
_LAYERS = ("layers", "layer", "blocks", "block", "h")


def usual_name(module: str, inside: Iterable[str] = ()) -> str:
    """Return the usual name of a module, or "" if its name has no common meaning.

    Parameters
    ----------
    module
        The last word of the module's path, without an index.
    inside
        The paths of the modules in it: an MLP with experts is a mixture of experts.

    Examples
    --------
    >>> usual_name("self_attn"), usual_name("mlp", ["router", "experts.gate_up_proj"]), usual_name("norm4")
    ('self-attention', 'mixture of experts', '')

    """
    usual = _BY_WORD.get(module, "")
    if usual == "MLP" and any("experts" in path.split(".") for path in inside):
        return "mixture of experts"
    return usual


def is_layer_list(module: str) -> bool:
    """Return True if a module of this name is a list of layers."""
    return module in _LAYERS
