"""Whole models: published totals, rows computed by hand, and every preset."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from sympy import Integer, diff

import symformer as sf
from symformer.architectures import (
    architecture,
    architecture_class,
    names,
    preset_on_hub,
    presets,
    presets_of,
    variants,
)
from symformer.components import component_class
from symformer.components import names as components
from symformer.components.base import Component
from symformer.language.registry import Registry
from symformer.language.symbols import E, H, L, letter, symbol
from symformer.language.target import TargetKind, parse
from symformer.papers import cited_papers, papers

# Target, options, total, and the source of the total. "on meta": the sum of numel of transformers' class at these
# sizes. keras-hub states the totals of its models in their presets, without heads, poolers and rows that it drops.
TOTALS = [
    ("feed-forward-lm", {}, 1_461),  # 256*5 + (5*16 + 16 + 16*5 + 5)
    ("bare-bones-transformer-lm", {}, 1_851),  # 256*5 + 50*5 + (4*25 + 20) + 2*10 + 181
    ("gpt2", {}, 124_439_808),  # sum of numel of openai-community/gpt2; likewise for the next three
    ("gpt2-medium", {}, 354_823_168),
    ("gpt2-large", {}, 774_030_080),
    ("gpt2-xl", {}, 1_557_611_200),
    ("gpt2", {"tied": False}, 124_439_808 + 50_257 * 768),
    ("gpt-from-scratch", {}, 163_009_536),  # Raschka 2024, section 4.6; likewise for the next
    ("gpt-from-scratch", {"tied": True}, 124_412_160),
    ("gpt-from-scratch", {"qkv_bias": True}, 163_009_536 + 12 * 3 * 768),
    ("bert-base-uncased", {}, 109_482_240),  # keras-hub, without heads; likewise for the next three
    ("bert-large-uncased", {}, 335_141_888),
    ("bert-base-cased", {}, 108_310_272),
    ("bert-large-cased", {}, 333_579_264),
    ("bert-base-uncased", {"head": "mlm"}, 109_514_298),  # BertForMaskedLM
    ("bert-base-uncased", {"head": "pretraining"}, 110_106_428),  # BertForPreTraining
    ("bert-large-uncased", {"head": "pretraining"}, 336_226_108),
    # keras-hub's, plus a row of types, two unused positions and a pooler; likewise for roberta-large
    ("roberta-base", {}, 124_052_736 + 3 * 768 + 768 * 768 + 768),
    # F32 in the released file, according to the tests of huggingface.js
    ("roberta-base", {"head": "mlm"}, 124_697_433),
    ("roberta-large", {}, 354_307_072 + 3 * 1_024 + 1_024 * 1_024 + 1_024),
    ("distilbert-base-uncased", {}, 66_362_880),  # keras-hub
    ("distilbert-base-cased", {}, 65_190_912),  # keras-hub
    ("distilbert-base-uncased", {"head": "mlm"}, 66_985_530),  # DistilBertForMaskedLM on meta
    # by hand: (30522 + 512 + 2 + 2)*128 + (128 + 1)*256 + 12*(4*256*256 + 2*256*1024 + 9*256 + 1024)
    ("electra-small", {}, 13_483_008),  # keras-hub's 13,548,800, without its pooler of 256*256 + 256
    ("electra-base", {}, 108_891_648),  # keras-hub's 109,482,240 for BERT, without its pooler of 768*768 + 768
    ("electra-large", {}, 335_141_888 - 1_024 * 1_024 - 1_024),  # keras-hub's, without its pooler
    ("albert-base", {}, 11_683_584),  # keras-hub; likewise for the next three
    ("albert-large", {}, 17_683_968),
    ("albert-xlarge", {}, 58_724_864),
    ("albert-xxlarge", {}, 222_595_584),
    ("modernbert-base", {}, 149_014_272),  # ModernBertModel on meta; ModernBertForMaskedLM
    ("modernbert-base", {"head": "mlm"}, 149_655_232),
    # by hand: 50368*1024 + 28*(4*1024*1024 + 3*1024*2624 + 2*1024) + 1024; the paper says 395M
    ("modernbert-large", {}, 394_781_696),
    # keras-hub's, with the classifier; likewise for the next three
    ("vit-base-patch16-224", {}, 85_798_656 + 769 * 1_000),
    ("vit-large-patch16-224", {}, 303_301_632 + 1_025 * 1_000),
    ("vit-base-patch32-224", {}, 87_455_232 + 769 * 1_000),
    ("vit-huge-patch14-224", {}, 630_764_800 + 1_281 * 1_000),
    ("vit-base-patch16-224", {"head": "pooler"}, 86_389_248),  # ViTModel: without 769*1000, plus 768*768 + 768
    ("transformer-encoder-layer", {}, 3_152_384),  # torch.nn; likewise for the next six
    ("transformer-encoder-layer", {"bias": False}, 3_146_752),
    ("transformer-decoder-layer", {}, 4_204_032),
    ("transformer", {}, 44_140_544),
    ("transformer-big", {}, 176_361_472),
    ("transformer", {"bias": False}, 44_056_576),
    ("vaswani-base", {}, 44_140_544 + 37_000 * 512),
    # by hand, where keras-hub has none: 2VE + L(2E² + 2E·GD + 3EH + 2E) + E; Touvron et al. 2023, table 2, print 13.0B,
    # 32.5B and 65.2B. 2*32000*5120 + 40*(4*5120² + 3*5120*13824 + 2*5120) + 5120
    ("llama-13b", {}, 13_015_864_320),
    # 2*32000*6656 + 60*(4*6656² + 3*6656*17920 + 2*6656) + 6656
    ("llama-33b", {}, 32_528_943_616),
    # 2*32000*8192 + 80*(4*8192² + 3*8192*22016 + 2*8192) + 8192
    ("llama-65b", {}, 65_285_660_672),
    ("llama-2-7b", {}, 6_738_415_616),  # keras-hub
    ("llama-2-13b", {}, 13_015_864_320),  # as llama-13b
    # 2*32000*8192 + 80*(2*8192² + 2*8192*1024 + 3*8192*28672 + 2*8192) + 8192
    ("llama-2-70b", {}, 68_976_648_192),
    ("llama-3-8b", {}, 8_030_261_248),  # keras-hub
    # 2*128256*16384 + 126*(2*16384² + 2*16384*1024 + 3*16384*53248 + 2*16384) + 16384
    ("llama-3.1-405b", {}, 405_853_388_800),
    # 128256*2048 + 16*(2*2048² + 2*2048*512 + 3*2048*8192 + 2*2048) + 2048
    ("llama-3.2-1b", {}, 1_235_814_400),
    # 128256*3072 + 28*(2*3072² + 2*3072*1024 + 3*3072*8192 + 2*3072) + 3072
    ("llama-3.2-3b", {}, 3_212_749_824),
    # 2*32000*2048 + 22*(2*2048² + 2*2048*256 + 3*2048*5632 + 2*2048) + 2048
    ("tinyllama-1.1b", {}, 1_100_048_384),
    ("mistral-7b-v0.1", {}, 7_241_732_096),  # keras-hub; likewise for the next and mixtral-8x7b
    ("mistral-7b-v0.3", {}, 7_248_023_552),
    # 2*131072*5120 + 40*(2*5120*4096 + 2*5120*1024 + 3*5120*14336 + 2*5120) + 5120
    ("mistral-nemo-12b", {}, 12_247_782_400),
    ("mixtral-8x7b", {}, 46_702_792_704),
    # 2*32768*6144 + 56*(2*6144² + 2*6144*1024 + 8*3*6144*16384 + 8*6144 + 2*6144) + 6144
    ("mixtral-8x22b", {}, 140_630_071_296),
    # by hand: 256000*2304 + 26*(2*2304*2048 + 2*2304*1024 + 3*2304*9216 + 4*2304) + 2304
    ("gemma-2-2b", {}, 2_614_341_888),
    # 256000*3584 + 42*(2*3584*4096 + 2*3584*2048 + 3*3584*14336 + 4*3584) + 3584
    ("gemma-2-9b", {}, 9_241_705_984),
    # 256000*4608 + 46*(2*4608*4096 + 2*4608*2048 + 3*4608*36864 + 4*4608) + 4608
    ("gemma-2-27b", {}, 27_227_128_320),
    # by hand, in 61 layers a latent attention of 7168*1536 + 1536 + 1536*128*192 + 7168*576 + 512 + 512*128*256 +
    # 128*128*7168 and two norms, in 3 of them 3*7168*18432, in 58 257*3*7168*2048 + 256*7168; 2*129280*7168 and a norm.
    # A bias for each of 256 experts in 58 layers is a buffer that is not trained; DeepSeek's README prints 671B
    ("deepseek-v3", {}, 671_026_419_200 - 58 * 256),
    ("mamba-130m", {}, 129_135_360),  # MambaForCausalLM on meta; likewise for the next
    ("mamba-2.8b", {}, 2_768_345_600),
    # Mistral's announcement of Codestral Mamba
    ("mamba-codestral-7b", {}, 7_285_403_648),
    # 50288*2560 + 2560 + 64*(2560 + 2560*(5120 + 5376 + 80) + 5*5376 + 3*80 + 5120 + 5120*2560)
    ("mamba2-2.7b", {}, 2_702_599_680),
    # 2*131072*4096 + 4096 + 52*4096 + 24*(4096*(8192 + 10240 + 128) + 5*10240 + 3*128 + 8192 + 8192*4096)
    # + 4*(2*4096*4096 + 2*4096*1024) + 24*2*4096*21504
    ("nemotron-h-8b", {}, 8_100_852_736),
    ("gemma-2b", {}, 2_506_172_416),  # keras-hub; likewise for the next two
    ("gemma-7b", {}, 8_537_680_896),
    ("gemma-3-1b", {}, 999_885_952),
    ("gemma-3-27b-text", {}, 27_009_002_240 + 64 * 5_376),  # keras-hub's, which drops the last 64 rows of the table
    ("command-r", {}, 34_980_831_232),  # 256000*8192 + 40*(4*8192*8192 + 3*8192*22528 + 8192) + 8192
    # 256000*12288 + 64*(2*12288*12288 + 2*12288*1024 + 3*12288*33792 + 12288 + 96*128 + 8*128) + 12288
    ("command-r-plus", {}, 103_810_674_688),
    # 2*151552*4096 + 40*(2*4096*4096 + 4096 + 2*(4096*256 + 256) + 3*4096*13696 + 4*4096) + 4096
    ("glm-4-9b", {}, 9_400_279_040),
    ("gpt-oss-120b", {}, 116_829_156_672),  # keras-hub; the model card prints 116.83B and 20.91B
    ("gpt-oss-20b", {}, 20_914_757_184),
    ("deepseek-v2", {}, 235_741_434_880),  # DeepseekV2ForCausalLM on meta; likewise for the next
    ("deepseek-v2-lite", {}, 15_706_484_224),
    ("t5-small", {}, 60_506_624),  # keras-hub; likewise for the next two
    ("t5-base", {}, 222_903_552),
    ("t5-large", {}, 737_668_096),
    ("t5-3b", {}, 2_851_598_336),  # T5ForConditionalGeneration on meta; likewise for the next
    ("t5-11b", {}, 11_307_321_344),
    # keras-hub's, the first three for Flan-T5: the sizes of v1.1, with an untied head
    ("t5-v1.1-small", {}, 76_961_152),
    ("t5-v1.1-base", {}, 247_577_856),
    ("t5-v1.1-large", {}, 783_150_080),
    ("t5-v1.1-xl", {}, 2_849_757_184),
    ("t5-v1.1-xxl", {}, 11_135_332_352),
    ("t5-v1.1-xl", {"tied": True}, 2_849_757_184 - 32_128 * 2_048),
    ("bart-base", {}, 139_417_344 + 2 * 2 * 768),  # keras-hub's, plus two unused positions in both tables
    # keras-hub's, which includes the position ids of the image; likewise for the next three. By hand, the text:
    # 49408*512 + 77*512 + 12*(12*512² + 13*512) + 2*512; images: 3*32*32*768 + 768 + 50*768 + 12*(12*768² + 13*768)
    # + 2*2*768; then 768*512 + 512*512 + 1
    ("clip-vit-base-patch32", {}, 151_277_363 - (7 * 7 + 1)),
    ("clip-vit-base-patch16", {}, 149_620_934 - (14 * 14 + 1)),
    ("clip-vit-large-patch14", {}, 427_616_770 - (16 * 16 + 1)),
    ("clip-vit-large-patch14-336", {}, 427_944_770 - (24 * 24 + 1)),
    ("bart-large", {}, 406_287_360 + 2 * 2 * 1_024),
    # by hand: the patches 17*1152, 256*1152 of sines, a timestep 257*1152 + 1153*1152, 1001*1152 of classes; a block
    # 18*1152² + 15*1152; at the end 2*1152² + 2*1152 and 32*1153
    ("dit-xl-2", {}, 28 * (18 * 1152**2 + 15 * 1152) + (17 + 256 + 257 + 1153 + 1001 + 2 * 1153) * 1152 + 32 * 1153),
    ("whisper-tiny", {}, 37_760_640),  # keras-hub; likewise for the next four; includes 1500*384 sines
    ("whisper-base", {}, 72_593_920),
    ("whisper-small", {}, 241_734_912),
    ("whisper-medium", {}, 763_857_920),
    ("whisper-large-v2", {}, 1_543_304_960),
    # large-v2's, plus a row of tokens and 48 bands: 1280 + 3*48*1280
    ("whisper-large-v3", {}, 1_543_304_960 + 1_280 + 3 * 48 * 1_280),
    ("whisper-large-v3-turbo", {}, 808_878_080),  # WhisperForConditionalGeneration on meta
    # by hand, 13LE² + VE and, with biases, u, v and norms, 13LE + E: the paper prints 280B
    ("gopher-280b", {}, 13 * 80 * 16_384**2 + 32_000 * 16_384 + (13 * 80 + 1) * 16_384),
    ("gopher-417m", {"bias": False}, 417_202_176 + (4 * 12 + 1) * 1_536),  # without them u, v and two norms, 4LE + E
    # transformers' classes on meta unless stated otherwise, down to StarCoder 2
    ("openai-gpt", {}, 116_534_784),
    ("gpt-neo-125m", {}, 125_198_592),
    ("gpt-neo-1.3b", {}, 1_315_575_808),
    ("gpt-neo-2.7b", {}, 2_651_307_520),
    ("gpt-j-6b", {}, 6_050_882_784),
    ("gpt-neox-20b", {}, 20_554_567_680),  # the model card of EleutherAI/gpt-neox-20b
    ("pythia-70m", {}, 18_915_328 + 2 * 50_304 * 512),  # Biderman et al. 2023, table 1: without the two tables, as is
    ("pythia-410m", {}, 302_311_424 + 2 * 50_304 * 1_024),  # each of the next four
    ("pythia-1b", {}, 805_736_448 + 2 * 50_304 * 2_048),
    ("pythia-6.9b", {}, 6_444_163_072 + 2 * 50_432 * 4_096),
    ("pythia-12b", {}, 11_327_027_200 + 2 * 50_688 * 5_120),
    ("opt-125m", {}, 125_237_760 + 2 * 768),  # keras-hub's, plus two unused positions
    ("opt-350m", {}, 331_196_416),
    ("opt-6.7b", {}, 6_658_473_984),
    ("bloom-560m", {}, 559_214_592),  # keras-hub
    ("bloom-7b1", {}, 7_069_016_064),
    ("bloom-176b", {}, 176_247_271_424),  # BF16 in the released files, according to the tests of huggingface.js
    ("falcon-7b", {}, 6_921_720_704),
    ("falcon-40b", {}, 41_303_293_952),
    ("falcon-rw-1b", {}, 1_311_625_216),  # keras-hub
    ("mpt-7b", {}, 6_649_286_656),
    # by hand: 48*(12*7168**2 + 2*7168) + 50432*7168 + 7168
    ("mpt-30b", {}, 29_957_200_896),
    ("phi-1.5", {}, 1_418_270_720),
    ("phi-2", {}, 2_779_683_840),
    ("phi-3-mini-4k", {}, 3_821_079_552),  # keras-hub
    ("phi-4", {}, 14_659_507_200),
    ("stablelm-3b-4e1t", {}, 2_795_443_200),  # its model card
    # StableLmForCausalLM on meta; the model card prints 1,644,417,024, without 24*2*2048
    ("stablelm-2-1.6b", {}, 1_644_515_328),
    ("starcoder2-3b", {}, 3_030_371_328),
    ("starcoder2-7b", {}, 7_173_923_840),
    ("palm-8b", {}, 8_631_877_632),  # the paper prints 8.63B
    ("palm-62b", {}, 62_495_129_600),  # 62.50B
    ("palm-540b", {}, 540_354_281_472),  # 540.35B: without norm scales
    ("palm-540b", {"norm_scales": True}, 540_354_281_472 + (118 + 1) * 18_432),
    ("qwen2-0.5b", {}, 494_032_768),  # keras-hub, for Qwen2.5 with the same sizes; likewise for the next three
    ("qwen2-1.5b", {}, 1_543_714_304),
    ("qwen2-7b", {}, 7_615_616_512),
    ("qwen2-72b", {}, 72_706_203_648),
    # keras-hub; 2*151936*2048 + 24*(4*2048² + 3*2048 + 60*3*2048*1408 + 60*2048 + 3*2048*5632 + 2048 + 2*2048) + 2048
    ("qwen1.5-moe-a2.7b", {}, 14_315_784_192),
    # 2*151936*3584 + 28*(2*3584² + 2*3584*512 + 3584 + 2*512 + 64*3*3584*2560 + 64*3584 + 3*3584*20480 + 3*3584) + 3584
    ("qwen2-57b-a14b", {}, 57_408_658_944),
    ("qwen3-0.6b", {}, 596_049_920),  # keras-hub; likewise for the next six
    ("qwen3-4b", {}, 4_022_468_096),
    ("qwen3-8b", {}, 8_190_735_360),
    ("qwen3-14b", {}, 14_768_307_200),
    ("qwen3-32b", {}, 32_762_123_264),
    ("qwen3-30b-a3b", {}, 30_532_122_624),
    ("qwen3-235b-a22b", {}, 235_093_634_560),
    # OlmoForCausalLM on meta; likewise for the next; the following ones by hand
    ("olmo-1b", {}, 1_176_764_416),
    ("olmo-7b", {}, 6_888_095_744),
    # 2*100352*4096 + 32*(4*4096² + 3*4096*11008 + 4*4096) + 4096
    ("olmo-2-7b", {}, 7_298_617_344),
    # 2*100352*5120 + 40*(4*5120² + 3*5120*13824 + 4*5120) + 5120
    ("olmo-2-13b", {}, 13_716_198_400),
    # 2*50304*2048 + 16*(4*2048² + 64*3*2048*1024 + 64*2048 + 4*2048) + 2048
    ("olmoe-1b-7b", {}, 6_919_161_856),
    # 49155*2048 + 40*(2*2048² + 2*2048*512 + 3*2048*8192 + 2*2048) + 2048
    ("granite-3.0-2b", {}, 2_533_531_648),
    # 49155*4096 + 40*(2*4096² + 2*4096*1024 + 3*4096*12800 + 2*4096) + 4096
    ("granite-3.0-8b", {}, 8_170_848_256),
]


@pytest.mark.parametrize(("target", "options", "total"), TOTALS)
def test_published_totals(target: str, options: dict[str, object], total: int) -> None:
    assert architecture(target, **options).params.value() == total


# row -> one copy, at the target's numbers
ROWS = {
    "gpt2": {
        "wte": 50_257 * 768,
        "wpe": 1_024 * 768,
        "drop": 0,
        "h.*.ln_1": 2 * 768,
        "h.*.attn.c_attn": 768 * 2_304 + 2_304,
        "h.*.attn.attn_dropout": 0,
        "h.*.attn.c_proj": 768 * 768 + 768,
        "h.*.attn.resid_dropout": 0,
        "h.*.ln_2": 2 * 768,
        "h.*.mlp.c_fc": 768 * 3_072 + 3_072,
        "h.*.mlp.act": 0,
        "h.*.mlp.c_proj": 3_072 * 768 + 768,
        "h.*.mlp.dropout": 0,
        "ln_f": 2 * 768,
        "lm_head": 0,
    },
    "llama-2-70b": {
        "embed_tokens": 32_000 * 8_192,
        "rotary_emb": 0,
        "layers.*.input_layernorm": 8_192,
        "layers.*.self_attn.q_proj": 8_192 * 8_192,
        "layers.*.self_attn.k_proj": 8_192 * 1_024,
        "layers.*.self_attn.v_proj": 8_192 * 1_024,
        "layers.*.self_attn.o_proj": 8_192 * 8_192,
        "layers.*.post_attention_layernorm": 8_192,
        "layers.*.mlp.gate_proj": 8_192 * 28_672,
        "layers.*.mlp.act_fn": 0,
        "layers.*.mlp.up_proj": 8_192 * 28_672,
        "layers.*.mlp.down_proj": 8_192 * 28_672,
        "norm": 8_192,
        "lm_head": 32_000 * 8_192,
    },
}


@pytest.mark.parametrize("target", ROWS)
def test_rows_match_hand_computed_values(target: str) -> None:
    model = architecture(target)
    found = {row.path: int(row.each.xreplace(model.known)) for row in model.params.rows}
    assert found == ROWS[target]
    assert list(found) == list(ROWS[target])  # in execution order


def test_gpt2_parts_match_raschka() -> None:
    """Raschka 2024, section 4.5: 2,360,064 in attention, 4,722,432 in the MLP, 7,085,568 in a block."""
    params = architecture("gpt-from-scratch").params
    assert params.part("trf_blocks.att").value() == 2_360_064
    assert params.part("trf_blocks.ff").value() == 4_722_432
    assert params.part("trf_blocks.norm1").value() + params.part("trf_blocks.norm2").value() == 3_072
    assert params.part("trf_blocks").value() == 7_085_568


def test_bert_large_embeddings_by_hand() -> None:
    """(30522 + 2 + 512)*1024 + 2*1024."""
    params = architecture("bert-large-uncased").params
    words = ("word_embeddings", "token_type_embeddings", "position_embeddings", "LayerNorm")
    assert sum(params.part(f"embeddings.{word}").value() for word in words) == 31_782_912


def test_layer_matches_the_bare_bones_transformer() -> None:
    params = architecture("bare-bones-transformer-lm").params
    assert params.part("layer").value({"E": 5, "H": 5}) == 200
    assert params.part("layer.attention").value() == 120
    assert params.part("layer.norm_1").value() == 10
    assert params.part("layer.mlp").value() == 181
    assert architecture("feed-forward-lm").params.part("embedding").value() == 1_280


def test_gpt2_parameter_polynomial() -> None:
    params = sf.architecture("gpt2").params
    assert params.text() == "12LE² + 13LE + VE + PE + 2E"
    assert params.code() == repr(params) == "12*L*E**2 + 13*L*E + V*E + P*E + 2*E"
    assert params._repr_latex_() == "$12 L E^{2} + 13 L E + V E + P E + 2 E$"
    assert params.value("gpt2-xl") == 1_557_611_200


def test_mixtral_active_parameters() -> None:
    """Mixtral 8x7B, 12.9B in the paper: all but 6 of 8 experts of 3 matrices 4096x14336 in each of 32 layers."""
    active = architecture("mixtral-8x7b").formula("active-params").value()
    assert active == 46_702_792_704 - 32 * 6 * 3 * 4_096 * 14_336 == 12_879_925_248
    # 58 layers without 248 of 256 experts of 3 matrices 7168x2048
    deepseek = architecture("deepseek-v3").formula("active-params").value()
    assert deepseek == 671_026_419_200 - 58 * 256 - 58 * 248 * 3 * 7_168 * 2_048
    # Without 124 of 128 experts, and 28 of 32, with their biases: 2880 to twice 2880 and back. The model card states
    # 5.13B and 3.61B, without the embedding of 201088 rows.
    expert = 3 * 2_880 * 2_880 + 3 * 2_880
    for target, total, idle, card in (
        ("gpt-oss-120b", 116_829_156_672, 36 * 124, "5.13"),
        ("gpt-oss-20b", 20_914_757_184, 24 * 28, "3.61"),
    ):
        active = architecture(target).formula("active-params").value()
        assert active == total - idle * expert
        assert f"{(active - 201_088 * 2_880) / 1e9:.2f}" == card
    # 26 layers without 58 of 64 experts of 3 matrices 2048x1408
    lite = architecture("deepseek-v2-lite").formula("active-params").value()
    assert lite == 15_706_484_224 - 26 * 58 * 3 * 2_048 * 1_408
    for target in ("gpt2", "llama-2-7b", "mamba-130m"):
        model = architecture(target)
        assert model.formula("active-params").equals(model.params)


@pytest.mark.parametrize("target", ["gpt2", "llama", "palm", "bert", "gpt-from-scratch", "mistral", "mixtral"])
def test_adding_a_layer_adds_one_block(target: str) -> None:
    params = architecture(target).params
    (block,) = [line.key for line in params.root.lines if line.count == L]
    assert diff(params.expanded, L) == params.part(block).expanded


def test_explicit_width_overrides_the_relation() -> None:
    wide = architecture("gpt2").set({H: Integer(5_000)})
    # per layer 2*768*5000 + 5000 + 768 instead of 2*768*3072 + 3072 + 768
    assert wide.params.value() == 124_439_808 + 12 * (2 * 768 + 1) * (5_000 - 3_072)
    assert "L*E*H" in wide.params.code()
    same = architecture("gpt2").set({H: Integer(3_072)})
    assert same.params.code() == architecture("gpt2").params.code()


def test_leading_terms_of_gpt2_and_llama() -> None:
    leading = architecture("gpt2").params.leading()
    assert leading.expr == 12 * L * E**2
    numbers = architecture("gpt2").known
    assert leading.left_out(numbers) == 1 - Fraction(12 * 12 * 768**2, 124_439_808)
    assert repr(architecture("llama").params.leading()) == "2*L*E*A*D + 2*L*E*G*D + 3*L*E*H"


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_complete_and_has_a_source(name: str) -> None:
    model, facts = architecture(name), presets()[name]
    assert facts.keys() <= {"architecture", "options", "sizes", "hub", "also", "source", "params"}
    assert model.params.value() > 0
    assert len(facts["source"]) > 10
    assert set(model.known) >= set(model.sizes) - {size for size in model.sizes if letter(size).run}
    assert model.known.keys() >= set(map(symbol, facts["sizes"]))  # without sizes that these options do not use
    # Published totals with their source: llmfit lists the contents of the safetensors files on the Hub.
    for counted_by, count in facts.get("params", {}).items():
        assert model.params.value() == count, counted_by


def test_published_model_names_are_presets() -> None:
    assert sum("hub" in facts for facts in presets().values()) >= 300
    assert sum("params" in facts for facts in presets().values()) >= 200
    assert all(parse(name).kind is TargetKind.NAME and name == name.lower() for name in presets())


def test_each_hub_repository_has_one_preset() -> None:
    ids = [each for facts in presets().values() for each in (facts.get("hub"), *facts.get("also", ())) if each]
    assert all(parse(each).kind is TargetKind.HUB for each in ids)
    assert len({each.lower() for each in ids}) == len(ids)
    for name, facts in presets().items():
        for each in (facts.get("hub"), *facts.get("also", ())):
            assert each is None or preset_on_hub(each) == preset_on_hub(each.upper()) == name
    assert preset_on_hub("somebody/something") is None


@pytest.mark.parametrize("name", names())
def test_every_architecture_has_a_description(name: str) -> None:
    made_by = architecture_class(name)
    assert ">>>" in (made_by.__doc__ or "")
    assert made_by().about
    assert presets_of(name), "a preset, so that its documents have numbers"
    assert any(target in presets() and presets()[target]["architecture"] == name for target, _, _ in TOTALS)
    assert len({tuple(model.component.chosen.items()) for model in variants(architecture(name))}) == len(
        made_by.variants
    )


def test_every_cited_paper_is_in_the_bibliography() -> None:
    named = {key for name in names() for key in cited_papers([architecture(name).component.about])}
    named |= {key for name in components() for key in cited_papers([component_class(name)().about])}
    assert len(named) > 20
    assert named <= papers().keys()
    for key, paper in papers().items():
        assert re.search(r"(19|20)\d\d", key)
        assert str(paper.year) in key
        assert paper.bibtex().count("{") == paper.bibtex().count("}")
        assert paper.bibtex().isascii()


def test_file_without_a_component_is_refused(tmp_path: Path) -> None:
    (tmp_path / "errors.py").touch()
    with pytest.raises(sf.SymformerError, match="should define one Component; it defines 0"):
        Registry("symformer.language", str(tmp_path), Component).load("errors")


def test_unknown_names_are_refused_with_suggestions() -> None:
    with pytest.raises(sf.SymformerError, match="did you mean gpt2"):
        architecture("gpt-2")
    with pytest.raises(sf.SymformerError, match=r"unknown option 'teid' of|unknown option 'teid'; did you mean tied"):
        architecture("gpt2", teid=False)
    with pytest.raises(sf.SymformerError, match=r"unknown part 'h.atn'; did you mean h.attn"):
        architecture("gpt2").params.part("h.atn")
    with pytest.raises(sf.SymformerError, match="'llama-2-7b' is a llama, not a gpt2"):
        architecture("gpt2").params.value("llama-2-7b")
    with pytest.raises(sf.SymformerError, match=r"is a llama with head=lm, tied=true, .* for head=lm, tied=false"):
        architecture("llama").params.value("llama-3.2-1b")
    with pytest.raises(sf.SymformerError, match="unknown quantity 'flosp'; did you mean flops"):
        architecture("gpt2").formula("flosp")


@pytest.mark.parametrize("name", names())
def test_part_ids_are_unique(name: str) -> None:
    for variant in variants(architecture(name)):
        keys = [line.key for line in variant.params.root.walk()]
        assert len(set(keys)) == len(keys) > 1


def test_matrices_with_equal_names_get_different_symbols() -> None:
    """BERT's MLP has two matrices named dense: the first with H rows of E and a bias, the second with E rows of H."""
    bert = architecture("bert").params
    assert bert.part("encoder.layer.mlp.intermediate.dense").equals("E*H + H")
    assert bert.part("encoder.layer.mlp.output.dense").equals("E*H + E")
