"""One row per component that multiplies matrices: FLOPs, forward and backward, as counted by torch for a module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from diffusers.models.embeddings import CombinedTimestepLabelEmbeddings, CombinedTimestepTextProjEmbeddings
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    BertConfig,
    CLIPTextConfig,
    CLIPVisionConfig,
    DeepseekV3Config,
    DeepseekV32Config,
    Dinov2Config,
    Gemma2Config,
    Gemma3Config,
    Gemma3nTextConfig,
    Gemma4TextConfig,
    GPT2Config,
    HubertConfig,
    KimiLinearConfig,
    Lfm2Config,
    LlamaConfig,
    LlavaConfig,
    Mamba2Config,
    MambaConfig,
    MixtralConfig,
    Olmo2Config,
    OlmoHybridConfig,
    PaliGemmaConfig,
    RecurrentGemmaConfig,
    SamVisionConfig,
    SiglipVisionConfig,
    XLNetConfig,
    Zamba2Config,
)
from transformers.models.bert.modeling_bert import BertLayer, BertOnlyMLMHead, BertPooler
from transformers.models.clip.modeling_clip import CLIPTextModel, CLIPVisionModel
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.deepseek_v4.modeling_deepseek_v4 import (
    DeepseekV4Attention,
    DeepseekV4CSACompressor,
    DeepseekV4HCACompressor,
    DeepseekV4HyperConnection,
    DeepseekV4HyperHead,
    DeepseekV4Indexer,
)
from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Indexer
from transformers.models.dinov2.modeling_dinov2 import Dinov2Layer
from transformers.models.gemma2.modeling_gemma2 import Gemma2DecoderLayer
from transformers.models.gemma3.modeling_gemma3 import Gemma3MultiModalProjector
from transformers.models.gemma3n.modeling_gemma3n import (
    Gemma3nTextDecoderLayer,
    Gemma3nTextLaurelBlock,
)
from transformers.models.gemma4.modeling_gemma4 import Gemma4TextDecoderLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Block
from transformers.models.hubert.modeling_hubert import HubertFeatureEncoder, HubertPositionalConvEmbedding
from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearDeltaAttention
from transformers.models.lfm2.modeling_lfm2 import Lfm2ShortConv
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector
from transformers.models.mamba.modeling_mamba import MambaMixer
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.olmo2.modeling_olmo2 import Olmo2DecoderLayer
from transformers.models.olmo_hybrid.modeling_olmo_hybrid import OlmoHybridGatedDeltaNet
from transformers.models.paligemma.modeling_paligemma import PaliGemmaMultiModalProjector
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel, Qwen3VLVisionPatchMerger
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRecurrentBlock
from transformers.models.sam.modeling_sam import SamVisionAttention, SamVisionNeck
from transformers.models.siglip.modeling_siglip import SiglipMultiheadAttentionPoolingHead, SiglipVisionModel
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention
from transformers.models.zamba2.modeling_zamba2 import (
    Zamba2AttentionDecoderLayer,
    Zamba2HybridLayer,
    Zamba2MambaDecoderLayer,
)

from symformer import component
from symformer.components import names
from symformer.witness.dispatch_recorders import CORRECTED
from symformer.witness.models.palm import ParallelLayer
from symformer.witness.models.rwkv7 import ChannelMixing, TimeMixing

from .oracle import distinct
from .samples import sampled
from .test_components import (
    COMPRESSED,
    QWEN,
    V4,
    adaptive,
    disentangled,
    joint,
    per_layer_embedding,
    single_stream,
    with_streams,
    without_indexer,
)

B, S, S_ENC = 2, 11, 13
LLAMA = LlamaConfig(
    hidden_size=24,
    intermediate_size=7,
    num_attention_heads=6,
    num_key_value_heads=3,
    head_dim=10,
    attn_implementation="eager",
)
CLIP = {"hidden_size": 24, "intermediate_size": 7, "num_attention_heads": 6, "attn_implementation": "eager"}
TEXT = CLIPTextConfig(**CLIP, vocab_size=29, max_position_embeddings=13, num_hidden_layers=3)
SIGLIP = SiglipVisionConfig(**CLIP, image_size=20, patch_size=10, num_channels=5, num_hidden_layers=4)
LLAVA = LlavaConfig(vision_config={"hidden_size": 22, "model_type": "clip_vision_model", "num_attention_heads": 11},
                    text_config={"hidden_size": 24, "model_type": "llama", "num_attention_heads": 3})  # fmt: skip
GEMMA3 = Gemma3Config(vision_config={"hidden_size": 22, "image_size": 60, "patch_size": 10},
                      text_config={"hidden_size": 24, "num_attention_heads": 3}, mm_tokens_per_image=9)  # fmt: skip
IMAGE = CLIPVisionConfig(**CLIP, image_size=20, patch_size=10, num_channels=5, num_hidden_layers=4)
GPT2 = GPT2Config(n_embd=12, n_head=3, n_inner=7, attn_implementation="eager")
BERT = BertConfig(
    hidden_size=12, num_attention_heads=3, intermediate_size=7, vocab_size=29, attn_implementation="eager"
)

SAM = SamVisionConfig(image_size=50, patch_size=10, hidden_size=24, num_attention_heads=6, output_channels=13)
PALIGEMMA = PaliGemmaConfig(vision_config={"hidden_size": 22, "num_attention_heads": 11}, projection_dim=24)
HUBERT = HubertConfig(hidden_size=24, conv_dim=[10] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=6)
GRIFFIN = RecurrentGemmaConfig(hidden_size=24, num_attention_heads=3, lru_width=12, conv1d_width=4)
LFM2 = Lfm2Config(hidden_size=24, conv_L_cache=4, num_hidden_layers=1, layer_types=["conv"])
MIXTRAL = MixtralConfig(
    hidden_size=24,
    intermediate_size=7,
    num_local_experts=5,
    num_experts_per_tok=3,
    experts_implementation="batched_mm",  # torch silently counts nothing for the default
)
SPARSE = DeepseekV32Config(
    hidden_size=24, q_lora_rank=8, qk_rope_head_dim=4, index_n_heads=3, index_head_dim=6, index_topk=5
)
DEEPSEEK = DeepseekV3Config(
    hidden_size=24,
    num_attention_heads=3,
    num_key_value_heads=3,
    q_lora_rank=8,
    kv_lora_rank=9,
    qk_nope_head_dim=10,
    qk_rope_head_dim=4,
    v_head_dim=5,
    attn_implementation="eager",
)
GEMMA2 = Gemma2Config(
    hidden_size=24,
    intermediate_size=7,
    num_attention_heads=4,
    num_key_value_heads=4,
    head_dim=6,
    attention_bias=True,
    attn_implementation="eager",
)
DELTA_NET = {"E": 24, "A_k_lin": 3, "A_v_lin": 6, "D_k_lin": 5, "D_v_lin": 7, "K_conv": 4}
OLMO_HYBRID = OlmoHybridConfig(
    **{"hidden_size": 24, "linear_num_key_heads": 3, "linear_num_value_heads": 6, "linear_key_head_dim": 5},
    **{"linear_value_head_dim": 7, "linear_conv_kernel_dim": 4, "linear_allow_neg_eigval": False},
)
KIMI = KimiLinearConfig(hidden_size=24, linear_num_heads=3, linear_head_dim=8, linear_conv_kernel_dim=4)
GEMMA4 = Gemma4TextConfig(
    hidden_size=24,
    intermediate_size=7,
    num_attention_heads=4,
    num_key_value_heads=4,
    head_dim=6,
    hidden_size_per_layer_input=0,
    enable_moe_block=True,
    num_experts=5,
    top_k_experts=3,
    moe_intermediate_size=9,
    attn_implementation="eager",
    experts_implementation="batched_mm",
)
GEMMA3N = Gemma3nTextConfig(
    **{"hidden_size": 24, "intermediate_size": 7, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 6},
    **{"num_hidden_layers": 5, "num_kv_shared_layers": 0, "attention_bias": True, "laurel_rank": 5},
    **{"hidden_size_per_layer_input": 9, "altup_num_inputs": 3, "attn_implementation": "eager"},
)
MAMBA2 = Mamba2Config(hidden_size=24, num_heads=6, head_dim=8, n_groups=3, state_size=5, chunk_size=9)
OLMO2 = Olmo2Config(
    hidden_size=24, intermediate_size=7, num_attention_heads=4, attention_bias=True, attn_implementation="eager"
)

ZAMBA2 = Zamba2Config(hidden_size=24, intermediate_size=7, num_attention_heads=12, n_mamba_heads=6, mamba_ngroups=3,
                      mamba_d_state=5, num_hidden_layers=1, layers_block_type=["linear_attention"],
                      chunk_size=9, attn_implementation="eager")  # fmt: skip


@dataclass
class Case:
    """A component, a module with the same computation, and its inputs."""

    name: str
    sizes: dict[str, int]
    torch: Callable[[], nn.Module]
    call: Callable[[Any, torch.Tensor], Any] = lambda module, x: module(x)
    options: dict[str, bool] = field(default_factory=dict)
    partial: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.name, self.torch().__class__.__name__])


def _mask() -> torch.Tensor:
    return torch.zeros(B, 1, S, S)


def _encoded(module: Any, x: torch.Tensor) -> torch.Tensor:
    """Run an image encoder on B images of 6 by 6 patches, without its merger; on meta, indices need no values."""
    module.merger, patches = nn.Identity(), B * 36
    return module(
        torch.zeros(patches, 5 * 8 * 9 * 9),
        grid_thw=torch.tensor([[1, 6, 6]] * B, device="cpu"),
        cu_seqlens=torch.arange(B + 1, device="cpu") * 36,
        max_seqlen=36,
        position_ids=torch.zeros(patches, 2, dtype=torch.long),
        interp_indices=torch.zeros(patches, 4, dtype=torch.long),
        interp_weights=torch.zeros(patches, 4),
    ).pooler_output


def _llama(module: Any, x: torch.Tensor) -> Any:
    return module(x, position_embeddings=(torch.zeros(1, S, 10), torch.zeros(1, S, 10)), attention_mask=_mask())


def _latent(module: Any, x: torch.Tensor) -> Any:
    return module(x, position_embeddings=(torch.zeros(1, S, 4), torch.zeros(1, S, 4)), attention_mask=_mask())


def _indexer(module: Any, x: torch.Tensor) -> torch.Tensor:
    """Return a tensor with a gradient, because no gradient is computed in the indexer."""
    angles = (torch.zeros(1, S, 4), torch.zeros(1, S, 4))
    keys = module(x, torch.zeros(B, S, 8), angles, torch.zeros(B, S, S), torch.arange(S))
    return torch.zeros(1, requires_grad=True) + keys.sum()


def _compressor(module: Any, x: torch.Tensor) -> Any:
    return module(x, torch.zeros(B, S, 8), torch.arange(S).expand(B, -1), None, 0)


def _compressed_indexer(module: Any, x: torch.Tensor) -> torch.Tensor:
    """Return a tensor with a gradient, because the choice of keys has none."""
    return torch.zeros(1, requires_grad=True) + _compressor(module, x).sum()


def _compressed(module: Any, x: torch.Tensor) -> Any:
    angles = (torch.zeros(1, S, 2), torch.zeros(1, S, 2))
    return module(x, {"main": angles, "compress": angles}, torch.arange(S).expand(B, -1), torch.zeros(B, 1, S, S))


def _streams(module: Any, x: torch.Tensor) -> Any:
    return module(x[:, :, None].expand(-1, -1, 4, -1).contiguous())


def _gemma2(module: Any, x: torch.Tensor) -> Any:
    return module(x, position_embeddings=(torch.zeros(1, S, 6), torch.zeros(1, S, 6)), attention_mask=_mask())


def _gemma4(module: Any, x: torch.Tensor) -> Any:
    angles = torch.zeros(1, S, 6), torch.zeros(1, S, 6)
    return module(x, shared_kv_states={}, position_embeddings=angles, attention_mask=_mask())


def _laurel(module: Any, x: torch.Tensor) -> torch.Tensor:
    """Run Gemma 3n's layer on one residual stream, without the steps before and after it."""
    normed, angles = module.input_layernorm(x), (torch.zeros(1, S, 6), torch.zeros(1, S, 6))
    y = module.self_attn(normed, angles, _mask(), shared_kv_states={})[0]
    y = x + module.post_attention_layernorm(y) + module.laurel(normed)
    return y + module.post_feedforward_layernorm(module.mlp(module.pre_feedforward_layernorm(y)))


