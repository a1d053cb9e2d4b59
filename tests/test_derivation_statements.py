"""Statements in derivations, checked against torch code, papers and presets."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from transformers import DeepseekV2Config, DeepseekV3Config, GptOssConfig, MixtralConfig, Qwen2MoeConfig
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2TopkRouter
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssTopKRouter
from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter
from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeTopKRouter

from symformer import architecture
from symformer.architectures import presets_of
from symformer.commands.cli import cli
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.views.figure_facts import figure_facts

E, X, K, TOKENS = 6, 12, 3, 41


def derived(target: str, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["derive", target, "-o", "-", "--format", "md", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("quantity", ["params", "active-params"])
def test_stored_fixed_table_is_not_described_as_zero(quantity: str) -> None:
    whisper = derived("whisper-tiny", "-q", quantity)
    assert "Buffers, such as fixed tables, are not parameters." not in whisper
    assert "every element of every weight, trained or not," in whisper
    if quantity == "params":
        assert "The fixed table that this class stores as a weight is counted; buffers are not parameters." in whisper
        # Vaswani et al. 2017: sines and cosines that GPT-2 does not have, and Whisper's encoder stores
        assert "Buffers, such as fixed tables, are not parameters." in derived("gpt2")


@pytest.mark.parametrize(
    ("target", "part", "source", "reader", "arrows"),
    [
        ("gpt2", "h.attn", "h.attn.c_attn", "h.attn.scores", 2),  # queries and keys
        ("gpt2", "h.attn", "h.attn.c_attn", "h.attn.mix", 1),  # values
        ("llama-2-7b", "layers.self_attn", "layers.self_attn.q_proj", "layers.self_attn.scores", 0),  # by rotation
        ("falcon-7b", "h.self_attention", "h.self_attention.query_key_value", "h.self_attention.mix", 1),
    ],
)
def test_an_operation_has_one_arrow_per_tensor_it_reads(
    target: str, part: str, source: str, reader: str, arrows: int
) -> None:
    model = architecture(target)
    figure = FigureBuilder(figure_facts(model, model.params)).part(part)
    keys = {node.key for node in figure.graph.nodes}
    assert {source, reader} <= keys
    assert Counter((each.source, each.target) for each in figure.graph.arrows)[source, reader] == arrows


def _largest(scores: torch.Tensor, number: int) -> torch.Tensor:
    return scores.argsort(descending=True)[:number]


def _deepseek_v3(router: Any, x: torch.Tensor) -> dict[int, float]:
    """Route one token as the derivation of DeepSeek-V3 states."""
    scores = (x @ router.weight.T).sigmoid()
    biased = scores + router.e_score_correction_bias
    groups = biased.view(router.num_group, -1)
    best = _largest(groups.sort(descending=True).values[:, :2].sum(1), router.topk_group)
    kept = [int(expert) for group in best for expert in torch.arange(X).view(router.num_group, -1)[group]]
    chosen = sorted(kept, key=lambda expert: -float(biased[expert]))[:K]
    total = sum(float(scores[expert]) for expert in chosen)
    return {expert: float(scores[expert]) / total * router.routed_scaling_factor for expert in chosen}


def _deepseek_v2(router: Any, x: torch.Tensor) -> dict[int, float]:
    scores = (x @ router.weight.T).softmax(-1)
    kept = list(range(X))
    if router.topk_method == "group_limited_greedy":
        groups = torch.arange(X).view(router.num_group, -1)
        best = _largest(scores.view(router.num_group, -1).max(1).values, router.topk_group)
        kept = [int(expert) for group in best for expert in groups[group]]
    chosen = sorted(kept, key=lambda expert: -float(scores[expert]))[:K]
    return {expert: float(scores[expert]) * router.routed_scaling_factor for expert in chosen}


def _softmax(router: Any, x: torch.Tensor) -> dict[int, float]:
    scores = (x @ router.weight.T).softmax(-1)
    chosen = [int(expert) for expert in _largest(scores, K)]
    total = sum(float(scores[expert]) for expert in chosen) if getattr(router, "norm_topk_prob", True) else 1
    return {expert: float(scores[expert]) / total for expert in chosen}


def _softmax_of_chosen(router: Any, x: torch.Tensor) -> dict[int, float]:
    logits = x @ router.weight.T + router.bias
    chosen = _largest(logits, K)
    return dict(zip(map(int, chosen), map(float, logits[chosen].softmax(-1)), strict=True))


SMALL = {"hidden_size": E, "num_attention_heads": 2, "num_key_value_heads": 2, "num_experts_per_tok": K}
GROUPS = {"n_routed_experts": X, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 1.7, **SMALL}
V2, QWEN = DeepseekV2TopkRouter, Qwen2MoeTopKRouter
ROUTERS = {
    "deepseek-v3": (DeepseekV3TopkRouter, DeepseekV3Config(**GROUPS), _deepseek_v3, "biased scores"),
    "deepseek-v2": (V2, DeepseekV2Config(**GROUPS, topk_method="greedy"), _deepseek_v2, "highest scores of all"),
    "deepseek-v2 in groups": (
        *(V2, DeepseekV2Config(**GROUPS, topk_method="group_limited_greedy"), _deepseek_v2),
        "whose best expert scores highest",
    ),
    "mixtral": (MixtralTopKRouter, MixtralConfig(num_local_experts=X, **SMALL), _softmax, "divided by their sum"),
    "qwen2-moe": (QWEN, Qwen2MoeConfig(num_experts=X, norm_topk_prob=False, **SMALL), _softmax, "if `norm_topk"),
    "qwen3-moe": (QWEN, Qwen2MoeConfig(num_experts=X, norm_topk_prob=True, **SMALL), _softmax, "if `norm_topk"),
    "gpt-oss": (
        *(GptOssTopKRouter, GptOssConfig(num_local_experts=X, **SMALL), _softmax_of_chosen),
        "a softmax of these $`K`$ logits",
    ),
}


@pytest.mark.parametrize("name", ROUTERS)
def test_derivations_describe_the_routing_of_the_torch_class(name: str) -> None:
    kind, config, stated, words = ROUTERS[name]
    torch.manual_seed(7)
    router = kind(config).double()
    for tensor in (*router.parameters(), *router.buffers()):
        torch.nn.init.normal_(tensor)
    given = torch.randn(TOKENS, E).double()
    with torch.no_grad():
        _, weights, chosen = router(given)
        unlike = set()
        for x, ours, theirs in zip(given, chosen.tolist(), weights.tolist(), strict=True):
            found = stated(router, x)
            assert found.keys() == set(ours)
            assert all(
                found[expert] == pytest.approx(weight, rel=1e-4) for expert, weight in zip(ours, theirs, strict=True)
            )
            unlike |= {frozenset(found) == frozenset(_softmax(router, x))}
    if "deepseek-v3" in name or "groups" in name:
        assert False in unlike  # the bias and the groups affect the choice
    (said,) = re.findall("A router that sends.*", derived(name.partition(" ")[0]))
    assert words in said


def test_shared_experts_cite_their_paper() -> None:
    """Shared experts are from Dai et al. 2024, section 3.2, "Shared Expert Isolation"; Mixtral has none."""
    for name, has in (("deepseek-v3", True), ("deepseek-v2", True), ("qwen2-moe", True), ("mixtral", False)):
        page = derived(name)
        (said,) = re.findall("A router that sends.*", page)
        assert ("pass through, Dai et al. 2024 [" in said) == has
        assert ("arXiv:2401.06066" in page) == has


@pytest.mark.parametrize("target", ["gpt2", "pythia-70m", "mistral-7b-v0.1", "phi-3-mini-4k"])
def test_every_preset_with_the_same_formula_is_listed(target: str) -> None:
    model = architecture(target)
    same = {name for name in presets_of(model.id) if architecture(name).params.expanded == model.params.expanded}
    assert any(architecture(name).component != model.component for name in same)
    page = derived(target)
    table = page[page.index("Presets with this formula.") :].partition("\n\n## ")[0]
    listed = dict(re.findall(r"^\| `([^`]+)` \| ([\d,]+) \|", table, re.MULTILINE))
    left = re.search(r"(\d+|One) more presets? ha", table)
    assert listed.keys() <= same
    assert len(same) == len(listed) + (int(left[1].replace("One", "1")) if left else 0)
    assert all(int(value.replace(",", "")) == architecture(name).params.value() for name, value in listed.items())
    if target == "gpt2":  # Cerebras-GPT differs only in its activation function, which has no parameters
        assert sum(name.startswith("cerebras-gpt-") for name in listed) == 7


def test_a_block_names_what_mixes_the_tokens() -> None:
    """Lieber et al. 2024, section 2: Mamba or attention in a layer; Zuo et al. 2025, section 2: the sum of both."""
    both = derived("jamba")
    assert (
        "Each sublayer f, first a state-space mixer or attention, then the feed-forward network, is applied as" in both
    )
    assert "### Layers with a state-space mixer and a dense feed-forward network\n" in both
    together = derived("falcon-h1")
    assert (
        "first the sum of a state-space mixer and attention, then the feed-forward network, is applied as" in together
    )
    alone = derived("gpt2")
    assert "Each sublayer f, attention and then the feed-forward network, is applied as" in alone


def test_a_variant_is_described_in_words() -> None:
    """Radford et al. 2019 tie the head to the embeddings; another variant has a head of its own."""
    rows = derived("gpt2").splitlines()
    assert any(row.startswith("| `tied=false`: untied LM head instead of tied LM head | ") for row in rows)
    assert any(row.startswith("| `head=none`: no LM head | unchanged | ") for row in rows)
    # without a norm in the mixer, its order has no effect
    rows = derived("falcon-h1").splitlines()
    assert any(row.startswith("| `norm_first=false`: the same structure | unchanged | ") for row in rows)


def test_a_module_without_its_counted_parts_is_explained_once() -> None:
    found = derived("qwen3-vl-8b")
    said = "is the total of `visual` without `merger` and `deepstack_merger_list`."
    assert found.count(said) == 1
    assert r"\mathrm{visual.rest}(x, j)" in found  # the computation calls the two others itself
    assert r"\mathrm{visual}(" not in found
    assert "\n`visual` without `merger` and `deepstack_merger_list`. A vision transformer" in found
    assert f"is the total of `language_model` and `lm_head`; $`N_{{\\mathrm{{visual.rest}}}}`$ {said}" in found
    assert "` without `" not in derived("gpt2")


def test_boxes_with_the_title_of_others_are_named() -> None:
    """Qwen3-VL has pre-norm blocks in its image encoder, too."""
    assert "`standard_layers` (Pre-norm block, `layers`, in figures)." in derived("qwen3-vl-8b")


def test_the_first_input_of_whisper_is_explained() -> None:
    assert r"Here, $`x`$ is the spectrogram, $`[B, N_{\mathrm{mel}}, 2 P_{\mathrm{enc}}]`$; $`t`$ are" in derived(
        "whisper"
    )


def test_a_document_on_a_rank_distinguishes_the_share_of_a_rank() -> None:
    said = derived("llama", "--option", "tensor=on")
    assert "Sizes, computations and shapes of activations, also in figures, are for all ranks together, " in said
    assert "shapes of weights and all amounts are for the share of one rank." in said


def test_the_formula_points_to_the_table_of_symbols() -> None:
    for target in ("gpt2", "nemotron-h-8b"):
        found = derived(target)
        (number,) = re.findall(r"Table (\d+) lists the symbols\.", found)
        assert f"**Table {number}.** Symbols" in found
    assert "lists the symbols" not in derived("gpt2", "--length", "short")  # it is on the same page


def test_every_operation_has_a_line_where_names_are_long() -> None:
    """The feed-forward networks of SigLIP's encoder and of its pooling head have names that differ in the middle."""
    found = derived("siglip")
    assert re.search(r"^r &= \\mathrm\{GELU\}_\{\\mathrm\{tanh\}\}\(h\)", found, re.MULTILINE)
    assert max(len(line) for line in found.split("\n") if line.startswith("y &=")) < 240


