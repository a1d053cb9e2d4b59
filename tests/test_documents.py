"""Documents: every language, every architecture; steps that are proved; nothing of the user's that escapes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import typst
from sympy import Integer

from symformer import architecture, component
from symformer.architectures import names, variants
from symformer.derivation import Chain, substitution
from symformer.documents.blocks import Code, Document, Equation, Heading, Math, Paragraph, Strong, Table
from symformer.documents.derivation import document
from symformer.documents.languages import LANGUAGES
from symformer.documents.render import FORMATS, render, spell
from symformer.errors import DerivationError, DocumentError
from symformer.model import Model
from symformer.notation.text import percent, text
from symformer.notation.tree import Label, Sum, tree
from symformer.symbols import E, H, L

MODELS = [variant for name in names() for variant in variants(architecture(name))]


def derivation(target: str, *quantities: str) -> Document:
    return document(architecture(target), quantities or ("params",), "1.2.3")


def lines(chain: Chain | None) -> list[str]:
    assert chain is not None
    return [text(step) for step in chain.steps]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.id} {model.component.chosen}")
@pytest.mark.parametrize("quantity", ["params", "flops", "train-flops"])
def test_every_step_is_proved_and_the_last_is_the_formula(model: Model, quantity: str) -> None:
    formula = model.formula(quantity)
    steps = formula.derivation
    for section in steps:
        if section.chain is not None:
            section.chain.prove(formula.relations)
    assert steps.whole.chain is not None
    assert steps.whole.chain.steps[-1] == tree(formula.expanded)


def test_the_steps_of_gpt2() -> None:
    sections = {
        section.line.key: lines(section.chain) for section in architecture("gpt2").params.derivation if section.chain
    }
    assert sections["wte"] == ["VE"]
    assert sections["h.ln_1"] == ["E + E", "2E"]
    assert sections["h.attn"] == ["3E · E + 3E + E · E + E", "4E² + 4E"]
    assert sections["h.mlp"] == ["H · E + H + E · H + E", "2EH + E + H", "8E² + 5E"]
    assert sections["h"] == ["N[ln_1] + N[attn] + N[ln_2] + N[mlp]", "2E + (4E² + 4E) + 2E + (8E² + 5E)", "12E² + 13E"]
    assert sections[""] == [
        "N[wte] + N[wpe] + LN[h] + N[ln_f]",
        "VE + PE + L(12E² + 13E) + 2E",
        "12LE² + 13LE + VE + PE + 2E",
    ]


def test_equal_parts_share_one_section() -> None:
    norms = [section for section in architecture("gpt2").params.derivation if section.line.key == "h.ln_1"]
    assert norms[0].paths == ("h.*.ln_1", "h.*.ln_2", "ln_f")


def test_parts_of_one_name_that_differ_are_told_apart() -> None:
    labels = [
        text(section.chain.labels[0]) for section in architecture("transformer").params.derivation if section.chain
    ]
    assert "N[encoder.layers]" in labels
    assert "N[decoder.layers]" in labels


def test_a_wrong_step_is_refused() -> None:
    formula = architecture("gpt2").params
    good = formula.derivation.whole.chain
    assert good is not None
    wrong = replace(good, steps=(*good.steps[:-1], tree(formula.expanded + E)))
    with pytest.raises(DerivationError, match="they differ by"):
        wrong.prove(formula.relations)
    with pytest.raises(DerivationError):
        Chain((Label("N", "mlp", 8 * E**2),), (tree(2 * E * H),)).prove({H: 5 * E})


def test_numbers_are_put_in_exactly() -> None:
    assert lines(substitution(12 * L * E**2 - E / 2, {L: 3, E: 10})) == ["12 · 3 · 10² - 5", "3,600 - 5", "3,595"]
    gpt2 = architecture("gpt2")
    assert lines(substitution(gpt2.params.expanded, gpt2.known))[-1] == "124,439,808"


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("extension", FORMATS)
def test_every_architecture_in_every_language(name: str, extension: str) -> None:
    made = render(derivation(name, "params", "flops"), extension)
    assert made == render(derivation(name, "params", "flops"), extension), "the same bytes every time"
    assert len(made) > 2_000
    if extension == "pdf":
        assert made.startswith(b"%PDF")
    else:
        told = made.decode()
        assert "Not certified" not in told
        assert "Schwartz" in told
        assert "None" not in told
        assert "object at" not in told


@pytest.mark.parametrize("name", names())
def test_every_parameter_count_is_certified(name: str) -> None:
    for model in variants(architecture(name)):
        told = spell(document(model, ["params"], "1.2.3"), "md")
        assert "Not certified" not in told
        assert "would have passed with probability at most" in told


def test_other_conventions_than_torchs_are_told() -> None:
    told = spell(document(architecture("gpt2"), ["flops"], "1.2.3", attention="causal"), "md")
    assert (
        "torch counts under `attention=full, logits=all, embedding=lookup, count=contractions`; under these the formula"
        in told
    )


def test_a_formula_without_certificate_says_so() -> None:
    told = spell(document(Model(target="component:mlp", component=component("mlp")), ["params"], "1.2.3"), "md")
    assert "**Not certified.**" in told
    assert "2 E H + E + H" in told


def test_what_the_derivation_of_gpt2_tells() -> None:
    told = spell(derivation("gpt2"), "md")
    for needed in [
        "N &= 12 L E^{2} + 13 L E + V E + P E + 2 E",
        "**124,439,808**",
        '<a id="gpt2.params.h.attn"></a>',
        r"$`3 E \times E`$",
        "31.7%",  # 1 - 84,934,656/124,439,808
        "5.3%",  # 1 - 12*48*1600²/1,557,611,200
        "12 \\cdot 12 \\cdot 768^{2}",
        "84{,}934{,}656 + 119{,}808 + 38{,}597{,}376 + 786{,}432 + 1{,}536",
        "| `h.*.attn.c_attn` | $`L`$ | $`3 E^{2} + 3 E`$ | 21,261,312 | 17.1% |",
        "`transformers.GPT2LMHeadModel`",
        "Language Models are Unsupervised Multitask Learners",
        "`lm_head` reads `wte.weight`",
    ]:
        assert needed in told, needed
    assert r"\operatorname" not in told


def test_palm_shows_both_counts() -> None:
    told = spell(derivation("palm-540b"), "md")
    assert "**540,354,281,472**" in told
    assert "540,356,474,880" in told


NASTY = (
    r"""\input{/etc/passwd} #include "x" `rm` $E$ {{ 7*7 }} <% 7*7 %> <script> *b* _i_ | & % ~ ^ [l](u) ]""" + "\x07"
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_and_names_are_escaped(language: str) -> None:
    """Whatever a user typed is printed, not obeyed."""
    blocks = [
        Heading(1, [NASTY]),
        Paragraph([NASTY, Code(NASTY), Strong(NASTY), Math.of(E)]),
        Table([[NASTY], ["b"]], [[[Code(NASTY)], [NASTY]]], "lw"),
    ]
    told = spell(Document(NASTY, NASTY, blocks), language)
    assert "49" not in told
    if language == "tex":
        assert r"\input" not in told
        assert not re.search(r"(?<!\\)[#%&](?!\s)", told.split(r"\begin{document}")[1].replace(" & ", ""))
    if language == "typ":
        assert b"%PDF" in typst.compile(told.encode(), format="pdf")
        assert not re.search(r"^#include", told, re.MULTILINE)
    if language == "md":
        prose = re.sub(r"``.*?``", "", told)  # in code, nothing is obeyed
        assert not re.search(r"(?<!\\)<script", prose)


def test_long_sums_are_broken_into_lines() -> None:
    shown = Sum(tuple(tree(number * E) for number in range(2, 40)))
    rows = Equation(Chain((), (shown,))).rows
    assert len(rows) > 1
    assert {sign for sign, _ in rows[1:]} == {"+"}


def test_percent_never_rounds_something_to_nothing() -> None:
    from fractions import Fraction

    assert percent(Fraction(1, 2)) == "50.0%"
    assert percent(Fraction(1, 10**9)) == "< 0.1%"
    assert percent(Fraction(0)) == "0%"


def test_latex_engine_needs_pdflatex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DocumentError, match="pdflatex is not on PATH"):
        render(derivation("gpt2"), "pdf", "latex")


def test_a_preset_may_be_larger_than_anything_real() -> None:
    model = architecture("gpt2").set({L: Integer(10**9)})
    assert model.params.value() > 7 * 10**15
    assert "7,087," in spell(document(model, ["params"], "1.2.3"), "md")