def _per_layer(module: Any, x: torch.Tensor) -> torch.Tensor:
    gate = module.act_fn(module.per_layer_input_gate(x))
    return module.post_per_layer_input_norm(module.per_layer_projection(gate * torch.zeros(B, S, 9)))


def _alternating(module: Any, x: torch.Tensor) -> Any:
    angles = (torch.zeros(1, S, 6), torch.zeros(1, S, 6))
    return module(x.expand(3, B, S, 24), angles, torch.zeros(B, S, 9), {}, _mask())


def _relative(module: Any, x: torch.Tensor) -> Any:
    """Inputs with the sequences last, as XLNet requires, and one column per distance: as many as keys."""
    module.rel_shift_bnij = lambda scores, klen: scores
    return module(x.transpose(0, 1), None, None, None, torch.zeros(S, 1, 12), None)[0]


class _Nothing(nn.Module):
    """An adapter that adds nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(1)


def _without_adapters(config: Zamba2Config) -> nn.Module:
    """Return Zamba2's transformer block for layer 0."""
    block = Zamba2AttentionDecoderLayer(config, 0)
    block.feed_forward.layer_dic, block.feed_forward.gate_up_proj_adapter_list = {0: 0}, nn.ModuleList([_Nothing()])
    return block


def _memory(width: int = 12) -> torch.Tensor:
    return torch.zeros(B, S_ENC, width)


