"""One row per component: its count by hand, and the torch module with the same weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from diffusers.models.attention import BasicTransformerBlock, JointTransformerBlock
from diffusers.models.embeddings import (
    CombinedTimestepGuidanceTextProjEmbeddings,
    CombinedTimestepLabelEmbeddings,
    CombinedTimestepTextProjEmbeddings,
)
from diffusers.models.transformers.transformer_flux import FluxSingleTransformerBlock
from torch import nn
from transformers import (
    BertConfig,
    CLIPTextConfig,
    CLIPVisionConfig,
    DebertaV2Config,
    DeepseekV3Config,
    DeepseekV4Config,
    DeepseekV32Config,
    Dinov2Config,
    Gemma2Config,
    Gemma3Config,
    Gemma3nTextConfig,
    Gemma4TextConfig,
    GPT2Config,
    GptOssConfig,
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
from transformers.activations import XIELUActivation
from transformers.models.bert.modeling_bert import BertOnlyMLMHead, BertPooler
from transformers.models.clip.modeling_clip import CLIPTextModel, CLIPVisionModel
from transformers.models.cohere.modeling_cohere import CohereLayerNorm
from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Attention
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.deepseek_v4.modeling_deepseek_v4 import (
    DeepseekV4Attention,
    DeepseekV4CSACompressor,
    DeepseekV4DecoderLayer,
    DeepseekV4HCACompressor,
    DeepseekV4HyperConnection,
    DeepseekV4HyperHead,
    DeepseekV4Indexer,
)
from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Indexer
from transformers.models.dinov2.modeling_dinov2 import Dinov2Layer, Dinov2LayerScale
from transformers.models.gemma2.modeling_gemma2 import Gemma2DecoderLayer
from transformers.models.gemma3.modeling_gemma3 import Gemma3MultiModalProjector
from transformers.models.gemma3n.modeling_gemma3n import (
    Gemma3nTextDecoderLayer,
    Gemma3nTextLaurelBlock,
    Gemma3nTextModel,
)
from transformers.models.gemma4.modeling_gemma4 import Gemma4TextDecoderLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Block
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssMLP
from transformers.models.hubert.modeling_hubert import HubertFeatureEncoder, HubertPositionalConvEmbedding
from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearDeltaAttention
from transformers.models.lfm2.modeling_lfm2 import Lfm2ShortConv
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector
from transformers.models.mamba.modeling_mamba import MambaMixer
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.nemotron.modeling_nemotron import NemotronLayerNorm1P
from transformers.models.olmo2.modeling_olmo2 import Olmo2DecoderLayer, Olmo2RMSNorm
from transformers.models.olmo_hybrid.modeling_olmo_hybrid import OlmoHybridGatedDeltaNet
from transformers.models.paligemma.modeling_paligemma import PaliGemmaMultiModalProjector
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel, Qwen3VLVisionPatchMerger
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRecurrentBlock
from transformers.models.sam.modeling_sam import SamVisionAttention, SamVisionNeck
from transformers.models.siglip.modeling_siglip import (
    SiglipMultiheadAttentionPoolingHead,
    SiglipVisionModel,
)
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention
from transformers.models.zamba2.modeling_zamba2 import (
    Zamba2AttentionDecoderLayer,
    Zamba2HybridLayer,
    Zamba2MambaDecoderLayer,
)

from symformer import component, components
from symformer.components import component_class, names
from symformer.components.post_norm_block import PostNormBlock
from symformer.components.self_attention import SelfAttention
from symformer.language.errors import SymformerError
from symformer.language.sizes import Divides, assignment, close_relations
from symformer.language.symbols import SYMBOLS, A, B, E, H, K, M, S, X
from symformer.witness.models.palm import ParallelLayer
from symformer.witness.models.rwkv7 import ChannelMixing, TimeMixing

from .oracle import assert_same_weights, distinct


@dataclass
class Case:
    """A component with some options, at some sizes."""

    name: str
    sizes: dict[str, int]
    by_hand: int
    torch: Callable[[], nn.Module] | None  # None: it stores nothing
    options: dict[str, bool | str] = field(default_factory=dict)
    partial: dict[str, str] = field(default_factory=dict)  # removed or added relations

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{k}={v}" for k, v in {**self.options, **self.partial}.items())])


LLAMA = {"hidden_size": 24, "intermediate_size": 7, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10}
MIXTRAL = MixtralConfig(hidden_size=24, intermediate_size=7, num_local_experts=5, num_experts_per_tok=2)
LATENT = {"E": 24, "A": 3, "R_q": 8, "R_kv": 9, "D_nope": 10, "D_rope": 4, "D_v": 5}
DEEPSEEK = {"hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 3, "kv_lora_rank": 9,
            "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 5}  # fmt: skip
SAM = SamVisionConfig(image_size=50, patch_size=10, hidden_size=24, num_attention_heads=6, output_channels=13)
PALIGEMMA = PaliGemmaConfig(vision_config={"hidden_size": 22, "num_attention_heads": 11}, projection_dim=24)
HUBERT = HubertConfig(hidden_size=24, conv_dim=[10] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=6)
INDEXER = {"index_n_heads": 3, "index_head_dim": 6, "index_topk": 5}
V4 = DeepseekV4Config(
    **{"hidden_size": 24, "num_attention_heads": 6, "head_dim": 10, "partial_rotary_factor": 0.4, "q_lora_rank": 8},
    **{"o_groups": 3, "o_lora_rank": 7, "index_n_heads": 13, "index_head_dim": 14, "index_topk": 1, "hc_mult": 4},
    **{"n_routed_experts": 9, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "num_hidden_layers": 3},
    layer_types=["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
    compress_rates={"compressed_sparse_attention": 4, "heavily_compressed_attention": 5},
    attn_implementation="eager",
)
COMPRESSED = {"E": 24, "A": 6, "D": 10, "R_q": 8, "G_out": 3, "R_out": 7}
GEMMA2 = Gemma2Config(hidden_size=24, intermediate_size=7, num_attention_heads=4, num_key_value_heads=4, head_dim=6,
                      attention_bias=True)  # fmt: skip
GEMMA3N = Gemma3nTextConfig(hidden_size=24, intermediate_size=7, num_attention_heads=4, num_key_value_heads=4,
                            head_dim=6, num_hidden_layers=5, num_kv_shared_layers=0, attention_bias=True, laurel_rank=5,
                            hidden_size_per_layer_input=9, altup_num_inputs=3, vocab_size=29,
                            vocab_size_per_layer_input=23, attn_implementation="eager")  # fmt: skip
QWEN = {"hidden_size": 52, "intermediate_size": 17, "depth": 4, "num_heads": 13, "patch_size": 9, "in_channels": 5,
        "temporal_patch_size": 8, "num_position_embeddings": 25, "spatial_merge_size": 3, "out_hidden_size": 24,
        "deepstack_visual_indexes": [], "attn_implementation": "eager"}  # fmt: skip
PER_LAYER = ("per_layer_input_gate", "per_layer_projection", "post_per_layer_input_norm")
GEMMA4 = Gemma4TextConfig(hidden_size=24, intermediate_size=7, num_attention_heads=4, num_key_value_heads=4, head_dim=6,
                          attention_bias=True, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=5,
                          top_k_experts=2, moe_intermediate_size=9)  # fmt: skip
OLMO2 = Olmo2Config(hidden_size=24, intermediate_size=7, num_attention_heads=4, attention_bias=True)
GPT_OSS = GptOssConfig(hidden_size=24, intermediate_size=7, num_local_experts=5, num_experts_per_tok=2)
MAMBA = MambaConfig(hidden_size=12, expand=3, state_size=5, time_step_rank=3, num_hidden_layers=1)
MAMBA_BIASED = MambaConfig(hidden_size=12, expand=3, state_size=5, time_step_rank=3, num_hidden_layers=1,
                           use_bias=True, use_conv_bias=False)  # fmt: skip
RANKS = {"R_w": 3, "R_a": 5, "R_v": 7, "R_g": 11}
RWKV_RANKS = {"w": 3, "a": 5, "v": 7, "g": 11}
DELTA_NET = {"E": 24, "A_k_lin": 3, "A_v_lin": 6, "D_k_lin": 5, "D_v_lin": 7, "K_conv": 4}
OLMO_HYBRID = OlmoHybridConfig(
    **{"hidden_size": 24, "linear_num_key_heads": 3, "linear_num_value_heads": 6, "linear_key_head_dim": 5},
    **{"linear_value_head_dim": 7, "linear_conv_kernel_dim": 4, "linear_allow_neg_eigval": False},
)
KIMI = KimiLinearConfig(hidden_size=24, linear_num_heads=3, linear_head_dim=8, linear_conv_kernel_dim=4)
MAMBA2 = Mamba2Config(hidden_size=24, num_heads=6, head_dim=8, n_groups=2, state_size=5, num_hidden_layers=1)
GRIFFIN = RecurrentGemmaConfig(hidden_size=24, num_attention_heads=3, lru_width=12, conv1d_width=4)
LFM2 = Lfm2Config(hidden_size=24, conv_L_cache=4, conv_bias=True, num_hidden_layers=1, layer_types=["conv"])
ZAMBA2 = Zamba2Config(hidden_size=24, intermediate_size=7, num_attention_heads=12, n_mamba_heads=6, mamba_ngroups=3,
                      mamba_d_state=5, num_hidden_layers=1, layers_block_type=["linear_attention"])  # fmt: skip
XLNET = XLNetConfig(d_model=12, n_head=3)
GPT2 = GPT2Config(n_embd=12, n_head=3, n_inner=7)
CLIP = {"hidden_size": 24, "intermediate_size": 7, "num_attention_heads": 6}
TEXT = CLIPTextConfig(**CLIP, vocab_size=29, max_position_embeddings=13, num_hidden_layers=3)
IMAGE = CLIPVisionConfig(**CLIP, image_size=20, patch_size=10, num_channels=5, num_hidden_layers=4)
DINOV2 = Dinov2Config(hidden_size=12, num_attention_heads=3, mlp_ratio=2)
SIGLIP = SiglipVisionConfig(**CLIP, image_size=20, patch_size=10, num_channels=5, num_hidden_layers=4)
UNPOOLED = SiglipVisionConfig(**CLIP, image_size=20, patch_size=10, num_channels=5, num_hidden_layers=4,
                              vision_use_head=False)  # fmt: skip
LLAVA = LlavaConfig(vision_config={"hidden_size": 22, "model_type": "clip_vision_model", "num_attention_heads": 11},
                    text_config={"hidden_size": 24, "model_type": "llama", "num_attention_heads": 3})  # fmt: skip
GEMMA3 = Gemma3Config(vision_config={"hidden_size": 22, "image_size": 60, "patch_size": 10},
                      text_config={"hidden_size": 24, "num_attention_heads": 3}, mm_tokens_per_image=9)  # fmt: skip
DEBERTA = DebertaV2Config(hidden_size=12, num_attention_heads=3, relative_attention=True, position_buckets=7,
                          share_att_key=True, pos_att_type=["p2c", "c2p"])  # fmt: skip
BERT = BertConfig(hidden_size=12, num_attention_heads=3, intermediate_size=7, vocab_size=29)


CASES = [
    Case("token-embedding", {"V": 11, "E": 5}, 55, lambda: nn.Embedding(11, 5)),  # 11*5
    Case("position-embedding", {"P": 9, "E": 5}, 45, lambda: nn.Embedding(9, 5)),  # 9*5
    Case("segment-embedding", {"V_type": 2, "E": 5}, 10, lambda: nn.Embedding(2, 5)),  # 2*5
    Case("linear", {"E": 5, "H": 7}, 42, lambda: nn.Linear(5, 7)),  # 5*7 + 7
    Case("linear", {"E": 5, "H": 7}, 35, lambda: nn.Linear(5, 7, bias=False), {"bias": False}),  # 5*7
    Case("layer-norm", {"E": 5}, 10, lambda: nn.LayerNorm(5)),  # 5 + 5
    Case("layer-norm", {"E": 5}, 5, lambda: nn.LayerNorm(5, bias=False), {"bias": False}),
    Case("layer-norm", {"E": 5}, 10, lambda: NemotronLayerNorm1P(5), {"offset": True}),
    Case("layer-norm", {"E": 5}, 0, None, {"bias": False, "scale": False}),
    Case("rms-norm", {"E": 5}, 5, lambda: nn.RMSNorm(5)),
    Case("rms-norm", {"E": 5}, 0, None, {"scale": False}),
    Case("dropout", {"E": 5}, 0, None),
    Case("identity", {}, 0, None),
    Case("sinusoidal-positions", {"E": 5}, 0, None),
    Case("distance-embedding", {"P_rel": 7, "A": 3}, 21, lambda: nn.Embedding(7, 3)),  # 7*3
    Case("relative-bias", {"A": 3}, 0, None),
    # q, k, v, r and o 12x12 each, u and v 12 each
    Case("relative-attention", {"E": 12, "A": 3}, 744,
         lambda: _relative(XLNetRelativeAttention(XLNET)), {"bias": False}),
    # 4*12*12 + 4*12
    Case("disentangled-attention", {"E": 12, "A": 3, "P_rel": 7}, 624, lambda: disentangled()),  # noqa: PLW0108
    Case("rotary-positions", {"A": 6, "G": 3, "D": 10}, 0, None),
    Case("alibi", {"A": 6}, 0, None),
    # four 5x5 matrices and four biases of 5: the attention of the bare-bones transformer
    Case("self-attention", {"E": 5, "A": 1}, 120, lambda: nn.ModuleList(nn.Linear(5, 5) for _ in range(4))),
    # 4*12*12 + 4*12
    Case("self-attention", {"E": 12, "A": 3}, 624, lambda: nn.MultiheadAttention(12, 3), partial={"FUSED": "in_proj"}),
    # q and o 24x60 each, k and v 24x30 each: 2*1440 + 2*720
    Case("self-attention", {"E": 24, "A": 6, "G": 3, "D": 10}, 4320,
         lambda: LlamaAttention(LlamaConfig(**LLAMA), 0), {"bias": False, "output_bias": False}, {"G": "G", "D": "D"}),
    # the same, and biases 60 + 30 + 30 + 24
    Case("self-attention", {"E": 24, "A": 6, "G": 3, "D": 10}, 4464,
         lambda: LlamaAttention(LlamaConfig(**LLAMA, attention_bias=True), 0), {}, {"G": "G", "D": "D"}),
    # multi-query: q and o 24x60, k and v 24x10
    Case("self-attention", {"E": 24, "A": 6, "D": 10}, 3360,
         lambda: LlamaAttention(LlamaConfig(**{**LLAMA, "num_key_value_heads": 1}), 0),
         {"bias": False, "output_bias": False}, {"G": "1", "D": "D"}),
    Case("cross-attention", {"E": 12, "A": 3}, 624, lambda: nn.ModuleList(nn.Linear(12, 12) for _ in range(4))),
    # 4*18*18 + 4*18
    Case("query-attention", {"E": 18, "A": 3}, 1_368, lambda: nn.MultiheadAttention(18, 3, batch_first=True)),
    Case("mlp", {"E": 5, "H": 16}, 181, lambda: nn.Sequential(nn.Linear(5, 16), nn.Linear(16, 5))),  # 80+16+80+5
    Case("mlp", {"E": 12, "H": 7}, 187, lambda: GPT2MLP(7, GPT2)),  # 84+7+84+12
    Case("mlp", {"E": 5, "H": 16}, 160,
         lambda: nn.Sequential(nn.Linear(5, 16, bias=False), nn.Linear(16, 5, bias=False)), {"bias": False}),
    Case("xielu", {}, 2, XIELUActivation),  # a factor on each side of 0
    Case("gated-mlp", {"E": 24, "H": 7}, 504, lambda: LlamaMLP(LlamaConfig(**LLAMA))),  # 3*24*7
    Case("gated-mlp", {"E": 24, "H": 7}, 542,  # the same, and 7 + 7 + 24
         lambda: LlamaMLP(LlamaConfig(**LLAMA, mlp_bias=True)), {"bias": True}),
    Case("gated-mlp", {"E": 24, "H": 7}, 504, lambda: LlamaMLP(LlamaConfig(**LLAMA)), {"activation": "gelu"}),
    # the router 24x5; the experts' gate, up and down, 3*24*7 each, of five
    Case("moe", {"E": 24, "X": 5, "K": 2, "M": 7}, 2640, lambda: MixtralSparseMoeBlock(MIXTRAL)),
    # queries 24*8 + 8 + 8*3*(10 + 4), latent 24*(9 + 4) + 9, keys and values 9*3*(10 + 5), output 3*5*24
    Case("latent-attention", LATENT, 1622, lambda: DeepseekV3Attention(DeepseekV3Config(**DEEPSEEK, q_lora_rank=8), 0)),
    # queries 24*3*(10 + 4) instead, 1008 for 536
    Case("latent-attention", {k: v for k, v in LATENT.items() if k != "R_q"}, 2094,
         lambda: DeepseekV3Attention(DeepseekV3Config(**DEEPSEEK, q_lora_rank=None), 0), {"query_latent": False}),
    # queries 8*3*6, keys 24*6 and a norm of 2*6, weights 24*3
    Case("lightning-indexer", {"E": 24, "R_q": 8, "A_idx": 3, "D_idx": 6}, 372,
         lambda: DeepseekV32Indexer(DeepseekV32Config(**DEEPSEEK, q_lora_rank=8, **INDEXER), 0)),
    # two projections 24*10 each, a bias of 5*10, a norm of 10; or twice as wide, for two groups of tokens
    Case("token-compressor", {"E": 24, "D": 10, "C_hca": 5}, 540, lambda: DeepseekV4HCACompressor(V4)),
    Case("token-compressor", {"E": 24, "D": 10, "C_hca": 4}, 1_050,
         lambda: without_indexer(DeepseekV4CSACompressor(V4)), {"overlapping": True}),
    # queries 8*13*14, weights 24*13, two projections 24*28, a bias of 4*28, a norm of 14
    Case("compressed-indexer", {"E": 24, "R_q": 8, "A_idx": 13, "D_idx": 14, "C_csa": 4}, 3_238,
         lambda: DeepseekV4Indexer(V4)),
    # queries 24*8 + 8 + 8*60, keys 24*10 + 10, output 60*7 + 24*21, sinks 6; a compressor; an indexer
    Case("compressed-attention", COMPRESSED, 1_860, lambda: DeepseekV4Attention(V4, 0), {"keys": "window"}),
    Case("compressed-attention", {**COMPRESSED, "C_hca": 5}, 2_400, lambda: DeepseekV4Attention(V4, 2),
         {"keys": "heavy"}),
    Case("compressed-attention", {**COMPRESSED, "A_idx": 13, "D_idx": 14, "C_csa": 4}, 6_148,
         lambda: DeepseekV4Attention(V4, 1)),
    # a matrix 24*96, 24 and 3; or 4*96, 4 and 1
    Case("hyper-connection", {"E": 24, "N_hc": 4}, 2_331, lambda: DeepseekV4HyperConnection(V4)),
    Case("hyper-head", {"E": 24, "N_hc": 4}, 389, lambda: DeepseekV4HyperHead(V4)),
    # two hyper-connections, two norms of 24, attention 4*24*24 + 4*24, a gated MLP 3*24*7
    Case("hyper-connected-block", {"E": 24, "N_hc": 4, "A": 3, "H": 7}, 7_614, lambda: with_streams()),  # noqa: PLW0108
    # four norms of 24, attention 4*24*24 + 4*24 = 2400, gated MLP 504
    Case("sandwich-block", {"E": 24, "H": 7, "A": 4}, 3000, lambda: Gemma2DecoderLayer(GEMMA2, 0)),
    # seven norms of 24, attention and gated MLP as above, the router 24*5, and five experts of 3*24*9
    Case("expert-sandwich-block", {"E": 24, "H": 7, "A": 4, "X": 5, "K": 2, "M": 9}, 6432,
         lambda: _plain(_unscaled(Gemma4TextDecoderLayer(GEMMA4, 0)))),
    Case("gaussian-top-k", {}, 0, None),
    Case("laurel", {"E": 24, "R_lau": 5}, 264, lambda: Gemma3nTextLaurelBlock(GEMMA3N)),  # 2*24*5 + 24
    # four norms of 24, attention and gated MLP as above, 264
    Case("laurel-block", {"E": 24, "H": 7, "A": 4, "R_lau": 5}, 3264,
         lambda: _only(_plain(Gemma3nTextDecoderLayer(GEMMA3N, 0)), "altup", *PER_LAYER)),
    Case("per-layer-input", {"E": 24, "E_pli": 9}, 456,  # 2*24*9 + 24
         lambda: nn.ModuleList(getattr(Gemma3nTextDecoderLayer(GEMMA3N, 0), name) for name in PER_LAYER)),
    # 23*5*9 + 5*9*24 + 9
    Case("per-layer-embedding", {"V_pli": 23, "L": 5, "E": 24, "E_pli": 9}, 2124, lambda: per_layer_embedding()),  # noqa: PLW0108
    Case("stream-projection", {"E": 24}, 576, lambda: nn.Linear(24, 24, bias=False)),  # 24*24
    # 3264, 456, a norm of 24, 24*3, 3*9, 3*3 and a factor of 24
    Case("alt-up-block", {"E": 24, "H": 7, "A": 4, "R_lau": 5, "E_pli": 9, "N_alt": 3}, 3876,
         lambda: _plain(Gemma3nTextDecoderLayer(GEMMA3N, 0))),
    Case("rms-norm", {"E": 5}, 5, lambda: nn.RMSNorm(5), {"offset": True}),
    Case("rms-norm", {"E": 5}, 5, lambda: Olmo2RMSNorm(5), {"late": True}),
    # two norms of 24, attention 2400, gated MLP 504
    Case("res-post-norm-block", {"E": 24, "H": 7, "A": 4}, 2952, lambda: _plain(Olmo2DecoderLayer(OLMO2, 0))),
    Case("head-norm", {"A": 3, "D": 10}, 30, lambda: CohereLayerNorm((3, 10))),  # 3*10
    # router 5*24 + 5, and five experts of 24*14 + 14 and 7*24 + 24
    Case("moe", {"E": 24, "X": 5, "K": 2, "M": 7}, 2_835, lambda: GptOssMLP(GPT_OSS), {"bias": True}),
    # in 12*2*36, convolution 36*4 + 36, x 36*(3 + 2*5), dt 3*36 + 36, A 36*5, D 36, out 36*12
    Case("selective-scan", {"E": 12, "H_ssm": 36, "N_state": 5, "R_dt": 3, "K_conv": 4}, 2_304,
         lambda: MambaMixer(MAMBA, 0)),
    # the same without the convolution's bias of 36, and with biases of the projections, 72 and 12
    Case("selective-scan", {"E": 12, "H_ssm": 36, "N_state": 5, "R_dt": 3, "K_conv": 4}, 2_352,
         lambda: MambaMixer(MAMBA_BIASED, 0), {"bias": True, "convolution_bias": False}),
    # in 24*(2*48 + 2*2*5 + 6), convolution 68*4 + 68, three of 6, norm 48, out 48*24
    Case("chunked-scan", {"E": 24, "A_ssm": 6, "D_ssm": 8, "G_ssm": 2, "N_state": 5, "K_conv": 4}, 4_486,
         lambda: Mamba2Mixer(MAMBA2, 0)),
    # queries and keys 2*24*15, values, gate and output 3*24*42, strengths and steps 2*24*6, convolution (30 + 42)*4,
    # two of 6, norm 7
    Case("gated-delta-net", DELTA_NET, 4_339, lambda: OlmoHybridGatedDeltaNet(OLMO_HYBRID, 0)),
    # queries, keys, values and output 4*24*24, convolution 72*4, ranks 2*24*8 + 2*8*24, strengths 24*3, steps 24,
    # decays 3, norm 8
    Case("kimi-delta-attention", {"E": 24, "A_lin": 3, "D_lin": 8, "K_conv": 4}, 3_467,
         lambda: KimiLinearDeltaAttention(KIMI, 0)),
    Case("group-norm", {"E": 24, "D_lin": 8}, 48, lambda: nn.GroupNorm(3, 24)),  # 24 + 24
    Case("channel-mixing", {"E": 12, "H": 7}, 180, lambda: ChannelMixing(12, 7)),  # 2*12*7 + 12
    # receptances, keys, values and output 4*24*24, ranks 2*24*(3 + 5 + 7 + 11), vectors: nine, biases of three
    # projections, and two of the norm: 14*24
    Case("time-mixing", {"E": 24, "D_lin": 8, **RANKS}, 3_888, lambda: TimeMixing(24, 8, RWKV_RANKS, first=False)),
    # without the rank of the values 2*24*7, and their bias
    Case("time-mixing", {"E": 24, "D_lin": 8, **{name: RANKS[name] for name in ("R_w", "R_a", "R_g")}}, 3_528,
         lambda: TimeMixing(24, 8, RWKV_RANKS, first=True), {"first": True}),
    # attention 4*12*12 + 4*12, MLP 12*7 + 7 + 7*12 + 12
    Case("parallel-sum", {"E": 12, "A": 3, "H": 7}, 811,
         lambda: nn.ModuleList([*(nn.Linear(12, 12) for _ in range(4)), GPT2MLP(7, GPT2)])),
    # 5*3 + 3*7
    Case("layer-adapter", {"E": 5, "H": 7, "R_adapter": 3}, 36,
         lambda: nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 7, bias=False))),
    # norms 48 + 24, attention 3*48*48 + 48*24, MLP 3*24*7
    Case("shared-transformer-block", {"E": 24, "H": 7, "A": 12}, 8_640, lambda: Zamba2AttentionDecoderLayer(ZAMBA2, 0)),
    # the block above, a matrix 24*24, a norm of 24; mixer: in 24*(2*48 + 2*3*5 + 6), convolution 78*4 + 78, three of 6,
    # norm 48, out 48*24
    Case("shared-transformer-layer",
         {"E": 24, "H": 7, "A": 12, "A_ssm": 6, "D_ssm": 8, "G_ssm": 3, "N_state": 5, "K_conv": 4, "L_hyb": 9}, 14_016,
         lambda: Zamba2HybridLayer(Zamba2AttentionDecoderLayer(ZAMBA2, 0), nn.Linear(24, 24, bias=False),
                                   Zamba2MambaDecoderLayer(ZAMBA2, 0)), partial={"N_group": "L_hyb"}),
    # in 3*24*24 + 3*24, convolution 24*4 + 24, out 24*24 + 24
    Case("short-convolution", {"E": 24, "K_conv": 4}, 2_520, lambda: Lfm2ShortConv(LFM2, 0), {"bias": True}),
    # two of 24*12 + 12, out 12*24 + 24, convolution 12*4 + 12, gates 2*(3*4*4 + 12), decays 12
    Case("recurrent-block", {"E": 24, "A": 3, "H_lru": 12, "K_conv": 4}, 1_104,
         lambda: RecurrentGemmaRecurrentBlock(GRIFFIN, 0)),
    # 5*3 + 3*7
    Case("low-rank-update", {"E": 5, "H": 7, "R": 3}, 36,
         lambda: nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 7, bias=False))),
    # 5*3 + 3, 3*5 + 5
    Case("bottleneck-adapter", {"E": 5, "H_adapter": 3}, 38,
         lambda: nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 5))),
    # 5 rows of 3*4*4, and 5
    Case("patch-embedding", {"E": 5, "Z": 12, "Z_patch": 4, "N_chan": 3}, 245, lambda: nn.Conv2d(3, 5, 4, stride=4)),
    Case("patch-embedding", {"E": 5, "Z": 12, "Z_patch": 4, "N_chan": 3}, 240,
         lambda: nn.Conv2d(3, 5, 4, stride=4, bias=False), {"bias": False}),
    Case("lm-head", {"V": 11, "E": 5}, 55, lambda: nn.Linear(5, 11, bias=False)),
    Case("lm-head", {"V": 11, "E": 5}, 66, lambda: nn.Linear(5, 11), {"bias": True}),
    Case("lm-head", {"V": 11, "E": 5}, 0, None, {"tied": True}),
    # 144 + 12, norm 24
    Case("head-transform", {"E": 12}, 180, lambda: BertOnlyMLMHead(BERT).predictions.transform),
    Case("pooler", {"E": 12}, 156, lambda: BertPooler(BERT)),  # 144 + 12
    # dense 144 + 12, norm 24, decoder 29*12, and two biases of 29, one of which is shared if the head is tied
    Case("masked-lm-head", {"V": 29, "E": 12}, 586, lambda: BertOnlyMLMHead(BERT), {"tied": False}),
    Case("masked-lm-head", {"V": 29, "E": 12}, 209, lambda: _tied(BertOnlyMLMHead(BERT))),  # 586 - 348 - 29
    # attention 624, MLP 187, two norms of 24
    Case("pre-norm-block", {"E": 12, "H": 7, "A": 3}, 859, lambda: _split(GPT2Block(GPT2))),
    Case("layer-scale", {"E": 12}, 12, lambda: Dinov2LayerScale(DINOV2)),
    # attention 624, MLP 2*12*24 + 24 + 12, two norms of 24, two factors of 12
    Case("layer-scale-block", {"E": 12, "H": 24, "A": 3}, 1308, lambda: Dinov2Layer(DINOV2)),
    Case("post-norm-block", {"E": 12, "H": 7, "A": 3}, 859, lambda: nn.TransformerEncoderLayer(12, 3, 7)),
    # two attentions of 624, MLP 187, three norms of 24
    Case("decoder-block", {"E": 12, "H": 7, "A": 3}, 1507, lambda: nn.TransformerDecoderLayer(12, 3, 7)),
    # 29*24 + 13*24, 3 layers of 4*24*24 + 4*24, 2*24*7 + 24 + 7 and two norms of 48, another norm
    Case("text-encoder", {"V": 29, "P": 13, "E": 24, "H": 7, "L": 3, "A": 6}, 9645, lambda: CLIPTextModel(TEXT)),
    # 5*10*10*24, a token and 5 positions of 24, 4 layers as above, two norms
    Case("image-encoder", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6}, 23_692,
         lambda: CLIPVisionModel(IMAGE)),
    # a query of 24, attention 4*24*24 + 4*24, a norm of 48, 2*24*7 + 24 + 7
    Case("attention-pooling", {"E": 24, "H": 7, "A": 6}, 2_839,
         lambda: SiglipMultiheadAttentionPoolingHead(SIGLIP)),
    # 5*10*10*24 + 24, 4 positions of 24, 4 layers as in CLIP, a norm, and the pooling above
    Case("pooled-image-encoder", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6}, 26_459,
         lambda: SiglipVisionModel(SIGLIP)),
    # as the image encoder
    Case("image-features", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6}, 23_692,
         lambda: CLIPVisionModel(IMAGE)),
    # 26459 - 2839
    Case("patch-features", {"Z": 20, "Z_patch": 10, "N_chan": 5, "E": 24, "H": 7, "L": 4, "A": 6}, 23_620,
         lambda: SiglipVisionModel(UNPOOLED)),
    # 8*9*9*5*52 + 52, 25 positions of 52, and 4 layers of 4*52*52 + 4*52, 2*52*17 + 17 + 52 and two norms of 104
    Case("native-resolution-encoder", {"Z": 54, "Z_patch": 9, "T_patch": 8, "N_chan": 5, "P_vis": 25, "E_vis": 52,
                                       "H_vis": 17, "L_vis": 4, "A_vis": 13}, 222_108,
         lambda: _only(Qwen3VLVisionModel(Qwen3VLVisionConfig(**QWEN)), "merger")),
    # a norm of 2*52 or 2*9*52, (9*52)² + 9*52, and 9*52*24 + 24
    Case("patch-merger", {"E": 24, "E_vis": 52, "J_merge": 3}, 230_852,
         lambda: Qwen3VLVisionPatchMerger(Qwen3VLVisionConfig(**QWEN))),
    Case("patch-merger", {"E": 24, "E_vis": 52, "J_merge": 3}, 231_684,
         lambda: Qwen3VLVisionPatchMerger(Qwen3VLVisionConfig(**QWEN), use_postshuffle_norm=True), {"late": True}),
    Case("deepstack-block", {"E": 12, "H": 7, "A": 3}, 859, lambda: _split(GPT2Block(GPT2))),  # as the pre-norm block
    # 22*24 + 24 + 24*24 + 24
    Case("projector", {"E": 24, "E_vis": 22}, 1_152, lambda: LlavaMultiModalProjector(LLAVA)),
    # 10*10 + 2*10 + 4*3*10*10 + 2*2*10*10
    Case("wave-encoder", {"E_wave": 10}, 1_720, lambda: HubertFeatureEncoder(HUBERT)),
    # 24*(24/6)*16 + 24 + 16
    Case("convolutional-positions", {"E": 24, "K_near": 16, "G_near": 6}, 1_576,
         lambda: HubertPositionalConvEmbedding(HUBERT)),
    # 22*24 + 24
    Case("linear-projector", {"E": 24, "E_vis": 22}, 552, lambda: PaliGemmaMultiModalProjector(PALIGEMMA)),
    # 4*24*24 + 4*24, and two tables of 2*5 - 1 distances of 24/6
    Case("image-attention", {"E": 24, "A": 6, "Z": 50, "Z_patch": 10}, 2_472, lambda: SamVisionAttention(SAM, 0)),
    # 24*13 + 9*13*13 + 4*13
    Case("image-neck", {"E": 24, "N_out": 13}, 1_885, lambda: SamVisionNeck(SAM)),
    Case("pooling-projector", {"E": 24, "E_vis": 22}, 550, lambda: Gemma3MultiModalProjector(GEMMA3)),  # 22*24 + 22
    # one norm 2*24 = 48, attention 4*24*24 + 4*24 = 2400, gated MLP 504
    # 6*12*12 + 6*12 for scales, shifts and gates, 4*12*12 + 4*12, and 2*12*7 + 12 + 7
    Case("adaptive-block", {"E": 12, "H": 7, "A": 3}, 1747, lambda: adaptive()),  # noqa: PLW0108
    # 8*12*12 + 8*12
    Case("joint-attention", {"E": 12, "A": 3}, 1248, lambda: joint().attn),
    # two matrices of 6*12*12 + 6*12 for scales, shifts and gates, 1248, and two of 2*12*48 + 12 + 48
    Case("joint-block", {"E": 12, "H": 48, "A": 3}, 5544, lambda: joint()),  # noqa: PLW0108
    # 3*12*12 + 3*12 for scale, shift and gate, 3*12*12 + 3*12, 12*48 + 48, and (12 + 48)*12 + 12
    Case("single-stream-block", {"E": 12, "H": 48, "A": 3}, 2292, lambda: single_stream()),  # noqa: PLW0108
    # 256*12 + 12 and 12*12 + 12, then 17*12 + 12 and 12*12 + 12
    Case("text-conditioning", {"E": 12, "E_pool": 17}, 3612, lambda: CombinedTimestepTextProjEmbeddings(12, 17)),
    # 3612 + 256*12 + 12 + 12*12 + 12
    Case("text-conditioning", {"E": 12, "E_pool": 17}, 6852,
         lambda: CombinedTimestepGuidanceTextProjEmbeddings(12, 17), {"guidance": True}),
    # 256*5 + 5, 5*5 + 5, and 13 + 1 rows of 5
    Case("conditioning", {"E": 5, "N_class": 13}, 1385, lambda: CombinedTimestepLabelEmbeddings(13, 5)),
    Case("parallel-block", {"E": 24, "H": 7, "A": 4}, 2952, lambda: _parallel()),  # noqa: PLW0108
]  # fmt: skip


def _only(layer: nn.Module, *others: str) -> nn.Module:
    """Return the layer without some of its modules."""
    for name in others:
        setattr(layer, name, None)
    return layer


def per_layer_embedding() -> nn.Module:
    """Return Gemma 3n's model with only its embeddings per layer."""
    others = ("embed_tokens", "layers", "norm", "altup_projections", "altup_unembed_projections")
    return _only(Gemma3nTextModel(GEMMA3N), *others)


