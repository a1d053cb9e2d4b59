"""The names of parts in the sums of a derivation, against the modules of the class."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import transformers

import symformer as sf
from symformer.language.notation.display_tree import Label, nodes


def qwen3_vl() -> torch.nn.Module:
    vision = {"depth": 3, "deepstack_visual_indexes": [0, 1]}
    text = {"num_hidden_layers": 3, "vocab_size": 11}
    return transformers.Qwen3VLForConditionalGeneration(
        transformers.Qwen3VLConfig(vision_config=vision, text_config=text)
    )


def mamba2() -> torch.nn.Module:
    return transformers.Mamba2ForCausalLM(transformers.Mamba2Config(num_hidden_layers=2, vocab_size=11))


def gpt2() -> torch.nn.Module:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2))


@pytest.mark.parametrize("build", [gpt2, mamba2, qwen3_vl])
def test_a_name_of_a_part_names_one_module_of_the_class(build: Callable[[], torch.nn.Module]) -> None:
    with torch.device("meta"):
        paths = [name.split(".") for name, module in build().named_modules() if [*module.parameters()]]
    modules = {tuple(word for word in path if not word.isdigit()) for path in paths}
    derivation = sf.model(build.__name__.replace("_", "-")).params.derivation
    trees = [tree for chain in derivation.chains for tree in (*chain.labels, *chain.steps)]
    labels = {each.name for tree in trees for each in nodes(tree) if isinstance(each, Label)}
    found = {}
    for name in labels:
        words = tuple(name.split("."))
        found[name] = {path for path in modules if path[-len(words) :] == words}
    ambiguous = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert not ambiguous
    assert sum(map(len, found.values())) > 3  # names of lists of one kind of layers and of rests are no modules
