"""From a config.json to the printed number, compared with transformers and torch's own counter.

For each causal type, random small sizes, in real memory, on the command line. Printed numbers equal torch's counts;
types with certified classes answer all four quantities.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner
from torch.utils.flop_counter import FlopCounterMode

from symformer.commands.cli import cli
from symformer.witness.dispatch_recorders import CORRECTED

from .samples import sampled
from .test_config_fields import TYPES, Config, base

CAUSAL = [name for name, case in TYPES.items() if case.config.classes[0].endswith(("ForCausalLM", "LMHeadModel"))]
WITHOUT_CACHE = {"openai-gpt"}  # its class reads every token again
STATE = {"mamba", "mamba2", "falcon_mamba"}  # its cache has the same size after any number of tokens
B, S, C = 3, 5, 17
# Sizes that may be any number, and sizes that must stay multiples of others.
FREE = ("vocab_size", "intermediate_size", "n_inner", "ffn_dim", "moe_intermediate_size", "kv_lora_rank", "v_head_dim")
DEPTHS = ("num_hidden_layers", "n_layer", "num_layers")


def drawn(model_type: str, draw: random.Random) -> Config:
    config = base(model_type)
    for name in config:
        if name in FREE:
            config[name] += 2 * draw.randint(0, 45)  # DeepSeek-V2 rotates pairs of elements next to the latent
        elif name in DEPTHS and "layer_types" not in config:
            config[name] += draw.randint(0, 2)
        elif name in ("n_embd", "hidden_size"):
            factor = draw.randint(1, 3)
            config[name] *= factor
            if {"mamba_expand", "mamba_d_head"} <= config.keys():
                config["mamba_d_head"] *= factor
        elif name in ("n_positions", "max_position_embeddings"):
            config[name] += 2 * C
    if model_type == "helium":  # its output projection requires it
        config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    return config


def counted(config: Config) -> dict[str, int]:
    made_by = getattr(transformers, config["architectures"][0])
    model = made_by(made_by.config_class.from_dict(json.loads(json.dumps(config)))).eval()
    model.config._attn_implementation = "eager"
    model.config._experts_implementation = "batched_mm"  # torch silently counts nothing for the default
    tokens = torch.randint(0, config["vocab_size"], (B, S))
    found = {"params": sum(parameter.numel() for parameter in model.parameters())}
    with FlopCounterMode(display=False) as forward, torch.no_grad():
        model(tokens, use_cache=False)
    # torch's counter overcounts the gradient of a grouped convolution by the number of groups
    with FlopCounterMode(display=False, custom_mapping=dict(CORRECTED)) as both:
        model.train()(tokens, use_cache=False).logits.sum().backward()
    counters = {"flops": forward, "train-flops": both}
    with torch.no_grad():
        own = {}  # RecurrentGemma does not return its cache
        if config["model_type"] == "recurrent_gemma":
            own = {"past_key_values": transformers.DynamicCache(config=model.config)}
        read = model.eval()(torch.randint(0, config["vocab_size"], (B, C)), use_cache=True, **own)
        state = own or {name: read[name] for name in ("past_key_values", "cache_params") if read.get(name) is not None}
        if state:
            with FlopCounterMode(display=False) as counters["decode-flops"]:
                model(tokens[:, :1], use_cache=True, **state)
    return found | {name: counter.get_total_flops() for name, counter in counters.items()}


@pytest.mark.parametrize("model_type", sampled(4, CAUSAL))
def test_printed_values_match_torch_counts(model_type: str, tmp_path: Path) -> None:
    config = drawn(model_type, random.Random(model_type))  # noqa: S311
    if model_type == "llama4_text":  # its class multiplies every token by all experts
        config["num_experts_per_tok"] = config["num_local_experts"]
    if model_type == "deepseek_v4":  # a training step needs a complete group of tokens of each kind
        config["compress_rates"] = {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    theirs = counted(config)
    assert all(theirs.values())
    lengths = {"params": [], "decode-flops": [f"B={B}", *([] if model_type in STATE else [f"C={C}"])]}
    assert len(CAUSAL) >= 30
    assert len(theirs) == 4 - (model_type in WITHOUT_CACHE)
    for quantity, number in theirs.items():
        sets = [word for size in lengths.get(quantity, [f"B={B}", f"S={S}"]) for word in ("--set", size)]
        result = CliRunner().invoke(cli, ["show", str(path), "-q", quantity, *sets, "--json"])
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["value"] == number, quantity