def without_indexer(compressor: nn.Module) -> nn.Module:
    """Return a compressor whose indexer chooses the first key, without weights."""
    compressor.indexer = FirstKey()
    return compressor


class FirstKey(nn.Module):
    """The choice of the first key for every query."""

    def forward(self, x: torch.Tensor, *others: object) -> torch.Tensor:
        return torch.zeros(*x.shape[:2], 1, dtype=torch.long)


class Attending(nn.Module):
    """Attention with three heads as a sublayer of a layer of DeepSeek-V4."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(24, 24) for _ in range(4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        parts = (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        heads = (each.unflatten(-1, (3, 8)).transpose(1, 2) for each in parts)
        y = nn.functional.scaled_dot_product_attention(*heads)
        return self.o_proj(y.transpose(1, 2).flatten(2)), None


class Network(LlamaMLP):
    """Llama's feed-forward network as a sublayer of a layer of DeepSeek-V4."""

    def forward(self, x: torch.Tensor, input_ids: None = None) -> torch.Tensor:
        return super().forward(x)  # type: ignore[no-any-return]


def with_streams() -> nn.Module:
    """Return a layer of DeepSeek-V4 with other sublayers."""
    layer = DeepseekV4DecoderLayer(V4, 0)
    layer.self_attn, layer.mlp = Attending(), Network(LlamaConfig(**LLAMA))
    return layer


