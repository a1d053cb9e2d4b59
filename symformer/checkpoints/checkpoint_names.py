"""Names of tensors in checkpoints that differ from the names in the classes of transformers, as tables.

Checkpoints have the names of the first release of a model. Transformers renames the tensors when it loads them, by its
``conversion_mapping.py``; these are the same rules, at version 5.23.0, for the built-in architectures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Renames = Sequence[tuple[str, str]]

# Of every architecture. A name is changed only if it is not the name of a weight of the model.
GENERAL: Renames = (
    (r"^language_model\.lm_head\.", "lm_head."),
    (r"^language_model\.model\.", "language_model."),
    (r"^model\.language_model\.model\.", "language_model."),
    (r"\.block_sparse_moe\.", ".mlp."),
    (r"^embed_out\.", "lm_head."),
    (r"LayerNorm\.gamma$", "LayerNorm.weight"),
    (r"LayerNorm\.beta$", "LayerNorm.bias"),
    (r"\.mlp\.shared_expert\.", ".mlp.shared_experts."),
)
_VIT: Renames = (
    (r"encoder\.layer\.", "layers."),
    (r"attention\.attention\.query", "attention.q_proj"),
    (r"attention\.attention\.key", "attention.k_proj"),
    (r"attention\.attention\.value", "attention.v_proj"),
    (r"attention\.output\.dense", "attention.o_proj"),
    (r"intermediate\.dense", "mlp.fc1"),
    (r"output\.dense", "mlp.fc2"),
)
# By the name of the architecture, before the general ones.
OF_ARCHITECTURES: Mapping[str, Renames] = {
    "axk1": ((r"\.post_mlp_layernorm\.", ".mlp.post_mlp_layernorm."),),
    "deepseek-v4": (
        (r"\.attn\.", ".self_attn."),
        (r"\.ffn\.", ".mlp."),
        (r"\.indexer\.compressor\.", ".compressor.indexer."),
        (r"^(model\.)?embed\.weight", "model.embed_tokens.weight"),
        (r"^head\.weight", "lm_head.weight"),
        (r"hc_head_(fn|base|scale)$", r"hc_head.hc_\1"),
        (r"\.attn_norm\.", ".input_layernorm."),
        (r"\.ffn_norm\.", ".post_attention_layernorm."),
        (r"\.hc_(attn|ffn)_(fn|base|scale)$", r".\1_hc.\2"),
        (r"\.attn_sink$", ".sinks"),
        (r"\.indexer\.weights_proj\.", ".compressor.indexer.scorer.weights_proj."),
        (r"\.indexer\.wq_b\.", ".compressor.indexer.q_b_proj."),
        (r"\.self_attn\.(.*\.)?norm\.", r".self_attn.\1kv_norm."),
        (r"\.ape$", ".position_bias"),
        (r"\.wq_a\.", ".q_a_proj."),
        (r"\.self_attn\.wq_b\.", ".self_attn.q_b_proj."),
        (r"\.wkv\.", ".kv_proj."),
        (r"\.wgate\.", ".gate_proj."),
        (r"\.wo_a\.", ".o_a_proj."),
        (r"\.wo_b\.", ".o_b_proj."),
        (r"\.self_attn\.q_norm\.", ".self_attn.q_a_norm."),
        (r"\.shared_experts\.w1\.", ".shared_experts.gate_proj."),
        (r"\.shared_experts\.w2\.", ".shared_experts.down_proj."),
        (r"\.shared_experts\.w3\.", ".shared_experts.up_proj."),
    ),
    "dinov2": _VIT[1:5],
    "dinov3-vit": ((r"^layer\.", "model.layer."),),
    "ernie4-5-moe": ((r"\.mlp\.moe_statics\.", ".mlp.gate.moe_statics."),),
    "granitemoe": (
        (r"\.input_linear\.weight$", ".experts.gate_up_proj"),
        (r"\.output_linear\.weight$", ".experts.down_proj"),
        (r"\.router\.layer\.", ".router."),
    ),
    "kimi-linear": (
        (r"\.self_attn\.(f_[ab]_proj|dt_bias|A_log)", r".self_attn.forget_gate.\1"),
        (r"\.self_attn\.([qkv])_conv1d\.", r".self_attn.conv1d."),
        (r"\.block_sparse_moe\.", ".mlp."),
    ),
    "mimo-v2-flash": ((r"\.attention_sink_bias$", ".sinks"),),
    "nemotron-h": ((r"^backbone\.", "model."),),
    "olmo-hybrid": (
        (r"attention_layer_norm", "input_layernorm"),
        (r"feedforward_layer_norm", "post_attention_layernorm"),
        (r"\.linear_attn\.[qkv]_conv1d\.", ".linear_attn.conv1d."),
    ),
    "phimoe": ((r"\.block_sparse_moe\.gate\.", ".mlp.router."),),
    "vit": _VIT,
}
OF_ARCHITECTURES = {**OF_ARCHITECTURES, "granitemoehybrid": OF_ARCHITECTURES["granitemoe"]}

# A matrix in which others are joined. Checkpoints and classes can store either.
JOINED: Mapping[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "W_pack": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "weights_in": ("gate_proj", "up_proj"),
}
_EXPERT = re.compile(r"(.*\bexperts)\.(?:\d+\.)?(gate_proj|up_proj|down_proj|w1|w2|w3)(\.weight|\.bias)?", re.DOTALL)
_PROJECTION = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}


def class_names(name: str, architecture: str) -> Iterator[str]:
    """Yield the names that a tensor of a checkpoint can have in the class, the most likely first.

    >>> list(class_names("model.layers.0.block_sparse_moe.experts.3.w1.weight", "mixtral"))[-2:]
    ['model.layers.0.mlp.experts.gate_up_proj', 'model.layers.0.mlp.experts.gate_proj']
    """
    for each in dict.fromkeys((name, _renamed(name, OF_ARCHITECTURES.get(architecture, ())))):
        for renamed in dict.fromkeys((each, _renamed(each, GENERAL))):
            yield renamed
            yield from _of_experts(renamed)
            yield from _of_parts(renamed)


def _renamed(name: str, rules: Renames) -> str:
    for pattern, by in rules:
        name = re.sub(pattern, by, name)
    return name


def _of_experts(name: str) -> Iterator[str]:
    """Yield the names of the stacked weights of all experts."""
    if found := _EXPERT.fullmatch(name):
        before, word, suffix = found.groups()
        word = _PROJECTION.get(word, word)
        bias = "_bias" if suffix == ".bias" else ""
        if word in JOINED["gate_up_proj"]:
            yield f"{before}.gate_up_proj{bias}"
        yield f"{before}.{word}{bias}"


def _of_parts(name: str) -> Iterator[str]:
    """Yield the names of the matrices that contain this one."""
    before, _, last = name.rpartition(".")
    module, dot, word = before.rpartition(".")
    for joined, parts in JOINED.items():
        if word in parts:
            yield f"{module}{dot}{joined}.{last}"


# Tensors that are not weights of a model as transformers counts them, by their names, each with its description.
# They do not count as differences: they are buffers, copies, or values that the runtime computes.
BUFFERS: Sequence[tuple[str, str]] = (
    (r"(?:^|\.)(?:rotary_emb|rotary_embeddings|rotary_pos_emb|rotary)\.(?:.*)(?:inv_freq|cos_cached|sin_cached)$|"
     r"(?:^|\.)inv_freq$|^rope_(?:freqs|factors_long|factors_short)\.weight$", "rotary frequencies"),
    (r"(?:^|\.)position_ids$|(?:^|\.)token_type_ids$", "position or segment ids"),
    (r"(?:^|\.)attn\.(?:masked_)?bias$|(?:^|\.)attention\.(?:masked_)?bias$|(?:^|\.)attn\.attention\.(?:masked_)?bias$",
     "causal masks"),
    (r"e_score_correction_bias$|expert_bias$|exp_probs_b\.bias$|\.gate\.bias$",
     "expert-balancing biases (buffers)"),
    (r"\.(?:running_mean|running_var|num_batches_tracked)$", "normalization statistics"),
    (r"(?:^|\.)final_logits_bias$|\.act_fn\.(?:beta|eps|alpha_p|alpha_n)$|\.layer_scalar$|embed_scale$|\.tid2eid$",
     "other buffers"),
    (r"(?:^|\.)(?:mtp|nextn|mtp_layers|mtp_block)\.", "multi-token prediction layers"),
    (r"\.(?:k_scale|v_scale|kv_scale|output_scale)$", "scales of a quantized KV cache"),
    (r"\.(?:input_scale|input_global_scale|input_zero_point)$", "input scales"),
    (r"\.weight\.(?:quant_map|nested_quant_map|quant_state\.bitsandbytes__\w+)$|\.weight_format$",
     "bitsandbytes tables and JSON"),
    (r"^(?:tokenizer|tekken|spiece|sentencepiece)[\w.]*$", "the tokenizer"),
)  # fmt: skip
# Tensors that count as differences.
ADAPTERS = r"\.(?:lora_\w+|hada_\w+|ia3_l|vera_\w+|oft_\w+|boft_\w+)(?:\.|$)|^prompt_embeddings$"
MORE_LAYERS = "multi-token prediction layers"
COPIES = "copies of tied weights"
UNKNOWN, OF_ADAPTERS = "not in the model", "part of adapters"


def extra_kind(name: str) -> str:
    """Return the description of a tensor that is not a weight of the model.

    >>> extra_kind("model.layers.0.self_attn.rotary_emb.inv_freq"), extra_kind("model.layers.0.mlp.lora_A.weight")
    ('rotary frequencies', 'part of adapters')
    """
    if re.search(ADAPTERS, name):
        return OF_ADAPTERS
    return next((kind for pattern, kind in BUFFERS if re.search(pattern, name)), UNKNOWN)


# The tensors that store a quantized matrix: the ending of the name, the ending that replaces it, the part of the
# format. The weight itself is "codes" if it has companions.
COMPANIONS: Sequence[tuple[str, str, str]] = (
    (".qweight", ".weight", "codes"),
    (".qzeros", ".weight", "zero points"),
    (".scales", ".weight", "scales"),
    (".g_idx", ".weight", "group indices"),
    (".biases", ".weight", "biases"),
    (".weight_packed", ".weight", "codes"),
    (".weight_scale", ".weight", "scales"),
    (".weight_zero_point", ".weight", "zero points"),
    (".weight_shape", ".weight", "shape"),
    (".weight_g_idx", ".weight", "group indices"),
    (".weight_scale_inv", ".weight", "scales"),
    (".weight_scale_2", ".weight", "scale of the matrix"),
    (".weight_global_scale", ".weight", "scale of the matrix"),
    (".weight.absmax", ".weight", "scales"),
    (".weight.nested_absmax", ".weight", "scales of scales"),
    (".SCB", ".weight", "scales"),
    (".trellis", ".weight", "codes"),
    (".suh", ".weight", "input scales"),
    (".svh", ".weight", "output scales"),
    (".W_q", ".weight", "codes"),
    (".zero", ".weight", "zero points"),
    ("_blocks", "", "codes"),
    ("_scales", "", "scales"),
    ("_scale_inv", "", "scales"),
)


def weight_and_part(name: str) -> tuple[str, str]:
    """Return the weight that a stored tensor belongs to, and its part; "" if the tensor is the weight itself.

    >>> weight_and_part("model.layers.0.self_attn.q_proj.qzeros"), weight_and_part("lm_head.weight")
    (('model.layers.0.self_attn.q_proj.weight', 'zero points'), ('lm_head.weight', ''))
    """
    for ending, weight, part in COMPANIONS:
        if name.endswith(ending):
            return name.removesuffix(ending) + weight, part
    return name, ""
