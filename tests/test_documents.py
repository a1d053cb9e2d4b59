"""Documents in every language for every architecture: verified steps, and user input without markup."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import pypdfium2
import pytest
import torch
import typst
from sympy import Add, Integer

from symformer import __version__, architecture, component, trace
from symformer.architectures import names, presets, presets_of, variants
from symformer.architectures.gemma3_multimodal import PooledTokens
from symformer.architectures.qwen3_vl import ListedLayersField
from symformer.components import component_class as part_class
from symformer.components import names as part_names
from symformer.components.base import Component
from symformer.configs.compressed_layers import RateField
from symformer.configs.config_fields import HalvedField
from symformer.configs.sections import flatten
from symformer.documents.derivation_document import document
from symformer.documents.formats import FORMATS, render
from symformer.documents.formats.base_language import Language
from symformer.documents.formats.md import FLAVOURS
from symformer.documents.formats.page_layout import A4
from symformer.documents.gallery_pages import COVER, WHOLE, derived, stems
from symformer.formulas.account import Measure
from symformer.formulas.derivation import substitution
from symformer.language.arithmetic import parse
from symformer.language.errors import DerivationError, DocumentError, RuleError
from symformer.language.notation.display_tree import Cross, Label, Sum, sizes_of, tree
from symformer.language.notation.text import percent, text
from symformer.language.sizes import evaluate
from symformer.language.symbols import LETTERS, A, B, C, E, H, L, S, letter, name_size, symbol
from symformer.models.model import Model
from symformer.models.provenance import fixed_reason
from symformer.output.blocks import (
    Block,
    Cited,
    Code,
    Document,
    Equation,
    EquationNumber,
    Heading,
    Line,
    Math,
    Paragraph,
    Piece,
    Ref,
    References,
    Strong,
    Table,
    formulas_in,
)
from symformer.output.blocks import lines as lines_of
from symformer.output.blocks import plain as spoken
from symformer.output.chain import Chain
from symformer.papers import paper, papers, split_at_keys
from symformer.quantities import quantities
from symformer.quantities import quantity as find_quantity
from symformer.quantities.elementwise import printed_table
from symformer.targets.resolution import resolve
from symformer.views.citations import bibtex
from symformer.views.example_facts import with_numbers

from .samples import sampled

ROOT = Path(__file__).parent.parent
WINDOWED = "Each token attends only to the last "
LANGUAGES: dict[str, Language] = {
    name: made_by
    for name in FORMATS
    if isinstance(made_by := import_module(f"symformer.documents.formats.{name}").FORMAT, Language)
}
MODELS = [variant for name in names() for variant in variants(architecture(name))]


def spell(document: Document, language: str) -> str:
    return LANGUAGES[language].spell(document)


@cache
def derivation(target: str, *quantities: str) -> Document:
    return document(architecture(target), quantities or ("params",), "1.2.3")


def lines(chain: Chain | None) -> list[str]:
    assert chain is not None
    return [text(step) for step in chain.steps]


@pytest.mark.parametrize("model", sampled(6, MODELS), ids=lambda model: f"{model.id} {model.component.chosen}")
@pytest.mark.parametrize("quantity", ["params", "flops", "train-flops"])
def test_every_step_is_an_identity_ending_in_the_formula(model: Model, quantity: str) -> None:
    formula = model.formula(quantity)
    steps = formula.derivation
    for section in steps:
        if section.chain is not None:
            section.chain.prove(formula.relations)
    assert steps.whole.chain is not None
    assert steps.whole.chain.steps[-1] == tree(formula.display_expr)


def test_derivation_steps_of_gpt2() -> None:
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


def test_different_parts_with_one_name_get_separate_sections() -> None:
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


def test_values_are_substituted_exactly() -> None:
    assert lines(substitution(12 * L * E**2 - E / 2, {L: 3, E: 10})) == [
        "12 · 3 · 10² - 10/2",
        "3,600 - 5",
        "3,595",
    ]
    gpt2 = architecture("gpt2")
    assert lines(substitution(gpt2.params.expanded, gpt2.known))[-1] == "124,439,808"
    cached = architecture("mistral-7b-v0.1").set({B: Integer(3), C: Integer(5000)})
    # numbers are also substituted inside a fraction and a call before evaluation: 4·3·32·8·128·min(5000, 4096 - 1)
    assert lines(substitution(cached.formula("kv-cache").expanded, cached.known))[0] == (
        "4 · 3 · 32 · 8 · 128 · min(5,000, 4,096 - 1)"
    )
    rank = architecture("llama-2-70b").set({"N_tp": 8})
    shown = lines(substitution(rank.formula("params", tensor="on").expanded, rank.known))
    assert shown[0].startswith("2 · 80 · 8,192 · 64 · 128/8 + "), "not 1,342,177,280 on two lines"


@pytest.mark.parametrize("place", sampled(9, range(len(names()))), ids=names())
@pytest.mark.parametrize("turn", sampled(2, range(2)))
def test_every_architecture_in_two_languages(place: int, turn: int) -> None:
    """Two of the four languages per architecture, alternating."""
    name, language = names()[place], list(LANGUAGES)[(2 * place + turn) % len(LANGUAGES)]
    told = spell(made(name), language)
    assert len(told) > 2_000
    assert "Not certified" not in told
    assert "Schwartz" in told
    assert "None" not in told
    assert "object at" not in told


# The gallery writes the others of each family, and their bytes are checked elsewhere.
@pytest.mark.parametrize("name", sampled(8, [COVER, *[name for name in names() if name not in WHOLE][::3]]))
def test_pdf_is_reproducible(name: str) -> None:
    first = render(made(name), "pdf")
    assert first.startswith(b"%PDF")
    assert name != COVER or first == render(made(name), "pdf")


def test_conventions_that_differ_from_torch_are_stated() -> None:
    told = spell(document(architecture("gpt2"), ["flops"], "1.2.3", attention="causal"), "md")
    assert (
        "torch counts under `attention=full, logits=all, embedding=lookup, count=contractions`; the certificate is for"
        in told
    )


def test_missing_certificate_is_stated() -> None:
    told = spell(document(Model(target="component:mlp", component=component("mlp")), ["params"], "1.2.3"), "md")
    assert "**Not certified.**" in told
    assert "2 E H + E + H" in told


def test_contents_of_the_gpt2_derivation() -> None:
    told = spell(derivation("gpt2"), "md")
    for needed in [
        # 12LE² + 13LE and VE + PE + 2E, each with the common factors in front of a bracket
        "N &= L E (12 E + 13) + E (V + P + 2) \\\\\n&= 12 L E^{2} + 13 L E + V E + P E + 2 E\n",
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
        "`lm_head` uses `wte.weight`",
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
    """User input is printed and never interpreted as markup."""
    blocks = [
        Heading(1, [NASTY]),
        Paragraph([NASTY, Code(NASTY), Strong(NASTY), Math.of(E)]),
        Table([[NASTY], ["b"]], [[[Code(NASTY)], [NASTY]]], "lw"),
    ]
    told = spell(Document(NASTY, NASTY, blocks), language)
    told = re.sub(r"(?s)<(style|script)>.*?</\1>", "", told)  # of HTML, the font and the script for copying
    assert "49" not in told
    if language == "tex":
        assert r"\input" not in told
        assert not re.search(r"(?<!\\)[#%&](?!\s)", told.split(r"\begin{document}")[1].replace(" & ", ""))
    if language == "typ":
        assert b"%PDF" in typst.compile(told.encode(), format="pdf")
        assert not re.search(r"^#include", told, re.MULTILINE)
    if language == "html":
        assert not re.search("<script|<i>|<b>", told)
    if language == "md":
        prose = re.sub(r"``.*?``", "", told)  # nothing is interpreted in code
        assert not re.search(r"(?<!\\)<script", prose)


def test_long_sums_are_wrapped() -> None:
    shown = Sum(tuple(tree(number * E) for number in range(2, 40)))
    rows = A4.rows(Equation(Chain((), (shown,))))
    assert len(rows) > 1
    assert {row.sign for row in rows[1:]} == {"+"}


@pytest.mark.parametrize("key", [True, False])
def test_long_equation_continues_on_the_next_page(key: bool) -> None:
    """A page fits some 40 rows; 120 rows on one page would be cut off, including the result."""
    shown = Sum(tuple(tree(E**6 * H**5 * L**number) for number in range(2, 800)))
    long = Equation(Chain((Label("N", "", E),), (shown,)), key=key)
    assert len(A4.rows(long)) > 120
    printed = typst.compile(spell(Document("", "", [long]), "typ").encode(), format="png", ppi=20)
    assert len(printed) > 2
    assert "boxed" not in spell(Document("", "", [long]), "tex")


def test_long_table_rows_continue_on_the_next_page() -> None:
    shown = Add(*(E**6 * H**5 * L**number for number in range(2, 700)))
    long = Table([["Variant"], ["Formula"]], [[["one"], [Math.of(shown)]], [["two"], [Math.of(shown)]]], "lw")
    assert A4.long(long)
    assert not A4.long(Table([["Variant"], ["Formula"]], [[["one"], [Math.of(E)]]], "lw"))
    printed = typst.compile(spell(Document("", "", [long]), "typ").encode(), format="png", ppi=20)
    assert len(printed) > 2


def test_nonzero_percentage_is_never_rounded_to_zero() -> None:
    from fractions import Fraction

    assert percent(Fraction(1, 2)) == "50.0%"
    assert percent(Fraction(1, 10**9)) == "< 0.1%"
    assert percent(Fraction(0)) == "0%"


def test_latex_engine_needs_pdflatex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DocumentError, match="pdflatex is not on PATH"):
        render(derivation("gpt2"), "pdf", "latex")


def test_very_large_presets_are_printed() -> None:
    model = architecture("gpt2").set({L: Integer(10**9)})
    assert model.params.value() > 7 * 10**15
    assert "7,087," in spell(document(model, ["params"], "1.2.3"), "md")


# Printed statements are true of the model, each letter has one meaning, products are bracketed, references are cited.


def made(stem: str) -> Document:
    """Return a committed document; the tests of the reports ensure that it is up to date."""
    return derived(stem, __version__)


def plain(line: Line) -> str:
    """Return the prose of a line with the numbers of its citations, without mathematics and code."""

    def of(piece: Piece) -> str:
        match piece:
            case Cited(_, number):
                return f"[{number}]"
            case Ref(_, number):
                return f"({number})"
        return piece if isinstance(piece, str) else "\0"

    return "".join(map(of, line))


@pytest.mark.parametrize("stem", sampled(6, stems()))
def test_printed_statements_are_true(stem: str) -> None:
    document = made(stem)
    for language in LANGUAGES:
        if language != "html":  # tests/test_html.py reads its mathematics back
            sums_are_bracketed(document, language)
    references_are_cited_and_citations_listed(document)
    letters_are_one_thing_and_stand_in_the_table(document)
    what_counts_is_not_said_to_add_nothing(document)
    if "Not certified" in spell(document, "md") or stem.endswith("-rank"):
        assert "result is checked" not in document.subtitle


def test_some_documents_contain_bracketed_sums() -> None:
    crossed = [shown for shown in formulas_in(made("deepseek-v3-costs").blocks) if isinstance(shown, Cross)]
    assert sum(isinstance(factor, Sum) for shown in crossed for factor in shown.factors) > 20


@pytest.mark.parametrize("extension", FORMATS)
def test_chapters_are_printed_in_every_language(extension: str) -> None:
    assert len(render(made("feed-forward-lm-costs"), extension)) > 20_000


def sums_are_bracketed(document: Document, language: str) -> None:
    sign = " times " if language == "typ" else r" \times "
    for shown in formulas_in(document.blocks):
        if not isinstance(shown, Cross):
            continue
        spelt = bare = LANGUAGES[language].math(shown)
        assert sign in spelt
        bare = re.sub(r"\\left\\l(ceil|floor).*?\\right\\r\1", "", bare)
        while bare != (bare := re.sub(r"[({][^(){}]*[)}]", "", bare)):
            pass
        assert not re.search(r" [+-] ", bare), spelt


def references_are_cited_and_citations_listed(document: Document) -> None:
    blocks = document.blocks
    told = " ".join(map(plain, lines_of(blocks)))
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", told)}
    listed = [entry for block in blocks if isinstance(block, References) for entry in block.entries]
    assert cited == set(range(1, len(listed) + 1))
    assert len({title for _, _, title, _ in listed}) == len(listed) > 1
    keys = [key for key, *_ in listed]
    pieces = [piece for line in lines_of(blocks) for piece in line]
    assert all(keys[piece.number - 1] == piece.key for piece in pieces if isinstance(piece, Cited))
    in_tables = [piece for piece in pieces if isinstance(piece, EquationNumber)]
    equations = [*(block for block in blocks if isinstance(block, Equation) and block.id), *in_tables]
    equations.sort(key=lambda each: each.number)
    assert [each.number for each in equations] == [*range(1, len(equations) + 1)]
    ids = [each.id for each in equations]
    assert len(set(ids)) == len(ids)
    assert all(ids[piece.number - 1] == piece.id for piece in pieces if isinstance(piece, Ref))
    for named in re.finditer(r"(?:[A-Z][\w-]+ et al\.|[A-Z][\w-]+) (?:19|20)\d\d(.{0,4})", told):
        assert re.match(r" \[\d", named[1]), named.group()
    for *_, place in listed:
        assert len(re.findall(r"(?<![\d-])(?:19|20)\d\d(?![\d-])", place.partition("arXiv")[0])) == 1, place


def _further(block: Paragraph) -> bool:
    return str(block.line[0]).startswith("Further symbols")


def letters_are_one_thing_and_stand_in_the_table(document: Document) -> None:
    tables = [block for block in document.blocks if isinstance(block, Table) and block.head[0] == ["Symbol"]]
    assert len(tables) == 1  # symbols are listed once, for any number of chapters
    for blocks in [document.blocks]:
        rows = [row[0][0].shown.symbol for row in tables[0].rows]  # type: ignore[union-attr]
        used = {symbol for shown in formulas_in(blocks) for symbol in sizes_of(shown)}
        further = [block for block in blocks if isinstance(block, Paragraph) and _further(block)]  # of the relative
        rows += {symbol for shown in formulas_in(further) for symbol in sizes_of(shown)}
        assert used == set(rows)
        assert len(rows) == len(used)
        assert all(letter(size).meaning for size in rows)
        labels = {label.letter for block in blocks if isinstance(block, Equation) for label in block.chain.labels}
        assert not {label.partition("_")[0] for label in labels} & {size.name for size in rows}
        for line in lines_of(blocks):  # a letter is typeset as mathematics, and so counted above
            said = plain(line).replace("A.X K1", "")  # the name of a model
            for word in re.findall(r"(?<![A-Za-z_0-9-])(?<!ppendix )[B-Z](?:_[a-z]+)?(?![A-Za-z_0-9])", said):
                assert word not in LETTERS, said


def chapters(document: Document) -> list[list[Block]]:
    """Return the blocks of each quantity, starting with its main equation."""
    starts = [i for i, block in enumerate(document.blocks) if isinstance(block, Equation) and block.key]
    return [list(document.blocks[a:b]) for a, b in zip(starts, [*starts[1:], len(document.blocks)], strict=True)]


def what_counts_is_not_said_to_add_nothing(document: Document) -> None:
    derived: set[str] = set()
    for block in document.blocks:
        if isinstance(block, Equation) and block.key:
            derived = set()
        if isinstance(block, Paragraph) and isinstance(block.line[0], Code):
            derived |= {piece.text for piece in block.line if isinstance(piece, Code)}
        if isinstance(block, Paragraph) and " contribute nothing." in block.line:
            sentence = block.line[: block.line.index(" contribute nothing.")]
            silent = {piece.text for piece in sentence if isinstance(piece, Code)}
            assert silent
            assert not silent & derived, silent & derived


def test_quantities_with_traffic_are_not_described_as_zero() -> None:
    sent = document(architecture("llama-2-70b"), ["communication"], "1", tensor="on")
    what_counts_is_not_said_to_add_nothing(sent)
    assert any(isinstance(block, Paragraph) and " contribute nothing." in block.line for block in sent.blocks)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_author_and_year_match_the_citation_key(step: int) -> None:
    """Every possible sentence of a document: authors and years always have the key of their paper."""
    parts = [part_class(name)() for name in part_names()] + [model.component for model in MODELS]
    parts += [
        part
        for model in MODELS[::step]
        for line in model.params.root.parts()
        if isinstance(part := line.part, Component)
    ]
    said = [part.about for part in parts] + [facts["source"] for facts in presets().values()]
    for question in quantities().values():
        said.append(question.statement)
        said += [meaning for convention in question.choices.values() for meaning in convention.meanings.values()]
    said += [count.steps for _, count in printed_table()]
    found = 0
    for sentence in said:
        words = split_at_keys(sentence)
        for before, key in zip(words[::2], words[1::2], strict=False):
            found += 1
            if re.search(r"\d{4} $", before):
                assert before.removesuffix(" ").endswith(paper(key).short), (before, key)
        assert not re.search(r"et al\. \d{4}(?! \[[a-z]+\d{4}[a-z]?\])", sentence), sentence
    assert found > 100


def test_quantity_letters_are_not_size_letters() -> None:
    measures = [question.measure for question in quantities().values()]
    assert len({measure.letter for measure in measures}) == len(measures)
    assert not {measure.letter.partition("_")[0] for measure in measures} & LETTERS.keys()
    for taken in ("K", "M", "M_train", "N_tp"):  # K of X experts of width M
        with pytest.raises(DerivationError, match="which are not sizes"):
            Measure("memory", "bytes of memory", taken, "bytes")
    assert name_size("N").name == "N_size"  # an argument of a factory


@pytest.mark.parametrize("name", names())
def test_config_field_in_the_symbol_table_fills_its_letter(name: str) -> None:
    model = with_numbers(architecture(name))
    model = model if model.known else architecture(presets_of(name)[0])  # no preset has the default options
    fields = model.component.fields  # type: ignore[attr-defined]
    config = flatten(fields.write(model.component, model.known), fields.sections)
    places = model.provenance.places
    assert set(places) == {
        size.name
        for size in (
            *(*fields.sizes, *({L, *(fields.layers.depths if fields.layers else ())} & model.component.totals.keys())),
            *(fields.layers.places_of_kinds if fields.layers else ()),
        )
    }
    for size, number in model.known.items():
        if size.name not in places:  # the total of some kinds of layers
            assert size in model.component.totals
            continue
        place = places[size.name]
        value = config[place.field]
        if place.field == "rope_parameters":  # one object per kind of layers
            value = value["full_attention"]["partial_rotary_factor"]
        if fields.layers and size in fields.layers.places_of_kinds:
            value = fields.layers.read(config)[size]
        elif isinstance(fields.sizes.get(size), ListedLayersField):  # the layers that the list names
            value = len(value)
        elif isinstance(value, list):  # equal numbers, of several layers
            (value,) = set(value)
        if isinstance(field := fields.sizes.get(size), PooledTokens | HalvedField | RateField):
            value = field.taken(size, config, model.known)
        if place.of:
            value = int(value * evaluate(parse(place.of), model.known, place.of))
        assert value - (config[place.less] if place.less else 0) == number, size


def test_part_descriptions_are_true_in_context() -> None:
    """A latent's norm has the width of the latent; GPT-2 has as many key/value heads as heads, without a letter."""
    told = spell(made("deepseek-v3"), "md")
    assert r"with a scale of $`R_{\mathrm{q}}`$ elements" in told
    assert r"with a scale of $`R_{\mathrm{kv}}`$ elements" in told
    assert "| `num_hidden_layers` minus `first_k_dense_replace` | 58 |" in told
    for name in ("gpt2", "bert"):
        told = spell(made(name), "md")
        assert r"$`A`$ heads of width $`\frac{E}{A}`$" in told
        assert "$`G`$" not in told
    assert r"C_{\mathrm{win}}" in spell(made("mistral"), "md")  # the computation of its attention states its window
    assert r"C_{\mathrm{chunk}}" not in spell(made("mamba2"), "md")
    assert r"C_{\mathrm{win}}" in spell(made("mistral-costs"), "md")
    told = spell(made("gemma3"), "md")  # one description of both kinds of layers, and the window apart
    local, rest = told.partition("In the layers with global attention, one line differs:\n")[::2]
    assert local.rpartition("In the layers with local attention: ")[2].startswith(WINDOWED)
    assert rest.partition("\\end{aligned}")[0].count(" &= ") == 1  # the softmax
    assert local.count("Grouped-query attention, ") == 1
    assert "Grouped-query attention, " not in rest
    assert WINDOWED not in rest
    scales = spell(document(architecture("palm", norm_scales=True), ["params"], "1"), "md")
    assert "with a scale of $`E`$ elements, Ba et al." in scales