CASES = [
    Case("linear", {"E": 5, "H": 7}, lambda: nn.Linear(5, 7)),
    Case("low-rank-update", {"E": 5, "H": 7, "R": 3},
         lambda: nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 7, bias=False))),
    Case("bottleneck-adapter", {"E": 5, "H_adapter": 3}, lambda: nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 5))),
    Case("mlp", {"E": 12, "H": 7}, lambda: GPT2MLP(7, GPT2)),
    Case("gated-mlp", {"E": 24, "H": 7}, lambda: LlamaMLP(LLAMA)),
    Case("patch-embedding", {"E": 5, "Z": 12, "Z_patch": 4, "N_chan": 3}, lambda: nn.Conv2d(3, 5, 4, stride=4),
         lambda module, x: module(torch.zeros(B, 3, 12, 12))),
    Case("lm-head", {"E": 5, "V": 7}, lambda: nn.Linear(5, 7, bias=False)),
    Case("masked-lm-head", {"E": 12, "V": 29}, lambda: BertOnlyMLMHead(BERT)),
    Case("head-transform", {"E": 12}, lambda: BertOnlyMLMHead(BERT).predictions.transform),
    Case("selective-scan", {"E": 12, "H_ssm": 36, "N_state": 5, "R_dt": 7, "K_conv": 4},
         lambda: MambaMixer(MambaConfig(hidden_size=12, expand=3, state_size=5, time_step_rank=7), 0)),
    Case("chunked-scan", {"E": 24, "A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 4, "C_chunk": 9},
         lambda: Mamba2Mixer(MAMBA2, 0), options={"bias": False}),
    Case("gated-delta-net", DELTA_NET, lambda: OlmoHybridGatedDeltaNet(OLMO_HYBRID, 0)),
    Case("kimi-delta-attention", {"E": 24, "A_lin": 3, "D_lin": 8, "K_conv": 4},
         lambda: KimiLinearDeltaAttention(KIMI, 0)),
    Case("channel-mixing", {"E": 12, "H": 7}, lambda: ChannelMixing(12, 7)),
    Case("time-mixing", {"E": 24, "D_lin": 8, "R_w": 3, "R_a": 7, "R_v": 10, "R_g": 13},
         lambda: TimeMixing(24, 8, {"w": 3, "a": 7, "v": 10, "g": 13}, first=False),
         lambda module, x: module(x, torch.zeros(B, S, 24))[0]),
    Case("time-mixing", {"E": 24, "D_lin": 8, "R_w": 3, "R_a": 7, "R_g": 13},
         lambda: TimeMixing(24, 8, {"w": 3, "a": 7, "v": 10, "g": 13}, first=True),
         lambda module, x: module(x, None)[0], {"first": True}),
    Case("parallel-sum", {"E": 12, "H": 7, "A": 3},
         lambda: nn.ModuleList([nn.MultiheadAttention(12, 3, batch_first=True), GPT2MLP(7, GPT2)]),
         lambda parts, x: parts[0](x, x, x)[0] + parts[1](x)),
    Case("layer-adapter", {"E": 5, "H": 7, "R_adapter": 3},
         lambda: nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 7, bias=False))),
    Case("shared-transformer-block", {"E": 24, "H": 7, "A": 12}, lambda: _without_adapters(ZAMBA2),
         lambda module, x: module(x, x, 0, _mask())),
    Case("shared-transformer-layer",
         {"E": 24, "H": 7, "A": 12, "A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 4, "C_chunk": 9},
         lambda: Zamba2HybridLayer(_without_adapters(ZAMBA2), nn.Linear(24, 24, bias=False),
                                   Zamba2MambaDecoderLayer(ZAMBA2, 0)),
         lambda module, x: module(x, x, 0, None, _mask())),
    Case("recurrent-block", {"E": 24, "A": 3, "H_lru": 12, "K_conv": 4},
         lambda: RecurrentGemmaRecurrentBlock(GRIFFIN, 0),
         lambda module, x: module(x, torch.ones(1, x.shape[1]), None, use_cache=False)[0]),
    Case("short-convolution", {"E": 24, "K_conv": 4}, lambda: Lfm2ShortConv(LFM2, 0)),
    Case("pooler", {"E": 12}, lambda: BertPooler(BERT)),
    Case("self-attention", {"E": 24, "A": 6, "G": 3, "D": 10}, lambda: LlamaAttention(LLAMA, 0), _llama,
         {"bias": False, "output_bias": False}, {"G": "G", "D": "D"}),
    Case("self-attention", {"E": 12, "A": 3}, lambda: nn.MultiheadAttention(12, 3, batch_first=True),
         lambda module, x: module(x, x, x)[0]),
    Case("cross-attention", {"E": 12, "A": 3, "S_enc": S_ENC}, lambda: nn.MultiheadAttention(12, 3, batch_first=True),
         lambda module, x: module(x, _memory(), _memory())[0]),
    Case("query-attention", {"E": 18, "A": 3, "S_enc": S_ENC}, lambda: nn.MultiheadAttention(18, 3, batch_first=True),
         lambda module, x: module(x, _memory(18), _memory(18))[0]),
    Case("relative-attention", {"E": 12, "A": 3},
         lambda: XLNetRelativeAttention(XLNetConfig(d_model=12, n_head=3)).to("meta"), _relative, {"bias": False}),
    # queries and keys of 2*7 distances
    Case("disentangled-attention", {"E": 12, "A": 3, "P_rel": 7}, disentangled,
         lambda module, x: module(x, torch.ones(B, 1, S, S), rel_embeddings=torch.zeros(14, 12))[0]),
    Case("moe", {"E": 24, "X": 5, "K": 3, "M": 7}, lambda: MixtralSparseMoeBlock(MIXTRAL)),
    Case("latent-attention", {"E": 24, "A": 3, "R_q": 8, "R_kv": 9, "D_nope": 10, "D_rope": 4, "D_v": 5},
         lambda: DeepseekV3Attention(DEEPSEEK, 0), _latent),
    Case("lightning-indexer", {"E": 24, "R_q": 8, "D_rope": 4, "A_idx": 3, "D_idx": 6},
         lambda: DeepseekV32Indexer(SPARSE, 0), _indexer),
    # one or three of 11 tokens are not in a complete group
    Case("token-compressor", {"E": 24, "D": 10, "C_hca": 5}, lambda: DeepseekV4HCACompressor(V4), _compressor),
    Case("token-compressor", {"E": 24, "D": 10, "C_hca": 4}, lambda: without_indexer(DeepseekV4CSACompressor(V4)),
         _compressor, {"overlapping": True}),
    Case("compressed-indexer", {"E": 24, "R_q": 8, "A_idx": 13, "D_idx": 14, "C_csa": 4},
         lambda: DeepseekV4Indexer(V4), _compressed_indexer),
    Case("compressed-attention", COMPRESSED, lambda: DeepseekV4Attention(V4, 0), _compressed, {"keys": "window"}),
    Case("compressed-attention", {**COMPRESSED, "C_hca": 5}, lambda: DeepseekV4Attention(V4, 2), _compressed,
         {"keys": "heavy"}),
    Case("compressed-attention", {**COMPRESSED, "A_idx": 13, "D_idx": 14, "C_csa": 4},
         lambda: DeepseekV4Attention(V4, 1), _compressed),
    Case("hyper-connection", {"E": 24, "N_hc": 4}, lambda: DeepseekV4HyperConnection(V4), _streams),
    Case("hyper-head", {"E": 24, "N_hc": 4}, lambda: DeepseekV4HyperHead(V4), _streams),
    Case("hyper-connected-block", {"E": 24, "N_hc": 4, "A": 3, "H": 7}, with_streams, _streams),
    Case("sandwich-block", {"E": 24, "H": 7, "A": 4}, lambda: Gemma2DecoderLayer(GEMMA2, 0), _gemma2),
    Case("expert-sandwich-block", {"E": 24, "H": 7, "A": 4, "X": 5, "K": 3, "M": 9},
         lambda: Gemma4TextDecoderLayer(GEMMA4, 0), _gemma4),
    Case("laurel", {"E": 24, "R_lau": 5}, lambda: Gemma3nTextLaurelBlock(GEMMA3N)),
    Case("laurel-block", {"E": 24, "H": 7, "A": 4, "R_lau": 5}, lambda: Gemma3nTextDecoderLayer(GEMMA3N, 0), _laurel),
    Case("per-layer-input", {"E": 24, "E_pli": 9}, lambda: Gemma3nTextDecoderLayer(GEMMA3N, 0), _per_layer),
    Case("per-layer-embedding", {"V_pli": 23, "L": 5, "E": 24, "E_pli": 9}, per_layer_embedding,
         lambda module, x: module.project_per_layer_inputs(x, torch.zeros(B, S, 5, 9))),
    Case("stream-projection", {"E": 24}, lambda: nn.Linear(24, 24, bias=False)),
    Case("alt-up-block", {"E": 24, "H": 7, "A": 4, "R_lau": 5, "E_pli": 9, "N_alt": 3},
         lambda: Gemma3nTextDecoderLayer(GEMMA3N, 0), _alternating),
    Case("res-post-norm-block", {"E": 24, "H": 7, "A": 4}, lambda: Olmo2DecoderLayer(OLMO2, 0), _gemma2),
    Case("pre-norm-block", {"E": 12, "H": 7, "A": 3}, lambda: GPT2Block(GPT2),
         lambda module, x: module(x, attention_mask=_mask())),
    Case("layer-scale-block", {"E": 12, "H": 24, "A": 3},
         lambda: Dinov2Layer(Dinov2Config(hidden_size=12, num_attention_heads=3, mlp_ratio=2))),
    Case("post-norm-block", {"E": 12, "H": 7, "A": 3}, lambda: BertLayer(BERT)),
    Case("post-norm-block", {"E": 12, "H": 7, "A": 3}, lambda: nn.TransformerEncoderLayer(12, 3, 7, batch_first=True)),
    Case("decoder-block", {"E": 12, "H": 7, "A": 3, "S_enc": S_ENC},
         lambda: nn.TransformerDecoderLayer(12, 3, 7, batch_first=True), lambda module, x: module(x, _memory())),
    Case("text-encoder", {"V": 29, "P": 13, "E": 24, "H": 7, "L": 3, "A": 6}, lambda: CLIPTextModel(TEXT),
         lambda module, x: module(torch.zeros(B, S, dtype=torch.long), attention_mask=_mask()).pooler_output),
    Case("image-encoder", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6},
         lambda: CLIPVisionModel(IMAGE), lambda module, x: module(torch.zeros(B, 5, 20, 20)).pooler_output),
    Case("attention-pooling", {"E": 24, "H": 7, "A": 6}, lambda: SiglipMultiheadAttentionPoolingHead(SIGLIP)),
    Case("pooled-image-encoder", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6},
         lambda: SiglipVisionModel(SIGLIP), lambda module, x: module(torch.zeros(B, 5, 20, 20)).pooler_output),
    Case("image-features", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6},
         lambda: CLIPVisionModel(IMAGE), lambda module, x: module(torch.zeros(B, 5, 20, 20)).last_hidden_state[:, 1:]),
    Case("patch-features", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6},
         lambda: SiglipVisionModel(SIGLIP), lambda module, x: module(torch.zeros(B, 5, 20, 20)).last_hidden_state,
         {"pooled": True}),
    Case("native-resolution-encoder", {"Z": 54, "Z_patch": 9, "T_patch": 8, "N_chan": 5, "P_vis": 25, "E_vis": 52,
                                       "H_vis": 17, "L_vis": 4, "A_vis": 13},
         lambda: Qwen3VLVisionModel(Qwen3VLVisionConfig(**QWEN)), _encoded),
    Case("patch-merger", {"E": 24, "E_vis": 52, "J_merge": 3, "Z": 54, "Z_patch": 9},
         lambda: Qwen3VLVisionPatchMerger(Qwen3VLVisionConfig(**QWEN)),
         lambda module, x: module(torch.zeros(B, 36, 52))),
    Case("deepstack-block", {"E": 12, "H": 7, "A": 3}, lambda: GPT2Block(GPT2),  # as the pre-norm block
         lambda module, x: module(x, attention_mask=_mask())),
    Case("projector", {"E": 24, "E_vis": 22}, lambda: LlavaMultiModalProjector(LLAVA),
         lambda module, x: module(torch.zeros(B, S, 22))),
    Case("wave-encoder", {"E": 24, "E_wave": 10}, lambda: HubertFeatureEncoder(HUBERT),
         lambda module, x: module(torch.zeros(B, 320 * S + 80))),
    Case("convolutional-positions", {"E": 24, "K_near": 16, "G_near": 6},
         lambda: HubertPositionalConvEmbedding(HUBERT)),
    Case("linear-projector", {"E": 24, "E_vis": 22}, lambda: PaliGemmaMultiModalProjector(PALIGEMMA),
         lambda module, x: module(torch.zeros(B, S, 22))),
    Case("image-attention", {"E": 24, "A": 6, "Z": 50, "Z_patch": 10}, lambda: SamVisionAttention(SAM, 0),
         lambda module, x: module(torch.zeros(B, 5, 5, 24))),
    Case("image-neck", {"E": 24, "N_out": 13, "Z": 50, "Z_patch": 10}, lambda: SamVisionNeck(SAM),
         lambda module, x: module(torch.zeros(B, 5, 5, 24))),
    Case("pooling-projector", {"E": 24, "E_vis": 22, "Z": 60, "Z_patch": 10, "Z_pool": 3},
         lambda: Gemma3MultiModalProjector(GEMMA3), lambda module, x: module(torch.zeros(B, 36, 22))),
    Case("adaptive-block", {"E": 12, "H": 7, "A": 3}, adaptive,
         lambda module, x: module(torch.zeros(B, S, 12), timestep=torch.zeros(B, 12), class_labels=None)),
    Case("joint-attention", {"E": 12, "A": 3, "S_txt": 5, "S_img": 13}, lambda: joint().attn,
         lambda module, x: torch.cat(module(torch.zeros(B, 13, 12), encoder_hidden_states=torch.zeros(B, 5, 12)), 1)),
    Case("joint-block", {"E": 12, "H": 48, "A": 3, "S_txt": 5, "S_img": 13}, joint,
         lambda module, x: torch.cat(module(torch.zeros(B, 13, 12), torch.zeros(B, 5, 12), torch.zeros(B, 12)), 1)),
    Case("single-stream-block", {"E": 12, "H": 48, "A": 3}, single_stream,
         lambda module, x: torch.cat(module(x[:, 4:], x[:, :4], torch.zeros(B, 12)), 1)),
    Case("text-conditioning", {"E": 12, "E_pool": 17}, lambda: CombinedTimestepTextProjEmbeddings(12, 17),
         lambda module, x: module(torch.zeros(B), torch.zeros(B, 17))),
    Case("conditioning", {"E": 12, "N_class": 13}, lambda: CombinedTimestepLabelEmbeddings(13, 12),
         lambda module, x: module(torch.zeros(B), torch.zeros(B, dtype=torch.long), torch.float32)),
    Case("parallel-block", {"E": 24, "H": 7, "A": 4, "G": 1, "D": 6},
         lambda: ParallelLayer(24, 7, heads=4, head_width=6, scales=True), partial={"G": "G", "D": "D"}),
]  # fmt: skip
SILENT = {  # no matrix products: tests/test_components.py checks their weights
    "token-embedding", "position-embedding", "segment-embedding", "layer-norm", "rms-norm", "dropout",
    "head-norm", "identity", "sinusoidal-positions", "rotary-positions", "distance-embedding", "relative-bias", "alibi",
    "xielu", "layer-scale", "group-norm", "gaussian-top-k",
}  # fmt: skip


@pytest.mark.parametrize("quantity", ["flops", "train-flops"])
@pytest.mark.parametrize("case", sampled(3, CASES), ids=str)
def test_component_flops_match_torch(case: Case, quantity: str) -> None:
    sizes = {**case.sizes, "B": B, "S": S}
    with torch.device("meta"), sdpa_kernel(SDPBackend.MATH):
        module = case.torch().train()
        x = torch.zeros(B, S, sizes.get("E", 1))  # nothing below it is trained, so its gradient is not needed
        counter = FlopCounterMode(display=False, custom_mapping=dict(CORRECTED))  # a depthwise convolution
        with counter:
            output = case.call(module, x)
            if quantity == "train-flops":
                (output[0] if isinstance(output, tuple) else output).sum().backward()
    counted = counter.get_total_flops()
    assert counted > 0
    formula = component(case.name, **case.options).formula(quantity).partial(**case.partial)
    given = {
        size: number for size, number in distinct(sizes).items() if size in formula.accepted_sizes
    }  # a pooler has no S
    assert formula.value(given) == counted


def test_every_component_has_a_row_or_no_products() -> None:
    assert {case.name for case in CASES} | SILENT == set(names())
    for name in SILENT:
        assert component(name).formula("flops").expanded == 0