def test_shared_experts_and_convolutions_are_described_as_the_class_has_them() -> None:
    """DeepSeek-V3: one MLP of width n_shared_experts · moe_intermediate_size; Mamba-2: a group per channel."""
    assert "shared experts, stored as one network" in derived("deepseek-v3")
    assert "stored as one network" not in derived("llama4")
    assert "each channel of $`x`$ convolved with its own kernel" in derived("mamba2")
    assert "each channel" not in derived("whisper-tiny")


def test_tokens_of_images_have_one_letter() -> None:
    """Qwen3-VL: tokens of images and features, which the model computes and the language model reads."""
    found = derived("qwen3-vl")
    for line in (
        r"m &= \mathrm{merger}(h)",
        r"\xi &= \mathrm{deepstack\_merger\_list}(\mathrm{listed}(h))",
        r"y &= \mathrm{lm\_head}(\mathrm{language\_model}(t, m, \xi))",
    ):
        assert line in found
    assert "`language_model` and `lm_head`" in found  # the total of the language tower, by its outermost modules
    assert (
        "the outputs of the layers that the config lists, among the layers of the part with the output $`x`$" in found
    )
    llava = derived("llava")
    assert r"m &= \mathrm{multi\_modal\_projector}" in llava


def test_a_kind_of_layers_without_a_size_is_called_by_its_name() -> None:
    assert "$`L_{\\mathrm{deep}} + 1`$ to $`L`$ are the `standard_layers`." in derived("qwen3-vl")
    assert "layer $`L`$ is the `last_block`." in derived("sd3")  # Stable Diffusion 3: no text after the last block