def test_shapes_are_compared_up_to_axis_order() -> None:
    """GPT-2's class stores c_attn as (E, 3E), whereas a linear layer here is (out, in)."""
    assert "compared up to the order of their axes" in spell(made("gpt2"), "md")


def test_changed_sizes_and_options_are_listed() -> None:
    changed = architecture("gpt2").set({E: Integer(1024), A: Integer(16)})
    told = spell(document(changed, ["params"], "1"), "md")
    assert told.startswith("# GPT-2 with E = 1,024 and A = 16: parameters in closed form")
    # 12·12·1024² + 13·12·1024 + 50257·1024 + 1024·1024 + 2·1024
    assert "For `gpt2` with $`E`$ = 1,024 and $`A`$ = 16, this is **203,668,480** parameters." in told
    assert "for `gpt2`" not in told
    assert "| gpt2 |" not in told

    related = spell(document(architecture("gpt2").set({H: 2 * E}), ["params"], "1"), "md")
    assert related.startswith("# GPT-2 with H = 2E: ")
    assert "| `gpt2-xl` |" not in related  # its H is 4E

    wide = spell(document(architecture("llama").set({H: 3 * E}), ["params"], "1"), "md")
    assert wide.startswith("# Llama with H = 3E: ")
    assert "this is" not in wide

    untied = spell(document(architecture("gpt2", tied=False), ["params"], "1"), "md")
    assert untied.startswith("# GPT-2, untied LM head: parameters in closed form")
    assert "For `gpt2` with `tied=false`, this is" in untied
    own = spell(document(architecture("mistral-7b-v0.3"), ["params"], "1"), "md")
    assert "For `mistral-7b-v0.3`, this is" in own  # its window is disabled by default

    causal = spell(document(architecture("gpt2"), ["flops"], "1", attention="causal"), "md")
    assert causal.startswith("# GPT-2: forward FLOPs in closed form")
    assert "Counted with attention=causal. Derived by" in causal
    run = spell(document(architecture("llama").set({B: Integer(2), S: Integer(3)}), ["flops"], "1"), "md")
    assert "For `llama-7b` with $`B`$ = 2 and $`S`$ = 3, this is" in run

    rank = spell(made("llama-2-70b-rank"), "md")
    assert "For one rank of `llama-2-70b` with $`N_{\\mathrm{tp}}`$ = 8 and $`N_{\\mathrm{pp}}`$ = 4, this is" in rank
    assert "tensor=sequence" in rank.splitlines()[2]
    assert "for `llama-2-70b`" not in rank


