"""Targets that are Python objects: a mapping, a path, a config of transformers; other objects are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy
import pytest
import torch
import transformers
from torch import nn

import symformer as sf
from symformer.language.errors import ConfigError, OptionError, RuleError, SizeError, TargetError, WitnessError
from symformer.language.target import TargetKind, parse

pytestmark = pytest.mark.usefixtures("arcee_not_built_in")

XL = {"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25}
GPT2_XL = 1_557_611_200  # as in its checkpoint
CONFIGS: dict[str, Callable[[], Any]] = {
    "composed": lambda: transformers.GPT2Config(n_layer=3, n_embd=12, n_head=2, vocab_size=101, n_positions=32),
    "untied": lambda: transformers.LlamaConfig(
        vocab_size=103, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=3,
    ),
    "from the catalogue": lambda: transformers.ArceeConfig(
        vocab_size=107, hidden_size=20, intermediate_size=36, num_hidden_layers=3, num_attention_heads=5,
        num_key_value_heads=1, head_dim=4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType])
def test_a_mapping_is_read_as_a_config_json(kind: Callable[[Any], Mapping[str, Any]], tmp_path: Path) -> None:
    given = kind(XL)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(XL))
    assert sf.model(given).params.value() == sf.from_config(given).params.value() == GPT2_XL
    assert sf.model(given).provenance.assumed == sf.model(str(path)).provenance.assumed
    untied = GPT2_XL + 50257 * 1600  # a second table of V*E
    assert sf.model(given, tied=False).params.value() == sf.from_config(given, tied=False).params.value() == untied
    assert dict(given) == XL


def test_a_path_object_is_a_file_or_a_folder_and_never_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").mkdir()
    for name in ("gpt2/config.json", "config", "hf:x", "a:b", "component:mlp"):
        Path(name).write_text(json.dumps(XL))
        assert parse(Path(name)).kind is TargetKind.CONFIG
        assert sf.model(Path(name)).params.value() == sf.from_config(Path(name)).params.value() == GPT2_XL
    assert sf.model(Path("gpt2")).params.value() == GPT2_XL  # its config.json, not the preset
    assert sf.model("gpt2").params.value() == 124_439_808
    assert sf.model("gpt2").params.value(Path("config")) == GPT2_XL
    with pytest.raises(ConfigError, match=r"\./openai/gpt2 does not exist"):
        sf.model(Path("openai/gpt2"))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_of_transformers_gives_what_torch_stores(name: str) -> None:
    config = CONFIGS[name]()
    with torch.device("meta"):
        built = transformers.AutoModelForCausalLM.from_config(config)
    stored = sum(each.numel() for each in built.parameters())
    assert stored > 1000
    assert sf.model(config).params.value() == stored
    assert sf.model(json.loads(config.to_json_string())).params.value() == stored


def test_nested_configs_and_numbers_of_other_libraries_are_accepted() -> None:
    parts = {"text_config": transformers.CLIPTextConfig(), "vision_config": transformers.CLIPVisionConfig()}
    clip = sf.model({"model_type": "clip", **parts})
    assert clip.params.value() == sf.model(transformers.CLIPConfig()).params.value() == 151_277_313  # ViT-B/32
    odd = {**XL, "n_layer": numpy.int64(48), "n_embd": torch.tensor(1600), "dtype": torch.float16}
    assert sf.model(odd).params.value() == GPT2_XL
    named = {**XL, "architectures": ("GPT2LMHeadModel",)}  # a tuple is a list
    assert sf.model(named).params.value() == GPT2_XL


def test_every_function_accepts_config_objects() -> None:
    config = transformers.GPT2Config(n_layer=48, n_embd=1600, n_head=25)
    for given in (XL, config):
        assert sf.solve(given, GPT2_XL, unknowns="L").table()["L"] == [48]
        assert sf.sweep(given, {"L": [12, 48]}).table()["params"].tolist()[1] == GPT2_XL
        assert sf.compare(given, "gpt2-xl").difference == 0
        assert sf.over(given, "params", "params").value == 1
        assert sf.check("12LE^2 + 13LE + VE + PE + 2E", given).verdict_text == "equal"
        assert "1,557,611,200" in repr(sf.explain(given, "1.5B"))
        assert sf.sensitivity(given).model.params.value() == GPT2_XL
    assert sf.model("gpt2").params.value(config) == GPT2_XL


def test_no_torch_is_imported_for_a_mapping(tmp_path: Path) -> None:
    code = (
        f"import sys, symformer; value = symformer.model({XL!r}).params.value();"
        "print(value, 'torch' in sys.modules, 'transformers' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout == f"{GPT2_XL} False False\n"


with torch.device("meta"):
    MODEL = transformers.GPT2LMHeadModel(CONFIGS["composed"]())
    LINEAR = nn.Linear(3, 4)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, r"None \(NoneType\) is not a target; pass a name, a path"),
        (7, r"7 \(int\) is not a target"),
        (b"gpt2", r"b'gpt2' \(bytes\) is not a target"),
        (["gpt2"], r"\['gpt2'\] \(list\) is not a target"),
        (dict, r"dict is a class, but not of torch modules; pass a name, a path"),
        (transformers.GPT2LMHeadModel, r"is built from a config; pass the config, such as GPT2Config\(\)"),
        (transformers.GPT2Config, r"GPT2Config is a config class; pass an instance, such as GPT2Config\(\)"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_error_for_an_invalid_target_states_what_to_pass(given: Any, sentence: str) -> None:
    for call in (sf.model, sf.from_config, sf.sensitivity, sf.verify, lambda each: sf.compare("gpt2", each)):
        with pytest.raises(TargetError, match=sentence):
            call(given)


def test_invalid_objects_are_refused_in_one_sentence() -> None:
    for call in (sf.architecture, sf.component):
        with pytest.raises(TargetError, match="is not the name of a"):
            call(XL)  # type: ignore[arg-type]
    with pytest.raises(
        WitnessError, match="Linear is already a torch module; pass a function that builds it from sizes"
    ):
        sf.trace(LINEAR, {"E": 8})
    with pytest.raises(WitnessError, match="is 7, which is not callable"):
        sf.trace(7)  # type: ignore[arg-type]
    with pytest.raises(SizeError, match="does not name sizes of gpt2"):
        sf.model("gpt2").params.value(7)


class Own(nn.Module):
    """Three layers and a tied weight: 5*7 + 7 + 3*(7*7 + 7) + 11 + 7 = 228 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(5, 7)
        self.b = nn.ModuleList(nn.Linear(7, 7) for _ in range(3))
        self.c = nn.Parameter(torch.empty(11))
        self.tied = nn.Linear(5, 7)
        self.tied.weight = self.a.weight