def _plain(layer: nn.Module) -> nn.Module:
    """Return the layer without the norms of its queries and keys."""
    layer.self_attn.q_norm = layer.self_attn.k_norm = nn.Identity()
    return layer


def _unscaled(layer: nn.Module) -> nn.Module:
    """Return the layer without the scales of its router."""
    layer.router.scale = layer.router.per_expert_scale = None
    return layer


def _tied(head: nn.Module) -> nn.Module:
    """Return the head with one bias and without the table, which the embedding stores."""
    head.predictions.decoder.bias = head.predictions.bias
    head.predictions.decoder.weight = None
    return head


def disentangled() -> nn.Module:
    """Return DeBERTa's attention without the following norm."""
    attention = DebertaV2Attention(DEBERTA)
    attention.output.LayerNorm = nn.Identity()
    return attention


class Given(nn.Module):
    """Replace the embedder of timestep and class by the given vector."""

    def forward(self, c: torch.Tensor, *others: object, **how: object) -> torch.Tensor:
        return c


def adaptive() -> nn.Module:
    """A block of DiT that receives its vector from outside."""
    how = {"norm_type": "ada_norm_zero", "num_embeds_ada_norm": 1, "norm_elementwise_affine": False}
    block = BasicTransformerBlock(12, 3, 4, activation_fn="gelu", attention_bias=True, ff_inner_dim=7, **how)
    block.norm1.emb = Given()
    return block