@pytest.mark.parametrize("language", LANGUAGES)
def test_empty_table_is_printed(language: str) -> None:
    """A ratio is undefined for operations that neither compute nor move anything."""
    assert "Each" in spell(Document("", "", [Table([["Row"], ["Each"]], [], "ll")]), language)


def test_uncertified_formula_claims_no_proof() -> None:
    bare = document(Model(target="component:mlp", component=component("mlp")), ["params"], "1.2.3")
    assert bare.subtitle.endswith("no certificate checks the result against torch.")


def test_absolute_paths_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    config = tmp_path / "tiny/config.json"
    config.write_text('{"model_type": "gpt2", "n_embd": 24, "n_head": 3, "n_layer": 2, "vocab_size": 50}', "utf-8")
    for language in LANGUAGES:
        told = spell(document(resolve(str(config))[0], ["params"], "1"), language)
        assert str(tmp_path) not in told
        assert "config.json" in told
    assert "For `tiny/config.json`, this is" in spell(document(resolve(str(config))[0], ["params"], "1"), "md")


class Narrow(torch.nn.Module):
    """A depthwise convolution, a tied size, and a size fixed by the code."""

    def __init__(self, width: int, expand: int, conv_kernel: int, copies: int) -> None:
        super().__init__()
        if copies != 3:
            raise ValueError("three copies only")
        self.mix = torch.nn.Conv1d(width * expand, width * expand, conv_kernel, groups=width * expand)
        self.out = torch.nn.Linear(width * expand, copies)


