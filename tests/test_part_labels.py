"""The names, totals and shapes of the parts of a derivation, against the modules of the class."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import transformers

import symformer as sf
from symformer.documents.derivation_document import document
from symformer.formulas.part_labels import modules_apart
from symformer.language.notation.display_tree import Label, nodes
from symformer.output.blocks import Block, Table, plain


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


def size_of(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())


def test_the_total_of_an_encoder_excludes_the_modules_that_are_named() -> None:
    vision = {
        **{"depth": 3, "hidden_size": 12, "intermediate_size": 20, "num_heads": 3, "num_position_embeddings": 25},
        **{"out_hidden_size": 14, "deepstack_visual_indexes": [0, 2], "patch_size": 5, "temporal_patch_size": 4},
    }
    config = transformers.Qwen3VLConfig(
        vision_config=vision,
        text_config={
            **{"num_hidden_layers": 3, "vocab_size": 11, "hidden_size": 14, "intermediate_size": 22, "head_dim": 6},
            **{"num_attention_heads": 4, "num_key_value_heads": 2},
        },
    )
    with torch.device("meta"):
        visual = transformers.Qwen3VLForConditionalGeneration(config).model.visual
    model = sf.model("qwen3-vl")
    root = model.params.root
    (part,) = (line for line in root.parts() if line.key == "visual")
    names = [name.removesuffix(".*") for name in modules_apart(part, root)]
    assert names == ["merger", "deepstack_merger_list"]
    excluded = sum(size_of(visual.get_submodule(name)) for name in names)
    sizes = {"L_vis": 3, "E_vis": 12, "H_vis": 20, "A_vis": 3, "P_vis": 25, "Z_patch": 5, "T_patch": 4, "N_chan": 3}
    assert (
        part.each.xreplace({size: sizes[size.name] for size in part.each.free_symbols})
        == size_of(visual) - excluded
        < size_of(visual)
    )
    cells = [plain(block.caption) for block in blocks(model) if isinstance(block, Table)]
    assert "Parameters of visual without merger and deepstack_merger_list." in cells


def blocks(model: sf.Model) -> list[Block]:
    return [*document(model, ["params"], "1").blocks]


def test_the_shape_of_a_weight_has_all_its_axes() -> None:
    config = transformers.Mamba2Config(num_hidden_layers=2, vocab_size=11)
    with torch.device("meta"):
        weight = transformers.Mamba2ForCausalLM(config).backbone.layers[0].mixer.conv1d.weight
    tables = [block for block in blocks(sf.model("mamba2")) if isinstance(block, Table)]
    rows = [[plain(cell) for cell in row] for table in tables for row in table.rows]
    (shape,) = (row[1] for row in rows if row[0] == "conv1d.weight" and "K_conv" in row[1])
    assert len(shape.split(" × ")) == weight.ndim == 3
    assert shape.split(" × ")[1] == str(weight.shape[1]) == "1"


def test_parameters_do_not_depend_on_how_a_class_contracts() -> None:
    """With one number per state and element, Mamba-2 multiplies, which changes its FLOPs but not its parameters."""
    config = transformers.Mamba2Config(
        num_hidden_layers=2, vocab_size=11, state_size=1, num_heads=6, head_dim=4, hidden_size=12, n_groups=2
    )
    with torch.device("meta"):
        total = size_of(transformers.Mamba2ForCausalLM(config))
    model = sf.model("mamba2")
    sizes = {"L": 2, "V": 11, "E": 12, "A_ssm": 6, "D_ssm": 4, "G_ssm": 2, "N_state": 1, "K_conv": config.conv_kernel}
    given = {size: sizes[size.name] for size in model.params.expanded.free_symbols}
    assert model.params.expanded.xreplace(given) == total
    limits = {str(each) for each in model.params.constraints}
    assert "2 is at most N_state" not in limits
    assert "2 is at most N_state" in {str(each) for each in model.formula("flops").constraints}
