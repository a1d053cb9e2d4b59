"""The reach of a trace: parts of configs, numbers in names, experts in lists, images, and layer patterns.

The weights or products of a model are torch's own count, or computed by hand in the comment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from click.testing import CliRunner
from sympy import expand, floor
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import ConfigError, SizeError, WitnessError
from symformer.witness.transformers_classes import of_config

from .samples import sampled

Config = dict[str, Any]


def written(config: Config, folder: Path) -> str:
    place = folder / "config.json"
    place.write_text(json.dumps(config))
    return str(place)


def stored(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


# Llama 4 is text and images; its causal class is built from the text part alone, as is the class of AutoModel.
TEXT = {
    "model_type": "llama4_text",
    "vocab_size": 97,
    "hidden_size": 40,
    "intermediate_size": 26,
    "intermediate_size_mlp": 34,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "num_local_experts": 3,
    "pad_token_id": 0,
}
WHOLE = {"model_type": "llama4", "text_config": TEXT, "vision_config": {"model_type": "llama4_vision_model"}}


def test_a_class_built_from_a_part_of_a_config_is_traced_from_that_part(tmp_path: Path) -> None:
    model = sf.model(written(WHOLE, tmp_path))
    config = transformers.AutoConfig.for_model(**WHOLE)
    with torch.device("meta"):
        theirs = transformers.AutoModelForCausalLM.from_config(config)
    assert type(theirs).__name__ == "Llama4ForCausalLM"
    assert model.params.value() == stored(theirs) > 0
    said = "no 'architectures' field, so read as Llama4ForCausalLM, built from text_config"
    assert said in model.provenance.assumed


@pytest.mark.parametrize("text", [None, [40]])
def test_a_missing_part_is_refused(text: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="read as Llama4ForCausalLM, which is built from text_config, but "):
        sf.trace(written({**WHOLE, "text_config": text}, tmp_path))


class Video(nn.Module):
    """A projection of patches in time and space, with the sizes of a published model."""

    def __init__(self, E: int, channels: int, frames: int, patch: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(E, channels, frames, patch, patch))


def test_a_tensor_with_many_sizes_does_not_overflow() -> None:
    found = sf.trace(Video, {"E": 1152, "channels": 3, "frames": 2, "patch": 16})
    assert found.model.params.equals("E*channels*frames*patch**2")
    assert not found.pinned
    assert len(found.checked) == 3


def recurrent(E: int, H: int, L: int) -> nn.Module:
    return nn.LSTM(E, H, L)


class Numbered(nn.Module):
    """Layers that differ by a number inside their names, as in torchvision."""

    def __init__(self, E: int, H: int, L: int) -> None:
        super().__init__()
        self.layers = nn.Sequential()
        for place in range(L):
            self.layers.add_module(f"encoder_layer_{place}", nn.Sequential(nn.Linear(E, H), nn.Linear(H, E)))


class Experts(nn.Module):
    """A mixture whose experts are separate modules: their number is a count, and the width of the router."""

    def __init__(self, E: int, M: int, X: int, L: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.ModuleList([nn.Linear(E, X, bias=False), nn.ModuleList(nn.Linear(E, M) for _ in range(X))])
            for _ in range(L)
        )


FACTORIES: dict[str, tuple[Any, dict[str, int], str]] = {
    # four gates of H: from E in the first layer and from H in later layers, from the previous H, and two biases; L - 1
    # later layers
    "LSTM": (recurrent, {"E": 24, "H": 10, "L": 3}, "4*H*(E + H + 2) + (L - 1)*4*H*(2*H + 2)"),
    "numbered": (Numbered, {"E": 24, "H": 10, "L": 3}, "L*(2*E*H + E + H)"),
    "experts": (Experts, {"E": 24, "M": 10, "X": 5, "L": 3}, "L*(E*X + X*(E*M + M))"),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_every_size_of_a_factory_is_a_symbol(name: str) -> None:
    build, sizes, expected = FACTORIES[name]
    found = sf.trace(build, sizes)
    assert found.model.params.equals(expected), found.model.params
    assert not found.pinned
    assert found.symbols.keys() == sizes.keys()
    assert found.model.params.value(sizes) == stored(build(**sizes)) > 0


class Beside(nn.Module):
    """Names that would be equal without their numbers."""

    def __init__(self, E: int, L: int) -> None:
        super().__init__()
        for place in range(L):
            self.add_module(f"layer_{place}", nn.Linear(E, E))
            self.add_module(f"layer{place}", nn.Linear(E, 3 * E))


def test_names_that_differ_only_in_their_numbers_are_refused() -> None:
    with pytest.raises(WitnessError, match="two parameter names that differ in more than a copy number"):
        sf.trace(Beside, {"E": 24, "L": 3})


@pytest.mark.parametrize("quantity", sampled(2, ["flops", "train-flops"]))
def test_traced_and_composed_image_models_have_equal_flops(quantity: str) -> None:
    theirs = sf.trace("hf:vit", head="image").for_quantity(quantity).model.formula(quantity)
    ours = sf.architecture("vit", head="classifier").formula(quantity)
    assert theirs.expr.has(floor)  # an image of whole patches, as ours requires
    assert expand(theirs.expr.replace(floor, lambda whole: whole) - ours.expr) == 0
    assert theirs.expr != 0


def test_a_model_for_images_of_any_shape_states_that_it_ran_without_images() -> None:
    """Image patches are not text tokens, and are never counted as such."""
    found = sf.model("hf:qwen2_vl").formula("flops")
    lines = CliRunner().invoke(cli, ["show", "hf:qwen2_vl", "-q", "flops"]).stdout
    assert "run without pixel_values, pixel_values_videos: operations on these inputs are not counted" in lines
    assert not [size for size in map(str, found.symbols) if "vision" in size]
    assert {"B", "S", "V"} <= {*map(str, found.symbols)}


def test_a_model_for_images_of_any_size_is_refused() -> None:
    with pytest.raises(WitnessError, match="the config has no image_size, so the size of its images is unknown"):
        sf.trace("hf:resnet", head="image").for_quantity("flops")


class Patterned(nn.Module):
    """The first two layers have a matrix, and every third one, starting with the third, has a wider one instead."""

    def __init__(self, E: int, H: int, L: int) -> None:
        super().__init__()
        wide = [place >= 2 and place % 3 == 2 for place in range(L)]
        self.layers = nn.ModuleList(nn.Linear(E, H if each else E, bias=False) for each in wide)


@pytest.mark.parametrize("depth", [7, 43])
def test_layers_in_a_pattern_are_counted_at_any_depth(depth: int) -> None:
    found = sf.trace(Patterned, {"E": 24, "H": 10, "L": depth})
    # the layers 2, 5, 8, ... are the wide ones, a third of all
    assert found.model.params.equals("L*E**2 + floor(L/3)*(E*H - E**2)"), found.model.params
    assert not found.conditions
    for L in (5, 6, 7, 41):
        sizes = {"E": 9, "H": 4, "L": L}
        assert found.model.params.value(sizes) == stored(Patterned(**sizes))


# Layers alternate between linear and full attention, and 43 layers are not whole pairs.
TURNS: Config = {
    "model_type": "minimax",
    "architectures": ["MiniMaxForCausalLM"],
    "vocab_size": 97,
    "hidden_size": 24,
    "intermediate_size": 26,
    "num_hidden_layers": 7,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "num_local_experts": 5,
    "head_dim": 4,
}


def test_a_depth_that_is_not_a_multiple_of_the_pattern_is_accepted(tmp_path: Path) -> None:
    model = sf.trace(written(TURNS, tmp_path)).model
    for depth in (7, 10, 43):
        fields = {name: value for name, value in {**TURNS, "num_hidden_layers": depth}.items() if name != "model_type"}
        with torch.device("meta"):
            theirs = stored(transformers.MiniMaxForCausalLM(transformers.MiniMaxConfig(**fields)))
        assert model.params.value(V=97, E=24, H=26, L=depth, A=6, G=2, X=5, D=4) == theirs


# DINOv2 reads 25 patches of 14 by 14 and a class token; all sizes differ.
PICTURES: Config = {
    "model_type": "dinov2",
    "architectures": ["Dinov2Model"],
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "mlp_ratio": 4,
    "image_size": 70,
    "patch_size": 14,
    "num_channels": 3,
}


def test_flops_of_an_image_model_config_match_torch(tmp_path: Path) -> None:
    model = sf.model(written(PICTURES, tmp_path))
    fields = {name: value for name, value in PICTURES.items() if name != "model_type"}
    theirs = transformers.Dinov2Model(transformers.Dinov2Config(**fields)).eval()
    theirs.config._attn_implementation = "eager"
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        theirs(torch.zeros(5, 3, 70, 70))
    assert model.formula("flops").value(B=5) == counter.get_total_flops() > 0


def test_a_default_that_cannot_be_built_points_to_a_config_that_can(tmp_path: Path) -> None:
    with pytest.raises(WitnessError, match=r"NemotronForCausalLM: .*; a published config\.json may set fields"):
        sf.trace("hf:nemotron")
    fields = {"vocab_size": 97, "hidden_size": 24, "intermediate_size": 57, "num_hidden_layers": 3, "head_dim": 10}
    config = {**fields, "num_attention_heads": 6, "num_key_value_heads": 2}
    found = sf.trace(written({"model_type": "nemotron", **config}, tmp_path))
    with torch.device("meta"):
        theirs = stored(transformers.NemotronForCausalLM(transformers.NemotronConfig(**config)))
    assert found.model.params.value(V=97, E=24, H=57, L=3, A=6, G=2, D=10) == theirs > 0


def test_fields_set_by_a_composite_class_are_kept_at_other_sizes() -> None:
    """The decoder of an encoder-decoder attends to the encoder; a BERT alone attends only to itself."""
    few = {"model_type": "bert", "num_hidden_layers": 2}
    parts = {"encoder": few, "decoder": {**few, "is_decoder": True, "add_cross_attention": True}}
    found = sf.trace({"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"], **parts})
    config = transformers.EncoderDecoderConfig(
        encoder={"model_type": "bert", "hidden_size": 24, "num_attention_heads": 3, "vocab_size": 97},
        decoder={
            "model_type": "bert",
            "hidden_size": 24,
            "num_attention_heads": 3,
            "vocab_size": 89,
            "is_decoder": True,
            "add_cross_attention": True,
        },
    )
    with torch.device("meta"):
        theirs = stored(transformers.EncoderDecoderModel(config))
    numbers: dict[str, int] = {}
    for letter, place in found.symbols.items():
        part, _, field = place.partition(".")
        numbers[letter] = getattr(getattr(config, part), field)
    assert found.model.params.value(**numbers) == theirs > 0


class Sectioned(nn.Module):
    """Heads with a width fixed in the code, as required by rotary positions in separate sections."""

    def __init__(self, E: int, A: int, H: int) -> None:
        super().__init__()
        if E != 6 * A:
            raise ValueError(f"{E} is not {A} heads of 6")
        self.query = nn.Linear(E, E)
        self.gate = nn.Linear(E, A)
        self.up = nn.Linear(E, H, bias=False)


def test_a_width_derived_from_the_heads_changes_with_them() -> None:
    """By hand: E = 6A, so 36A² + 6A for the queries, 6A² + A for the gate and 6AH."""
    found = sf.trace(Sectioned, {"E": 24, "A": 4, "H": 10})
    assert found.model.params.equals("42*A**2 + 6*A*H + 7*A"), found.model.params
    with pytest.raises(SizeError, match="E=24 is not 6A=30"):
        found.model.params.value(E=24, A=5, H=7)


def test_a_class_that_modifies_its_config_does_not_change_the_file() -> None:
    """Step-3.7 writes the config of a part into the given part."""
    config = {"model_type": "step3p7", "architectures": ["Step3p7ForConditionalGeneration"]}
    source = of_config(config, "config.json")
    fields = json.loads(source.config({}).to_json_string(use_diff=False))
    before = json.dumps(fields)
    source.config(fields)
    assert json.dumps(fields) == before
