"""Printed computations return the outputs of third-party classes, from tokens to logits.

The classes are from transformers and torch, small, with random weights and sizes that all differ, in double precision,
even where they request single precision. Every part whose module has an output is compared, and then the whole model.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from symformer import from_config
from symformer.architectures import architecture
from symformer.language.symbols import SYMBOLS, J_merge, Z, Z_patch
from symformer.ledger.facts import WEIGHT_NORM, OperationKind
from symformer.witness.models.embedded_transformer import EmbeddedTransformer
from symformer.witness.models.gopher import Gopher
from symformer.witness.models.palm import PaLM
from symformer.witness.models.rwkv7 import RWKV7ForCausalLM

from . import words as functions
from .evaluating import Class, Reader
from .models import Computation
from .samples import sampled
from .test_config_fields import TYPES, base, nested
from .words import (
    angles,
    block_diagonal,
    by_group,
    chosen_keys,
    compressed_words,
    delta_rule,
    distances,
    gathered,
    image_angles,
    interleaved,
    lru,
    merged_angles,
    merged_words,
    nearest_rows,
    of_image,
    pooled,
    scan,
    shift,
    sine_halves,
    sines,
    slopes,
    temperatures,
    windowed,
    wkv,
    words,
)

LENGTH, SOURCE = 9, 12
RANKS = {"decay_low_rank_dim": 4, "a_low_rank_dim": 5, "v_low_rank_dim": 6, "gate_low_rank_dim": 11}
RUN = {"B": 2, "S": LENGTH, "S_enc": SOURCE, "B_vis": 4}
TOKENS = torch.tensor([[3, 17, 5, 22, 9, 10, 14, 8, 26], [11, 2, 25, 4, 19, 7, 23, 6, 12]])
READ = torch.tensor([[4, 8, 15, 16, 23, 2, 7, 19, 3, 12, 28, 5], [27, 18, 21, 13, 6, 20, 9, 14, 25, 10, 11, 24]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1, 2, 2, 3, 3], [1, 1, 0, 0, 3, 3, 3, 2, 2]])
EPSILONS = ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "layernorm_epsilon", "norm_eps", "norm_epsilon")
PLAIN = {"rope_type": "default", "rope_theta": 1e4}
KINDS = {
    "sliding_attention": "local_layers",
    "chunked_attention": "local_layers",
    "full_attention": "global_layers",
    "local": "local_layers",
}
KINDS |= {"global": "global_layers", "mamba": "ssm_layers", "linear_attention": "ssm_layers", "mlp": "mlp_layers"}
KINDS |= {"conv": "convolution_layers", "hybrid": "hybrid_layers"}
KINDS |= {"compressed_sparse_attention": "csa_layers", "heavily_compressed_attention": "hca_layers"}
GATED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")  # gated attention
LINEAR = (*GATED, "kimi_linear", "olmo_hybrid")  # linear attention in some layers
CASES = {model_type: case.computation for model_type, case in TYPES.items()}
AMONG = [kind for kind, case in TYPES.items() if case.config.inputs == "images among tokens"]
OPTIONS = {
    name: (model_type, computation) for model_type, case in TYPES.items() for name, computation in case.options.items()
}


@pytest.fixture(autouse=True)
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use double precision also where a class requests single precision; else numbers agree to four digits only."""
    before = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    for single in ("float32", "float"):
        monkeypatch.setattr(torch, single, torch.float64)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    yield
    torch.set_num_threads(before[0])
    torch.set_default_dtype(before[1])


@pytest.mark.parametrize("kind", sampled(6, CASES))
def test_computed_lines_match_the_class(kind: str, tmp_path: Path) -> None:
    same(kind, CASES[kind], tmp_path)


@pytest.mark.parametrize("name", sampled(4, OPTIONS))
def test_computed_lines_match_the_class_for_each_option(name: str, tmp_path: Path) -> None:
    kind, case = OPTIONS[name]
    same(kind, case, tmp_path)


