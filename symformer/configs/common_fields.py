"""Fields that any transformers config can have: those without effect, and those supported at some values only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Config = Mapping[str, Any]

# The fields of every config that name its class.
READ = ("model_type", "architectures")
LAYER_TYPES = "layer_types"
# Fields that affect parameters, activations, FLOPs or the cache, with their supported values.
FIXED: Mapping[str, tuple[Any, ...]] = {
    "is_causal": (True,),  # transformers builds the attention masks from it, for any class
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "chunk_size_feed_forward": (0, None),
    "pruned_heads": ({}, None),
    "gradient_checkpointing": (False,),  # turns recomputation on, which is a convention in symformer
    "partial_rotary_factor": (1, None),
    "sliding_window": (None,),  # the cache reads it, for any class
    "use_sliding_window": (False, None),
    "attention_bias": (False,),
    "mlp_bias": (False,),
}
# Fields that older versions write into every config, and the values that mean no cross-attention, as omitting them.
CROSS_ATTENTION = {"add_cross_attention": "off|null", "cross_attention_hidden_size": "null"}
INERT = (
    # names, versions, remote code
    *("_name_or_path", "name_or_path", "transformers_version", "auto_map", "custom_pipelines", "_commit_hash"),
    # the dtype of the weights and the implementation of attention and experts: conventions in symformer
    *("dtype", "torch_dtype", "use_bfloat16", "_attn_implementation", "_attn_implementation_autoset"),
    *("attn_implementation", "experts_implementation", "_experts_implementation"),
    # further outputs of a forward pass; whether there is a cache depends on the quantity
    *("return_dict", "output_hidden_states", "output_attentions", "use_cache", "output_past", "torchscript"),
    "cache_implementation",
    # the least number of masked spans in training; whether spans are masked is another field
    *("mask_time_min_masks", "mask_feature_min_masks"),
    # weight initialization, epsilon
    *("initializer_range", "initializer_factor", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"),
    # token ids
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id", "tokenizer_class", "prefix"),
    "force_bos_token_to_be_generated",  # an older form of forced_bos_token_id
    # text generation
    *("do_sample", "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p", "num_beams"),
    *("num_beam_groups", "diversity_penalty", "repetition_penalty", "length_penalty", "early_stopping"),
    *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "bad_words_ids"),
    *("suppress_tokens", "begin_suppress_tokens", "exponential_decay_length_penalty", "remove_invalid_values"),
    *("output_scores", "return_dict_in_generate"),
    # heads that no built-in class has
    *("id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task"),
    *("task_specific_params", "classifier_dropout", "tie_encoder_decoder", "tf_legacy_loss"),
    # written by training and conversion tools, and not read by any built-in class
    *("unsloth_fixed", "unsloth_version", "is_llama_config", "rope_interleaved", "sliding_window_size"),
    *("max_sequence_length", "model_max_length", "tokenizer_model_max_length", "tokenizer_padding_side"),
    *("neftune_noise_alpha", "unk_token_id", "cls_token_id", "mask_token_id", "_flash_attn_2_enabled"),
    "is_decoder",  # no effect on causal attention
)
# Words in the name of an unread field that mean the checkpoint has weights that the class lacks.
_ADDED = re.compile(
    r"(^|_)(loras?|dora|ia3|adapters?|adaptations?|medusa|virtual_tokens|memory_tokens|soft_prompt|prompt_tuning"
    r"|p_?tuning|prefix_tuning|prefix_projection|pre_seq_len|value_head|v_head)(_|$)"
)
_EXPERTS = re.compile(r"(n|num|moe_num)(_local|_routed|_shared)?_experts")
_OF_EXPERTS = re.compile(r"^(?!_).*(expert|moe)")  # a field about experts, not an attribute of every config


def spelling(name: str) -> str:
    """Return the name of a class in lower case without underscores.

    Authors and transformers differ in the case and the underscores of class names.

    >>> spelling("PhiMoEForCausalLM") == spelling("PhimoeForCausalLM")
    True
    """
    return name.replace("_", "").casefold()


def adds_weights(name: str, value: Any, read: Iterable[str]) -> bool:
    """Return True if an unread field means that the checkpoint has weights that the class lacks.

    A field about experts counts only if the class reads no field about experts.

    >>> adds_weights("lora_rank", 4, ["hidden_size"]), adds_weights("lora_rank", None, ["hidden_size"])
    (True, False)
    >>> adds_weights("num_experts", 8, ["hidden_size"]), adds_weights("num_experts", 8, ["moe_num_experts"])
    (True, False)
    """
    if _EXPERTS.fullmatch(name):
        return isinstance(value, int) and value > 1 and not any(map(_OF_EXPERTS.search, read))
    return bool(value) and _ADDED.search(name.lower()) is not None