class Sized(nn.Module):
    def __init__(self, width: int, depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))


with torch.device("meta"):
    OWN = Own()


def test_a_module_of_transformers_is_the_model_of_its_config() -> None:
    stored = sum(each.numel() for each in MODEL.parameters())
    assert sf.model(MODEL).params.value() == sf.from_config(MODEL).params.value() == stored == 7272
    assert sf.model(MODEL).params == sf.model("gpt2").params
    assert sf.model("gpt2").params.value(MODEL) == stored
    assert sf.sweep(MODEL, {"L": [3]}).table()["params"].tolist() == [stored]
    changed = transformers.GPT2LMHeadModel(CONFIGS["composed"]())
    changed.transformer.h[0].mlp = nn.Identity()
    with pytest.raises(
        WitnessError, match="6,060 parameters, but the model of its config has 7,272: the module was ch"
    ):
        sf.model(changed)  # without 12*48 + 48 + 48*12 + 12 = 1,212 of one MLP


@pytest.mark.exhaustive
def test_any_other_module_has_fixed_sizes_and_exact_rows(tmp_path: Path) -> None:
    model = sf.model(OWN)
    assert model.params.value() == int(model.params) == 228 == sum(each.numel() for each in OWN.parameters())
    rows = {row.path: (int(row.count), int(row.each)) for row in model.params.rows}
    assert rows == {"weights": (1, 11), "a": (1, 42), "b.*": (3, 56), "tied": (1, 7)}
    assert (model.title, model.id) == ("Own", "tests.test_objects-Own")
    assert model.target == "tests.test_objects:Own"
    found = subprocess.run(
        [sys.executable, "-m", "symformer", "derive", model.target, "-o", str(tmp_path / "own.md")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    written = (tmp_path / "own.md").read_text()
    assert written.startswith("# Own: parameters in closed form")
    assert r"11 + 42 + 3 \cdot 56 + 7" in written
    assert "Every row is a parameter of the module Own itself, as torch" in written
    with pytest.raises(RuleError, match="with fixed sizes, so only params is known, not flops; pass a function of si"):
        model.formula("flops")
    with pytest.raises(
        OptionError, match=r"E is not an option of tests\.test_objects:Own, a module whose sizes are fix"
    ):
        sf.model(OWN, E=3)
    with pytest.raises(WitnessError, match="is a UninitializedParameter, whose elements may not be the parameters"):
        sf.model(nn.LazyLinear(3))
    with pytest.raises(TargetError, match="Own is a torch module, not a config; pass a path"):
        sf.from_config(OWN)


def test_a_function_or_a_class_with_sizes_is_traced() -> None:
    model = sf.model(Sized, width=24, depth=3)
    assert str(model.params) == "2*depth*width**2 + 2*depth*width"  # depth*(width*2*width + 2*width)
    assert model.params.value() == 3 * (24 * 48 + 48)
    assert model.id == "tests.test_objects-Sized"
    assert sf.model(Own).params.value() == 228  # a class without sizes
    with pytest.raises(WitnessError, match="Sized is a factory and needs a size for each argument"):
        sf.model(Sized)
    with pytest.raises(OptionError, match="width=wide is not a size of"):
        sf.model(Sized, width="wide")
    with pytest.raises(WitnessError, match="has no argument 'widht'; did you mean width"):
        sf.model(Sized, widht=24, width=3)
    with pytest.raises(TargetError, match="is a factory, not a config"):
        sf.from_config(Sized)


def test_a_model_is_its_own_target() -> None:
    gpt2 = sf.model("gpt2")
    assert sf.model(gpt2) is gpt2
    with pytest.raises(OptionError, match="tied is an option of a target, but gpt2 is already a model"):
        sf.model(gpt2, tied=False)


circular: dict[str, Any] = {"model_type": "gpt2"}
circular["again"] = circular
deep: dict[str, Any] = {"model_type": "gpt2"}
inner = deep
for _ in range(100_000):
    inner["in"] = {}
    inner = inner["in"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "config has no 'model_type'"),
        ({**XL, "n_embd": 0}, "config: in the config, 'n_embd' is 0"),
        ({**XL, "n_embd": 12.0}, "'n_embd' is 12.0, which is not written as an integer; write 12"),
        (
            {**XL, "n_embd": object()},
            "config cannot be written as a config.json: a value of type object has no JSON form",
        ),
        ({**XL, (1, 2): 3}, "config cannot be written as a config.json: keys must be str"),
        ({**XL, 1: 2, "1": 3}, "config has the key '1' twice in one object; keep one"),
        (circular, "config cannot be written as a config.json: Circular reference"),
        (deep, "config nests lists or objects more than 32 levels deep"),
    ],
    ids=["empty", "zero", "float", "object", "tuple", "twice", "circular", "deep"],
)
def test_an_invalid_mapping_is_refused_like_a_file(given: dict[Any, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        sf.model(given)