@pytest.mark.parametrize(
    ("target", "totals"),
    [  # ViT, eq. 1: a class token and a position for each of the Z²/Z_patch² patches and for the class token
        (
            "vit",
            {
                r"cls\_token": "E",
                r"position\_embeddings": r"\left(1 + \frac{Z^{2}}{Z_{\mathrm{patch}}^{2}}\right) \cdot E",
            },
        ),
        # Whisper, section 2.2: two convolutions with kernels of 3 frames, and biases
        ("whisper", {"conv1": r"E \cdot N_{\mathrm{mel}} \cdot 3 + E", "conv2": r"E \cdot E \cdot 3 + E"}),
    ],
)
def test_parameters_outside_the_parts_have_names_in_the_sum_of_the_model(target: str, totals: dict[str, str]) -> None:
    found = derived(target)
    start = found.index("and with a part as its subscript")
    whole = found[start : found.index("**Table 1.**", start)]
    for name, amount in totals.items():
        label = rf"N_{{\mathrm{{{name}}}}}"
        assert f"{label} +" in whole.replace("\n", " ")
        assert f"$`{label}`$ = $`{amount}`$ are the parameters of `" in whole


def test_places_with_the_same_equations_are_said_to_be_listed_above() -> None:
    found = derived("whisper")
    assert "The other places listed above use the same equations, each with its own weights." in found
    assert "; the table is the same for the other places listed above." in found