def same(kind: str, case: Computation, tmp_path: Path) -> None:
    """Compare every part, then the whole."""
    config = nested({**base(kind), **case.config})
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    ours = from_config(str(path))
    theirs = built(config)
    known = getattr(theirs.config, "text_config", theirs.config) if kind in AMONG else theirs.config
    sizes = {**ours.known, **{SYMBOLS[name]: number for name, number in RUN.items()}}
    if kind == "qwen3_vl":  # images of 2 by 2 tokens
        sizes[Z] = 2 * sizes[Z_patch] * sizes[J_merge]
    size = {symbol.name: number for symbol, number in sizes.items()}
    epsilon = next((getattr(known, name) for name in EPSILONS if hasattr(known, name)), 1e-5)
    others = {name: getattr(functions, function) for name, function in case.words.items()}
    said = words(case.epsilon or epsilon, **others)
    if case.cap:
        said["cap"] = lambda x: case.cap * (x / case.cap).tanh()
    if "N_state" in size:
        said |= {"scan": scan(size["N_state"]), "rms_group": by_group(said["rms"], size.get("G_ssm", 1))}
    if "H_lru" in size:
        said |= {"blockdiag": block_diagonal, "lru": lru}
    if keys := size.get("D_k_lin", size.get("D_lin")):
        said["delta"] = delta_rule(keys)
    inputs, given = read_by(kind, theirs, size)
    if kind == "clip":
        said["text_model.select_end"] = lambda x: x[[0, 1], (TOKENS == 26).int().argmax(-1)]
    if "Z_pool" in size:
        said["pool"] = pooled(size["Z"] // size["Z_patch"] // size["Z_pool"])
    if "Z_win" in size:
        said["windows"], said["square"] = windowed(size["Z"] // size["Z_patch"], size["Z_win"])
        said["conv"] = of_image
    if kind == "deberta-v2":
        farthest = known.max_position_embeddings
        said["gather"] = gathered(LENGTH, known.position_buckets, farthest, "query")
        said["gather_keys"] = gathered(LENGTH, known.position_buckets, farthest, "key")
    if kind == "qwen3_vl":
        vision, images = theirs.config.vision_config, inputs["input_ids"] == 3
        said |= merged_words(size["Z"] // size["Z_patch"], math.isqrt(size["P_vis"]), size["J_merge"])
        said["images"] = lambda x: x[images].unflatten(0, (RUN["B_vis"], -1))
        said["listed"] = lambda x: torch.stack(
            [whose.gave[f"model.visual.blocks.{each}"][0].view(x.shape) for each in vision.deepstack_visual_indexes], 1
        )
    if "input_ids" in inputs:  # 3 is the placeholder of an image's token
        said["insert"] = lambda x, m: x.masked_scatter((inputs["input_ids"] == 3)[..., None], m)
    if "K_idx" in size:
        said["choose_K_idx"] = chosen_keys(size["K_idx"])
    if "C_csa" in size:
        said |= compressed_words(known)
    turned = {
        int(each.inputs[1].width.xreplace(ours.relations).subs(sizes))
        for _, each in ours.component.ledger
        if each.kind is OperationKind.ROTATE
    }
    for width in turned:
        ropes = getattr(known, "rope_parameters", None) or PLAIN
        if kind == "deepseek_v4":
            both = {"sliding_attention": ropes["main"]}
            ropes = both | dict.fromkeys(
                ("compressed_sparse_attention", "heavily_compressed_attention"), ropes["compress"]
            )
        given["θ"] = angles(width, ropes.get("rope_theta", 1e4), LENGTH)
        for layers, rope in ropes.items() if "rope_theta" not in ropes else ():
            apart = {"local_layers": size["D"], "global_layers": size["D_global"]} if "D_global" in size else {}
            given[f"θ_{KINDS[layers]}"] = angles(apart.get(KINDS[layers], width), rope["rope_theta"], LENGTH)
        if kind == "qwen3_vl":
            side, head = size["Z"] // size["Z_patch"], size["E_vis"] // size["A_vis"]
            given["visual.θ"] = merged_angles(side, size["J_merge"], head)
            said["interleave"] = interleaved(size["D"], ropes["rope_theta"], *ropes["mrope_section"][1:])
        if kind == "dinov3_vit":
            given["θ"] = image_angles(size["Z"] // size["Z_patch"], width, known.rope_theta)
        if kind == "t5gemma":
            given["θ_enc"], given["θ"] = (
                angles(size[name], 1e4, long) for name, long in (("D_enc", SOURCE), ("D", LENGTH))
            )
        given |= {
            f"θ_{each}_reusing_layers": given[f"θ_{each}_layers"]
            for each in ("local", "global")
            if f"θ_{each}_layers" in given
        }
        given["θ_first_layer"] = given["θ_dense_layers"] = given.get("θ_global_layers", given["θ"])
    made_by = type(ours.component)
    lists = made_by.names.layers if hasattr(made_by, "names") else getattr(made_by, "layers", "")
    whose = Class(
        theirs,
        sizes,
        said,
        given,
        route=lambda logits: getattr(functions, case.route)(logits, size.get("K", 2)),
        factors=case.factors or {"": (1.0,)},
        arranged=lambda name, weight: arranged(kind, case, name, weight, size),
        path=lambda path: torch_path(path, lists, size),
        layers=(
            {
                "deepstack_layers": range(size["L_deep"]),
                "standard_layers": range(size["L_deep"], size["L"]),
            }
            if kind == "qwen3_vl"
            else {"dense_layers": [0], "moe_layers": [1]}
            if "L_dense" in size and not {"L_global", "L_ssm"} & size.keys()
            else {}
        ),
        kinds=kinds_of(known),
        apart=case.apart,
    )
    if kind == "gemma3n_text":
        keep_reused(theirs, given)
    with torch.no_grad():
        expected = whose.watched(lambda: theirs(**inputs))
        found = Reader(whose, ours.component.ledger.apart.root, "", given).run()
    output = dict.fromkeys(("clip", "siglip"), "logits_per_text")
    output |= dict.fromkeys(("dinov2", "dinov3_vit", "sam_vision_model"), "last_hidden_state")
    theirs_out = getattr(expected, output.get(kind, "logits"))
    assert_same(found, theirs_out.flatten(2).transpose(1, 2) if theirs_out.dim() == 4 else theirs_out)  # an image
    assert len(whose.compared) > 4, whose.compared


def keep_reused(theirs: Any, given: dict[str, Tensor]) -> None:
    """Keep the keys and values that layers of each kind reuse, by the names in our lines."""

    def keep(module: Any, inputs: Any, facts: Mapping[str, Any]) -> None:
        kind = KINDS[module.layer_type].removesuffix("_layers")
        for letter, x in zip("kv", facts["shared_kv_states"][module.layer_type], strict=True):
            given[f"{kind}_reusing_layers.{letter}_earlier"] = given[f"{letter}_earlier"] = x

    for layer in theirs.model.layers:
        if layer.self_attn.is_kv_shared_layer:
            layer.self_attn.register_forward_pre_hook(keep, with_kwargs=True)


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    assert ours.shape == theirs.shape
    assert theirs.abs().max() > 0.01
    assert (ours - theirs).abs().max() / theirs.abs().max() < 1e-6  # angles are stored in single precision


def built(config: dict[str, Any]) -> Any:
    made_by = getattr(transformers, config["architectures"][0])
    made = made_by(made_by.config_class.from_dict(config | {"attn_implementation": "eager"}))
    for module in made.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = "eager"
            module.config._experts_implementation = "eager"
    if config["model_type"] == "zamba2":
        named_as_ours(made)
    for name, module in [*made.named_modules()]:
        if name.endswith("pos_conv_embed.conv"):  # add our names for a normalized weight
            for ours, stored in zip(WEIGHT_NORM, ("original1", "original0"), strict=True):
                module.register_parameter(ours, getattr(module.parametrizations.weight, stored))
    return filled(made)


def named_as_ours(made: Any) -> None:
    """Add our names for Zamba2's mixers and adapters, which torch has one level deeper or in lists."""
    layers = [layer for layer in made.model.layers if hasattr(layer, "shared_transformer")]
    for place, layer in enumerate(layers):
        layer.mamba, layer.input_layernorm = layer.mamba_decoder.mamba, layer.mamba_decoder.input_layernorm
        for part in (layer.shared_transformer.self_attn, layer.shared_transformer.feed_forward):
            for name, adapters in [*part.named_children()]:
                if name.endswith("_list"):
                    pair = nn.ModuleDict(dict(zip(("down", "up"), adapters[place], strict=True)))
                    part.add_module(name.removesuffix("_list"), pair)


def filled(module: nn.Module) -> Any:
    torch.manual_seed(8)
    for tensor in module.parameters():
        if tensor.requires_grad:
            nn.init.normal_(tensor, 0.0, 0.5)
    return module.double().eval()


def read_by(kind: str, theirs: nn.Module, size: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the inputs of a class, also by the letters of our lines."""
    torch.manual_seed(5)
    at = torch.arange(LENGTH)[None]
    if kind in ("vit", "dinov2", "dinov3_vit", "sam_vision_model"):
        x = torch.randn(2, size["N_chan"], size["Z"], size["Z"], dtype=torch.float64)
        return {"pixel_values": x}, {"x": x}
    if kind in ("wav2vec2", "hubert"):
        x = torch.randn(2, 320 * LENGTH + 80, dtype=torch.float64)
        return {"input_values": x}, {"x": x}
    if kind in ("clip", "siglip"):
        x = torch.randn(4, size["N_chan"], size["Z"], size["Z"], dtype=torch.float64)
        patches = torch.arange((kind == "clip") + (size["Z"] // size["Z_patch"]) ** 2)[None]
        return {"pixel_values": x, "input_ids": TOKENS}, {"x": x, "t": TOKENS, "i_img": patches, "i": at}
    if kind in ("llava", "gemma3", "paligemma"):
        x = torch.randn(4, size["N_chan"], size["Z"], size["Z"], dtype=torch.float64)
        tokens = TOKENS.clone()
        tokens[0, :9], tokens[1, 2:9] = 3, 3  # 16 placeholders for 4 images of 4 patches
        patches = torch.arange((kind == "llava") + (size["Z"] // size["Z_patch"]) ** 2)[None]
        inputs, given = {"pixel_values": x, "input_ids": tokens}, {"x": x, "t": tokens, "i_img": patches}
        if kind != "llava":  # adjacent images of Gemma 3 are one block; the prompt of PaliGemma has type 0
            block = tokens == 3 if kind == "gemma3" else (at < LENGTH - 2).expand(2, -1)
            inputs["token_type_ids"] = (block if kind == "gemma3" else ~block).long()
            given["blocks"] = block[:, None, :, None] & block[:, None, None, :]
        return inputs, given
    if kind == "qwen3_vl":  # 16 placeholders for 4 images of 2 by 2 tokens, with a token of text between two images
        merge, frames, patch = (size[name] for name in ("J_merge", "T_patch", "Z_patch"))
        x = torch.randn(4, size["N_chan"], frames, size["Z"], size["Z"], dtype=torch.float64)
        tokens = TOKENS.clone()
        tokens[:, :4], tokens[:, 5:] = 3, 3
        rows = x.unflatten(4, (-1, merge, patch)).unflatten(3, (-1, merge, patch))
        pixels = rows.permute(0, 3, 6, 4, 7, 1, 2, 5, 8).flatten(5).flatten(0, 4)
        grids = torch.tensor([[1, 2 * merge, 2 * merge]] * 4)
        inputs = {"input_ids": tokens, "pixel_values": pixels, "image_grid_thw": grids}
        inputs["mm_token_type_ids"] = (tokens == 3).long()
        # an image at 0, a token at 0 + 2, and an image at 3
        places = {"i_time": [0] * 4 + [2] + [3] * 4}
        places |= {"i_height": [0, 0, 1, 1, 2, 3, 3, 4, 4], "i_width": [0, 1, 0, 1, 2, 3, 4, 3, 4]}
        given = {name: torch.tensor([each] * 2) for name, each in places.items()}
        nearest = nearest_rows(2 * merge, math.isqrt(size["P_vis"]), merge)[0]
        return inputs, {"x": x, "t": tokens, "j": nearest, **given}
    if kind == "whisper":
        x = torch.randn(2, size["N_mel"], 2 * size["P_enc"], dtype=torch.float64)
        return {"input_features": x, "decoder_input_ids": TOKENS}, {
            **{"x": x, "t": TOKENS, "i_enc": torch.arange(size["P_enc"])[None], "i": at.expand(2, -1)}
        }
    if kind in ("t5", "mt5", "umt5", "t5gemma", "bart", "mbart", "m2m_100"):
        given = {"t_enc": READ, "t": TOKENS, "i_enc": torch.arange(SOURCE).expand(2, -1), "i": at}
        if kind in ("t5", "mt5", "umt5"):
            given |= {"d_enc": distances(SOURCE, 14, both=True), "d": distances(LENGTH, 14, both=False)}
        if kind == "m2m_100":  # numbers of positions start after the padding token
            towers = {"p": SOURCE, "p_1": LENGTH}
            given |= {name: sine_halves(2 + torch.arange(length), 24)[None] for name, length in towers.items()}
        if kind == "umt5":
            given |= {"encoder.d": given["d_enc"], "decoder.d": given["d"]}
        return {"input_ids": READ, "decoder_input_ids": TOKENS}, given
    given = {"t": TOKENS, "i": at}
    inputs: dict[str, Any] = {"input_ids": TOKENS}
    if kind in ("bert", "roberta", "xlm-roberta", "camembert", "electra", "albert"):
        inputs["token_type_ids"] = given["s"] = SEGMENTS
    if kind == "xglm":
        given["p"] = sine_halves(2 + torch.arange(LENGTH), 12)[None]
    if kind == "llama4_text":
        given["τ"] = temperatures(range(1, LENGTH + 1), theirs.config.floor_scale, theirs.config.attn_scale)
    if kind == "ministral3":
        ropes = theirs.config.rope_parameters
        scale, floor = (ropes[each] for each in ("llama_4_scaling_beta", "original_max_position_embeddings"))
        given["τ"] = temperatures(range(LENGTH), floor, scale)
    if kind in ("bloom", "mpt"):
        given["ρ"] = slopes(size["A"], LENGTH)
    return inputs, given


def kinds_of(config: Any) -> list[str]:
    """Return our names for layers of several kinds in one list."""
    config = config.decoder if config.model_type == "t5gemma" else config
    types = next(
        (
            getattr(config, each)
            for each in ("layer_types", "layers_block_type", "attention_layers")
            if getattr(config, each, None)
        ),
        [],
    )
    kinds = [KINDS.get(each, each) for each in types]
    if config.model_type == "sam_vision_model":
        places = range(config.num_hidden_layers)
        kinds = ["global_layers" if each in config.global_attn_indexes else "local_layers" for each in places]
    if config.model_type == "modernbert":
        kinds[0] = "first_layer"
    if config.model_type == "gemma3n_text":
        first = len(kinds) - config.num_kv_shared_layers
        kinds[first:] = [each.replace("_layers", "_reusing_layers") for each in kinds[first:]]
    if config.model_type == "smollm3":
        kinds = ["rope_layers" if each else "nope_layers" for each in config.no_rope_layers]
    if config.model_type == "llama4_text":
        kinds = [each if layer in config.moe_layers else "dense_layers" for layer, each in enumerate(kinds)]
    if config.model_type == "mimo_v2_flash":
        networks = zip(config.mlp_layer_types, kinds, strict=True)
        kinds = ["dense_layers" if network == "dense" else kind for network, kind in networks]
    if config.model_type == "lfm2_moe":
        kinds[: config.num_dense_layers] = ["dense_layers"] * config.num_dense_layers
    if config.model_type in LINEAR:
        kinds = [{"ssm_layers": "linear_layers", "global_layers": "attention_layers"}[each] for each in kinds]
    if config.model_type == "recurrent_gemma":
        kinds = ["recurrent_layers" if each == "ssm_layers" else "attention_layers" for each in kinds]
    if config.model_type == "kimi_linear":
        kinds[: config.mlp_layer_types.count("dense")] = ["dense_layers"] * config.mlp_layer_types.count("dense")
    if config.model_type == "jamba":
        experts = config.layers_num_experts
        kinds = ["moe_layers" if experts[layer] > 1 else each for layer, each in enumerate(kinds)]
    if config.model_type in ("nemotron_h", "lfm2", "lfm2_moe", "bamba", "granitemoehybrid", "jamba", "zamba2"):
        kinds = ["attention_layers" if each == "global_layers" else each for each in kinds]
    return kinds


def torch_path(path: str, layers: str, size: Mapping[str, int]) -> str:
    """Torch has all kinds of layers in one list, and ALBERT's layers in groups of equal size."""
    path = re.sub(r"(^|\.)(?!conv_)\w+_layers?(?=\.\d)", rf"\1{layers}", path)
    if found := re.search(r"albert_layer_groups\.(\d+)", path):
        group = int(found[1]) * size["N_group"] // size["L"]
        path = path.replace(found[0], f"albert_layer_groups.{group}.albert_layers.0")
    return path


def arranged(kind: str, case: Computation, name: str, weight: Tensor, size: Mapping[str, int]) -> Tensor:
    """Return the rows of a fused matrix in the order of the lines: all queries, all keys, all values; gate, then up."""
    if case.by_head and ("query_key_value" in name or "c_attn" in name):
        groups = case.groups or size.get("G", size["A"])
        group = size["A"] // groups
        rows = weight.unflatten(0, (groups, group + 2, -1))
        return torch.cat((rows[:, :group].flatten(0, 2), rows[:, group].flatten(0, 1), rows[:, -1].flatten(0, 1)))
    if kind in GATED and "q_proj" in name and "self_attn" in name:  # the query and the gate of each head
        return weight.unflatten(0, (size["A"], 2, -1)).transpose(0, 1).flatten(0, 2)
    if "in_proj_qkvz" in name or "in_proj_ba" in name:  # the pieces of each head of queries and keys
        shared = size["A_v_lin"] // size["A_k_lin"]
        widths = [size["D_k_lin"]] * 2 + [shared * size["D_v_lin"]] * 2 if "qkvz" in name else [shared, shared]
        pieces = weight.unflatten(0, (size["A_k_lin"], -1)).split(widths, 1)
        return torch.cat([piece.flatten(0, 1) for piece in pieces])
    if kind == "codegen" and "qkv_proj" in name:  # for each of four devices, its queries, values and keys
        q, v, k = weight.unflatten(0, (4, 3, -1)).unbind(1)
        return torch.cat([each.flatten(0, 1) for each in (q, k, v)])
    if name.endswith("pos_embed"):  # of rows and columns of patches
        return weight.flatten(1, 2)
    if name.endswith("mm_input_projection_weight"):
        return weight.T
    if kind == "llama4_text" and "experts." in name:
        return weight.transpose(1, 2)
    if kind == "gpt_oss" and "experts." in name:
        weight = weight if "bias" in name else weight.transpose(1, 2)
        return torch.cat((weight[:, ::2], weight[:, 1::2]), 1) if "gate_up" in name else weight
    return weight


def _built(name: str) -> nn.Module:
    """Modules without a config, with sizes E=24, A=3, H=7 and 2 layers, or 1 for an encoder."""
    towers = {"d_model": 24, "nhead": 3, "dim_feedforward": 7, "batch_first": True, "dropout": 0.0}
    match name:
        case "transformer-encoder-layer":
            return nn.TransformerEncoderLayer(**towers)
        case "transformer-decoder-layer":
            return nn.TransformerDecoderLayer(**towers)
        case "transformer":
            return nn.Transformer(**towers, num_encoder_layers=1, num_decoder_layers=2)
        case "embedded":
            return EmbeddedTransformer(29, **towers, num_encoder_layers=1, num_decoder_layers=2)
        case "gopher":
            return Gopher(29, 24, 7, 2, 3)
        case "palm":
            return PaLM(29, 24, 7, 2, 3, 10)
        case "rwkv7":
            return RWKV7ForCausalLM(29, 24, num_hidden_layers=3, head_dim=8, intermediate_size=7, **RANKS)
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name",
    ["transformer-encoder-layer", "transformer-decoder-layer", "transformer", "embedded", "gopher", "palm", "rwkv7"],
)
def test_computed_lines_match_modules_without_a_config(name: str) -> None:
    """Torch's modules, and two independent implementations after the papers: Rae et al. 2021, Chowdhery et al. 2022;
    and RWKV-7.
    """
    embedded = name == "embedded"
    part = architecture("transformer", embeddings=True) if embedded else architecture(name)
    theirs = filled(_built(name))
    known = {"V": 29, "E": 24, "A": 3, "H": 7, "L": 2, "L_enc": 1, "L_dec": 2, "D": 8 if name != "palm" else 10}
    if name == "rwkv7":
        known |= {"L": 3, "D_lin": 8, "R_w": 4, "R_a": 5, "R_v": 6, "R_g": 11}
    sizes = {SYMBOLS[letter]: number for letter, number in (known | RUN).items()}
    x, m = torch.randn(2, LENGTH, 24, dtype=torch.float64), torch.randn(2, SOURCE, 24, dtype=torch.float64)
    unseen = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    given: dict[str, Tensor]
    inputs: tuple[Tensor, ...]
    facts: dict[str, Any] = {"tgt_mask": unseen} if name in ("transformer", "transformer-decoder-layer") else {}
    match name:
        case "transformer-encoder-layer":
            given, inputs = {"x": x}, (x,)
        case "transformer-decoder-layer":
            given, inputs = {"x": x, "m": m}, (x, m)
        case "transformer":
            given, inputs = {"x": m, "m": x}, (m, x)
        case "embedded":
            given, inputs = {"t_enc": READ, "t": TOKENS}, (READ, TOKENS)
        case _:
            given, inputs = {"t": TOKENS}, (TOKENS,)

    def masked(source: Tensor, target: Tensor) -> Tensor:  # training is left to the user
        return theirs.head(theirs.transformer(theirs.embed(source), theirs.embed(target), tgt_mask=unseen))

    run = masked if embedded else theirs
    places = torch.arange(LENGTH).flip(0) if name == "gopher" else torch.arange(SOURCE)  # distances or positions
    given |= {"p": sines(places, 24)[None], "θ": angles(10, 1e4, LENGTH)}
    said = words(torch.finfo(torch.float64).eps if name == "gopher" else 1e-5, shift=shift)
    whose = Class(theirs, sizes, said, given)
    if name == "rwkv7":
        said |= {"wkv": wkv(8)} | {f"{each}_group": by_group(words(8e-5)[each], 3) for each in ("mean", "std")}
        whose.kinds, whose.factors = ["first_layer", *2 * ["later_layers"]], {"attn": (-math.exp(-0.5),)}
        whose.path = lambda path: torch_path(path, "layers", {})
    with torch.no_grad():
        expected = whose.watched(lambda: run(*inputs, **facts))
        given |= {"ν": whose.gave["layers.0.attn.v_proj"][0]} if name == "rwkv7" else {}
        found = Reader(whose, part.ledger.apart.root, "", given).run()
    assert_same(found, expected)
