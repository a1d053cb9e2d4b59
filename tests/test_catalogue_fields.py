"""Published configs answered from the catalogue: fields without effect, aliases, numbers of labels, layer kinds.

Every expected number is what torch stores for the class that the config names, or a published count.
"""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from symformer.catalogue import entries
from symformer.catalogue.config_match import common_field_names, find, match, refusal_reason, unread_fields
from symformer.catalogue.entries import holds
from symformer.catalogue.json_merge import without_sizes
from symformer.catalogue.record import model_of_records
from symformer.language.errors import CatalogueError, SymformerError
from symformer.witness.measured_points import session
from symformer.witness.transformers_classes import of_config
from tests.freed_fields import attacked
from tests.samples import sampled

Config = dict[str, Any]


def by_torch(config: Config) -> int:
    """Return the parameters of the class that a config names."""
    source = of_config(config, "config.json")
    fields = {name: value for name, value in source.own(config, "config.json").items() if name != "architectures"}
    counted = sum(map(prod, session(lambda point: source.build(fields), {}).stored().values()))
    assert counted > 0
    return counted


def answer(config: Config) -> int:
    """Return the parameters from the catalogue."""
    known = find(config)
    assert known is not None, refusal_reason(config)
    return int(model_of_records("config.json", known).params.value())


def labels(number: int) -> Config:
    """Return this many labels in the form of a config."""
    return {"id2label": {str(label): f"LABEL_{label}" for label in range(number)}}


BERT = {"hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 3, "intermediate_size": 80, "vocab_size": 97}
HEADS = {
    "BertForSequenceClassification": "bert",
    "BertForTokenClassification": "bert",
    "RobertaForSequenceClassification": "roberta",
    "RobertaForTokenClassification": "roberta",
    "CamembertForSequenceClassification": "camembert",
    "ElectraForSequenceClassification": "electra",
    "XLMRobertaForSequenceClassification": "xlm-roberta",
    "XLMRobertaForTokenClassification": "xlm-roberta",
    "XLMRobertaModel": "xlm-roberta",
    "MPNetModel": "mpnet",
}


@pytest.mark.parametrize(("name", "model_type"), HEADS.items())
def test_head_has_one_row_per_label(name: str, model_type: str) -> None:
    config = {"model_type": model_type, "architectures": [name], **BERT}
    for number in (1, 5):
        assert answer({**config, **labels(number)}) == by_torch({**config, **labels(number)})


def test_label_count_of_an_image_classifier_is_a_size() -> None:
    """ResNet-50 with the 1,000 labels of ImageNet has 25,557,032 parameters, and 23,512,130 with two labels."""
    config = {"model_type": "resnet", "architectures": ["ResNetForImageClassification"]}
    assert answer({**config, **labels(1000)}) == 25_557_032
    assert answer(config) == answer({**config, **labels(2)}) == 23_512_130


def test_labels_that_contradict_their_number_are_refused() -> None:
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], **BERT, **labels(3)}
    assert find({**config, "num_labels": 3}) is not None
    assert find({**config, "num_labels": 4}) is None