def test_trace_document_matches_the_command_output() -> None:
    found = trace(Narrow, {"width": 6, "expand": 2, "conv_kernel": 4, "copies": 3})
    reading = found.model.provenance.reading
    assert reading is not None
    assert (reading.points, reading.builds) == (len(found.checked), found.builds)
    assert [each.name for each in reading.pinned] == ["copies"]
    read = document(found.model, ["params"], "1")
    told = spell(read, "md")
    assert read.subtitle.endswith("the result is checked against torch.")
    assert "`copies` is 3" in told
    assert f"`copies` is fixed at 3, because {fixed_reason(found.pinned[0].why)}" in told.replace("\\_", "_")
    assert f"{len(found.checked)} random configs; {found.builds} model builds" in told
    assert f"torch {version('torch').partition('+')[0]}" in told
    assert "| Seed | `0` |" in told
    # width·expand·conv_kernel + width·expand + 3·width·expand + 3, except for names
    assert r"\mathrm{expand} \cdot \mathrm{width}" in told or r"\mathrm{width} \cdot \mathrm{expand}" in told
    assert not re.search(r"\\mathrm\{\w+\} \\mathrm", told)
    assert '"expand" dot' in spell(read, "typ")


def test_provenance_is_one_object() -> None:
    composed = architecture("gpt2-xl")
    assert composed.provenance.numbers == composed.known
    assert composed.provenance.reading is None
    assert composed.provenance.for_quantity("flops") is composed.provenance
    assert composed.provenance.places["E"].field == "n_embd"
    assert architecture("mistral-7b-v0.3").provenance.options == {"window": "false"}