def joint() -> nn.Module:
    """A block of Stable Diffusion 3, whose feed-forward networks are four times as wide."""
    return JointTransformerBlock(12, 3, 4)


def single_stream() -> nn.Module:
    """A single-stream block of FLUX.1 without norms of queries and keys."""
    block = FluxSingleTransformerBlock(12, 3, 4)
    block.attn.norm_q = block.attn.norm_k = nn.Identity()
    return block


def _relative(attention: nn.Module) -> nn.Module:
    """Return XLNet's attention without segments and the following norm; its matrices have one axis for all heads."""
    attention.r_s_bias = attention.seg_embed = attention.layer_norm = None
    for name in ("q", "k", "v", "o", "r"):
        setattr(attention, name, nn.Parameter(getattr(attention, name).flatten(1)))
    return attention


def _split(block: nn.Module) -> nn.Module:
    """GPT-2 stores queries, keys and values in one matrix; return its three thirds."""
    block.attn.c_attn = nn.ModuleList(nn.Linear(12, 12) for _ in range(3))
    return block


def _parallel() -> nn.Module:
    """Return a PaLM layer with four attention heads and the usual biases instead of multi-query attention."""
    layer = ParallelLayer(24, 7, heads=4, head_width=6, scales=True)
    layer.norm = nn.LayerNorm(24)
    layer.attention = nn.ModuleList(nn.Linear(24, 24) for _ in range(4))
    return layer


