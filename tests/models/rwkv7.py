"""RWKV-7."""

from __future__ import annotations

from . import ModelCase

MODEL = ModelCase(
    "rwkv7",
    totals=(
        # Peng et al. 2025: 2DV + 4D + LD(12D + 2(d_w + d_a + d_v + d_g) + 19) - (2Dd_v + D). The totals of the first,
        # second and fourth are also those of llmfit for the checkpoints.
        ("rwkv7-0.1b", {}, 191_034_624),
        ("rwkv7-0.4b", {}, 450_767_872),
        ("rwkv7-1.5b", {}, 1_527_404_544),
        ("rwkv7-2.9b", {}, 2_947_735_040),
        ("rwkv7-0.1b", {"tied": True}, 191_034_624 - 65_536 * 768),
        ("rwkv7-0.1b", {"norm_bias": False}, 191_034_624 - (2 * 12 + 2) * 768),  # two norms per layer, and two more
        ("rwkv7-0.1b", {"norm_first": False}, 191_034_624 - 2 * 768),
        ("rwkv7-0.1b", {"head": "none"}, 191_034_624 - 65_536 * 768),
    ),
    rows={
        "rwkv7-0.1b": {
            "embeddings": 65_536 * 768,
            "pre_norm": 2 * 768,
            "layers.*.attn_norm": 2 * 768,
            # Six shares of the preceding token, and three factors of keys and receptances.
            **{
                f"layers.*.attn.{name}": 768 for name in ("x_r", "x_w", "x_k", "x_v", "x_a", "x_g", "k_k", "k_a", "r_k")
            },
            "layers.*.attn.r_proj": 768**2,
            "layers.*.attn.k_proj": 768**2,
            "layers.*.attn.v_proj": 768**2,
            "layers.*.attn.w_down": 768 * 64,
            "layers.*.attn.w_up": 64 * 768 + 768,
            "layers.*.attn.a_down": 768 * 64,
            "layers.*.attn.a_up": 64 * 768 + 768,
            "layers.*.attn.g_down": 768 * 128,
            "layers.*.attn.g_up": 128 * 768,
            "layers.*.attn.g_norm": 2 * 768,
            "layers.*.attn.o_proj": 768**2,
            "layers.*.ffn_norm": 2 * 768,
            "layers.*.ffn.x_k": 768,
            "layers.*.ffn.key": 768 * 3_072,
            "layers.*.ffn.value": 3_072 * 768,
            "later_layers.*.attn.v_down": 768 * 32,
            "later_layers.*.attn.v_up": 32 * 768 + 768,
            "norm": 2 * 768,
            "lm_head": 65_536 * 768,
        }
    },
)
