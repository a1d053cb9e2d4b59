"""Configs whose checkpoints need another class than the named one are refused, with the name of that class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner

import symformer as sf
from symformer.catalogue import config_match
from symformer.commands.cli import cli
from symformer.configs.common_fields import adds_weights
from symformer.configs.remote_code import check_class
from symformer.language.errors import ConfigError
from symformer.targets.resolution import model

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")

TINY: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 20,
    "max_position_embeddings": 17,
}  # fmt: skip
BERT = {**TINY, "model_type": "bert", "architectures": ["BertForMaskedLM"], "type_vocab_size": 2}
ARCEE = {**TINY, "model_type": "arcee", "architectures": ["ArceeForCausalLM"], "head_dim": 6, "num_key_value_heads": 2}
XLM_R = {**TINY, "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "type_vocab_size": 1}
PHIMOE = {
    **TINY, "model_type": "phimoe", "architectures": ["PhiMoEForCausalLM"], "num_key_value_heads": 2,
    "num_local_experts": 5, "auto_map": {"AutoModelForCausalLM": "modeling_phimoe.PhiMoEForCausalLM"},
}  # fmt: skip
JINA = "jinaai/xlm-roberta-flash-implementation--"
# As in their repositories on the Hub. First, checkpoints of the counted class: auto_map names it too, or names only
# other heads of the same family.
NATIVE: dict[str, tuple[str, dict[str, Any]]] = {
    "deepseek-ai/DeepSeek-V3": ("DeepseekV3ForCausalLM", {
        "AutoConfig": "configuration_deepseek.DeepseekV3Config", "AutoModel": "modeling_deepseek.DeepseekV3Model",
        "AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM",
    }),
    "microsoft/Phi-3.5-MoE-instruct": ("PhiMoEForCausalLM", {
        "AutoConfig": "configuration_phimoe.PhiMoEConfig", "AutoModelForCausalLM": "modeling_phimoe.PhiMoEForCausalLM",
    }),
    "MiniMaxAI/MiniMax-M2": ("MiniMaxM2ForCausalLM", {
        "AutoConfig": "configuration_minimax_m2.MiniMaxM2Config",
        "AutoModelForCausalLM": "modeling_minimax_m2.MiniMaxM2ForCausalLM",
    }),
    "nomic-ai/nomic-embed-text-v1.5": ("NomicBertModel", {
        "AutoConfig": "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig",
        "AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel",
        "AutoModelForMaskedLM": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertForPreTraining",
    }),
    "the config class alone": ("Qwen3ForCausalLM", {"AutoConfig": "configuration_x.X", "AutoTokenizer": ["x.Y", None]}),
    "the base of the same family": ("GPT2LMHeadModel", {"AutoModel": "modeling_gpt2.GPT2Model"}),
}  # fmt: skip
REMOTE: dict[str, tuple[str, dict[str, Any], str]] = {
    "jinaai/jina-embeddings-v3": ("XLMRobertaModel", {
        "AutoConfig": f"{JINA}configuration_xlm_roberta.XLMRobertaFlashConfig",
        "AutoModel": f"{JINA}modeling_lora.XLMRobertaLoRA",
        "AutoModelForMaskedLM": f"{JINA}modeling_xlm_roberta.XLMRobertaForMaskedLM",
        "AutoModelForPreTraining": f"{JINA}modeling_xlm_roberta.XLMRobertaForPreTraining",
    }, "XLMRobertaLoRA"),
    "another class for the same head": (
        "BertForMaskedLM", {"AutoModelForMaskedLM": "ada/code--modeling_bert.JinaBertForMaskedLM"},
        "JinaBertForMaskedLM",
    ),
    "another family": (
        "LlamaForCausalLM", {"AutoModel": "modeling_llama_encoder.LlamaEncoderModel"}, "LlamaEncoderModel"
    ),
}  # fmt: skip


def written(folder: Path, config: dict[str, Any]) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(config))
    return str(place)


@pytest.mark.parametrize("repository", NATIVE)
def test_a_class_also_named_in_auto_map_is_counted(repository: str) -> None:
    name, auto_map = NATIVE[repository]
    config = {"architectures": [name], "auto_map": auto_map}
    assert check_class(config) == config


@pytest.mark.parametrize("repository", REMOTE)
def test_a_checkpoint_of_another_class_is_refused_with_its_name(repository: str) -> None:
    name, auto_map, needed = REMOTE[repository]
    with pytest.raises(ConfigError, match=f"names '{name}', but 'auto_map' loads the checkpoint as '{needed}'"):
        check_class({"architectures": [name], "auto_map": auto_map})


@pytest.mark.parametrize("config", [BERT, ARCEE, XLM_R], ids=lambda config: config["model_type"])
def test_cli_python_and_trace_refuse_a_checkpoint_with_remote_code(config: dict[str, Any], tmp_path: Path) -> None:
    """Built-in, catalogue and other models, through the command line, Python and a trace."""
    path = written(tmp_path, {**config, "auto_map": {"AutoModel": "ada/code--modeling_x.WithLoRA"}})
    for ask in (sf.from_config, model, sf.trace):
        with pytest.raises(ConfigError, match=r"'WithLoRA' \(AutoModel is 'ada/code--modeling_x.WithLoRA'\)"):
            ask(path)
    result = CliRunner().invoke(cli, ["show", path], prog_name="symformer")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_without_architectures_auto_map_names_the_class(tmp_path: Path) -> None:
    config = {name: value for name, value in BERT.items() if name != "architectures"}
    native = {"AutoModel": "modeling_bert.BertModel", "AutoModelForMaskedLM": "modeling_bert.BertForMaskedLM"}
    found = model(written(tmp_path, {**config, "auto_map": native}))
    assert found.params.value() == stored(BERT)
    with pytest.raises(ConfigError, match="JinaBertModel"):
        model(written(tmp_path, {**config, "auto_map": {"AutoModel": "modeling_bert.JinaBertModel"}}))


def stored(config: dict[str, Any]) -> int:
    made = transformers.AutoConfig.for_model(**{k: v for k, v in config.items() if k != "architectures"})
    with torch.device("meta"):
        count = transformers.AutoModelForMaskedLM.from_config(made).num_parameters()
    assert count > 1000
    return int(count)


@pytest.mark.parametrize("field", [{"lora_rank": 4}, {"lora_adaptations": ["a"]}, {"adapters": {"x": 1}},
                                   {"num_experts": 8}, {"num_local_experts": 3}, {"num_loras": 5},
                                   {"num_memory_tokens": 4}, {"p_tuning": True}])  # fmt: skip
@pytest.mark.parametrize("config", [BERT, ARCEE, XLM_R], ids=lambda config: config["model_type"])
def test_a_field_that_adds_weights_to_a_class_that_does_not_read_it_is_refused(
    config: dict[str, Any], field: dict[str, Any], tmp_path: Path
) -> None:
    (name,) = field
    assert config_match.find({**config, **field}) is None
    with pytest.raises(ConfigError, match=rf"{name}=.*, which {config['architectures'][0]} does not read"):
        model(written(tmp_path, {**config, **field}))
    with pytest.raises(ConfigError, match=rf"{name}=.*, which {config['architectures'][0]} does not read"):
        sf.trace(written(tmp_path, {**config, **field}))


def test_a_field_that_is_inert_or_supported_is_accepted() -> None:
    assert config_match.find({**ARCEE, "lora_rank": None, "lora_dropout_p": 0.0}) is not None
    assert not adds_weights("num_experts", 0, ["hidden_size"])
    read = ["hidden_size", "n_routed_experts"]
    assert not adds_weights("num_experts", 8, read)  # another name for its experts
    assert not adds_weights("kv_rank", 8, read)
    assert not adds_weights("explorations", 8, read)


def test_class_names_are_matched_without_case(tmp_path: Path) -> None:
    """Phi-3.5-MoE's file names PhiMoEForCausalLM; transformers has PhimoeForCausalLM. So mpt-7b's, and a trace."""
    with torch.device("meta"):
        theirs = transformers.AutoModelForCausalLM.from_config(
            transformers.PhimoeConfig(**{k: PHIMOE[k] for k in (*TINY, "num_key_value_heads", "num_local_experts")})
        ).num_parameters()
    path = written(tmp_path, PHIMOE)
    assert model(path).params.value() == theirs > 1000
    traced = sf.trace(path)
    assert sf.witness.values_at(traced, path) == theirs
    mpt = {"model_type": "mpt", "vocab_size": 101, "d_model": 24, "n_layers": 3, "n_heads": 4}
    names = ("MPTForCausalLM", "MptForCausalLM")
    one, other = (sf.from_config(written(tmp_path, {**mpt, "architectures": [name]})).params.value() for name in names)
    assert one == other == 12 * 3 * 24**2 + 2 * 3 * 24 + 101 * 24 + 24  # 12LE² + 2LE + VE + E


def test_the_class_decides_how_a_config_of_an_unknown_type_is_read(tmp_path: Path) -> None:
    """Kimi K2 names DeepSeek-V3's class; draft models of the same type name another, which is not counted."""
    config = tmp_path / "config.json"
    kimi = {
        **TINY, "model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"], "q_lora_rank": 19,
        "kv_lora_rank": 14, "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 13, "n_routed_experts": 9,
        "num_key_value_heads": 4, "moe_intermediate_size": 11, "first_k_dense_replace": 1, "num_experts_per_tok": 2,
        "auto_map": {"AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM"},
    }  # fmt: skip
    config.write_text(json.dumps(kimi), "utf-8")
    found = model(config)
    assert found.component.name == "deepseek-v3"
    with torch.device("meta"):
        theirs = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config.from_dict(kimi))
    assert found.params.value() == sum(weight.numel() for weight in theirs.parameters())
    del kimi["auto_map"]
    for name in ("Eagle3DeepseekV2ForCausalLM", "LlamaForCausalLMEagle3"):
        config.write_text(json.dumps({**kimi, "architectures": [name]}), "utf-8")
        with pytest.raises(ConfigError, match=name):
            model(config)