def test_citing_a_part_lists_the_papers_of_that_part() -> None:
    keys = lambda formula_id: re.findall(r"^@(?!misc\{gpt2)\w+\{(\w+),", bibtex([formula_id], "1"), re.MULTILINE)  # noqa: E731
    assert keys("gpt2.params.h.attn") == ["vaswani2017"]
    assert keys("gpt2.params.h.attn.c_attn") == ["vaswani2017"]  # of the enclosing part
    assert keys("gpt2.params.h.ln_1") == ["ba2016"]
    assert {"radford2019", "gehring2017", "ba2016", "xiong2020"} < set(keys("gpt2.params"))
    assert "su2021" not in keys("gpt2.params")
    assert "shazeer2019" in bibtex(["palm.params.layers.attention"], "1")


@pytest.mark.parametrize("formula_id", ["gpt2.params.h.attn.c_attn", "bert.params.embeddings.word_embeddings"])
def test_bibtex_has_no_character_that_latex_refuses(formula_id: str) -> None:
    note = next(line for line in bibtex([formula_id], "1").splitlines() if line.startswith("  note"))
    prose = re.sub(r"\$.*\$", "", note)
    assert formula_id.replace("_", r"\_") in prose
    assert not re.search(r"(?<!\\)[_#%&]", prose)


def words(line: Line) -> str:
    """Return a line as plain text."""
    return "".join(
        piece
        if isinstance(piece, str)
        else text(piece.shown)
        if isinstance(piece, Math)
        else getattr(piece, "text", "")
        for piece in line
    )


def paragraphs(made_: Document) -> list[str]:
    return [words(block.line) for block in made_.blocks if isinstance(block, Paragraph)]


