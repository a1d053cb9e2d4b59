"""The phrases of a comparison of structures, against the classes of transformers."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

import symformer as sf
from symformer import architectures
from symformer.algebra.structure_phrases import network
from symformer.components.moe import MoE
from symformer.ledger.facts import Scope

# The router of each architecture with its own way to compute the weights, or to state it.
ROUTERS = {
    "deepseek-v2": "DeepseekV2TopkRouter",
    "deepseek-v3": "DeepseekV3TopkRouter",
    "dots1": "Dots1TopkRouter",
    "ernie4-5-moe": "Ernie4_5_MoeTopKRouter",
    "gpt-oss": "GptOssTopKRouter",
    "jamba": "JambaTopKRouter",
    "kimi-linear": "KimiLinearTopkRouter",
    "lfm2-moe": "Lfm2MoeTopKRouter",
    "llama4": "Llama4Router",
    "minimax-m2": "MiniMaxM2TopKRouter",
    "mixtral": "MixtralTopKRouter",
    "qwen2-moe": "Qwen2MoeTopKRouter",
    "qwen3-5-moe": "Qwen3_5MoeTopKRouter",
}
EXPERTS, GROUPS, FACTOR = 6, 3, 2.5


def weights(name: str, logits: torch.Tensor, **changed: Any) -> torch.Tensor:
    """Return the weights of the experts, [tokens, experts], that a router computes from its logits."""
    sizes = dict.fromkeys(("num_experts", "num_local_experts", "hidden_size"), EXPERTS)
    config = SimpleNamespace(
        **sizes,
        num_experts_per_tok=3,
        n_group=GROUPS,
        topk_group=2,
        topk_method="group_limited_greedy",
        moe_norm_min=1e-12,
        use_expert_bias=True,
    )
    config.__dict__.update(
        {"norm_topk_prob": True, "routed_scaling_factor": FACTOR, "router_jitter_noise": 0, **changed}
    )
    module = import_module(f"transformers.models.{name.replace('-', '_')}.modeling_{name.replace('-', '_')}")
    router = getattr(module, ROUTERS[name])(config)
    with torch.no_grad():
        for each in router.parameters():
            each.zero_()
        router.weight.copy_(torch.eye(EXPERTS))  # the logits are the input
        bias = [torch.zeros(EXPERTS)] if name in ("lfm2-moe", "minimax-m2") else []
        found = router(logits, *bias)
    if name == "llama4":  # it returns the weights of all experts, and then the logits
        return found[0]
    return torch.zeros_like(logits).scatter(1, found[2], found[1])


def phrase(name: str) -> str:
    """Return the phrase on the weights of the experts of an architecture."""
    scopes = architectures.architecture(name).component.ledger.root.walk()
    moe = next(scope.part for scope in scopes if isinstance(scope, Scope) and isinstance(scope.part, MoE))
    return network(moe, False)["routing"][0]


@pytest.mark.parametrize("name", ROUTERS)
def test_the_phrase_states_whether_weights_are_divided_and_multiplied(name: str) -> None:
    logits = torch.randn(7, EXPERTS, generator=torch.Generator().manual_seed(5))
    said = phrase(name)

    def sums(**changed: Any) -> torch.Tensor:
        return weights(name, logits, **changed).sum(1)

    def constant(found: torch.Tensor) -> bool:  # as it is where the weights are divided by their sum
        return torch.allclose(found, found[:1].expand(7), rtol=1e-4)

    divided = "divided by their sum" in said or "softmax over the chosen experts" in said
    assert constant(sums()) == divided
    if "if norm_topk_prob is true" in said:
        assert not constant(sums(norm_topk_prob=False))
    multiplied = not torch.allclose(sums(), sums(routed_scaling_factor=1.0))
    assert multiplied == ("multiplied by a constant" in said)


@pytest.mark.parametrize("name", ["deepseek-v2", "deepseek-v3", "dots1", "kimi-linear"])
def test_the_phrase_states_how_groups_are_ranked(name: str) -> None:
    # The first group has the expert with the highest score; the second has the largest sum of two sigmoids: 1 < 1.46.
    logits = torch.tensor([[3.0, -3.0, 1.0, 1.0, -2.0, -2.0]])
    (chosen,) = weights(name, logits, topk_group=1, num_experts_per_tok=1).nonzero()[:, 1].tolist()
    by_highest = "ranked by their highest score" in phrase(name)
    assert by_highest != ("ranked by the sum of their two highest" in phrase(name))
    assert (chosen == 0) == by_highest


def changes(first: str, second: str, part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the phrases of a part that only the first and only the second of two models have."""
    (found,) = (each for each in sf.compare(first, second).structure.differences if each.part == part)
    sides = [[phrase.rstrip(",") for change in found.changes for phrase in getattr(change, side)] for side in SIDES]
    return tuple(sides[0]), tuple(sides[1])


