"""What the config of every model of transformers may say: what changes nothing, and what is known at some values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..language.errors import ConfigError
from ..language.sizes import shown

Config = Mapping[str, Any]

# The class of a model, in every config.
READ = ("model_type", "architectures")
LAYER_TYPES = "layer_types"
# Fields that change what the class stores, keeps or computes, or what its cache holds: the values that are known.
FIXED: Mapping[str, tuple[Any, ...]] = {
    "is_causal": (True,),  # the masks are made by it, whatever the class
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "chunk_size_feed_forward": (0, None),
    "pruned_heads": ({}, None),
    "gradient_checkpointing": (False,),  # turns recomputation on, which is a convention here
    "partial_rotary_factor": (1, None),
    "sliding_window": (None,),  # a cache asks for it, whatever the class
    "use_sliding_window": (False, None),
    "attention_bias": (False,),
    "mlp_bias": (False,),
}
QUANTISED = ("quantization_config", "compression_config")
INERT = (
    # names, versions, and whose code it is
    *("_name_or_path", "name_or_path", "transformers_version", "auto_map", "custom_pipelines", "_commit_hash"),
    # the precision of the weights, and who computes attention and experts: conventions here
    *("dtype", "torch_dtype", "use_bfloat16", "_attn_implementation", "_attn_implementation_autoset"),
    *("attn_implementation", "experts_implementation", "_experts_implementation"),
    # what a forward pass gives back beside its output; a cache is part of the question here
    *("return_dict", "output_hidden_states", "output_attentions", "use_cache", "output_past", "torchscript"),
    "cache_implementation",
    # how weights are drawn; an epsilon
    *("initializer_range", "initializer_factor", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"),
    # tokens by their numbers
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id", "tokenizer_class", "prefix"),
    # how text is generated
    *("do_sample", "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p", "num_beams"),
    *("num_beam_groups", "diversity_penalty", "repetition_penalty", "length_penalty", "early_stopping"),
    *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "bad_words_ids"),
    *("suppress_tokens", "begin_suppress_tokens", "exponential_decay_length_penalty", "remove_invalid_values"),
    *("output_scores", "return_dict_in_generate"),
    # heads that no class here has
    *("id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task"),
    *("task_specific_params", "classifier_dropout", "tie_encoder_decoder", "tf_legacy_loss"),
    # written by those who trained or converted a model, and read by no class here
    *("unsloth_fixed", "unsloth_version", "is_llama_config", "rope_interleaved", "sliding_window_size"),
    *("max_sequence_length", "model_max_length", "tokenizer_model_max_length", "tokenizer_padding_side"),
    *("neftune_noise_alpha", "unk_token_id", "cls_token_id", "mask_token_id"),
    "is_decoder",  # what attends to earlier tokens only does so anyway
)


def check_unquantised(config: Config) -> None:
    """Raise ConfigError for weights that are stored in another form than the model's class has them."""
    for name in config:
        if name.rpartition(".")[2] in QUANTISED and config[name] is not None:
            raise ConfigError(
                f"{name!r} is {shown(config[name])} in the config: its weights are stored in another form than the "
                "formulas count; remove it to count the model before it was quantised"
            )