@pytest.mark.parametrize("case", CASES, ids=str)
def test_component_parameters_match_hand_values_and_torch(case: Case) -> None:
    numbers = distinct(case.sizes)
    if case.partial.get("FUSED"):
        formula = SelfAttention(fused="in_proj", fused_module=False, output="out_proj").params
    else:
        formula = component(case.name, **case.options).params.partial(**case.partial)
    assert formula.value(case.sizes) == case.by_hand
    if case.torch is None:
        assert formula.expanded == 0
    else:
        with torch.device("meta"):
            module = case.torch()
        assert_same_weights(formula, numbers, module)


IMPORTS = (Path(__file__).parent.parent / "symformer" / "components" / "__init__.py").read_text("utf-8")


def test_every_component_has_a_row() -> None:
    assert {case.name for case in CASES} == set(names())


@pytest.mark.parametrize("name", names())
def test_every_component_has_a_description(name: str) -> None:
    made_by = component_class(name)
    assert made_by.__name__.lower() == name.replace("-", ""), "the class is imported by this name"
    assert f" import {made_by.__name__} as {made_by.__name__}\n" in IMPORTS
    assert made_by.title
    assert "->" in component(name).shapes
    assert ">>>" in (made_by.__doc__ or "")


def test_torch_modules_at_published_sizes() -> None:
    """torch.nn at well-known sizes: MultiheadAttention(512, 8), its MLP, and BERT-large's embeddings."""
    assert component("self-attention").params.value(E=512, A=8) == 1_050_624
    assert component("mlp").params.value(E=512, H=2048) == 2_099_712
    assert component("pre-norm-block").params.value(E=5, H=5, A=1) == 200  # attention 120, norms 20, MLP 60
    assert component("layer-norm").params.value(E=5) == 10