def test_long_bracket_is_wrapped() -> None:
    """After substituting the parts of DeepSeek-V3, no line fits the total of a layer times the number of layers."""
    spelt = spell(derivation("deepseek-v3"), "tex")
    start = r"&= V E + L_{\mathrm{dense}}(E A"
    put_in = spelt[spelt.index(start) : spelt.index(r"by \eqref{eq:deepseek-v3.params.embed_tokens}")]
    rows = [row.strip() for row in put_in.split(r"\\")]
    assert rows[0].endswith(r"A R_{\mathrm{kv}} D_{\mathrm{v}}")
    assert rows[1].startswith(r"&\quad {} + 3 E H + E R_{\mathrm{q}}")
    assert rows[2].startswith(r"&\quad {} + L_{\mathrm{moe}}(3 E X M")
    assert put_in.count("(") == put_in.count(")") == 2
    in_typst = spell(derivation("deepseek-v3"), "typ")
    assert r'V E + L_"dense" \( E A' in in_typst


def test_tables_are_numbered_in_order() -> None:
    made_ = derivation("gpt2", "params", "train-memory")
    tables = [block for block in made_.blocks if isinstance(block, Table)]
    assert len(tables) > 12
    assert [table.number for table in tables if table.caption] == list(
        range(1, 1 + sum(bool(t.caption) for t in tables))
    )
    alone = document(resolve("component:rms-norm")[0], ["params"], "1")
    bare = [block for block in alone.blocks if isinstance(block, Table) and not block.caption]
    assert bare
    assert all(len(table.rows) == 1 and table.number == 0 for table in bare)
    spelt = render(made_, "md").decode()
    assert "\n**Table 1.** Symbols, with their values in `gpt2`.\n" in spelt


def test_training_state_of_a_weight_is_one_row() -> None:
    """By hand: single precision, its gradient and two moments of Adam are 4 + 4 + 4 + 4 bytes per parameter.

    The step counter has 4 bytes per weight tensor. In half precision with ZeRO-1, 2 + 2 are on every rank, and 4 + 4 +
    4 are sharded.
    """
    attn = rows_of(derivation("gpt2", "train-memory"), "h.*.attn")
    assert attn["c_attn.weight"] == ("3E × E × 16", "48E²")
    assert attn["c_attn.weight (step counter)"] == ("4", "4")
    model = architecture("gpt2")
    shared = document(model, ["train-memory"], "0", recipe="bf16", data="zero1")
    attn = rows_of(shared, "h.*.attn")
    assert attn["c_attn.weight (weight, gradient)"] == ("3E × E × 4", "12E²")
    assert attn["c_attn.weight (master weight, first moment, second moment)"] == (
        "3E × E × 12 × 1/N_dp",
        "36E²/N_dp",
    )


def rows_of(made_: Document, path: str) -> dict[str, tuple[str, str]]:
    """Return the rows of a part's table: the product and its expansion."""
    (table,) = [block for block in made_.blocks if isinstance(block, Table) and Code(path) in block.caption]
    return {words(name): (words(shape), words(each)) for name, shape, each in table.rows}


@pytest.mark.parametrize("count", [1, 2, 4, 40])
def test_the_last_two_references_are_kept_together(count: int) -> None:
    entries = [("key", "Somebody and others", "A title of some length " * 3, "A place, 2020")] * count
    tail = A4.tail(References(entries))
    assert tail == min(count, 2)


def test_all_references_of_a_pdf_have_the_same_indent() -> None:
    """The list is one to nine, and then ten to twelve, whose labels are wider."""
    entries = [(key, each.byline, each.title, each.place) for key, each in islice(papers().items(), 12)]
    blocks = [Heading(1, ["References"]), References(entries)]
    pdf = pypdfium2.PdfDocument(render(Document("A list", "of twelve papers", blocks), "pdf"))
    ends: dict[int, float] = {}
    for page in pdf:
        words = page.get_textpage()
        for number in range(1, 13):
            searcher = words.search(f"[{number}] ")
            while found := searcher.get_next():
                ends[number] = round(words.get_charbox(sum(found) - 2)[2])
    assert len(ends) == 12
    assert len({*ends.values()}) == 1, ends


def test_parts_sharing_a_section_are_described_separately() -> None:
    """Parts with equal counts share a section; a statement about some of them is not made about the others."""
    said = [*paragraphs(derivation("gemma-2-2b")), *paragraphs(derivation("gemma-2-2b", "flops"))]
    # Gemma Team 2024, section 2.1: every other layer has a sliding window
    sliding = [line for line in said if WINDOWED in line]
    assert sliding
    assert all("global attention" not in line for line in sliding)
    every = "layers.*.self_attn in the layers with global attention. Grouped-query attention"
    assert any(line.startswith(every) for line in said)
    block = next(line for line in said if "x + norm(f(norm(x)))" in line)
    assert block.startswith("Common to all L layers, layers.*. ")
    kinds = [line for line in paragraphs(derivation("gemma-2-2b", "flops")) if line.startswith("L_local of")]
    assert kinds == ["L_local of the L layers, layers.*; L_global of the L layers, layers.*:"]
    latent = next(line for line in paragraphs(derivation("deepseek-v3")) if "projections of one latent" in line)
    assert latent.startswith("layers.*.self_attn. ")


