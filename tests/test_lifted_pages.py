"""Documents of traced models: structure, distinct parts, and the stated source."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.catalogue.measured_model import MeasuredModel
from symformer.catalogue.record import Record, model_of_records
from symformer.commands.cli import cli
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.documents.formats.page_layout import A4, is_tall
from symformer.language.notation.text import text
from symformer.language.symbols import SYMBOLS, E, H, L, V, name_size
from symformer.ledger.facts import ONE, Scope
from symformer.models.model import Model
from symformer.models.provenance import ConfigLocation, TraceEvidence
from symformer.output.blocks import Equation, Heading, Table

LETTERS = {"vocab": "V", "width": "E", "depth": "L", "inner": "H", "heads": "num_heads", "each": "d_kv"}
HEADS, WIDTH = (name_size(LETTERS[name]) for name in ("heads", "each"))
NUMBERS = {"vocab": 97, "width": 24, "depth": 3, "inner": 57, "heads": 5, "each": 7}


def page(counts: Any, **known: Any) -> tuple[str, Any]:
    """Return a model that stores these weights, as Markdown and as blocks."""
    traced = MeasuredModel(title="Rings", stem="rings", counts=counts)
    read = TraceEvidence(points=3, builds=40, seed=1, versions={"torch": "2"})
    places = {letter: ConfigLocation(name) for name, letter in LETTERS.items()}
    made = Record(letters=LETTERS, places=places, reading=read, traced=traced, config=NUMBERS)
    whole = document(model_of_records("rings", lambda _: replace(made, **known)), ["params"], "0")
    return render(whole, "md", "typst").decode(), whole


def test_list_of_different_modules() -> None:
    """As in T5: every block has attention, but not every block has a table of distances."""
    blocks = {
        ("encoder.block.*.attention.query", (E, E)): (L,),
        ("encoder.block.*.attention.distances", (H, E)): (ONE,),
        ("encoder.norm", (E,)): (),
        ("decoder.block.*.attention.query", (E, E)): (L,),
        ("decoder.block.*.attention.key", (E, E)): (L,),
        ("decoder.norm", (E,)): (),
    }
    counts = {(f"{path}.weight", shape): several for (path, shape), several in blocks.items()}
    written, whole = page(counts)
    assert "Common to all $`L`$ layers, `encoder.block.*`. Kinds of layers: $`1`$ with distances." in written
    assert "Specific to $`1`$ of the $`L`$ layers, `encoder.block.*`:" in written
    assert "`encoder` without `encoder.block.*`, `decoder` without `decoder.block.*`." in written
    named = [text_of(block) for block in whole.blocks if isinstance(block, Heading)]
    assert len(named) == len(set(named))


def test_layers_of_several_kinds_are_one_list_with_a_pattern() -> None:
    """As in Qwen3-Next: 3 of 4 layers have linear attention and a quarter has self-attention; all have experts."""
    counts = {
        ("layers.*.linear_attn.in_proj.weight", (H, E)): (3 * L / 4,),
        ("layers.*.mlp.experts.up_proj", (V, H, E)): (L,),
        ("layers.*.self_attn.q_proj.weight", (E, E)): (L / 4,),
    }
    written, whole = page(counts, config=NUMBERS | {"depth": 20})
    kinds = r"$`L_{\mathrm{lin}}`$ with linear attention and $`L_{\mathrm{attn}}`$ with self-attention"
    assert r"$`L_{\mathrm{lin}}`$ = $`\frac{3 L}{4}`$" in written
    assert r"$`L_{\mathrm{attn}}`$ = $`\frac{L}{4}`$" in written
    assert f"Common to all $`L`$ layers, `layers.*`. Kinds of layers: {kinds}." in written
    headings = [text_of(block) for block in whole.blocks if isinstance(block, Heading)]
    parts = ["Mixture of experts", "Linear attention", "Self-attention"]
    layers = ["The layers", "All layers", "Layers with linear attention", "Layers with self-attention"]
    assert [each for each in headings if each in layers] == layers
    assert re.findall(r"^\| \*\*(.*?)\*\*", written, re.MULTILINE) == parts  # a matrix each, so in one table
    assert "[]" not in written
    assert "()" not in written


def test_one_kind_of_layer_with_a_dense_mlp_and_one_with_experts() -> None:
    """As in DeepSeek-V3: the first layers have a dense MLP, the others experts at the same path."""
    dense, stacked = SYMBOLS["L_dense"], "layers.*.mlp.experts.up_proj"
    counts = {
        ("layers.*.norm.weight", (E,)): (L,),
        ("layers.*.mlp.up_proj.weight", (H, E)): (dense,),
        ("layers.*.mlp.down_proj.weight", (E, H)): (dense,),
        ("layers.*.mlp.gate.weight", (V, E)): (L - dense,),
        (stacked, (V, H, E)): (L - dense,),
    }
    traced = MeasuredModel(title="Rings", stem="rings", counts=counts)
    lists = [each for each in traced.ledger.root.items if isinstance(each, Scope)]
    sparse = SYMBOLS["L_moe"]
    assert [(each.count, each.among) for each in lists] == [(L, L), (dense, L), (sparse, L)]
    assert traced.totals == {sparse: L - dense}
    assert [each.label for each in lists] == ["", "layers_mlp", "layers_experts"]


def test_kinds_of_layers_of_an_encoder_and_a_decoder_have_letters_of_their_own() -> None:
    """As in NLLB-MoE: every fourth layer has experts; 8 encoder layers are 6 + 2, 12 decoder layers 9 + 3."""
    counts = {}
    for tower, letter in ("encoder", SYMBOLS["L_enc"]), ("decoder", SYMBOLS["L_dec"]):
        counts[f"{tower}.layers.*.norm.weight", (E,)] = (letter,)
        counts[f"{tower}.layers.*.ffn.fc1.weight", (H, E)] = (3 * letter / 4,)
        counts[f"{tower}.layers.*.ffn.fc2.weight", (E, H)] = (3 * letter / 4,)
        counts[f"{tower}.layers.*.ffn.experts.up", (V, H, E)] = (letter / 4,)
    traced = MeasuredModel(title="Rings", stem="rings", counts=counts)
    model = Model(target="rings", component=traced)
    known = model.set({"L_enc": 8, "L_dec": 12, "E": 5, "H": 7, "V": 11}).known
    kinds = {name: known[SYMBOLS[name]] for name in ("L_enc_d", "L_enc_x", "L_dec_d", "L_dec_x")}
    assert kinds == {"L_enc_d": 6, "L_enc_x": 2, "L_dec_d": 9, "L_dec_x": 3}
    # 20 norms of 5, 15 networks of 2*7*5, 5 times 11 experts of 7*5
    assert model.params.value(L_enc=8, L_dec=12, E=5, H=7, V=11) == 20 * 5 + 15 * 70 + 5 * 11 * 35


def test_a_kind_of_layer_can_have_no_layers() -> None:
    """AFMoE with only dense layers: 6 layers of 4*E for the norms and 3*E*H for the MLP, and no experts."""
    all_dense = sf.model("hf:afmoe").set({"L": 6, "L_dense": 6})
    assert all_dense.known[SYMBOLS["L_moe"]] == 0
    sizes = {"V": 97, "E": 20, "H": 33, "X": 5, "X_shared": 2, "M": 11, "A": 3, "G": 1, "D": 8}
    # embedding and head 2*97*20, last norm 20, attention 3*20*3*8 + 2*20*1*8 + 2*8, MLP 3*20*33
    assert all_dense.params.value(**sizes) == 2 * 97 * 20 + 20 + 6 * (4 * 20 + 1440 + 320 + 16 + 1980)
    assert "L_moe" not in sf.model("hf:afmoe").params.partial(L=6, L_dense=6).code()
    compute = all_dense.params.compile()
    assert compute(**sizes) == 26_916


def test_numbers_of_stages_say_nothing_about_the_number_of_all() -> None:
    """One stage of three has a stem and two have a convolution: no row is in all of them."""
    counts = {("stages.*.stem.weight", (E, E)): (ONE,), ("stages.*.conv.weight", (H, E)): (2 * ONE,)}
    traced = MeasuredModel(title="Rings", stem="rings", counts=counts)
    assert [each.among for each in traced.ledger.root.items if isinstance(each, Scope)] == [None, None]


def test_operations_of_a_run_are_listed_by_part() -> None:
    """A run of a stored entry; the operations come from the class's own code."""
    written = render(document(sf.model("hf:afmoe"), ["params"], "0"), "md", "typst").decode()
    scores = r"attention scores within a window of $`C_{\mathrm{win}}`$ tokens;"
    assert scores in written
    assert "Operations in a run: matrix product (`gate_proj`, `up_proj` and `down_proj`)." in written
    # Arcee AI's config class: every fourth layer attends to all tokens, by ``global_attn_every_n_layers``
    assert "`layer_types` repeats 3 `sliding_attention` and 1 `full_attention`" in written
    shown = CliRunner().invoke(cli, ["show", "hf:afmoe"]).stdout
    assert "the formula holds if layer_types repeats 3 sliding_attention and 1 full_attention\n" in shown
    # the window occurs only in the operations of the run, and still has its field
    assert (
        r"| $`C_{\mathrm{win}}`$ | tokens in the attention window, including the current one | `sliding_window` |"
        in written
    )
    assert "| **Outside the layers**. " in written
    assert "every element of every weight, trained or not," in written  # the bias of the experts is frozen
    # In layers with a dense MLP there is no router to leave out.
    assert "`model.layers.*.mlp` without" not in written