def test_alternative_attention_formula_is_equal() -> None:
    """E·E + 3·E·(D·A), as in some papers, is the same for E = A·D."""
    attention = component("self-attention", bias=False, output_bias=False).params
    assert attention.equals("E*E + 3*E*(D*A)")
    assert not attention.equals("E*E + 3*E*(D*A) + 1")
    assert attention.value(E=512, A=8) == 1_048_576  # 4*512*512


def test_attention_and_mlp_identities() -> None:
    """Multi-head equals grouped-query with G = A; multi-query has G = 1; grouped differs by 2(A - G)(E + 1)D."""
    general = component("self-attention").params.partial(G="G", D="D")
    assert general.partial(G="A").equals("4*E*A*D + 3*A*D + E")
    assert general.partial(G="1").equals("2*E*A*D + 2*E*D + A*D + 2*D + E")
    assert component("mlp").params.partial(H="4*E").equals("8*E**2 + 5*E")


def test_one_expert_equals_its_mlp_plus_a_router() -> None:
    one, network = component("moe").params.partial(X="1", K="1"), component("gated-mlp").params.partial(H="M")
    assert (one.expanded - network.expanded - E).expand() == 0
    cost = component("moe").formula("flops")
    # the router, and K experts of three matrices per token: 2*B*S*E*X + 2*B*S*K*3*E*M
    assert cost.equals("2*B*S*E*X + 6*B*S*K*E*M")
    assert component("moe").formula("train-flops").equals(3 * cost.expanded - 2 * B * S * E * (X + 2 * K * M))
    with pytest.raises(SymformerError, match=r"X=2 \(experts\) is less than K=3 \(experts per token\)"):
        component("moe").params.value(E=24, X=2, K=3, M=7)