SIDES = ("own", "other")


def test_qwen3_vl_rotates_by_three_positions() -> None:
    modeling = import_module("transformers.models.qwen3_vl.modeling_qwen3_vl")
    sections = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}  # four frequencies of a head
    config = transformers.Qwen3VLTextConfig(
        hidden_size=24, num_attention_heads=3, num_key_value_heads=1, head_dim=8, rope_parameters=sections
    )
    rotary = modeling.Qwen3VLTextRotaryEmbedding(config)
    ids = torch.arange(5).expand(3, 1, 5).clone()
    before = rotary(torch.zeros(1), ids)[1]
    changed = []
    for axis in range(3):
        moved = ids.clone()
        moved[axis] += 2
        changed.append(int((rotary(torch.zeros(1), moved)[1] != before).any(0).any(0).sum()))
    assert changed == [4, 2, 2]  # elements of a head that rotate by the time, the height and the width
    own, other = changes("qwen3-vl", "qwen3", "positions")
    assert (own, other) == (("rotary positions for time, height and width",), ("rotary positions",))


def test_the_output_of_a_text_encoder_is_a_token_and_a_layer() -> None:
    sizes: dict[str, Any] = {
        "vocab_size": 11,
        "hidden_size": 12,
        "intermediate_size": 20,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    sizes |= {"max_position_embeddings": 7, "bos_token_id": 0, "eos_token_id": 9}
    tokens = torch.tensor([[0, 4, 9, 3, 5]])
    siglip = transformers.SiglipTextModel(transformers.SiglipTextConfig(**sizes)).eval()
    found = siglip(tokens)
    head = next(module for name, module in siglip.named_modules() if name.endswith("head"))
    assert torch.allclose(found.pooler_output, head(found.last_hidden_state[:, -1]))  # the last token
    clip = transformers.CLIPTextModelWithProjection(transformers.CLIPTextConfig(projection_dim=6, **sizes)).eval()
    found = clip(tokens)
    assert torch.allclose(found.text_embeds, clip.text_projection(found.last_hidden_state[:, 2]))  # the end of the text
    own, other = changes("siglip", "clip", "head of the text encoder, with the similarities")

    def layer(module: torch.nn.Linear) -> str:
        return f"a linear output layer {'without' if module.bias is None else 'with'} a bias"

    assert own == ("the last token", layer(head), "a stored tensor logit_bias")
    assert other == ("the end-of-text token", layer(clip.text_projection))


def test_whisper_reads_audio_where_mbart_reads_the_table_of_its_decoder() -> None:
    sizes: dict[str, Any] = {
        "vocab_size": 11,
        "d_model": 12,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_ffn_dim": 20,
        "decoder_ffn_dim": 20,
    }
    sizes |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    mbart = transformers.MBartModel(transformers.MBartConfig(**sizes))
    assert mbart.encoder.embed_tokens.weight is mbart.decoder.embed_tokens.weight
    special: dict[str, Any] = dict.fromkeys(
        ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"), 1
    )
    whisper = transformers.WhisperModel(transformers.WhisperConfig(**sizes, **special))
    assert isinstance(whisper.encoder.conv1, torch.nn.Conv1d)
    assert not any("embed_tokens" in name for name, _ in whisper.encoder.named_modules())
    own, other = changes("whisper", "mbart", "input of the encoder")
    assert (own, other) == (("convolutions over audio frames",), ("a token embedding, shared with the decoder",))
    difference = sf.compare("whisper", "mbart").structure
    assert not any(each.part.startswith(("audio", "token")) for each in difference.differences)


def test_every_latent_of_deepseek_v3_has_an_rms_norm() -> None:
    config = transformers.DeepseekV3Config(num_hidden_layers=1, vocab_size=11)
    with torch.device("meta"):
        attention = transformers.DeepseekV3Model(config).layers[0].self_attn
    norms = [module for module in attention.modules() if type(module).__name__ == "DeepseekV3RMSNorm"]
    assert [norm.weight.numel() for norm in norms] == [config.q_lora_rank, config.kv_lora_rank]
    found = sf.compare("deepseek-v3", "gpt2").structure
    assert any("an RMS norm of each latent" in change.own for each in found.differences for change in each.changes)