def test_only_the_module_that_is_not_understood_is_named() -> None:
    """The chunked delta rule of Qwen3-Next multiplies computed tensors; its other modules are matrices and norms."""
    written = render(document(sf.model("hf:qwen3_next"), ["params"], "0"), "md", "typst").decode()
    unknown = [line for line in written.splitlines() if "is not recognized" in line]
    assert len(unknown) == 1
    assert "of computed tensors in `model.layers.*.linear_attn` is not recognized." in unknown[0]
    assert "Only the weights" not in written
    assert "(`scores`)" not in written  # the class has no module of this name
    named = ("embed_tokens", "gate_proj", "q_proj", "q_norm", "in_proj_qkvz", "conv1d", "gate", "lm_head")
    listed = [line for line in written.splitlines() if line.startswith(("Operations in a run:", "| **"))]
    assert [name for name in named if not any(f"`{name}`" in line for line in listed)] == []


def test_class_that_cannot_be_run_says_why_it_has_no_computation() -> None:
    """Wav2Vec2's forward method reads ``input_values``, which are neither tokens nor images."""
    written = render(document(sf.model("hf:wav2vec2"), ["params"], "0"), "md", "typst").decode()
    said = "Only the weights of this class are known, not its computation. The reason: Wav2Vec2Model reads input"
    assert written.count(said) == 1
    assert "Operations in a run" not in written
    assert "conv_layers_1" not in "".join(line for line in written.splitlines() if line.startswith("#"))
    assert "### `conv_layers`, $`4`$ copies\n" in written  # four of its seven convolutions have a kernel of 3


