"""Comparisons as documents: every statement is true, for any names, and the crossovers are exact."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pypdfium2
import pytest
from click.testing import CliRunner, Result
from sympy import Expr, Integer, Max, Min, Symbol, ceiling, expand, floor, sign

import symformer as sf
from symformer.algebra.compare import Comparison
from symformer.algebra.crossover import AllowedValues, CrossoverPoint, Span, constant_sign, crossings, solve, spans
from symformer.commands.cli import cli
from symformer.documents.comparison_document import document
from symformer.documents.figures.primitives import Words
from symformer.documents.formats import FORMATS, render
from symformer.documents.formats.page_layout import A4
from symformer.language.errors import SizeError
from symformer.language.notation.display_tree import Label, value
from symformer.language.notation.text import text
from symformer.language.sizes import Divides
from symformer.language.symbols import SYMBOLS, B, C, E, G, H, L, V, numbered
from symformer.output.blocks import (
    Code,
    Document,
    Equation,
    FigureBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    Ref,
    Strong,
    Table,
)

PAIRS = [
    ("gpt2", "llama-2-7b", "params"),
    ("mistral-7b-v0.1", "mixtral-8x7b", "params"),
    ("llama-2-7b", "llama-2-70b", "params"),
    ("deepseek-v3", "qwen3-235b-a22b", "params"),
    ("gpt2", "hf:gpt2", "params"),
    ("llama-2-7b", "llama-2-70b", "kv-cache"),
    ("mistral-7b-v0.1", "llama-2-7b", "kv-cache"),
    ("gpt2", "gpt2-xl", "train-memory"),
    ("gpt2", "llama", "params"),
]


@cache
def compared(one: str, other: str, quantity: str) -> Comparison:
    return sf.compare(sf.model(one), sf.model(other), quantity)


@cache
def page(one: str, other: str, quantity: str) -> Document:
    return document([compared(one, other, quantity)], "0")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], prog_name="symformer")


def words(line: Line) -> str:
    found = ""
    for piece in line:
        match piece:
            case str():
                found += piece
            case Math(shown):
                found += text(shown)
            case Code(said) | Strong(said):
                found += said
            case Ref(_, number):
                found += f"({number})"
    return found


def paragraphs(made: Document) -> str:
    return "\n".join(words(block.line) for block in made.blocks if isinstance(block, Paragraph | Heading))


def equation(made: Document, last: str) -> Equation:
    found = [block for block in made.blocks if isinstance(block, Equation) and block.id.endswith(last)]
    assert len(found) == 1
    return found[0]


def relations(found: Comparison) -> dict[Symbol, Expr]:
    """Return the numbers of the totals of layers, under both of their possible names."""
    given: dict[Symbol, Expr] = {}
    for number, (formula, own) in enumerate(zip(found.formulas, found.renamed_letters, strict=True), 1):
        for size, sum_ in formula.relations.items():
            given[numbered(size, number)] = sum_.xreplace(own)
    return given


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_right_plus_difference_equals_left(pair: tuple[str, str, str]) -> None:
    found, made = compared(*pair), page(*pair)
    left, right = (side.expr for side in found.totals)
    chain = equation(made, ".difference").chain
    assert chain.steps
    for step in chain.steps:
        assert expand(value(step).xreplace(relations(found)) + right - left) == 0
    for number, total in ((1, left), (2, right)):
        sides = equation(made, f".{number}").chain
        assert [expand(value(each).xreplace(relations(found)) - total) for each in (*sides.labels, *sides.steps)] == [
            0
        ] * (1 + len(sides.steps))


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_ratio_times_right_equals_left(pair: tuple[str, str, str]) -> None:
    found, made = compared(*pair), page(*pair)
    if found.difference == 0:
        assert "The ratio" not in paragraphs(made)
        assert "The totals are equal for all sizes." in paragraphs(made)
        return
    if not any(isinstance(block, Equation) and block.id.endswith(".ratio") for block in made.blocks):
        assert "It is (1) divided by (2)." in paragraphs(made)  # it does not fit a line
        assert found.ratio is not None
        assert len(text(found.ratio)) > 2 * 72
        return
    block = equation(made, ".ratio")
    (shown,) = block.chain.steps
    above, below = value(shown).as_numer_denom()
    left, right = (side.expr for side in found.totals)
    if block.reasons:  # of numbers
        left, right = found.totals[0].value, found.totals[1].value
        assert words(block.reasons[0]) == "with these sizes"
    assert expand(above * right - below * left) == 0


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_rows_sum_to_totals_and_stated_differences(pair: tuple[str, str, str]) -> None:
    found, made = compared(*pair), page(*pair)
    tables = [block for block in made.blocks if isinstance(block, Table) and words(block.head[0]) == "Part"]
    amounts = [block for block in tables if words(block.head[-1]) == "Difference (1) − (2)"]
    assert len(amounts) == (found.difference_value is not None and len(found.rows) > 2)
    for table in amounts:
        numbers = [[int(words(cell).replace(",", "")) for cell in row[-3:]] for row in table.rows]
        assert all(left - right == less for left, right, less in numbers)
        assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    for table in tables:
        rows = found.rows[:-1] if len(table.rows) == len(found.rows) - 1 else found.rows
        for row, (role, *sides) in zip(table.rows, rows, strict=True):
            assert words(row[0]) == role
            shown = [piece.shown for cell in row[1:3] for piece in cell if isinstance(piece, Math)]
            for tree, side in zip(shown, sides, strict=False):
                assert expand(value(tree).xreplace(relations(found)) - side.expr) == 0


def test_page_starts_with_the_published_totals() -> None:
    # Radford et al. 2019, as counted by transformers, and Touvron et al. 2023: 6,738,415,616 minus 124,439,808
    said = paragraphs(page("gpt2", "llama-2-7b", "params"))
    assert "gpt2 (1) totals 124,439,808 elements and llama-2-7b (2) totals 6,738,415,616" in said
    assert "the second is larger by 6,613,975,808" in said
    # 2·2·L·G·D bytes per token in bf16: 4·32·32·128 and 4·80·8·128
    said = paragraphs(page("llama-2-7b", "llama-2-70b", "kv-cache"))
    assert "llama-2-7b (1) totals 524,288BC and llama-2-70b (2) totals 327,680BC bytes" in said
    assert "With these sizes, llama-2-7b (1) is larger for every B or C." in said
    assert "under dtype=fp32 against transformers.LlamaForCausalLM" in said  # the cache has such elements


@pytest.mark.parametrize(
    ("numbers", "ratio"),
    [({}, None), ({"E": 5, "H": 7}, "about 1.280"), ({"E": 1, "H": 2}, "about 0.8571")],
)
def test_leading_terms_of_a_ratio_are_stated_after_the_exact_ratio(numbers: dict[str, int], ratio: str | None) -> None:
    """3EH/(2EH + E + H) leads with 3/2; it is 105/82 at E = 5 and H = 7, and 6/7 at E = 1 and H = 2."""
    gated, plain = (sf.model(f"component:{name}").set(numbers) for name in ("gated-mlp", "mlp"))
    found = sf.compare(gated, plain, "params")
    said = [words(block.line) for block in document([found], "0").blocks if isinstance(block, Paragraph)]
    exact = f"With these sizes, it is {ratio}. " if ratio else ""
    assert f"{exact}The ratio of the leading terms is 3/2." in said


def test_each_side_is_described() -> None:
    found = document([sf.compare(sf.architecture("gpt2", tied="false"), "gpt2-xl")], "0")
    said = paragraphs(found)
    assert "(1) gpt2" in said
    assert "tied=false" in said
    assert "(2) gpt2-xl" in said
    assert said.count(" random choices of the sizes, for each of 2 depths. ") == 2
    assert "The formula holds for gpt2 (1) if H_1 = 4·E_1 and E_1 is a multiple of A_1; for gpt2-xl (2), if" in said
    assert len({block.id for block in found.blocks if isinstance(block, Equation)}) == len(
        [block for block in found.blocks if isinstance(block, Equation)]
    )


def test_crossovers_by_hand() -> None:
    found = compared("gpt2", "llama-2-7b", "params").crossings
    named = {str(size): spans for size, spans in found.items()}
    # (6,738,415,616 - 768·(50,257 + 1,024 + 2)) / (768·(12·768 + 13)) = 945.14
    assert named["L_1"] == (Span(-1, 1, 945), Span(1, 946, None))
    assert named["H"] == (Span(-1, 1, None),)  # Llama's attention alone is larger than all of GPT-2
    cache = {str(size): spans for size, spans in compared("llama-2-7b", "llama-2-70b", "kv-cache").crossings.items()}
    # 32·L_1 against 80·8 = 640; G_1·32 against 640, for the divisors of 32 heads: 16 is less and 32 is more
    assert cache["L_1"] == (Span(-1, 1, 19), Span(0, 20, 20), Span(1, 21, None))
    assert cache["G_1"] == (Span(-1, 1, 16), Span(1, 32, 32))
    # 8 heads with at most 4,095 tokens against 32 with all tokens
    window = compared("mistral-7b-v0.1", "llama-2-7b", "kv-cache").crossings
    assert window[C] == (Span(-1, 1, None),)


def changed(found: Comparison, size: Symbol, number: int) -> int | None:
    """Return the difference with one size changed, computed from the models; None if a condition does not allow it."""
    amounts = []
    for model, formula, own in zip((found.left, found.right), found.formulas, found.renamed_letters, strict=True):
        sizes = {str(each): 1 for each in (B, C) if each in formula.symbols}
        sizes |= {str(each): known for each, known in model.known.items() if each not in formula.relations}
        sizes |= {str(each): number for each in formula.symbols if own.get(each, each) == size}
        try:
            amounts.append(formula.value(sizes))
        except SizeError:
            return None
    return amounts[0] - amounts[1]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[2] != "train-memory"], ids=" ".join)
def test_sign_spans_agree_with_the_models(pair: tuple[str, str, str]) -> None:
    """Compare signs at the ends of every span and at random sizes inside; B and C are 1 if they have no number."""
    draw = random.Random(1)  # noqa: S311
    found = compared(*pair)
    tried = 0
    for size, signs in found.crossings.items():
        if size == C:
            continue
        for each in signs:
            top = each.last or 10 * each.first + 1_000
            ends = {each.first, *([each.last] if each.last else [])}
            for number in (*ends, *(draw.randint(each.first, top) for _ in range(3))):
                amount = changed(found, size, number)
                assert amount is not None or number not in ends, (size, number)
                if amount is not None:
                    assert int(sign(amount)) == each.sign, (size, number)
                    tried += 1
    assert tried >= 3 * len(found.crossings) - 3


def solutions(found: Comparison) -> Iterator[tuple[CrossoverPoint, Expr]]:
    left, right = (Label("N", str(number), side.expr) for number, side in enumerate(found.totals, 1))
    for size in found.difference.free_symbols:
        if (each := solve(left, right, size)) is not None:
            yield each, found.difference


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_solutions_separate_the_signs(pair: tuple[str, str, str]) -> None:
    """At random sizes, the difference is 0 at a solution, with the stated sign above it and the opposite one below."""
    draw = random.Random(2)  # noqa: S311
    solved = list(solutions(compared(*pair)))
    assert solved or compared(*pair).difference == 0 or "train" in pair[2]
    for each, difference in solved:
        sizes = sorted({*difference.free_symbols, *value(each.shown).free_symbols} - {each.size}, key=str)
        assert each.size not in value(each.shown).free_symbols
        for _ in range(2):
            numbers = {size: Integer(draw.randint(1, 10**4)) for size in sizes}
            at, only = value(each.shown).xreplace(numbers), difference.xreplace(numbers)
            if at.is_Rational:
                assert only.subs(each.size, at) == 0
            for number, said in ((int(floor(at)) + 1, each.above), (int(ceiling(at)) - 1, -each.above)):
                if number >= 1:
                    amount = only.subs(each.size, number)
                    assert int(sign(amount)) == said


def test_single_sign_is_stated_only_if_certain() -> None:
    draw = random.Random(3)  # noqa: S311
    sizes = [SYMBOLS[name] for name in ("L", "E", "H", "V")]
    certain = 0
    for _ in range(100):
        terms = [draw.randint(-3, 5) * draw.choice(sizes) ** draw.randint(0, 2) * draw.choice(sizes) for _ in range(3)]
        polynomial = expand(sum(terms))
        said = constant_sign(polynomial)
        certain += said is not None
        for _ in range(8):
            amount = polynomial.subs({size: draw.choice([1, 1, 2, 7, 10**6]) for size in sizes})
            assert said is None or int(sign(amount)) == said
    assert 20 < certain < 100
    assert constant_sign(2 * E * H - E) == 1  # H is at least 1
    assert constant_sign(E * H - E) is None  # 0 for H = 1
    assert constant_sign(E - Min(E, H)) is None


def test_sign_spans_of_piecewise_formulas() -> None:
    # 8·min(C, 100) - 5·C is 3·C up to 100, and 800 - 5·C from there: 0 at 160
    assert spans(8 * Min(C, 100) - 5 * C, C) == (Span(1, 1, 159), Span(0, 160, 160), Span(-1, 161, None))
    # max(L, 10) - 12 is -2 up to 10, and 0 at 12
    assert spans(Max(L, 10) - 12, L) == (Span(-1, 1, 11), Span(0, 12, 12), Span(1, 13, None))
    # (L - 3)(L - 7): no integer in between is lost; (2L - 5)² touches 0 between two integers
    assert [each.sign for each in spans(expand((L - 3) * (L - 7)), L)] == [1, 0, -1, 0, 1]
    assert spans(expand((2 * L - 5) ** 2), L) == (Span(1, 1, None),)
    far = 10**15
    assert spans(expand((L - far) * (L - far - 2)), L) == (
        Span(1, 1, far - 1),
        Span(0, far, far),
        Span(-1, far + 1, far + 1),
        Span(0, far + 2, far + 2),
        Span(1, far + 3, None),
    )
    assert spans(floor(L / 2) - 3, L) == ()


def test_random_polynomial_has_the_signs_of_its_spans() -> None:
    draw = random.Random(4)  # noqa: S311
    for _ in range(15):
        polynomial = expand(sum(draw.randint(-40, 40) * L**power for power in range(4)) + draw.randint(-900, 900))
        found = spans(polynomial, L)
        assert found[0].first == 1
        assert found[-1].last is None
        for number in range(1, 40):
            amount = polynomial.subs(L, number)
            (each,) = [one for one in found if one.first <= number and (one.last is None or number <= one.last)]
            assert each.sign == int(sign(amount))


def test_crossover_outside_the_conditions_is_dropped() -> None:
    allowed = AllowedValues.of(G, [Divides(G, SYMBOLS["A"])], {SYMBOLS["A"]: 12})
    # 2·G - 15 changes sign at 8; of 1, 2, 3, 4, 6, 12 only 12 is above
    assert crossings(2 * G - 15, {}, {G: allowed}) == {G: (Span(-1, 1, 6), Span(1, 12, 12))}
    # 5·G - 26 changes sign between 5 and 6; 13 and more never divide 12
    assert crossings(5 * G - 1_000, {}, {G: allowed}) == {G: (Span(-1, 1, 12),)}
    assert crossings(E * H - 6 * E, {}, {}) == {H: (Span(-1, 1, 5), Span(0, 6, 6), Span(1, 7, None))}
    assert crossings(E * H - V, {E: 3}, {}) == {}  # the others have no number


HOSTILE = "_%&#${}^~<>`\"' [x](y) *b* @eq:1 \\cite{k} \\input"
NAMES = [HOSTILE, "a" * 250, "$E$ & co; <script>alert(1)<!-- -->"]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    config = {
        "model_type": "gpt2", "n_embd": 10**6, "n_layer": 3, "n_head": 5, "vocab_size": 211, "n_positions": 29,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("name", NAMES, ids=["signs", "long", "page"])
def test_names_are_printed_unchanged(name: str, tiny: Path) -> None:
    folder = tiny.parent / name
    folder.mkdir()
    target = folder / "config.json"
    tiny.rename(target)
    made = document([sf.compare("gpt2", sf.model(str(target)))], "0")
    shown = f"{name}/config.json"
    assert made.title.startswith(f"gpt2 and {shown[:39]}")
    assert str(tiny.parent) not in json.dumps([text for _, text in made.attached])
    page = render(made, "html").decode()
    assert "<script>alert" not in page
    pdf = pypdfium2.PdfDocument(render(made, "pdf"))
    letters = "".join(pdf[number].get_textpage().get_text_range() for number in range(len(pdf)))
    pressed = "".join(letters.split()).replace("\ufffe", "").replace("\u200b", "")
    assert "".join(shown.split()) in pressed
    widest = max(shown_.get_bounds()[2] for page_ in pdf for shown_ in page_.get_objects() if shown_.type == 1)
    assert widest < pdf[0].get_width() - 40  # in points: within the margins, of 71
    latex = render(made, "tex").decode()
    assert "\\cite{k}" not in latex
    assert "\\input\n" not in latex
    assert latex.count("\\begin{document}") == 1
    assert render(made, "md")
    assert render(made, "typ")


def test_missing_glyphs_in_names_are_written_as_code_points(tiny: Path) -> None:
    folder = tiny.parent / "模型"
    folder.mkdir()
    tiny.rename(folder / "config.json")
    output = tiny.parent / "x.pdf"
    result = run("gpt2", str(folder), "-o", str(output))
    assert result.exit_code == 0
    pdf = pypdfium2.PdfDocument(output)
    assert "[U+6A21][U+578B]/config.json" in pdf[0].get_textpage().get_text_range()
    result = run("gpt2", str(folder), "-o", "-", "--format", "md")
    assert (result.exit_code, "模型/config.json" in result.stdout) == (0, True)


@pytest.mark.parametrize("extension", FORMATS)
def test_output_is_reproducible(extension: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.{extension}" for number in (1, 2)]
    for file in files:
        result = run("gpt2", "llama-2-7b", "-o", str(file))
        assert (result.exit_code, result.output) == (0, f"wrote {file}\n")
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert len(first) > 3_000


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex, which .ci/run installs first")
def test_latex_compiles() -> None:
    made = page("deepseek-v3", "qwen3-235b-a22b", "params")
    assert render(made, "pdf", engine="latex").startswith(b"%PDF")


def test_chapters_of_several_quantities(tmp_path: Path) -> None:
    result = run("gpt2", "llama-2-7b", "-q", "params", "-q", "flops", "--option", "attention=causal", "--set", "S=7",
                 "-o", "-", "--format", "md", "--flavour", "commonmark")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "# gpt2 and llama-2-7b: parameters and forward FLOPs compared" in result.stdout
    assert "## Parameters\n" in result.stdout
    assert "### The ratio\n" in result.stdout
    assert result.stdout.count("## References") == 1


REFUSED = [
    (
        ["gpt2", "llama-2-7b", "-o", "x.docx"],
        "x.docx ends in .docx; a comparison needs the extension .pdf",
    ),
    (["gpt2", "llama-2-7b", "-o", "nowhere/x.pdf"], "the folder nowhere does not exist"),
    (["gpt2", "llama-2-7b", "-o", "-"], "set the format, as in --format md"),
    (["gpt2", "llama-2-7b", "-o", "x.pdf", "--format", "md"], "x.pdf ends in .pdf, but --format is md"),
    (["gpt2", "llama-2-7b", "-o", "x.pdf", "--flavour", "github"], "--flavour applies to Markdown only"),
    (["gpt2", "llama-2-7b", "-o", "x.pdf", "--json"], "remove one of the two"),
    (["gpt2", "llama-2-7b", "--format", "md"], "--format applies to documents only; name the file with -o"),
    (["gpt2", "llama-2-7b", "-q", "params", "-q", "flops"], "params and flops need a document with one chapter each"),
    (["gpt2", "nothing", "-o", "x.pdf"], "unknown target 'nothing'"),
    (["gpt2", "llama-2-7b", "-q", "intensity", "-o", "x.pdf"], "intensity is a ratio"),
    (["gpt2", "llama-2-7b", "--set", "E=770", "-o", "x.md"], "E=770 is not a multiple of A=12"),
    (
        ["gpt2", "llama-2-7b", "--set", "X=3", "-q", "params", "-q", "flops", "-o", "x.md"],
        "X (experts) is not a size of gpt2 or llama-2-7b",
    ),
    (["vit", "gpt2", "-q", "params", "-q", "kv-cache", "-o", "x.md"], "this attention is not causal"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), REFUSED, ids=lambda each: " ".join(each)[:50] if isinstance(each, list) else ""
)
def test_refused_comparison_writes_no_file(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_json_contains_the_crossover() -> None:
    result = run("llama-2-7b", "llama-2-70b", "-q", "kv-cache", "--json")
    assert json.loads(result.stdout)["crossover"]["L_1"] == {
        "left": [[21, None]], "equal": [[20, 20]], "right": [[1, 19]],
    }  # fmt: skip


def test_figure_shows_both_models() -> None:
    """Both figures, if each model is whole; without shares if the totals were divided."""
    two = document([sf.compare("gpt2", "llama-2-7b")], "1.2.3")
    (drawn,) = [block for block in two.blocks if isinstance(block, FigureBlock)]
    assert str(drawn.caption[0]).startswith("GPT-2 and Llama side by side")
    marked = {
        each.line[1].text
        for each in drawn.draw(A4).shapes
        if isinstance(each, Words) and each.line[0] == "≠ " and isinstance(each.line[1], Strong)
    }
    # Vaswani et al. 2017, section 3.3, and Shazeer 2020, section 2; both have a table of tokens, V rows of E
    assert {"Feed-forward network", "Layer normalization", "RMS normalization"} <= marked
    assert "Token embedding" not in marked
    for other in (
        sf.compare("gpt2", "llama-2-7b", "bert-base-uncased"),
        sf.compare("llama-2-7b", "llama-2-70b", quantity="kv-cache", per="B*C"),
    ):
        assert not any(isinstance(block, FigureBlock) for block in document([other], "1.2.3").blocks)


def test_divided_amounts_are_written_as_quotients() -> None:
    """A cache of U bytes for B sequences of C tokens has U/(BC) bytes per token: 4LGD for Llama."""
    found = sf.compare("llama-2-7b", "deepseek-v2", "kv-cache", per="B*C")
    page = document([found], "1.2.3")
    chains = [each.chain for each in page.blocks if isinstance(each, Equation)]
    assert (text(chains[0].labels[0]), text(chains[0].steps[0])) == ("U_cache[1]/(BC)", "4LGD")
    assert all(expand(value(label) - value(step)) == 0 for label in chains[0].labels for step in chains[0].steps)
    said = rendered(page)
    assert "524,288** bytes per BC" in said
    assert " over BC" not in said
    assert "\\frac{U_{\\mathrm{cache,\\,1}}}{B C} &= 4 L_{\\mathrm{1}} G D" in said.replace(
        "L G D", "L_{\\mathrm{1}} G D"
    )
    assert "\\frac{\\frac" not in said
    assert "\\frac{U_{\\mathrm{cache,\\,1}}}{B C} - " in (found._repr_latex_() or "")


def test_leading_terms_above_the_total_are_labelled() -> None:
    """4·32·32·128 - 2·60·512 = 462,848 is 2·60·64 = 7,680 more than the whole, 455,168: by 1.7 %."""
    page = rendered(document([sf.compare("llama-2-7b", "deepseek-v2", "kv-cache", per="B*C")], "1.2.3"))
    assert "which exceeds it by 1.7% with these sizes." in page
    assert "omits" not in page
    turned = rendered(document([sf.compare("deepseek-v2", "llama-2-7b", "kv-cache", per="B*C")], "1.2.3"))
    assert "which exceeds it by 1.7% with these sizes." in turned  # 455,168 below zero, and above
    usual = rendered(document([sf.compare("gpt2", "gpt2-xl")], "1.2.3"))
    assert "which omits " in usual  # only terms with one sign remain


def rendered(page: Document) -> str:
    return render(page, "md").decode()
