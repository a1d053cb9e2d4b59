"""Differences of structure: the parts sum to the totals, and the words agree with the papers."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args

import pytest
from click.testing import CliRunner
from sympy import Add, Expr, Integer, Symbol, expand, prime, solve

import symformer as sf
from symformer import architectures
from symformer.algebra.relatives import Relative, compared_to_relative, nearest_relative
from symformer.algebra.structure import StructureComparison
from symformer.algebra.structure_difference import compare_structures, difference_in_words
from symformer.algebra.structure_phrases import DESCRIBED, IGNORED, OWN_ROUTING
from symformer.algebra.structure_profile import profiles
from symformer.commands.cli import cli
from symformer.components.gated_mlp import GatedMLP
from symformer.components.moe import MoE
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.language.arithmetic import parse
from symformer.language.symbols import (
    A,
    B,
    D,
    E,
    E_vis,
    G,
    H,
    K,
    L,
    L_dec,
    L_enc,
    L_global,
    L_moe,
    M,
    P,
    P_rel,
    S,
    V,
    X,
    X_shared,
)
from symformer.ledger.activation_names import ACTIVATION_NAMES
from symformer.ledger.facts import Activation
from symformer.models.model import Model
from symformer.output.blocks import Block, Code, Heading, Paragraph, Table, plain
from symformer.quantities import quantity
from symformer.views.stored_summaries import relative_of

from .samples import sampled

# One architecture for each kind of part: norms, positions, biases, experts, latents, mixers, stacks, images.
SAMPLE = (
    *("albert", "bart", "bert", "deepseek-v3", "falcon", "gemma3", "gpt2", "gpt-oss", "granite", "lfm2", "llama"),
    *("llama4", "mamba2", "mixtral", "modernbert", "nemotron-h", "t5", "transformer-encoder-layer", "vit", "whisper"),
)


def structure(first: str, second: str) -> StructureComparison:
    return compare_structures(architectures.architecture(first), architectures.architecture(second))


# Each architecture of the sample with the next and with one farther away.
PAIRS = [(name, SAMPLE[(place + step) % len(SAMPLE)]) for place, name in enumerate(SAMPLE) for step in (1, 7)]
PAIRS += [("llava", "gemma3-multimodal"), ("llava", "llama"), ("gemma2", "gemma3-multimodal"), ("clip", "siglip")]


@pytest.mark.parametrize(("first", "second"), sampled(3, PAIRS))
def test_the_parts_sum_to_the_difference_of_the_totals(first: str, second: str) -> None:
    found = structure(first, second)
    assert found.totals
    for name, total in found.totals.items():
        parts = Add(*(each.amounts[name] for each in found.differences))
        one, two = (
            whole_formula(model.id, name).xreplace(dict(equal))
            for model, equal in zip(found.models, found.equalities, strict=True)
        )
        sizes = numbers(found.models, total.free_symbols | parts.free_symbols | one.free_symbols | two.free_symbols)
        assert total.xreplace(sizes) == one.xreplace(sizes) - two.xreplace(sizes), name
        assert parts.xreplace(sizes) == total.xreplace(sizes), name


@cache
def whole_formula(architecture: str, name: str) -> Expr:
    """Return the formula of a whole architecture in all of its sizes, which the comparison does not use."""
    model = architectures.architecture(architecture)
    return quantity(name).formula(model.component, model.id, {}, {}).expanded


def numbers(models: tuple[Model, Model], sizes: set[Symbol]) -> dict[Symbol, Integer]:
    """Return a different large prime for each size; the layers of all kinds sum to L."""
    found = {size: Integer(prime(2000 + place)) for place, size in enumerate(sorted(sizes | {L}, key=str))}
    for model in models:
        for total, value in model.component.totals.items():
            *others, last = sorted(value.free_symbols, key=str)
            rest = value.xreplace({size: found.setdefault(size, Integer(3)) for size in others})
            found[last] = found[total] - rest.xreplace({last: Integer(0)})
    return found


def test_a_norm_of_queries_and_keys_is_added_and_biases_are_dropped() -> None:
    # Qwen3 technical report, section 2: "we remove QKV-bias used in Qwen2 and introduce QK-Norm". The biases of queries
    # have A*D elements, of keys and of values G*D each; a norm of width D for queries and one for keys.
    found = structure("qwen3", "qwen2")
    assert found.sentences == (
        "Qwen3 has no biases in the query, key and value projections.",
        "This saves LAD + 2LGD parameters.",
        "Qwen3 adds an RMS norm of queries and keys, over each head.",
        "This adds 2LD parameters.",
    )
    assert [each.amounts["params"] for each in found.differences] == [-L * A * D - 2 * L * G * D, 2 * L * D]
    assert found.totals["flops"] == found.totals["kv-cache"] == 0


def test_soft_caps_are_replaced_by_norms() -> None:
    # Gemma 3 report, section 2: "we replace the soft-capping of Gemma 2 with QK-norm"
    found = structure("gemma3", "gemma2")
    assert found.short.split("; ") == [
        "no tanh soft cap on the scores",
        "RMS norm of queries and keys",
        "no tanh soft cap on the logits",
    ]
    assert found.totals["params"] == 2 * L * D


def test_the_block_and_the_norms_of_olmo_2() -> None:
    # OLMo 2 report, section 2: RMSNorm instead of the nonparametric layer norm, norms of the outputs of attention and
    # MLP "instead of the inputs", and QK-norm before the queries and keys are split into heads
    found = structure("olmo2", "olmo")
    assert found.sentences[2:5] == (
        "Instead of a norm before each sublayer (pre-norm), OLMo 2 uses a norm after each sublayer, before the "
        "residual sum.",
        "It uses RMS norms instead of layer norms without a scale or a bias.",
        "Together, these changes add 2LE parameters.",
    )
    assert found.differences[0].short == "RMS norm of queries and keys"
    # queries have A*D scales, keys G*D; two norms of width E in each layer, and the last norm
    assert found.totals["params"] == L * A * D + L * G * D + 2 * L * E + E


def test_a_network_is_replaced_by_experts() -> None:
    # Mixtral paper, section 2.1: the feed-forward networks are replaced by experts of which a router selects K
    found = structure("mixtral", "llama")
    assert found.sentences[0] == (
        "Instead of one gated MLP, Mixtral uses X gated experts of width M, of which a router chooses K for each token."
    )
    (mlp,) = found.differences
    assert (mlp.part, mlp.kind) == ("MLP", "replaced")
    # 3 matrices of E x M for each expert and a router of X x E, instead of 3 matrices of E x H
    assert mlp.amounts["params"] == 3 * L * E * X * M + L * E * X - 3 * L * E * H
    # 2 FLOPs for each multiplication; each token uses K experts
    assert mlp.amounts["flops"] == expand(2 * B * S * L * (3 * E * K * M + E * X - 3 * E * H))


def test_rotary_positions_and_parallel_layers_of_gpt_neox() -> None:
    # GPT-NeoX-20B paper, section 2.1: rotary embeddings on the first 25% of each head instead of learned positions,
    # attention and feed-forward layers in parallel; and untied embeddings
    found = structure("gpt-neox", "gpt2")
    assert [each.part for each in found.differences] == ["positions", "MLP", "block", "head"]
    assert found.sentences[0] == (
        "GPT-NeoX uses rotary positions on D_rope elements of each head instead of learned position embeddings."
    )
    assert "attention and the MLP in parallel, after a norm each" in found.sentences[3]
    assert found.totals["params"] == V * E - P * E


def test_a_bidirectional_encoder_with_segments() -> None:
    # BERT paper, section 3: "the BERT Transformer uses bidirectional self-attention, while the GPT Transformer uses
    # constrained self-attention"; and an embedding that states which of two sentences a token belongs to
    found = structure("bert", "gpt1")
    assert "BERT uses attention in both directions instead of causal attention." in found.sentences
    assert "BERT adds an embedding of segments." in found.sentences
    assert list(found.refused) == ["kv-cache"]
    assert "not causal" in found.refused["kv-cache"]


def test_a_whole_encoder_is_one_difference() -> None:
    found = structure("t5", "gpt2")
    encoder = found.differences[-1]
    assert (encoder.part, encoder.short) == ("encoder", "encoder of L_enc layers")
    assert found.equalities[1] == {L: L_dec}
    # 4 matrices of E x A*D (A*D = E), 2 matrices of E x H and 2 RMS norms in each layer, the last norm, and a bias of
    # each of A heads for each distance
    amount = L_enc * (4 * E**2 + 2 * E * H + 2 * E) + E + A * P_rel
    assert expand(encoder.amounts["params"] - amount) == 0


def test_layers_of_some_kinds() -> None:
    # a router and X experts of width M, and a shared expert, in place of the network in all but the first layers
    found = structure("dots1", "qwen3")
    (mlp,) = found.differences
    assert mlp.short == "X gated experts of width M in L_moe of the L layers; shared expert of width X_shared·M"
    assert mlp.amounts["params"] == expand(L_moe * (3 * E * X * M + 3 * E * X_shared * M + E * X - 3 * E * H))


def test_lists_with_commas_and_places_are_stated_plainly() -> None:
    found = structure("deepseek-v3", "gpt2").sentences
    assert (
        "Instead of an MLP without a gate, DeepSeek-V3 uses a gated MLP in L_dense of the L layers; X gated experts of "
        "width M, of which a router chooses K for each token, in L_moe of the L layers; and a shared expert of width "
        "X_shared·M."
    ) in found
    assert "DeepSeek-V3 uses an RMS norm instead of a layer norm after the last layer." in found


def test_key_value_heads_are_a_difference_of_sizes() -> None:
    found = structure("starcoder2", "gpt2")  # grouped-query against multi-head attention, with heads of E/A
    assert [each.part for each in found.differences] == ["positions"]
    assert found.equalities[0] == {G: A, D: E / A}
    notes = [line for line in printed("starcoder2", "gpt2").splitlines() if line.startswith("To compare at equal")]
    assert notes == ["To compare at equal sizes, the formula of StarCoder 2 uses G = A, D = E/A and H = 4E."]
    assert found.size_notes[1:] == ("GPT-2 has a key/value head for each query head.",)
    both = sf.compare("llama-2-7b", "llama-2-70b").structure
    assert both.same
    assert both.differing_sizes[G] == (32, 8)
    text = printed("llama-2-7b", "llama-2-70b")
    assert "llama-2-7b has the structure of llama-2-70b: only sizes can differ.\n" in text
    assert "G = 32 and 8" in text


def test_the_same_structure_does_not_mean_the_same_model() -> None:
    """GLM-5 rotates interleaved pairs in its indexer, and DeepSeek-V3.2 halves; only GLM-5.2 reuses chosen keys."""
    found = structure("glm-moe-dsa", "deepseek-v32")
    assert found.same
    assert found.same_line.endswith("can differ; only GLM-5 has the option reused_keys")
    assert "only sizes" not in found.same_line


def test_a_size_that_the_model_itself_expresses_in_another_is_no_difference() -> None:
    assert architectures.architecture("gpt2").relations[H] == 4 * E
    found = structure("gpt2", "gpt1")
    assert found.equalities[0] == {H: 4 * E}
    assert found.size_notes == ()


def _related() -> Iterator[Any]:
    """Yield each architecture with its nearest relative. All pairs but those with one relation are exhaustive."""
    for name in architectures.names():
        relative = relative_of(name)
        if relative is None:
            continue
        relations = [architectures.architecture_class(each).relations for each in (name, relative.name)]
        marks = [] if relations[0] != relations[1] else [pytest.mark.exhaustive]
        yield pytest.param(name, relative.name, marks=marks)


_EQUATION = re.compile(r"\{([^{}]+)\} = \{([^{}]+)\}")


@pytest.mark.parametrize(("name", "relative"), [*_related()])
def test_the_notes_on_sizes_state_all_that_two_totals_need_to_be_compared(name: str, relative: str) -> None:
    """The formulas of both models, which are those of their classes, differ by the total at the sizes of the notes."""
    found = compared_to_relative(architectures.architecture(name), relative, ("params",))
    totals = [model.params.expanded for model in found.models]
    relations = {size: value for model in found.models for size, value in model.relations.items()}
    difference = found.totals["params"].xreplace(relations)
    for side, model in enumerate(found.models):
        start = f"To compare at equal sizes, the formula of {model.title} uses "
        stated = [each for note in found.size_notes if note.startswith(start) for each in _EQUATION.findall(note)]
        equal = {parse(size, any_name=True): parse(value, any_name=True) for size, value in stated}
        for _ in range(2):  # the value of one equation can have the size of another
            totals[side] = totals[side].xreplace(equal)
            difference = difference.xreplace(equal)
        assert all(size not in difference.free_symbols for size in equal)
    sums = [[size - value for size, value in model.component.totals.items()] for model in found.models]
    every = [*sums[0], *sums[1]]  # the layers of all kinds sum to L in both models
    if (name, relative) == ("gemma3n", "gemma2"):  # Gemma 3n has the kinds of Gemma 2 and more: only L is the same
        totals[1], every = totals[1].subs(solve(sums[1], L_global, dict=True)[0]), sums[0]
    (depths,) = solve(every, dict=True) or [{}]
    one, two, both = (each.subs(depths) for each in (*totals, difference))
    assert expand(one - two - both) == 0


def test_a_part_of_a_mixer_in_some_layers_is_no_further_difference() -> None:
    """Dao and Gu 2024, section 7.1: Mamba-2 has a norm before its output projection, as in Nemotron-H."""
    found = structure("nemotron-h", "mamba2")
    assert [each.part for each in found.differences] == ["mixer", "MLP"]
    assert [[plain(cell) for cell in each.cells] for each in found.differences] == [
        [
            "state-space mixer (Mamba-2) in L_ssm of the L layers; self-attention in L_attn of the L layers",
            "state-space mixer (Mamba-2) in all layers",
        ],
        ["MLP without a gate in L_mlp of the L layers", "none"],
    ]
    assert "norm" not in " ".join(found.sentences)
    assert "mixer" not in structure("mamba2", "gpt2").differences[1].short.partition(" instead of ")[2]
    found = structure("mamba2", "gpt2")
    assert "Mamba-2 has no MLP." in found.sentences
    assert not any("no biases" in each for each in found.sentences), "a model without an MLP has no biases in it"
    (mlp,) = (each for each in found.differences if each.part == "MLP")
    assert mlp.amounts["params"] == -2 * L * E * H - L * H - L * E  # two matrices and their biases in each layer


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("bert", "gpt2", "exact GELU instead of GELU (tanh approximation)"),
        ("umt5", "mt5", "each layer instead of learned biases of the scores for each distance, with one table for all"),
        ("falcon", "mpt", "layer norms with a scale and a bias instead of layer norms without a bias"),
        ("albert", "bert", "hidden size instead of token embedding of width E"),
        ("opt", "gpt2", "with 2 unused rows instead of learned position embeddings without unused rows"),
        ("whisper", "bart", "except for the keys instead of biases in all projections of the cross-attention"),
        ("gpt-oss", "llama", "instead of one gated MLP"),
        (
            "llama4",
            "lfm2-moe",
            "(not of their outputs) instead of expert weights from sigmoids",
        ),
        (
            "deepseek-v3",
            "deepseek-v2",
            "expert weights from sigmoids instead of expert weights from a softmax over all",
        ),
        (
            "dots1",
            "deepseek-v3",
            "sigmoids, divided by their sum if norm_topk_prob is true, and multiplied by a constant (with a bias for "
            "the choice and groups of experts, ranked by the sum of their two highest biased scores) instead of expert "
            "weights from sigmoids, divided by their sum and multiplied by a constant (with a bias",
        ),
        (
            "jamba",
            "qwen2-moe",
            "not divided by their sum instead of expert weights from a softmax over all experts, div",
        ),
    ],
)
def test_both_sides_of_a_replacement_are_told_apart(first: str, second: str, said: str) -> None:
    assert said in structure(first, second).short


def test_a_part_with_other_sizes_is_named_once() -> None:
    # ALBERT, section 3.1: all layers share one set of weights, so every part has other sizes than in BERT
    (norms,) = (each for each in structure("albert", "bert").differences if each.part == "embedding norm")
    assert [plain(cell) for cell in norms.cells] == ["other sizes or layers", "—"]


def test_weights_that_a_published_total_excludes_are_not_absent() -> None:
    """PaLM, section 2: no biases "in any of the dense kernels or layer norms"; its layer norms have scales."""
    default = structure("llama", "palm")
    assert "It uses RMS norms instead of layer norms without a bias." in default.sentences
    assert "The formula of PaLM excludes the norm scales; norm_scales=true includes them." in default.size_notes
    found = compared_to_relative(architectures.architecture("llama"), "palm")
    # Chowdhery et al. 2022, section 2: the feed-forward size is always 4 d_model, and the key/value projections are
    # shared by all heads
    assert found.size_notes == (
        "To compare at equal sizes, the formula of Llama uses {G} = {1} and {H} = {4*E}.",
        "PaLM has one key/value head for all query heads.",
    )
    # two norms in each layer instead of one, and an untied head; the last norm has E scales in both models
    assert found.totals["params"] == L * E + V * E
    (variant,) = (option for option in sf.model("palm", norm_scales=True).component.changed_options.items())
    assert variant == ("norm_scales", "true")
    one, two = (sf.model("palm", norm_scales=value).component for value in (True, False))
    assert plain(difference_in_words(one, two)) == "the norm scales counted"


def test_options_are_differences_too() -> None:
    text = printed("llama", "llama", "--option", "2:tied=true")
    assert "llama (1) uses an untied LM head instead of an LM head tied to the token embedding." in text
    assert "This adds VE parameters." in text


def test_python_and_json_state_the_same() -> None:
    found = sf.compare("qwen3", "llama").structure
    told = json.loads(printed("qwen3", "llama", "--json"))
    assert told == json.loads(json.dumps(found.to_json()))
    assert told["differences"] == [
        {
            "part": "query and key norms",
            "kind": "added",
            "sentences": [*found.sentences],
            "added": ["an RMS norm of queries and keys, over each head"],
            "removed": [],
            "params": "2*L*D",
            "flops": "0",
            "kv-cache": "0",
        }
    ]
    assert found.table()["params"] == [2 * L * D, 2 * L * D]
    assert repr(found) == "<Qwen3 differs from Llama by: RMS norm of queries and keys>"
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.totals = {}  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.totals["params"] = L  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["llava", "t5"], "--structure compares it with other such models and with language models, but not with T5"),
        (["clip", "gpt2"], "CLIP has an image encoder and a text encoder, and GPT-2 does not"),
        (["gpt2", "component:mlp"], "component:mlp is a component; --structure compares whole models"),
        (["gpt2", "hf:bamba"], "hf:bamba is traced, and a trace does not identify the components"),
        (["gpt2"], "--structure compares two models, not 1"),
        (["gpt2", "llama", "bert"], "--structure compares two models, not 3"),
        (["gpt2", "llama", "-q", "flops"], "cannot be combined with --quantity"),
        (["gpt2", "llama", "-o", "a.pdf"], "cannot be combined with --output"),
    ],
)
def test_what_has_no_difference_of_structure_is_refused(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["compare", *arguments, "--structure"], prog_name="symformer")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_multimodal_model_adds_towers_to_its_language_model() -> None:
    found = structure("llava", "llama")
    assert [each.part for each in found.differences] == ["vision tower", "projector"]
    # Liu et al. 2023, section 3.3: an MLP of two layers, from the width of image features to that of the tokens
    assert found.differences[1].amounts["params"] == E * E_vis + E + E**2 + E
    [norm] = [each for each in structure("gemma3-multimodal", "gemma2").differences if "key norms" in each.part]
    assert norm.amounts["params"] == 2 * D * L  # the norms of the language model: the vision tower has none


def test_every_field_of_a_component_has_a_phrase_or_no_effect() -> None:
    for component, described in DESCRIBED.items():
        names = {item.name for item in dataclasses.fields(component)}
        assert names - {*described, *IGNORED} == set(), f"{component.__name__}: add a phrase to structure_phrases.py"
        assert {*described} <= names


def test_every_choice_of_experts_has_words() -> None:
    for name in architectures.names():
        component = architectures.architecture(name).component
        if any(isinstance(scope.part, MoE) for scope in component.ledger.root.walk()):
            assert not any(OWN_ROUTING in stack.aspects["routing"] for stack in profiles(component).values()), name


def test_relatives_that_their_papers_name() -> None:
    for name, relative in {
        "gpt2": "gpt1",  # "largely follows the details of the OpenAI GPT model"
        "qwen2": "llama",
        "mistral": "llama",
        "gemma2": "gemma",
        "gemma3": "gemma2",
        "deepseek-v3": "deepseek-v2",  # "validated in DeepSeek-V2"
        "vit": "bert",  # section 3.1: "similar to BERT's [class] token"
        "olmoe": "mixtral",  # table 1 compares its choices with Mixtral's
        "mamba2": "mamba",
        "zamba2": "mamba2",  # section 2: "Mamba2 blocks" in place of the Mamba blocks of Zamba
        "distilbert": "bert",
        "opt": "gpt2",
        "llava": "llama",  # with a vision tower and a projector
        "gemma3-multimodal": "gemma3",
    }.items():
        assert nearest_relative(name).name == relative
    assert nearest_relative("transformer") is None  # the oldest


def test_experts_and_ties_of_the_nearest_relative() -> None:
    # Llama and Mixtral differ from gpt-oss in biases, sinks, windows and the MLP; only Mixtral has experts as well.
    assert nearest_relative("gpt-oss") == Relative("mixtral", experts=True, oldest=True)
    # Arcee has an MLP without a gate: both Llama's MLP and Mixtral's are another one
    assert nearest_relative("arcee") == Relative("llama", experts=False, oldest=True)
    # RoBERTa has the structure of BERT, and was published later
    assert nearest_relative("distilbert") == Relative("bert", ties=("roberta",), oldest=True)
    assert nearest_relative("whisper").among == "with an encoder and a decoder"  # GPT-2 differs in fewer parts


def test_stated_relatives_are_other_architectures() -> None:
    stated = {name: architectures.architecture_class(name).compared_with for name in architectures.names()}
    stated = {name: relative for name, relative in stated.items() if relative}
    assert stated["kimi-linear"] == "deepseek-v3"  # Moonlight's architecture, with Kimi Delta Attention in most layers
    for name, relative in stated.items():
        assert relative in architectures.names()
        assert nearest_relative(name) == Relative(relative, stated=True)
        assert relative != name


def test_layers_are_counted_by_the_letter_for_their_sum() -> None:
    """Kimi Linear has experts in L_attn + L_lin_x layers, which are L_moe, as in DeepSeek-V3.

    The experts differ in one word: Kimi Linear divides their weights only if its config states so.
    """
    found = compare_structures(architectures.architecture("kimi-linear"), architectures.architecture("deepseek-v3"))
    assert [each.part for each in found.differences] == ["positions", "mixer", "MLP"]
    assert found.differences[2].amounts["params"] == 0
    assert [each.aspect for each in found.differences[2].changes] == ["routing"]
    assert {size.name for size in found.totals["params"].free_symbols} >= {"L_lin", "L_attn"}
    assert "L_moe" not in {size.name for size in found.totals["params"].free_symbols}
    # Jamba uses L_moe for layers with Mamba and experts, so its layers are not compared by these letters
    jamba = compare_structures(architectures.architecture("kimi-linear"), architectures.architecture("jamba"))
    assert "L_ssm_d" in {size.name for size in jamba.totals["params"].free_symbols}


def test_a_derivation_names_the_nearest_relative() -> None:
    blocks = document(architectures.architecture("qwen3"), ["params"], "0").blocks
    assert any(isinstance(block, Heading) and block.line == ["Nearest relative"] for block in blocks)
    # the command at the end has the options of the page: a reader who runs it sees the same differences
    norm = architectures.architecture("falcon-h1-7b")
    (command,) = (
        piece.text
        for block in document(norm, ["params"], "0").blocks
        if isinstance(block, Paragraph)
        for piece in block.line
        if isinstance(piece, Code) and piece.text.startswith("symformer compare ")
    )
    found = CliRunner().invoke(cli, command.split()[1:])
    assert found.exit_code == 0, found.stderr
    assert "constant factors of the inputs and outputs" in found.stdout
    assert "--option 1:mixer_norm=true --option 1:norm_first=false" in command
    short = document(architectures.architecture("qwen3"), ["params"], "0", form="short").blocks
    assert not any(isinstance(block, Heading) and block.line == ["Nearest relative"] for block in short)
    shown = CliRunner().invoke(cli, ["show", "qwen3"]).stdout
    assert "\nQwen3 differs from Llama (llama) by: RMS norm of queries and keys\n" in shown
    tied = CliRunner().invoke(cli, ["show", "qwen3", "--option", "tied=true"]).stdout
    assert "differs from" not in tied  # the stored line holds for the default options


def test_a_derivation_compares_the_relative_by_its_own_quantity() -> None:
    (table,) = relative_tables(document(sf.model("gpt-oss"), ["train-memory", "flops", "params"], "0").blocks)
    assert [plain(cell) for cell in table.head] == ["Part", "gpt-oss", "Mixtral", "Forward FLOPs"]
    assert [plain(cell) for cell in next(row for row in table.rows if plain(row[0]) == "attention")] == [
        "attention", "sliding window of C_win tokens in L_local of the L layers", "none", "0",
    ]  # fmt: skip
    # the sum of the causal scores in a window differs from that over the whole sequence
    causal = document(sf.model("gpt-oss"), ["flops"], "0", attention="causal")
    (table,) = relative_tables(causal.blocks)
    assert plain(next(row for row in table.rows if plain(row[0]) == "attention")[3]) != "0"
    assert not relative_tables(document(sf.model("gpt2"), ["train-memory"], "0").blocks)


def test_a_long_difference_from_the_relative_is_written_with_totals_of_parts() -> None:
    """Nemotron-H has attention or an MLP in the layers in which Mamba-2 has its mixer: no sum of 18 terms."""
    (table,) = relative_tables(document(sf.model("nemotron-h"), ["params"], "0").blocks)
    assert [plain(row[3]) for row in table.rows] == [
        "2·L_attn·E·A·D + 2·L_attn·E·G·D - (L_attn + L_mlp)N[ssm_layers.mixer]",
        "2·L_mlp·E·H",
        "2·L_attn·E·A·D + 2·L_attn·E·G·D + 2·L_mlp·E·H - (L_attn + L_mlp)N[ssm_layers.mixer]",
    ]


def test_biases_of_some_layers_are_one_phrase() -> None:
    (table,) = relative_tables(document(sf.model("flux"), ["params"], "0").blocks)
    (row,) = (row for row in table.rows if plain(row[0]) == "attention biases")
    both = "L_double + L_single"
    assert plain(row[1]) == f"biases in the output projection in L_double of the {both} layers"
    assert plain(row[2]) == "biases in the output projection in all layers"


def relative_tables(blocks: Sequence[Block]) -> list[Table]:
    return [each for each in blocks if isinstance(each, Table) and "nearest relative" in plain(each.caption)]


@pytest.mark.parametrize(("form", "option"), [("typ", '#box(raw("--structure"));'), ("tex", r"\mbox{-{}-structure}")])
def test_no_line_breaks_an_option(form: str, option: str) -> None:
    """A line that ends after the dashes of an option cannot be copied from a PDF."""
    source = render(document(architectures.architecture("qwen3"), ["params"], "0"), form).decode()
    assert option in source


def printed(*arguments: str) -> str:
    found = CliRunner().invoke(cli, ["compare", *arguments, "--structure"], prog_name="symformer")
    assert found.exit_code == 0, found.stderr
    return found.stdout


def test_prose_has_the_proper_names_of_activations() -> None:
    """Hendrycks and Gimpel 2016, section 2: x·σ(1.702·x) approximates GELU; transformers calls it QuickGELU."""
    assert set(ACTIVATION_NAMES) == set(get_args(Activation))
    for name, proper in ACTIVATION_NAMES.items():
        assert f"gated feed-forward network with {proper}, " in GatedMLP(activation=name).about
        assert "_" not in proper
    assert "a gated feed-forward network with SiLU" in GatedMLP().about
    own, other = next(each.cells for each in structure("clip", "siglip").differences if each.part.startswith("MLP"))
    assert plain(own) == "QuickGELU, x times the logistic function at 1.702x"
    assert plain(other) == "GELU (tanh approximation)"
    assert "QuickGELU instead of GELU (tanh approximation)" in structure("clip", "siglip").short


def test_a_part_that_a_formula_excludes_is_no_difference_of_sizes() -> None:
    """PaLM's published total excludes the scales of its norms, which Cohere has in the same places."""
    found = structure("cohere", "palm")
    cause = "the formula of Cohere counts the norm scales, which that of PaLM excludes"
    said = [f"T{cause[1:]}. This adds {amount} parameters." for amount in ("LE", "E")]
    assert [" ".join(plain(each) for each in part.sentences(*found.names)) for part in found.differences] == said
    assert {plain(part.cells[0]) for part in found.differences} == {cause}
    assert [part.part for part in structure("cohere", "llama").differences if part.cause] == []
    counted = compare_structures(sf.model("cohere"), sf.model("palm", norm_scales=True))
    assert counted.same