def test_class_whose_computation_depends_on_values_says_so_in_words() -> None:
    """NLLB-MoE calls torch.nonzero, whose shape depends on the tokens of each expert."""
    written = render(document(sf.model("hf:nllb-moe"), ["params"], "0"), "md", "typst").decode()
    assert "The reason: what its code computes depends on the values of tensors, and a trace has only" in written
    assert "()" not in written


def test_kinds_of_layers_are_explained_once() -> None:
    """NLLB-MoE has two lists of layers, each with two kinds."""
    written = render(document(sf.model("hf:nllb-moe"), ["params"], "0"), "md", "typst").decode()
    assert written.count("Kinds of layers:") == 2
    assert written.count("A trace tells in how many layers a weight occurs") == 1


def test_parts_of_several_widths_are_told_apart_by_their_copies() -> None:
    """Swin has four stages of blocks in one list; the class has no ``blocks_1``."""
    whole = document(sf.model("hf:swin"), ["params"], "0")
    headings = [block.line for block in whole.blocks if isinstance(block, Heading)]
    told = ["".join(getattr(piece, "text", str(piece)) for piece in line) for line in headings]
    assert not any("blocks_" in each for each in told)
    written = render(whole, "md", "typst").decode()
    assert written.count("### Attention, $`L_{\\mathrm{0}}`$ copies\n") == 1
    assert len(set(written.split("\n### ")[1:])) == len(written.split("\n### ")[1:])