def test_a_part_that_differs_only_in_sizes_is_not_called_the_same() -> None:
    """CLIP has a class embedding with a position of its own; SigLIP has none and pools by attention."""
    row = next(line for line in derived("siglip").splitlines() if line.startswith("| positions of the image encoder"))
    patches = r"\frac{Z^{2}}{Z_{\mathrm{patch}}^{2}}"
    own, other = r"\frac{E Z^{2}}{Z_{\mathrm{patch}}^{2}}", rf"E \left(1 + {patches}\right)"
    assert row.split(" | ")[1:] == [f"$`{own}`$ parameters", f"$`{other}`$ parameters", "$`-E`$ |"]


@pytest.mark.parametrize(
    ("target", "arguments", "said"),
    [
        ("llama", (), "the total of that part:"),  # no other N
        ("whisper", (), r"the total of that part ($`N_{\mathrm{mel}}`$ is a size):"),
        # Dao and Gu 2024, section 6: chunks of a sequence; their number is not in the table of symbols
        ("mamba2", ("-q", "params", "-q", "flops"), r"$`N_{\mathrm{chunk}}`$ and $`N_{\mathrm{state}}`$ are sizes):"),
    ],
)
def test_sizes_with_the_letter_of_totals_are_named(target: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in derived(target, *arguments)


def test_totals_of_modules_in_several_layers_name_the_layers() -> None:
    """The class of Whisper has fc1 and fc2 in the layers of its encoder and in those of its decoder."""
    said = derived("whisper")
    assert "is the total of `fc1` and `fc2` in a layer of `encoder.layers`; " in said
    assert "is their total in a layer of `decoder.layers`." in said


def test_attention_of_one_rank_is_described_as_a_whole_and_then_by_its_share() -> None:
    """Shoeybi et al. 2019, section 3: ranks divide the heads; the computation has the shapes of all ranks together."""
    said = derived("llama", "--option", "tensor=on").replace(r"\mathrm{tp}", "tp")
    assert "$`A`$ query heads of width $`D`$ share $`G`$ key/value heads." in said
    assert r"One rank has $`\frac{A}{N_{tp}}`$ query heads and $`\frac{G}{N_{tp}}`$ key/value heads." in said
    assert "One rank has" not in derived("llama")
    experts = derived("mixtral", "--option", "expert=on").replace(r"\mathrm{ep}", "ep")
    assert r"One rank has $`\frac{X}{N_{ep}}`$ experts." in experts


@pytest.mark.parametrize(("target", "over_patches"), [("whisper", False), ("hubert", False), ("vit", True)])
def test_only_convolutions_of_images_are_over_patches(target: str, over_patches: bool) -> None:
    """Radford et al. 2022, section 2.2, and Baevski et al. 2020, section 4.2: convolutions over time."""
    said = derived(target)
    assert ("the size of a patch" in said) is (r"\mathrm{conv}_{\mathrm{patch}}" in said) is over_patches
    assert ("with the channels of the result on the last axis" in said) is not over_patches


def test_a_kind_of_layers_has_one_name() -> None:
    said = derived("qwen3-vl")
    names = "here called `deepstack_layers` (layers that add image features; DeepStack block in figures) and "
    assert names in said
    assert "layers $`1`$ to $`L_{\\mathrm{deep}}`$ are the `deepstack_layers` and layers " in said
