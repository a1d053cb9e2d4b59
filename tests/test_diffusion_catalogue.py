"""Configs of diffusers answered from the catalogue, compared with the classes of diffusers and published totals."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from click.testing import CliRunner

from symformer.catalogue import diffusers_models
from symformer.catalogue.diffusers_models import Structure
from symformer.catalogue.record import stored_model
from symformer.commands.cli import cli
from symformer.configs.config_source import open_config
from symformer.language.errors import RuleError, UnreadError
from symformer.models.model import Model
from symformer.targets.resolution import model
from symformer.witness import trace_diffusion

from .samples import sampled

PUBLISHED: dict[str, dict[str, Any]] = {
    each["of"]: each["config"]
    for each in json.loads((Path(__file__).parent / "diffusion_configs.json").read_text("utf-8"))
}
STRUCTURES = [
    (name, number)
    for name in diffusers_models.classes()
    for number in range(len(diffusers_models.find_class(name).structures))  # type: ignore[union-attr]
]
FLUX = PUBLISHED["black-forest-labs/FLUX.1-dev/transformer"]
UNET = PUBLISHED["runwayml/stable-diffusion-v1-5/unet"]
SD3 = PUBLISHED["stabilityai/stable-diffusion-3-medium-diffusers/transformer"]
CHROMA = PUBLISHED["lodestones/Chroma1-HD/transformer"]
BUILT_IN = ("FluxTransformer2DModel", "SD3Transformer2DModel")
SMALL = (2, 3, 5, 7)  # layers in a list, which build quickly


def structure(name: str, number: int) -> tuple[Structure, dict[str, Any]]:
    kept = diffusers_models.find_class(name)
    assert kept is not None
    found = kept.structures[number]
    return found, {"_class_name": name, **found.fields, **found.sizes}


def stored(config: dict[str, Any]) -> int:
    """Return the parameters of the diffusers class."""
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # diffusers uses its own deprecated features
        made = getattr(diffusers, config["_class_name"]).from_config(dict(config))
    return sum(each.numel() for each in made.parameters())


def in_catalogue(config: dict[str, Any]) -> Model:
    """Return the model of the catalogue, also for a class that a built-in architecture reads."""
    if config["_class_name"] not in BUILT_IN:
        return model(config)
    kept = diffusers_models.find(config, "config.json")
    assert kept is not None
    return stored_model("config.json", kept)


def answered(config: dict[str, Any]) -> int:
    found = in_catalogue(config)
    assert found.provenance.by == "catalogue"
    value = found.params.value()
    assert isinstance(value, int)
    return value


def otherwise(sizes: dict[str, int]) -> dict[str, int]:
    """Return other sizes: few layers, and all others times different numbers, preserving divisibility."""
    layers = iter(SMALL)
    return {
        name: next(layers) if "layers" in name else size * (place + 2)
        for place, (name, size) in enumerate(sizes.items())
    }


@pytest.mark.parametrize(("name", "number"), sampled(3, STRUCTURES))
def test_structure_matches_its_class_at_other_sizes(name: str, number: int) -> None:
    found, config = structure(name, number)
    other = {**config, **otherwise(dict(found.sizes))}
    if listed := config.get("dual_attention_layers"):
        other["num_layers"] = len(listed) + 4  # the listed layers, and more
    assert other != config
    assert answered(other) == stored(other) > 0


# The sums over the tensors of the checkpoints, as stated in their repositories or papers.
@pytest.mark.parametrize(
    ("of", "total"),
    [
        ("black-forest-labs/FLUX.1-dev/transformer", 11_901_408_320),
        ("stabilityai/stable-diffusion-xl-base-1.0/unet", 2_567_463_684),
        ("runwayml/stable-diffusion-v1-5/unet", 859_520_964),
        ("runwayml/stable-diffusion-v1-5/vae", 83_653_863),
        ("Qwen/Qwen-Image/transformer", 20_430_401_088),  # 9 shards of 40.86 GB, in bf16
    ],
)
def test_a_published_config_has_its_published_total(of: str, total: int) -> None:
    assert answered(PUBLISHED[of]) == total


@pytest.mark.parametrize("of", PUBLISHED)
def test_every_published_config_is_answered(of: str) -> None:
    assert answered(PUBLISHED[of]) > 1_000_000


@pytest.mark.parametrize("name", diffusers_models.classes())
def test_published_config_of_each_class_matches_the_class(name: str) -> None:
    kept = diffusers_models.find_class(name)
    assert kept is not None
    config = PUBLISHED[kept.structures[-1].sources[-1]]
    assert answered(config) == stored(config)


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (FLUX, "axes_dims_rope", [16, 48, 64]),
        (FLUX, "guidance_embeds", 1),  # a number that is not a switch
        (FLUX, "out_channels", 64),
        (FLUX, "num_layers", True),
        (FLUX, "num_layers", 0),
        (FLUX, "num_layers", 19.0),
        (UNET, "block_out_channels", [320, 640, 1280, 640]),
        (UNET, "use_linear_projection", True),
        (UNET, "cross_attention_dim", 640),  # a size fixed by the trace
        (SD3, "qk_norm", "layer_norm"),
    ],
)
def test_a_config_with_another_field_is_not_answered(config: dict[str, Any], field: str, value: Any) -> None:
    assert diffusers_models.find(config, "config.json") is not None
    other = {**config, field: value}
    assert diffusers_models.find(other, "config.json") is None
    assert field in diffusers_models.refusal_reason(other)
    assert json.dumps(value) in diffusers_models.refusal_reason(other)


def test_absent_fields_mean_their_default_and_private_fields_are_ignored() -> None:
    absent = {name: value for name, value in FLUX.items() if name not in ("patch_size", "num_single_layers")}
    given = {**FLUX, "axes_dims_rope": [16, 56, 56], "out_channels": None, "_name_or_path": "here", "_moe": 8}
    assert answered(absent) == answered(given) == 11_901_408_320


def test_the_old_name_of_a_class_is_read() -> None:
    config = PUBLISHED["PixArt-alpha/PixArt-Sigma-XL-2-512-MS/transformer"]
    assert config["norm_type"] == "ada_norm_single"
    assert answered({**config, "_class_name": "Transformer2DModel"}) == stored(config)


def test_class_outside_the_catalogue_is_traced() -> None:
    config = {"_class_name": "PriorTransformer", "num_layers": 2}
    assert diffusers_models.find(config, "config.json") is None
    assert (
        diffusers_models.refusal_reason(config) == "the catalogue does not have the diffusers class 'PriorTransformer'"
    )


def test_notes_are_those_of_a_trace() -> None:
    config = {**PUBLISHED["stabilityai/stable-diffusion-xl-base-1.0/vae"], "no_such_field": 3}
    traced = trace_diffusion("config.json", open_config(config).config).model
    found = model(config)
    assert found.provenance.notes == traced.provenance.notes
    assert len(found.provenance.notes) == 2
    assert found.params.value() == traced.params.value() == stored(config)
    assert found.title == traced.title
    reading = found.provenance.reading
    assert reading is not None
    assert sorted(reading.versions) == ["diffusers", "torch"]


def test_buffer_elements_match_the_published_sizes() -> None:
    # positions: 192 * 192 positions of 24 * 64 channels
    assert f"a checkpoint also stores {192 * 192 * 24 * 64:,} buffer elements" in in_catalogue(SD3).provenance.notes[-1]
    narrower = in_catalogue({**SD3, "num_attention_heads": 12})
    assert narrower.provenance.notes[-1] == "a checkpoint also stores buffers, which are not parameters"


def test_a_field_of_an_adapter_is_refused() -> None:
    with pytest.raises(UnreadError, match="has lora_rank=4, which FluxTransformer2DModel does not read"):
        model({**FLUX, "lora_rank": 4})


@pytest.mark.parametrize("quantity", ["flops", "activations", "inference-memory", "decode-flops"])
def test_only_the_parameters_are_known(quantity: str) -> None:
    sentence = f"only params is supported for diffusers models, not {quantity} of UNet2DConditionModel"
    with pytest.raises(RuleError, match=sentence):
        model(UNET).formula(quantity)


@pytest.mark.exhaustive
def test_without_torch_a_published_config_is_answered_and_another_names_the_field(tmp_path: Path) -> None:
    (tmp_path / "chroma.json").write_text(json.dumps(CHROMA))
    (tmp_path / "other.json").write_text(json.dumps({**CHROMA, "out_channels": 32}))
    code = (
        "import sys; sys.modules['torch'] = sys.modules['diffusers'] = None\n"
        "from symformer.commands.cli import cli\n"
        "cli(['show', sys.argv[1]], prog_name='symformer')"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
            env={"SYMFORMER_CACHE": "", "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        for name in ("chroma.json", "other.json")
    ]
    assert runs[0].returncode == 0, runs[0].stderr
    assert f"{stored(CHROMA):,}" in runs[0].stdout
    assert (runs[1].returncode, runs[1].stdout) == (2, "")
    sentence = (
        "the catalogue has ChromaTransformer2DModel with out_channels=null, but the config has 32; tracing it also"
    )
    assert sentence in " ".join(runs[1].stderr.split())


def test_catalogue_file_states_its_class_and_source(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(UNET))
    shown = CliRunner().invoke(cli, ["show", str(path)], prog_name="symformer")
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.stdout.split())
    assert "UNet2DConditionModel of diffusers" in words
    assert "859,520,964" in words
    assert "from the catalogue" in words


def test_the_data_are_small() -> None:
    assert sum(place.stat().st_size for place in diffusers_models.FOLDER.iterdir()) < 300_000