def test_equal_sizes_are_stated_once() -> None:
    """RoFormer's class runs only with ``embedding_size`` equal to ``hidden_size``."""
    written = render(document(sf.model("hf:roformer"), ["params"], "0"), "md", "typst").decode()
    (holds,) = (line for line in written.splitlines() if line.startswith("The formula holds if"))
    assert holds == r"The formula holds if $`E`$ is a multiple of $`A`$ and $`E_{\mathrm{emb}}`$ is $`E`$."


def text_of(block: Heading) -> str:
    return "".join(piece if isinstance(piece, str) else getattr(piece, "text", "") for piece in block.line)


def test_direct_weights_of_a_container_are_counted() -> None:
    """As in BERT's head: a bias next to the module whose output it is added to. E² + E + V, by hand."""
    counts = {
        ("cls.predictions.bias", (V,)): (),
        ("cls.predictions.transform.weight", (E, E)): (),
        ("cls.predictions.transform.bias", (E,)): (),
    }
    written, _ = page(counts)
    assert r"N_{\mathrm{predictions}} &= V + E \cdot E + E" in written
    model = model_of_records(
        "rings", lambda _: Record(letters=LETTERS, traced=MeasuredModel(stem="rings", counts=counts))
    )
    assert model.params.part("cls.predictions").code() == "E**2 + V + E"


def test_named_sizes_are_as_wide_as_their_names() -> None:
    counts = {(f"part_{place}.weight", (SYMBOLS[letter], HEADS, WIDTH)): () for place, letter in enumerate("EHVL")}
    _, whole = page(counts)
    shown = next(block for block in whole.blocks if isinstance(block, Equation) and block.key)
    # E·num_heads·d_kv: 14 letters and two dots with space around them, so three of four such terms fill a line
    assert [text(row.shown).count("num_heads") for row in A4.rows(replace(shown, key=False))][-2:] == [3, 1]


def test_row_with_a_fraction_is_taller() -> None:
    _, whole = page({("part.weight", (E * H / L, E)): (), ("other.weight", (V,)): ()})
    assert any(is_tall(block) for block in whole.blocks if isinstance(block, Table))
    _, whole = page({("part.weight", (L, E)): (), ("other.weight", (V,)): ()})
    assert not any(is_tall(block) for block in whole.blocks if isinstance(block, Table))


def test_page_states_its_source_and_assumptions() -> None:
    counts = {("part.weight", (L, E)): ()}
    written, _ = page(counts)
    assert "catalogue" not in written
    written, _ = page(counts, by="catalogue", assumed=("no 'architectures' field, so read as RingsForCausalLM",))
    assert "This formula is from symformer's catalogue" in written
    assert "Notes on its `config.json`: no 'architectures' field, so read as RingsForCausalLM." in written


@pytest.mark.parametrize("model_type", ["gemma2", "gpt_oss"])
def test_attention_with_and_without_a_window_is_counted_without_a_letter(model_type: str) -> None:
    """Half of the layers have a window; both halves cost the same, so 2 * L/2 is L, not 2 * L_attn."""
    formula = sf.model(f"hf:{model_type}").formula("flops")
    assert not formula.totals
    assert L in formula.symbols
