"""DeepSeek-V4."""

from __future__ import annotations

from . import Computation, ModelCase, SmallConfig

CSA, HCA = "compressed_sparse_attention", "heavily_compressed_attention"

# A checkpoint of the base models also has a module for multi-token prediction: a layer without compressed keys, two
# matrices, three norms, the weights of a last sum of streams, and an embedding and a head of its own; the biases and
# tables of the routers; and a scale for each block of 128x128 fp8 elements of the matrices of attention and experts.
# Of one layer of DeepSeek-V4-Flash: attention 4096*1024 + 1024 + 1024*32768 + 4096*512 + 512 + 2*8192*4096 + 64,
# experts 257*3*4096*2048 + 256*4096, two hyper-connections 2*(24*4*4096 + 24 + 3), two norms
FLASH_LAYER = 106_956_352 + 6_468_665_344 + 786_486 + 8_192
FLASH_MODULE = FLASH_LAYER + 256 + 2 * 4096**2 + 3 * 4096 + 4 * 4 * 4096 + 4 + 1 + 2 * 129_280 * 4096
FLASH_SCALES = 44 * (8 * 32 + 256 * 8 + 4 * 32 + 2 * 64 * 32 + 257 * 3 * 32 * 16) + 21 * 64 * 8 + 2 * 32 * 32
# Of DeepSeek-V4-Pro: 7168*1536 + 1536 + 1536*65536 + 7168*512 + 512 + 16384*4096 + 7168*16384 + 128, experts
# 385*3*7168*3072 + 384*7168, two hyper-connections, two norms
PRO_LAYER = 299_894_912 + 25_435_963_392 + 1_376_310 + 14_336
PRO_MODULE = PRO_LAYER + 384 + 2 * 7168**2 + 3 * 7168 + 4 * 4 * 7168 + 4 + 1 + 2 * 129_280 * 7168
PRO_SCALES = 62 * (12 * 56 + 512 * 12 + 4 * 56 + 128 * 32 + 56 * 128 + 385 * 3 * 56 * 24) + 30 * 64 * 12 + 2 * 56 * 56

MODEL = ModelCase(
    "deepseek-v4",
    totals=(
        # the checkpoints on the Hugging Face hub, deepseek-ai/DeepSeek-V4-Flash-Base and -Pro-Base, in fp8; the first
        # three layers have a table of 6 experts for each token, the others a bias of each expert
        ("deepseek-v4-flash", {}, 292_021_347_282 - FLASH_MODULE - FLASH_SCALES - 3 * 129_280 * 6 - 40 * 256),
        ("deepseek-v4-pro", {}, 1_600_790_440_862 - PRO_MODULE - PRO_SCALES - 3 * 129_280 * 6 - 58 * 384),
    ),
    config=SmallConfig(
        "deepseek_v4",
        {
            **{"vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 3, "moe_intermediate_size": 11},
            **{"layer_types": ["sliding_attention", HCA, CSA], "mlp_layer_types": ["moe", "moe", "moe"]},
            **{"num_attention_heads": 16, "head_dim": 14, "partial_rotary_factor": 10 / 14, "q_lora_rank": 19},
            **{"o_groups": 2, "o_lora_rank": 21, "index_n_heads": 13, "index_head_dim": 18, "index_topk": 1},
            **{"n_routed_experts": 20, "num_experts_per_tok": 15, "hc_mult": 17, "sliding_window": 3},
            "compress_rates": {CSA: 6, HCA: 7},
        },
        ("DeepseekV4ForCausalLM", "DeepseekV4Model"),
    ),
    computation=Computation(
        {"compress_rates": {CSA: 2, HCA: 4}, "hc_mult": 3, "num_experts_per_tok": 7},
        words={"rotate": "last_neighbours", "unrotate": "last_neighbours_back"},
        route="of_square_roots",
        apart=("compressor", "indexer", "attn_hc", "ffn_hc"),  # the class returns the weighted sum first, or indices
    ),
)
