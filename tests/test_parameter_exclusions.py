"""Parameters without embeddings, positions or the pooler, compared with papers and model cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.language.errors import OptionError, RuleError
from symformer.language.symbols import E, H, L, N_tp, P, V

# Published values.
PRINTED = {
    # Biderman et al. 2023, table 1: non-embedding parameters
    ("pythia-70m", "embeddings"): 18_915_328,
    ("pythia-410m", "embeddings"): 302_311_424,
    ("pythia-1b", "embeddings"): 805_736_448,
    ("pythia-12b", "embeddings"): 11_327_027_200,
    # nanoGPT, model.py, get_num_params(non_embedding=True) at GPT-2's sizes and 50,257 tokens
    ("gpt2", "positions"): 123_653_376,
    # by hand: 109,482,240 for BERT base minus 768·768 + 768 of its pooler, and 355,359,744 for RoBERTa large minus its
    # own
    ("bert-base-uncased", "pooler"): 108_891_648,
    ("roberta-large", "pooler"): 354_310_144,
}
# Qwen2.5's cards: parameters and non-embedding parameters, in billions.
CARDS = {"qwen2.5-0.5b": 0.36, "qwen2.5-1.5b": 1.31, "qwen2.5-3b": 2.77, "qwen2.5-7b": 6.53}


@pytest.mark.parametrize(("target", "left"), PRINTED)
def test_exclusions_match_exact_published_numbers(target: str, left: str) -> None:
    assert sf.architecture(target).formula("params", without=left).value() == PRINTED[target, left]


@pytest.mark.parametrize("target", CARDS)
def test_non_embedding_params_match_the_qwen_model_cards(target: str) -> None:
    """The head is tied in the small models and not in the large ones: neither is counted."""
    value = sf.architecture(target).formula("params", without="embeddings").value()
    assert round(value / 10**9, 2) == CARDS[target]


def test_exclusion_formulas_by_hand() -> None:
    gpt2 = sf.architecture("gpt2")
    assert (gpt2.params.expanded - gpt2.formula("params", without="positions").expanded).expand() == P * E
    assert (gpt2.params.expanded - gpt2.formula("params", without="embeddings").expanded).expand() == V * E + P * E
    llama = sf.architecture("llama")
    assert (llama.params.expanded - llama.formula("params", without="embeddings").expanded).expand() == 2 * V * E
    # A feed-forward network in each layer: one layer of GPT-2 has 2EH + H + E in it.
    assert gpt2.formula("params", without="embeddings").part("h.mlp").equals(8 * E**2 + 5 * E)
    assert gpt2.formula("params", without="embeddings").part("wte") == 0


def test_a_head_is_excluded_with_its_bias_tied_or_untied() -> None:
    """BERT's masked head: V·E + V for the logits, where stored, and the tables V·E, P·E and V_type·E."""
    for tied in ("true", "false"):
        model = sf.architecture("bert", head="mlm", tied=tied)
        left = model.formula("params", without="embeddings")
        assert V not in left.symbols
        assert P not in left.symbols
        # 4E² + 2EH + 9E + H per layer, the norm of the embeddings, and the head's E² + E with its norm
        by_hand = L * (4 * E**2 + 2 * E * H + 9 * E + H) + 2 * E + E**2 + 3 * E
        assert (left.expanded - by_hand.expand()).expand() == 0
    assert V not in sf.architecture("gptj").formula("params", without="embeddings").symbols  # its head has a bias


def test_exclusions_from_active_parameters() -> None:
    """Mixtral 8x7B: 12,879,925,248 active, including 2·32,000·4,096 in the table and the head."""
    model = sf.architecture("mixtral-8x7b")
    assert model.formula("active-params", without="embeddings").value() == 12_879_925_248 - 2 * 32_000 * 4_096


def test_exclusions_on_one_rank() -> None:
    """Two tensor-parallel ranks, each with all norms."""
    model = sf.architecture("llama-2-7b")
    share = model.formula("params", without="embeddings", tensor="on").expanded
    whole = model.formula("params", without="embeddings").expanded
    assert (share.subs(N_tp, 1) - whole).expand() == 0
    assert V not in share.free_symbols
    last = model.formula("params", without="embeddings", pipeline="last")
    assert V not in last.symbols


def test_non_embedding_params_title_and_letter() -> None:
    left = sf.architecture("gpt2").formula("params", without="embeddings")
    assert left.measure.title == "non-embedding parameters"
    assert left.measure.letter == "N_nonemb"
    assert left.measure.name == "params"
    assert sf.architecture("gpt2").params.conventions == {}
    assert sf.architecture("gpt2").formula("params", without="nothing").conventions == {}


@pytest.mark.parametrize("target", ["vit", "component:mlp", "transformer-encoder-layer"])
def test_models_without_a_token_embedding_refuse_the_exclusion(target: str) -> None:
    model = sf.component("mlp") if target == "component:mlp" else sf.architecture(target)
    for left in ("embeddings", "positions"):
        with pytest.raises(RuleError, match=f"without={left} needs a model with a token embedding; .* none"):
            model.formula("params", without=left)


def test_exclusions_for_catalogue_classes() -> None:
    found = sf.model("hf:xglm").formula("params", without="embeddings")
    # By hand, per layer: four matrices E² and their biases, the two of the MLP, two norms; and the final norm.
    by_hand = "num_layers*(4*E**2 + 4*E + 2*E*ffn_dim + ffn_dim + E + 4*E) + 2*E"
    assert found.equals(by_hand)
    with pytest.raises(RuleError, match="without=embeddings: the product that computes the logits was not recognized"):
        sf.model("hf:clip").formula("params", without="embeddings")


def test_exclusions_through_cli_and_documents(tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = json.loads(run(cli, ["show", "qwen2.5-7b", "--option", "without=embeddings", "--json"]).stdout)
    assert shown["conventions"] == {"without": "embeddings"}
    assert shown["value"] == 7_615_616_512 - 2 * 152_064 * 3_584
    page = tmp_path / "a.md"
    assert run(cli, ["derive", "gpt2", "--option", "without=embeddings", "-o", str(page)]).exit_code == 0
    said = page.read_text("utf-8")
    assert "non-embedding parameters" in said
    assert "that is not excluded is counted" in said
    assert "The certificate is for the formula of all weights" in said
    solved = run(
        cli, ["solve", "gpt2", "--total", "85056000", "--find", "L", "--option", "without=embeddings", "--json"]
    )
    assert json.loads(solved.stdout)["solutions"][0]["sizes"]["L"] == 12
    explained = sf.explain(sf.architecture("gpt2"), "85,056,000", "params", without="embeddings")
    assert explained.verdict == "exact"
    assert "124,439,808" in run(cli, ["show", "gpt2", "--option", "without=embeddings", "--conventions"]).stdout
    with pytest.raises(OptionError, match="without=heads is not supported by params; choose from nothing, embedd"):
        sf.architecture("gpt2").formula("params", without="heads")


def test_excluding_a_pooler_requires_a_pooler() -> None:
    for left in ("pooler", "embeddings-and-pooler"):
        with pytest.raises(RuleError, match=f"without={left} needs a model with a pooler; GPT-2 has none"):
            sf.architecture("gpt2").formula("params", without=left)