def test_indivisible_sizes_are_refused() -> None:
    with pytest.raises(SymformerError, match=r"E=13 is not a multiple of A=4"):
        component("self-attention").params.value(E=13, A=4)
    with pytest.raises(SymformerError, match=r"needs values for H"):
        component("mlp").params.value(E=5)
    with pytest.raises(SymformerError, match=r"E is 5\.5"):
        component("mlp").params.value(E=5.5, H=4)


def test_violated_relation_is_refused() -> None:
    formula = component("mlp").params.partial(H="4*E")
    assert formula.value(E=3) == 2 * 3 * 12 + 3 + 12
    with pytest.raises(SymformerError, match=r"H = 4E, which is 12 and not 13"):
        formula.value(E=3, H=13)


def test_circular_relations_are_refused() -> None:
    with pytest.raises(SymformerError, match="depends on itself"):
        close_relations({E: 2 * H, H: E + 1})


def test_options_are_validated_by_name() -> None:
    assert component("mlp", bias="false").params.equals("2*E*H")
    with pytest.raises(SymformerError, match="unknown option 'bais'; did you mean bias"):
        component("mlp", bais=False)
    with pytest.raises(SymformerError, match="bias=maybe is not valid; choose bias=true or false"):
        component("mlp", bias="maybe")
    with pytest.raises(SymformerError, match="unknown component 'gated_mpl'; did you mean gated-mlp"):
        component("gated_mpl")


