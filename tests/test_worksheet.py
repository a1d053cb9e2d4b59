"""Worksheets: the exercises, their answers, and that no answer precedes the answer key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from click.testing import CliRunner, Result

from symformer.architectures import architecture, names
from symformer.commands.cli import cli
from symformer.documents.document_request import DocumentRequest
from symformer.documents.formats import render
from symformer.documents.worksheet import BLANK, worksheet
from symformer.language.errors import DocumentError, RuleError
from symformer.language.notation.display_tree import Number, Sum
from symformer.language.notation.text import text
from symformer.output.blocks import Document, Equation, Exercise, FigureBlock, Heading, Paragraph, Table, plain
from symformer.targets.resolution import resolve
from symformer.views.derivation_facts import derivation_facts
from symformer.views.exercise_facts import exercise_facts

from .samples import sampled

FIRST = {"Symbol", "Notation", "Part"}  # the first headers of tables, in addition to parts


def made(target: str, quantity: str = "params", **conventions: str) -> Document:
    model, chosen = resolve(target, conventions, (), [quantity])
    found = derivation_facts(model, [quantity], chosen)
    return worksheet(found, exercise_facts(found.subject, found.quantities[0]), "1.2.3")


def key_of(sheet: Document) -> int:
    """Return the place of the answer key."""
    (place,) = (n for n, block in enumerate(sheet.blocks) if isinstance(block, Heading) and block.opens_page)
    return place


def questions(sheet: Document) -> list[str]:
    return [plain(block.line) for block in sheet.blocks if isinstance(block, Exercise)]


def answers(sheet: Document) -> dict[int, str]:
    """Return the answers by number: the last line of an equation, or the words."""
    found: dict[int, str] = {}
    for block in sheet.blocks[key_of(sheet) + 1 :]:
        if isinstance(block, Paragraph):
            number, _, said = plain(block.line).removeprefix("Exercise ").partition(":")
            found[int(number)] = said.strip()
        elif isinstance(block, Equation):
            found[len(found)] = text(block.chain.steps[-1])
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["derive", *arguments, "--form", "worksheet"])


def test_exercises_and_answers_of_gpt2() -> None:
    sheet = made("gpt2")
    simple, attention, mlp, block, whole, *_ = questions(sheet)
    assert simple == "Exercises 1 to 3. How many parameters does each part have? Fill in the table."
    assert attention.startswith("Exercise 4. How many parameters does the self-attention have? Fill in the last column")
    assert "Use H = 4E." in mlp
    assert block == "Exercise 6. How many parameters does the pre-norm block have? Use exercises 3 to 5. Find N[h]."
    assert whole == "Exercise 7. How many parameters are there in total? Use exercises 1 to 3 and 6. Find N."
    assert answers(sheet) == {
        1: "VE",
        2: "PE",
        3: "2E",  # a scale and a bias
        4: "4E² + 4E",  # E × 3E and E × E, with their biases
        5: "8E² + 5E",  # E × 4E and 4E × E, with their biases
        6: "12E² + 13E",  # the two parts above and two norms
        7: "12LE² + 13LE + VE + PE + 2E",
        8: "124,439,808",  # Radford et al. 2019, the published model
        9: "",
        10: "h.*.mlp with 56,669,184 parameters, 45.5% of the total.",  # 12 · (8 · 768² + 5 · 768)
        11: "12LE². The other terms are 31.7% of the total.",  # 1 - 84,934,656 / 124,439,808
        12: "By 12LE² + 13LE = 85,054,464 parameters.",  # 12 · 768 · (12 · 768 + 13)
        13: "354,823,168",  # the published gpt2-medium
        14: "By VE = 38,597,376 parameters.",  # 50,257 · 768
    }
    assert questions(sheet)[-2] == (
        "Exercise 13. gpt2-medium has L = 24, V = 50,257, P = 1,024 and E = 1,024. Compute N."
    )


def test_each_table_to_fill_in_precedes_a_question_that_says_so() -> None:
    """In all worksheets, a table has a caption, and the exercise after it says which of its columns to fill in."""
    for target in ("gpt2", "mamba2-2.7b"):
        sheet = made(target)
        blocks = sheet.blocks[: key_of(sheet)]
        asked = {n: plain(block.line) for n, block in enumerate(blocks) if isinstance(block, Exercise)}
        filled = [n for n, block in enumerate(blocks) if isinstance(block, Table) and "____" in str(block.rows)]
        assert all(isinstance(block := blocks[n], Table) and block.caption for n in filled)
        after = [next(said for place, said in asked.items() if place > n) for n in filled]
        assert all("Fill in the " in said for said in after)
        assert sum("Fill in the " in said for said in asked.values()) == len(filled)
        assert after[-1].endswith(
            f"How many parameters do all copies of each part have in {target}? Fill in the last three columns of the "
            "table."
        )
    assert questions(made("mamba2-2.7b"))[0].startswith("Exercises 1 and 2. ")


def test_equations_of_the_key_have_the_numbers_of_their_exercises() -> None:
    """DeepSeek-V3 has two kinds of layers, parts with own rows and parts, and a relation between depths."""
    sheet = made("deepseek-v3")
    solved = [block for block in sheet.blocks if isinstance(block, Equation) and block.id]
    above = [plain(sheet.blocks[sheet.blocks.index(each) - 1].line) for each in solved]  # type: ignore[union-attr]
    assert above == [f"Exercise {each.number}:" for each in solved]
    (whole,) = (each for each in questions(sheet) if each.startswith(f"Exercise {len(solved)}."))
    assert "Use L = L_dense + L_moe." in whole
    assert (
        "Use exercises 1, 2, 5, 11 and 12." in whole
    )  # the embedding, the last norm, the head, and two kinds of layers


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        ("flops", "How many FLOPs does the self-attention take?"),
        ("kv-cache", "How many bytes does the self-attention take?"),
        ("active-params", "How many active parameters does the self-attention have?"),
        ("train-memory", "How many bytes are there in total?"),
    ],
)
def test_question_names_what_is_counted(quantity: str, words: str) -> None:
    assert any(words in each for each in questions(made("llama-2-7b", quantity)))


def test_cost_of_a_token_is_not_stated() -> None:
    """A derivation of the cache states its bytes per token below the result."""
    said = [plain(block.line) for block in made("llama-2-7b", "kv-cache").blocks if isinstance(block, Paragraph)]
    assert not any("per token" in each for each in said)


def test_question_about_one_rank_says_so() -> None:
    assert "on one rank?" in questions(made("llama-2-70b", tensor="on"))[0]


def test_doubled_length_of_flops() -> None:
    """Scores and mixing are 4BS²LE, so doubling S adds 12BS²LE, and once more everything linear in S."""
    sheet = made("gpt2", "flops")
    assert any("grow if S doubles" in each for each in questions(sheet))
    assert any(each.startswith("By 12BS²LE + 24BSLE² + 2BSVE ") for each in answers(sheet).values())


def leaks(sheet: Document, givens: set[str]) -> Iterator[str]:
    """Yield the sums, numbers and shares of the answer key that occur before it, except given numbers."""
    place = key_of(sheet)
    before = render(sheet, "md", flavour="commonmark").decode().partition("\n## Answers")[0]
    before += render(sheet, "typ").decode().partition("#pagebreak()")[0]
    for block in sheet.blocks[place:]:
        said: list[str] = []
        if isinstance(block, Equation):
            last = block.chain.steps[-1]
            said = [text(last)] if isinstance(last, Sum | Number) else []
        elif isinstance(block, Table):
            said = [plain(cell) for row in block.rows for cell in row[3:]]
        yield from (
            each for each in said if len(each) > 3 and each in before and each not in givens and each != "< 0.1%"
        )


OTHERS = ("flops", "kv-cache", "train-memory")  # of a third of the architectures each
CASES = [*((name, "params") for name in names())]
CASES += [(name, quantity) for place, quantity in enumerate(OTHERS) for name in names()[place::3]]


@pytest.mark.parametrize(("name", "quantity"), sampled(37, CASES))
def test_no_answer_stands_before_the_key(name: str, quantity: str) -> None:
    model = architecture(name)
    try:
        found = derivation_facts(model, [quantity], {})
    except RuleError:
        pytest.skip("the model does not have this quantity")
    exercises = exercise_facts(found.subject, found.quantities[0])
    if found.quantities[0].formula.expanded == 0:
        with pytest.raises(DocumentError, match="is 0"):
            worksheet(found, exercises, "1")
        return
    sheet = worksheet(found, exercises, "1")
    numbers = {*found.subject.known.values(), *(exercises.preset.sizes.values() if exercises.preset else ())}
    assert [*leaks(sheet, {f"{number:,}" for number in numbers})] == []
    sums = [each for each in found.quantities[0].parts.steps if each.chain]  # type: ignore[union-attr]
    solved = [block for block in sheet.blocks if isinstance(block, Equation) and block.id]
    assert len(solved) == len(sums)
    first = found.quantities[0].parts.columns[0].capitalize()  # type: ignore[union-attr]
    heads = {plain(block.head[0]) for block in sheet.blocks if isinstance(block, Table)}
    assert heads <= {*FIRST, first}


def test_a_planted_result_is_found() -> None:
    sheet = made("gpt2")
    for words in ("12LE² + 13LE + VE + PE + 2E", "124,439,808", "45.5%"):
        planted = Document(sheet.title, sheet.subtitle, [Paragraph([words]), *sheet.blocks])
        assert words in [*leaks(planted, set())]


def test_pdf_has_the_key_on_its_own_pages_and_no_attached_formula() -> None:
    content = render(made("gpt2"), "pdf")
    pages = [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(content)]
    first = next(n for n, page in enumerate(pages) if re.match(r"\d Answers\r?\nExercise 1", page))
    assert first > 3
    before = "\n".join(pages[:first])
    assert "Exercise 14." in before
    for number in ("124,439,808", "56,669,184", "354,823,168"):
        assert number not in before
        assert number in "\n".join(pages[first:])
    assert b"formulas.json" not in content
    assert pdfium.PdfDocument(content).get_metadata_dict()["Title"] == "GPT-2: parameters in closed form, a worksheet"


def test_figure_names_the_parts_only() -> None:
    figure = next(block for block in made("gpt2").blocks if isinstance(block, FigureBlock))
    source = render(Document("", "", [figure]), "typ").decode()
    assert "GPT-2 (gpt2). Token embedding wte; Learned position embedding wpe; L times Pre-norm block (Layer" in source
    assert "%" not in source.partition("#figure")[2].partition("scale(")[0]
    assert plain(figure.caption) == "The architecture of GPT-2, from bottom to top."


def test_every_format_has_room_for_the_solution() -> None:
    sheet = made("component:gated-mlp")
    (asked,) = (block for block in sheet.blocks if isinstance(block, Exercise))
    assert asked.ruled == 2  # EH + EH + EH, then 3EH
    assert render(sheet, "md").decode().count("> &nbsp;") == 2
    assert render(sheet, "html").decode().count("<span></span>") == 2
    assert render(sheet, "tex").decode().count(r"\hrule height") == 2
    assert re.search(r"#exercise\(.*, 2\)", render(sheet, "typ").decode())
    for extension, empty in (("md", r"\_" * len(BLANK)), ("tex", r"\underline{\hspace{7em}}"), ("html", BLANK)):
        assert render(sheet, extension).decode().count(empty) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gpt2", "-o", "x.pdf", "--length", "short"], "--form worksheet cannot be combined with --length short"),
        (["gpt2", "-o", "x.tex", "--fragment"], "--form worksheet cannot be combined with --fragment"),
        (["gpt2", "-o", "x.tex", "--macros"], "--form worksheet cannot be combined with --macros"),
        (["gpt2", "-o", "x.html", "--live"], "--form worksheet cannot be combined with --live"),
        (["gpt2", "t5", "-o", "x.pdf"], "one TARGET, but 2 are given; write one file per TARGET with -o FOLDER/"),
        (["gpt2", "-o", "x.zip"], "a worksheet has no .zip, which would contain the formulas"),
        (["gpt2", "-o", "x.pdf", "-q", "params", "-q", "flops"], "a worksheet has one quantity, but 2 are given"),
        (["gpt2", "-o", "x.pdf", "-q", "mfu"], "mfu is a ratio, which is not a sum over parts"),
        (["gpt2", "-o", "x.pdf", "-q", "decode-time"], "decode-time is a"),
    ],
)
def test_unsupported_worksheet_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_short_request_of_a_worksheet_is_refused() -> None:
    order = DocumentRequest("1", "md", length="short", form="worksheet")
    model, conventions = order.resolved("gpt2")
    with pytest.raises(DocumentError, match="omit the short length"):
        order.written([model], conventions, "x.md")


def test_worksheets_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("gpt2", "component:mlp", "-o", "out/", "--format", "md").exit_code == 0
    assert all("**Exercise 1**:" in file.read_text("utf-8") for file in (tmp_path / "out").iterdir())


def test_former_spelling_of_length_is_kept() -> None:
    short = [
        CliRunner().invoke(cli, ["derive", "gpt2", "-o", "-", "--format", "md", option, "short"]).stdout
        for option in ("--form", "--length")
    ]
    assert short[0] == short[1] != ""


def test_no_sentence_announces_a_sum_that_a_worksheet_omits() -> None:
    blocks = made("gpt2").blocks
    (place,) = (
        n for n, block in enumerate(blocks) if isinstance(block, Paragraph) and " is the total of" in plain(block.line)
    )
    said = plain(blocks[place].line) if isinstance(blocks[place], Paragraph) else ""
    assert said.endswith("the total of that part.")
    assert not isinstance(blocks[place + 1], Equation)