def test_model_specific_sentences_are_true() -> None:
    """A block states its norms and sublayers; a model without attention has no convention of attention."""
    # Gu and Dao 2023, section 3.4: one mixer per layer, and no attention; its cache does not grow
    said = " ".join([*paragraphs(derivation("mamba-130m", "flops")), *paragraphs(derivation("mamba-130m", "kv-cache"))])
    assert "The single sublayer f is applied as x + f(norm(x))" in said
    assert "attention=" not in said
    assert "keys and values" not in said
    assert "whose sizes do not depend on the number of tokens" in said
    # Black et al. 2022, section 2.1.2, and its figure: two norms; Chowdhery et al. 2022, section 2: one
    assert any("with a norm for each sublayer" in line for line in paragraphs(derivation("gpt-neox-20b")))
    assert any("with one norm for both" in line for line in paragraphs(derivation("palm-8b")))
    # Raffel et al. 2020, section 2.1: a decoder's layer has three sublayers
    assert any("cross-attention to the encoder and then" in line for line in paragraphs(derivation("t5-base")))
    # an encoder without a head has no logits; its tokens are looked up, and each attends to all others, for any option
    said = " ".join(paragraphs(derivation("albert-base", "flops", "train-flops")))
    assert "ogits" not in said
    assert "attention=" not in said
    assert "embedding=lookup" in said
    assert "Logits are computed at all positions. " in " ".join(paragraphs(derivation("gpt2", "train-flops")))
    # NVIDIA 2025, section 2.1: only some layers attend
    said = " ".join(paragraphs(derivation("nemotron-h-8b", "kv-cache")))
    assert "for every key/value head of every attention layer" in said
    assert "the recurrent state and the convolution state of each state-space layer" in said
    # Radford et al. 2022, section 2.2: sines for the encoder, learned positions for the decoder
    told = [spoken(line) for line in lines_of(derivation("whisper-tiny").blocks)]
    kinds = [line for line in told if ".embed_positions. " in line]
    assert ["sines" in line for line in kinds] == [True, False]
    # a hyphen makes a letter part of a name
    assert any("Command-R, Cohere 2024" in line for line in paragraphs(derivation("cohere")))
    # the whole head rotates
    assert not any(re.search(r"elements rotate\b", line) for line in paragraphs(derivation("falcon-7b")))


def test_fastest_growing_term_names_the_growing_sizes() -> None:
    """S²·L·A dominates L·E² only if lengths grow with widths while the head width is constant."""
    said = paragraphs(derivation("gpt2", "traffic"))
    assert any(line.startswith("The leading term as all sizes grow together is 8BS²LA") for line in said), said
    said = paragraphs(derivation("llama-2-7b"))
    assert any(line.startswith("The leading terms as all sizes except D grow together are ") for line in said)
    # 36*24*1536² + 7*13*1536² = 2,253,127,680, of which 9*1536² and smaller terms are subtracted: 2,243,171,520
    assert any(
        "They exceed the total by 0.4% for sd3.5-medium." in line for line in paragraphs(derivation("sd3.5-medium"))
    )


def test_anchors_are_unique_and_names_are_not_empty() -> None:
    for target in ("gpt2", "bert", "component:linear"):
        chapters = document(resolve(target)[0], ["flops", "traffic", "intensity"], "1")
        anchors = [block.anchor for block in chapters.blocks if isinstance(block, Heading) and block.anchor]
        assert len(anchors) >= 4
        assert len(set(anchors)) == len(anchors)
        named = [piece.text for line in lines_of(chapters.blocks) for piece in line if isinstance(piece, Code)]
        assert all(name and name == name.strip() for name in named)


@pytest.mark.parametrize("part", sampled(3, part_names()))
def test_rows_of_a_single_part_have_names(part: str) -> None:
    made_ = document(resolve(f"component:{part}")[0], ["params", "flops", "train-flops"], "1")
    assert made_.title.count(" and ") == 1, "parameters, forward FLOPs and training FLOPs"
    names_ = [piece.text for line in lines_of(made_.blocks) for piece in line if isinstance(piece, Code)]
    assert names_
    assert all(name and name == name.strip() for name in names_)
    for block, after in zip(made_.blocks, [*made_.blocks[1:], None], strict=True):
        assert not (isinstance(block, Heading) and after is None), "a heading with nothing below it"
        if isinstance(block, Heading) and isinstance(after, Heading):
            assert after.level > block.level, f"nothing follows {words(block.line)}"
    assert not any(words(block.line) == "The model" for block in made_.blocks if isinstance(block, Heading))


def test_division_by_zero_is_not_printed() -> None:
    """Disabled dropout moves nothing, so its F/Q is undefined. RMS norm moves bytes and has no products: 0."""
    with pytest.raises(RuleError, match=r"dropout\.intensity is undefined"):
        document(resolve("component:dropout")[0], ["intensity"], "1")
    idle = resolve("component:rms-norm")[0]
    assert idle.formula("intensity").symbols == (B, S, E)
    assert render(document(idle, ["intensity"], "1"), "md").count(b"Every row is 0.") == 1


def test_results_without_a_torch_counter_are_not_described_as_compared() -> None:
    """FlopCounterMode counts products only: with count=all, the certificate covers the formula without the rest."""
    gpt2 = architecture("gpt2")
    assert "the result is checked against torch" in document(gpt2, ["flops"], "1").subtitle
    said = paragraphs(document(gpt2, ["flops"], "1"))
    assert any(line.startswith("This formula was compared") for line in said)
    all_ = document(gpt2, ["flops"], "1", count="all")
    assert "no certificate checks" in all_.subtitle
    said = paragraphs(all_)
    assert any(line.startswith("The certified formula was compared") for line in said)
    assert any(line.startswith("torch counts under attention=full") for line in said)


def test_half_precision_rank_is_not_described_as_a_share_of_the_certified_total() -> None:
    """The optimizer step is in single precision: a rank with a bf16 recipe differs from it by more than its share."""
    rank = architecture("llama-2-7b").set({"N_tp": 8})
    counted = {"tensor": "on", "recipe": "bf16", "implementation": "none"}
    said = paragraphs(document(rank, ["train-memory"], "1", **counted))
    assert any(line.startswith("torch counts under recipe=fp32") for line in said)
    divided = architecture("llama-2-7b").set({"N_dp": 8})
    said = paragraphs(document(divided, ["train-memory"], "1", data="zero1", implementation="none"))
    assert any(line.startswith("For one rank of llama-2-7b with N_dp = 8, this is ") for line in said)