def test_the_token_that_lengthens_the_sequence_is_the_cause_of_more_flops_and_positions() -> None:
    # CLIP, section 2.4: a class token makes the sequence longer by one, so attention has more FLOPs
    found = structure("siglip", "clip")
    parts = {each.part: each for each in found.differences}
    attention, positions = parts["attention of the image encoder"], parts["positions of the image encoder"]
    assert attention.amounts["params"] == 0 != attention.amounts["flops"]
    (said,) = attention.sentences("SigLIP", "CLIP")
    shorter = "Without the class token of CLIP, the sequence is shorter."
    assert plain(said) == shorter
    assert plain(attention.cells[0]) == "without the class token of CLIP, the sequence is shorter"
    assert plain(parts["MLP of the image encoder"].sentences("SigLIP", "CLIP")[-1]) == shorter
    assert shorter not in map(plain, parts["MLP of the text encoder"].sentences("SigLIP", "CLIP"))
    assert plain(positions.sentences("SigLIP", "CLIP")[1]) == "This saves E parameters."
    # Siméoni et al. 2025, section 3.2: register tokens beside the class token, which ViT also has
    (mlp,) = (each for each in structure("dinov3-vit", "vit").differences if each.part == "MLP")
    assert plain(mlp.sentences("DINOv3", "ViT")[0]) == "The register tokens of DINOv3 lengthen the sequence."


def test_sentences_state_the_details_of_a_state_space_mixer_that_only_the_first_model_has() -> None:
    """Dao and Gu 2024, section 7.1: Mamba-2 has a norm after the gate; its convolution has a bias (mamba_ssm)."""
    said = "It adds a bias of the mixer's convolution and an RMS norm after the gate of the mixer."
    for name in ("mamba2", "nemotron-h"):
        assert said in structure(name, "gpt2").sentences
        assert "RMS norm after the gate" not in structure(name, "gpt2").short
    assert not any("of the mixer" in each for each in structure("gpt2", "mamba2").sentences)
    assert not any("of the mixer" in each for each in structure("mamba2", "nemotron-h").sentences)