QWEN = {"num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6, "num_key_value_heads": 2}
DEBERTA_V3: Config = {
    **{"hidden_size": 48, "num_attention_heads": 2, "num_hidden_layers": 3, "intermediate_size": 80, "vocab_size": 97},
    **{"relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True},
    **{"pos_att_type": "p2c|c2p", "position_biased_input": False, "type_vocab_size": 0},
}
FREE: list[tuple[str, str, Config]] = [
    ("DebertaV2ForSequenceClassification", "deberta-v2", DEBERTA_V3),
    ("LongformerModel", "longformer", {**BERT, "attention_window": [8, 16, 8]}),
    ("WavLMModel", "wavlm", {"num_hidden_layers": 3, "ctc_loss_reduction": "sum", "mask_feature_min_masks": 0}),
    ("Wav2Vec2Model", "wav2vec2", {"num_hidden_layers": 3, "mask_time_prob": 0.075, "ctc_loss_reduction": "mean"}),
    ("Qwen2ForCausalLM", "qwen2", {**QWEN, "use_mrope": False, "rope_theta": 1e6, "rope_scaling": None}),
    ("Qwen2ForCausalLM", "qwen2", {**QWEN, "sliding_window": 4096, "max_window_layers": 2, "ep_size": 1}),
    ("Ernie4_5ForCausalLM", "ernie4_5", {**QWEN, "rope_theta": 5e5, "head_dim": 16}),
    ("SeedOssForCausalLM", "seed_oss", {**QWEN, "rope_scaling": {"rope_type": "default"}, "rope_theta": 1e7}),
    ("Glm4MoeForCausalLM", "glm4_moe", {**QWEN, "partial_rotary_factor": 0.5, "rope_theta": 1e6, "head_dim": 16}),
    ("GlmMoeDsaForCausalLM", "glm_moe_dsa", {"num_hidden_layers": 4, "ep_size": 1, "vocab_size": 101}),
    ("MiniMaxM2ForCausalLM", "minimax_m2", {**QWEN, "rotary_dim": 8, "sliding_window": None, "rope_theta": 5e6}),
    (
        "VisionEncoderDecoderModel",
        "vision-encoder-decoder",
        {
            "encoder": {"model_type": "vit", "num_hidden_layers": 3, "add_cross_attention": False},
            "decoder": {
                **{"model_type": "bert", "num_hidden_layers": 2, "vocab_size": 101},
                **{"is_decoder": True, "add_cross_attention": True, "cross_attention_hidden_size": None},
            },
        },
    ),
]


@pytest.mark.parametrize(("name", "model_type", "fields"), FREE)
def test_inert_fields_accept_any_value(name: str, model_type: str, fields: Config) -> None:
    config = {"model_type": model_type, "architectures": [name], **fields}
    assert answer(config) == by_torch(config)


NEMOTRON: Config = {
    "model_type": "nemotron_h",
    "architectures": ["NemotronHForCausalLM"],
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "intermediate_size": 80,
    "mamba_num_heads": 8,
    "mamba_head_dim": 16,
    "n_groups": 2,
    "n_routed_experts": 6,
    "moe_intermediate_size": 40,
    "moe_shared_expert_intermediate_size": 56,
    "vocab_size": 101,
}


@pytest.mark.parametrize("pattern", ["M-M-M*-", "MEMEM*EM", "M*E-M", "M" * 5])
def test_layers_are_counted_by_their_kinds(pattern: str) -> None:
    """A pattern of letters or a list of names; a config may have no layer of some kind."""
    config = {**NEMOTRON, "hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern)}
    words = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
    listed = {**NEMOTRON, "layers_block_type": [words[sign] for sign in pattern]}
    assert answer(config) == answer(listed) == by_torch(config)


@pytest.mark.parametrize(
    "fields",
    [
        {"hybrid_override_pattern": "M?M"},
        {"hybrid_override_pattern": ""},
        {"hybrid_override_pattern": 3},
        {"layers_block_type": ["mamba", "nobody_knows"]},
        {"hybrid_override_pattern": "M*", "num_hidden_layers": 3},
        {"hybrid_override_pattern": "M*", "layers_block_type": ["mamba", "mamba"]},
    ],
)
def test_layers_of_no_known_kind_are_refused(fields: Config) -> None:
    assert find({**NEMOTRON, **fields}) is None


def test_model_type_of_a_part_is_optional() -> None:
    """Qwen2.5-VL's vision part always has one class, whatever its model_type says, or if it is missing."""
    vision = {"depth": 3, "hidden_size": 64, "num_heads": 4, "intermediate_size": 80, "out_hidden_size": 96}
    config = {
        "model_type": "qwen2_5_vl",
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "text_config": {**QWEN, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        "vision_config": {**vision, "in_chans": 3, "model_type": "qwen2_5_vl"},
    }
    assert answer(config) == by_torch(config)


def test_misspelt_field_is_not_ignored() -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "use_mrope": False}
    assert unread_fields(config) == ["use_mrope"]
    assert unread_fields({**config, "num_hidden_layer": 3}) == ["use_mrope"]
    assert unread_fields({**config, "num_hidden_layer": 3, "num_hidden_layers": 3}) == ["use_mrope", "num_hidden_layer"]


def test_field_that_no_module_of_a_type_names_is_ignored() -> None:
    """BartForConditionalGeneration has no entry, but another class of its modules has one."""
    bart = {"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "d_model": 32, "vocab_size": 101}
    assert unread_fields({**bart, "replacing_rate": 0, "scale_embedding": True, "encoder_layer": 2}) == [
        "replacing_rate"
    ]
    assert unread_fields({**bart, "model_type": "nobody", "replacing_rate": 0}) == []


def test_field_in_the_wrong_part_is_not_ignored() -> None:
    kept = entries.find_entry("Qwen2VLForConditionalGeneration", "qwen2_vl")
    assert kept is not None
    config = {"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"]}
    with pytest.raises(CatalogueError, match="patch_size is 7"):
        match(kept, {**config, "text_config": {"patch_size": 7}})


def test_rows_of_absent_layer_kinds_are_omitted() -> None:
    data = {
        "letters": {"mlp_layers": "L_enc", "moe_layers": "L_dec", "hidden_size": "E"},
        "places": {"L_enc": {"field": "mlp_layers"}, "E": {"field": "hidden_size"}},
        "traced": {
            "counts": [[["up", ["E"]], ["L_enc"]], [["norm", ["E"]], ["L_enc + L_dec"]], [["gate", ["E"]], ["L_dec"]]],
            "conditions": [{"is": "AtMost", "left": "L_enc", "right": "E"}],
        },
    }
    assert without_sizes(data, ["mlp_layers"]) == {
        "letters": {"moe_layers": "L_dec", "hidden_size": "E"},
        "places": {"E": {"field": "hidden_size"}},
        "traced": {"counts": [[["norm", ["E"]], ["L_dec"]], [["gate", ["E"]], ["L_dec"]]], "conditions": []},
    }


def test_value_patterns_match_their_values() -> None:
    assert holds("places:3", [5, 11, 17])
    assert not holds("places:3", [5, 11])
    assert holds("kinds:full_attention,sliding_attention", ["full_attention"] * 3, 3)
    assert not holds("kinds:full_attention", ["sliding_attention"], 1)
    assert holds("rotary", {"type": "mrope", "mrope_section": [16, 24, 24]})
    assert not holds("rotary", {"rope_type": "default", "partial_rotary_factor": 0.5})
    assert holds("rotary part", {"rope_type": "default", "partial_rotary_factor": 0.5})
    assert not holds("positive|null", -1)
    assert not holds("int", True)


def test_activation_checkpointing_keeps_parameters_and_drops_run_quantities() -> None:
    """If a config turns recomputation on, the backward pass of transformers multiplies more."""
    config = {"model_type": "phimoe", "architectures": ["PhimoeForCausalLM"], "num_hidden_layers": 2}
    config = {**config, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 101}
    on = {**config, "gradient_checkpointing": True}
    known = find(on)
    assert known is not None
    assert answer(on) == by_torch(on) == answer({**config, "gradient_checkpointing": False})
    with pytest.raises(CatalogueError, match="gradient_checkpointing"):
        known("operations")
    assert find({**config, "gradient_checkpointing": 3}) is None


def test_null_window_changes_no_parameter() -> None:
    """EXAONE 4 1.2B has no window, and the catalogue does not have its cache without one."""
    config = {"model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"], "num_hidden_layers": 4}
    config = {**config, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": None}
    config["layer_types"] = ["full_attention"] * 4
    known = find(config)
    assert known is not None
    assert answer(config) == by_torch(config)
    with pytest.raises(CatalogueError, match="sliding_window"):
        known("operations")


@pytest.mark.parametrize("tied", [False, True])
def test_text_fields_are_accepted_at_top_level(tied: bool) -> None:
    """Qwen2-VL was published without a text_config; transformers then reads the fields at the top level."""
    config = {
        **{"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], **QWEN},
        **{"vocab_size": 101, "intermediate_size": 80, "attention_dropout": 0.0, "rms_norm_eps": 1e-6},
        **{"max_window_layers": 28, "sliding_window": 32768, "use_sliding_window": False, "rope_theta": 1e6},
        **{"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}, "tie_word_embeddings": tied},
        "vision_config": {"depth": 3, "embed_dim": 64, "num_heads": 4, "hidden_size": 96, "in_chans": 3},
    }
    assert answer(config) == by_torch(config)
    assert answer({**config, "hidden_size": 192}) > answer(config)
    with pytest.raises(AssertionError, match="intermediate_size"):
        answer({**config, "intermediate_size": "wide"})


@pytest.mark.parametrize("pattern", ["LLLG", 2, None])
def test_window_pattern_changes_no_parameter(pattern: object) -> None:
    config = {"model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"], "num_hidden_layers": 4}
    config = {**config, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config["layer_types"] = ["sliding_attention", "full_attention"] * 2
    known = find({**config, "sliding_window_pattern": pattern})
    assert known is not None
    assert answer({**config, "sliding_window_pattern": pattern}) == by_torch(config)
    with pytest.raises(CatalogueError, match="sliding_window_pattern"):
        known("operations")


@pytest.mark.parametrize(
    ("name", "model_type"), sampled(2, [("BertForSequenceClassification", "bert"), ("Qwen2ForCausalLM", "qwen2")])
)
def test_ignored_fields_do_not_change_sampled_classes(name: str, model_type: str) -> None:
    """``python -m tests.freed_fields`` tries many classes."""
    told, wrong = attacked(name, model_type)
    assert not wrong
    assert told["right"] > 1000


def test_names_read_by_shared_code_are_listed() -> None:
    from symformer.witness.live_names import live_names

    found = live_names(common_field_names(whole=False), [("gpt2", "GPT2LMHeadModel"), ("bert", "BertForMaskedLM")])
    assert {"is_causal", "chunk_size_feed_forward"} & found
    assert found <= common_field_names()


def test_zero_probability_that_removes_a_weight_is_not_ignored() -> None:
    """Wav2Vec2 has a vector of 768 numbers for masked frames only if mask_time_prob is above 0."""
    config = {"model_type": "wav2vec2", "architectures": ["Wav2Vec2Model"]}
    assert answer({**config, "mask_time_prob": 0.2}) == answer(config)
    assert find({**config, "mask_time_prob": 0.0}) is None
    assert by_torch(config) - by_torch({**config, "mask_time_prob": 0.0}) == 768
    config = {"model_type": "beit", "architectures": ["BeitForImageClassification"]}
    assert answer({**config, "layer_scale_init_value": 0.2}) == answer(config)
    assert find({**config, "layer_scale_init_value": 0.0}) is None


DEEPSEEK_V4 = {
    **{"model_type": "deepseek_v4", "architectures": ["DeepseekV4ForCausalLM"], "vocab_size": 97, "hidden_size": 48},
    **{"moe_intermediate_size": 20, "num_attention_heads": 4, "head_dim": 16, "q_lora_rank": 12, "n_routed_experts": 6},
    **{"num_experts_per_tok": 2, "o_groups": 2, "o_lora_rank": 10, "index_n_heads": 3, "index_head_dim": 16},
    **{"num_hidden_layers": 5, "compress_ratios": [0, 0, 4, 128, 4, 0], "num_hash_layers": 2, "expert_dtype": "fp4"},
}
GLM_5 = {
    **{"model_type": "glm_moe_dsa", "architectures": ["GlmMoeDsaForCausalLM"], "vocab_size": 97, "hidden_size": 48},
    **{"num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 5, "intermediate_size": 56},
    **{"moe_intermediate_size": 20, "n_routed_experts": 6, "kv_lora_rank": 8, "q_lora_rank": 12, "v_head_dim": 10},
    **{"qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "index_head_dim": 14, "index_n_heads": 3, "index_topk_freq": 4},
    **{"first_k_dense_replace": 2, "indexer_types": ["full", "full", "shared", "shared", "full"]},
    "mlp_layer_types": ["dense"] * 2 + ["sparse"] * 3,
}
LFM2 = {
    **{"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "vocab_size": 97, "hidden_size": 48},
    **{"intermediate_size": 1536, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 5},
    **{"full_attn_idxs": [1, 4], "tie_embedding": True},
}


@pytest.mark.parametrize("config", [DEEPSEEK_V4, GLM_5, LFM2, {**LFM2, "tie_embedding": False}])
def test_layers_listed_by_ratio_mode_or_index_are_counted(config: Config) -> None:
    """DeepSeek-V4 lists more ratios than it has layers, and reads only as many as it has layers."""
    stated = {name: value for name, value in config.items() if name != "expert_dtype"}
    assert answer(stated) == by_torch(stated)


@pytest.mark.parametrize(
    ("config", "odd"),
    [
        (DEEPSEEK_V4, {"compress_ratios": [0, 0, 4, 128]}),
        (DEEPSEEK_V4, {"compress_ratios": [0, 0, 4, 128, 5]}),
        (GLM_5, {"mlp_layer_types": ["dense"] * 3 + ["sparse"] * 2}),
        (GLM_5, {"indexer_types": ["full", "shared"]}),
        (LFM2, {"full_attn_idxs": [1, 5]}),
        (LFM2, {"full_attn_idxs": [1, 1]}),
    ],
)
def test_lists_of_layers_that_contradict_the_config_are_refused(config: Config, odd: Config) -> None:
    config = {name: value for name, value in config.items() if name != "expert_dtype"}
    assert find({**config, **odd}) is None


def test_a_list_of_layers_does_not_state_their_number() -> None:
    """LFM2 has 32 layers by default, and reads as many entries of its list."""
    config = {name: value for name, value in LFM2.items() if name != "num_hidden_layers"}
    assert find({**config, "layer_types": ["conv", "full_attention"] * 2}) is None


def test_another_period_of_global_layers_changes_the_cache_but_no_parameter() -> None:
    """12 layers, period 4: 3 cache all 67 tokens and 9 the last 28 of a chunk of 29, in fp32, for 3 sequences.

    4 bytes, keys and values, 8 heads of 128: 2*4*3*8*128 * (3*67 + 9*28) = 24,576 * 453 = 11,132,928.
    """
    config = {
        "model_type": "llama4_text",
        "architectures": ["Llama4ForCausalLM"],
        "num_hidden_layers": 12,
        "attention_chunk_size": 29,
    }
    usual, other = (
        model_of_records("config.json", known)
        for period in (4, 5)
        if (known := find({**config, "interleave_moe_layer_step": 1, "no_rope_layer_interval": period})) is not None
    )
    assert usual.formula("kv-cache", dtype="fp32").value(B=3, C=67) == 11_132_928
    assert other.params.value() == usual.params.value()
    with pytest.raises(SymformerError, match="the effect of no_rope_layer_interval on a run"):
        other.formula("kv-cache")