@pytest.mark.parametrize("quantity", quantities())
def test_convention_descriptions_are_self_contained(quantity: str) -> None:
    """A page has only the chosen convention, so it cannot refer to the previous row of the table."""
    choices = find_quantity(quantity).choices
    for name, convention in choices.items():
        for value, meaning in convention.meanings.items():
            assert not re.match(r"the same\b|.{0,30}\btoo\b", meaning), f"{quantity}: {name}={value}: {meaning}"
    assert choices or quantity in ("params", "active-params")


def test_published_formulas_page_defines_its_letters() -> None:
    """The table has our letters; the rows translate theirs."""
    page, _, letters = (ROOT / "reports" / "published.md").read_text("utf-8").partition("\n## Letters\n")
    defined = set(re.findall(r"^\| \$`([^`]*)`\$ \|", letters, re.M))
    ours = [cell for row in re.findall(r"(?m)^\| `.*", page) for cell in row.split(" | ")[5:7]]
    used = {
        found
        for cell in ours
        for shown in re.findall(r"\$`([^`]*)`\$", cell)
        for found in re.findall(r"[A-Z](?:_\{\\mathrm\{\w+\}\})?", shown)
    }
    assert len(ours) > 70
    assert len(used) > 15
    assert used <= defined


def test_citation_states_relations_and_conventions() -> None:
    """A formula is valid only under these: H = 4E in gpt2's, and S² pairs although a mask keeps fewer."""
    assert "where $H = 4 E$" in bibtex(["gpt2.params"], "1").partition("\n\n")[0]
    part = bibtex(["gemma2.flops.local_layers.self_attn"], "1").partition("\n\n")[0]
    assert "title = {{Gemma 2, local\\_layers.*.self\\_attn: forward FLOPs in closed form}}" in part
    assert "counted with attention=full, logits=all, embedding=lookup, count=contractions" in part


def test_fixed_window_keeps_its_term_constant() -> None:
    """For a constant C_win, min(C, C_win - 1) does not grow with C, so only Gemma 2's global layers lead its cache."""
    assert repr(architecture("gemma-2-2b").formula("kv-cache").leading()) == "4*B*C*L_global*G*D"
    said = paragraphs(derivation("gemma-2-2b", "kv-cache"))
    assert any(
        "as all sizes except D and C_win grow together" in line or "except C_win and D grow" in line for line in said
    )


@pytest.mark.parametrize("total", [False, True])
def test_table_continuation_has_at_least_four_rows(total: bool) -> None:
    seen = set()
    for count in range(44, 52):
        rows: list[list[Line]] = [[[f"part{row}"], [str(row)]] for row in range(count)]
        table = Table([["Part"], ["Size"]], rows, "lr", total=total)
        pages = pypdfium2.PdfDocument(render(Document("A table", "of many rows", [table]), "pdf"))
        found = [page.get_textpage().get_text_range().count("part") for page in pages]
        assert sum(found) == count
        seen.update(found[1:])
    assert min(seen) == 4, "and some go on by no more than that"


def test_fractions_in_tables_are_legible() -> None:
    """A subscript has 0.7 of the type around it: in a fraction of full size 5.6 of 8 points, and else 4."""
    shown = symbol("L") * symbol("A_ssm") / symbol("C_chunk")
    wide: list[list[Line]] = [[["a part " * 9], [Math.of(shown)], [Math.of(shown + 1)], ["a note " * 9]]]
    table = Table([["Part"], ["Formula"], ["Another"], ["Note"]], wide, "wllw")
    document = Document("A table", "with fractions", [table])
    page = pypdfium2.PdfDocument(render(document, "pdf"))[0].get_textpage()
    sizes = {
        chr(pypdfium2.raw.FPDFText_GetUnicode(page, place)): pypdfium2.raw.FPDFText_GetFontSize(page, place)
        for place in range(page.count_chars())
    }
    assert {*"chunkssm"} <= {*sizes}
    assert min(size for letter, size in sizes.items() if not letter.isspace()) >= 5
    assert r"\everymath{\displaystyle}" in spell(document, "tex")
    assert "td math { math-style: normal; }" in spell(document, "html")


def test_blocks_of_mathematics_in_markdown_are_at_most_1000_characters() -> None:
    """GitLab displays at most 1,000 characters of a block; Jupyter has no such limit and gets the same rows."""
    long = document(architecture("deepseek-v3"), ["train-memory"], "1")
    blocks = re.findall(r"```math\n(.*?)```", spell(long, "md"), re.DOTALL)
    whole = re.findall(r"\$\$\n(.*?)\$\$", FLAVOURS["jupyter"].spell(long), re.DOTALL)
    assert max(map(len, blocks)) <= 1000 < max(map(len, whole))
    pages = [page.read_text("utf-8") for page in (Path(__file__).parent.parent / "reports").glob("*.md")]
    stored = [each for page in pages for each in re.findall(r"```math\n(.*?)```", page, re.DOTALL)]
    assert len(stored) > 1000
    assert max(map(len, stored)) <= 1000

    def rows(each: str) -> list[str]:
        return [row.removesuffix(r" \\") for row in each.splitlines() if not row.startswith((r"\begin", r"\end"))]

    assert [row for each in blocks for row in rows(each)] == [row for each in whole for row in rows(each)]


def test_each_option_of_a_variant_is_listed_alone() -> None:
    """ViT-B/16 has 86,567,656 parameters (Dosovitskiy et al. 2021), of which 3·12·768 are biases of q, k and v."""
    told = spell(document(architecture("vit-base-patch16-224"), ["params"], "1"), "md")
    (row,) = (line for line in told.split("\n") if line.startswith("| `qkv_bias=false`"))
    assert row.endswith("| 86,540,008 |")


def test_the_meaning_of_null_is_stated() -> None:
    """GPT2MLP of transformers has 4·n_embd columns if n_inner is null."""
    assert "`n_inner` (null means $`4 E`$)" in spell(made("gpt2"), "md")
