"""The sentences of a page on activations or training memory: copied heads, step counters, conditions and the check."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.language.symbols import A, B, G
from symformer.output.blocks import Equation, Heading, Paragraph, Table, plain


def said(target: str, quantity: str, **conventions: str) -> str:
    blocks = document(sf.model(target), [quantity], "0", **conventions).blocks
    return "\n".join(plain(block.line) for block in blocks if isinstance(block, Paragraph))


COPIED = (
    "copies each key/value head for every query head that reads it, so its saved keys and values have A heads, not G."
)


@pytest.mark.parametrize(
    ("target", "conventions", "copied"),
    [
        ("llama", {}, True),
        ("llama", {"implementation": "sdpa"}, False),  # the fused kernel reads grouped heads: enable_gqa=True
        ("llama", {"recompute": "full"}, False),  # only the inputs of layers are saved
        ("gpt2", {}, False),  # a key/value head for each query head
    ],
)
def test_copies_of_grouped_heads_are_explained(target: str, conventions: dict[str, str], copied: bool) -> None:
    """Llama has A query heads and G key/value heads; transformers repeats these with repeat_kv in eager attention."""
    found = said(target, "activations", **conventions)
    assert (COPIED in found) is ("Attention without a fused kernel" in found) is copied


def test_a_condition_has_its_reason() -> None:
    """repeat_kv expands and reshapes [B,G,S,D]; for B = G = 1 neither it nor torch.matmul copies anything."""
    import torch

    def is_view(sequences: int, groups: int) -> bool:
        """Return whether the keys in the scores of 3 query heads per key/value head share their storage."""
        keys = torch.zeros(sequences, groups, 5, 7)
        repeated = keys[:, :, None].expand(sequences, groups, 3, 5, 7).reshape(sequences, groups * 3, 5, 7)
        batched = repeated.reshape(-1, 5, 7)  # as torch.matmul does
        return batched.untyped_storage().data_ptr() == keys.untyped_storage().data_ptr()

    sizes = (1, 2)
    assert {(b, g) for b in sizes for g in sizes if is_view(b, g)} == {(1, 1)}
    reason = " (otherwise torch saves a view of the keys and values instead of a copy for each query head)"
    assert f"{B} and {G} are not both 1{reason}." in said("llama", "activations")
    # multi-query attention has G = 1
    assert f"{B} is not 1{reason}" in said("gpt-bigcode", "activations")
    # a reason that two conditions share is stated once, after the second
    scan = said("mamba2", "activations")
    assert scan.count("(otherwise torch saves views of the inputs of a scan instead of copies)") == 1
    assert "S is not 1 and A_ssm is not 1 (otherwise" in scan


def test_step_counters_are_explained() -> None:
    """By hand: AdamW of torch keeps one float32 counter per weight, so Llama has 9 in each layer and 3 outside."""
    found = said("llama", "train-memory")
    assert "The optimizer also keeps a step counter of 4 bytes for each weight tensor." in found
    assert "the total also includes the optimizer's step counters (4 bytes for each weight tensor)" in found
    assert "step counter" not in said("llama", "train-memory", optimizer="sgd").replace("and a step counter", "")


def test_the_check_states_what_torch_counted() -> None:
    found = said("llama", "train-memory", implementation="none")
    assert (
        "compared with the torch class, built with tensors that have shapes but no data: the total of the bytes of the "
        "parameters, of their gradients, and of the optimizer's state after one step. "
    ) in found
    assert "the optimizer's state after one step, and of the tensors that torch saves for the backward pass. " in said(
        "llama", "train-memory"
    )
    half = said("llama", "train-memory", recipe="bf16", implementation="sdpa", recompute="full")
    assert "of their gradients, of their float32 master copies, of the optimizer's state after one step" in half
    assert "saves for the backward pass and for the recomputation of the layers. " in half
    assert A.name not in found.partition("compared with the torch class")[2].partition(". ")[0].split()


def test_the_bytes_whose_sizes_are_known_are_stated() -> None:
    """Float32 weights, gradients and two moments: 16 bytes for each parameter of Llama 3 8B, 8,030,261,248 on its model
    card; and a counter of 4 bytes for each of 9 weights in 32 layers, and of the 3 others.
    """
    stated = "For llama-3-8b, the weights, the gradients and the optimizer's state take {:,} bytes ({})."
    # 128,484,181,132 / 10⁹ and / 2³⁰
    assert stated.format(16 * 8_030_261_248 + 4 * (9 * 32 + 3), "128.48 GB, 119.66 GiB") in said(
        "llama-3-8b", "train-memory"
    )
    stated = "For llama-3-8b, the weights take {:,} bytes ({})."
    assert stated.format(2 * 8_030_261_248, "16.06 GB, 14.96 GiB") in said("llama-3-8b", "inference-memory")


def test_a_page_without_activations_does_not_define_them() -> None:
    found = said("llama", "train-memory", implementation="none")
    assert "Excluded: the activations, the loss" in found
    assert "saves during one forward pass" not in found
    assert "recompute=" not in found
    assert "recompute=none" in said("llama", "train-memory")


def test_a_reader_learns_that_the_loss_is_excluded() -> None:
    """The JSON lacks the default, so only people read it; without logits or activations nothing is said."""
    meaning = "loss=excluded: the loss is excluded, with the tensors that only it saves, such as the logits"
    for quantity in ("train-memory", "activations"):
        assert meaning in said("llama", quantity)
        assert "loss=" not in said("vit", quantity, **{"implementation": "sdpa"})  # ViTModel has no logits
        assert "\nloss=excluded\n" in shown("show", "llama", "-q", quantity)
        assert "loss" not in json.loads(shown("show", "llama", "-q", quantity, "--json"))["conventions"]
    for chosen in ({"implementation": "none"}, {"offload": "host"}):
        assert "loss=" not in said("llama", "train-memory", **chosen)
    assert "loss=cross-entropy" in said("llama", "train-memory", loss="cross-entropy")


def test_rows_have_standard_terms_and_json_has_paths() -> None:
    """The products of attention are no modules; their names in the ledger, scores and mix, are those of the JSON."""
    for quantity, terms in (
        ("train-memory", ("attention scores", "weighted values")),
        ("flops", ("attention scores", "weighted values")),
        ("kv-cache", ("keys", "values")),
    ):
        printed = shown("show", "llama", "-q", quantity)
        page = shown("derive", "llama", "-q", quantity, "-o", "-", "--format", "md")
        assert all(f"layers.*.self_attn ({term})" in printed and f"({term})`" in page for term in terms)
        assert ".mix" not in printed + page
        paths = {row["path"] for row in json.loads(shown("show", "llama", "-q", quantity, "--json"))["breakdown"]}
        assert {"layers.*.self_attn.scores", "layers.*.self_attn.mix"} <= paths
    assert "`weighted values (values)`" in shown("derive", "llama", "-q", "activations", "-o", "-", "--format", "md")


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(cli, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_settings_that_do_not_apply_are_not_explained() -> None:
    usual, other = said("llama", "train-memory"), said("llama", "train-memory", recompute="full", recipe="pure-bf16")
    assert "Excluded: allocator overhead and temporary buffers." in usual  # loss=excluded states the loss
    assert "temporary buffers (such as activations while they are recomputed in the backward pass)." in other
    assert "(4 bytes per number)" in usual
    assert "(2 bytes per number)" in other
    assert "Excluded: the weights and temporary buffers." in said("llama", "activations")


def test_the_number_of_parameters_has_its_formula() -> None:
    document_ = document(sf.model("llama-3-8b"), ["train-memory"], "0")
    blocks = [*document_.blocks]
    place = next(
        n for n, each in enumerate(blocks) if isinstance(each, Paragraph) and "number of par" in plain(each.line)
    )
    assert plain(blocks[place].line) == "Here, N is the number of parameters (8,030,261,248 for llama-3-8b):"  # type: ignore[union-attr]
    equation = blocks[place + 1]
    assert isinstance(equation, Equation)
    assert equation.chain.labels[0].stands_for == sf.model("llama-3-8b").params.display_expr  # type: ignore[attr-defined]


def test_tensors_that_only_the_head_saves_are_named() -> None:
    """The input of a linear layer is saved for the gradient of its weight: 4BSE bytes in float32 for the LM head."""
    captions = [
        plain(block.caption)
        for quantity in ("train-memory", "params")
        for block in document(sf.model("llama"), [quantity], "0").blocks
        if isinstance(block, Table) and plain(block.caption).startswith("The formula with other model options.")
    ]
    assert [each.partition(". ")[2] for each in captions] == [
        "Only lm_head saves norm (output), so head=none also omits these bytes.",
        "",
    ]


def test_a_single_simple_part_keeps_its_place() -> None:
    blocks = document(sf.model("llama"), ["train-memory"], "0").blocks
    titles = [plain(each.line) for each in blocks if isinstance(each, Heading) and each.level == 2]
    assert titles[0] == "Token embedding"
    assert titles[-1] == "Language-model head"