def test_blocks_accept_other_parts() -> None:
    """Parts are passed as objects: a post-norm block with grouped attention and no biases."""
    attention = SelfAttention(bias=False, output_bias=False)
    parts = {**PostNormBlock().parts, "self_attn": attention}
    formula = PostNormBlock(parts=parts).params
    assert formula.equals(2 * E * A * SYMBOLS["D"] + 2 * E * SYMBOLS["G"] * SYMBOLS["D"] + 2 * E * H + H + 5 * E)


def test_divisibility_error_names_both_sizes() -> None:
    with pytest.raises(SymformerError, match=r"E=10 is not a multiple of A=3 \(hidden size, query heads\)"):
        Divides(A, E).check({E: 10, A: 3})
    assert assignment("A=3")[0] == A


def test_components_are_imported_by_class_name() -> None:
    """Type checkers, which do not run the imports, see the same names."""
    listed = re.findall(r"^    from \.(\w+) import (\w+) as \2$", Path(components.__file__).read_text("utf-8"), re.M)
    assert [stem.replace("_", "-") for stem, _ in listed] == names()
    for stem, name in listed:
        assert getattr(components, name) is component_class(stem.replace("_", "-"))
    with pytest.raises(ImportError, match="LayerNorn"):
        from symformer.components import LayerNorn  # noqa: F401
