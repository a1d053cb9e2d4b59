"""Rich display in notebooks: every form of every object, short in plain text, with all names escaped."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import symformer as sf
from symformer.formulas.breakdown import Breakdown
from symformer.language.symbols import E
from symformer.output import notebook
from symformer.output.blocks import Code, Heading, Math, Table
from symformer.output.notebook import Shown

HOSTILE = "a_b%c&d#e$f{g}h\\i^j~k<l>m|n`o'p\"q模"
OBJECTS: dict[str, object] = {
    "formula": sf.architecture("gpt2").params,
    "part": sf.architecture("gpt2").params.part("h.attn"),
    "ratio": sf.architecture("gpt2").formula("intensity"),
    "model": sf.model("gpt2-xl"),
    "model without numbers": sf.architecture("llama"),
    "breakdown": sf.model("deepseek-v3").params.rows,
    "breakdown of a ratio": sf.architecture("gpt2").formula("intensity").rows,
    "derivation": sf.architecture("gpt2").params.derivation,
    "comparison": sf.compare("gpt2", "gpt2-xl"),
}


class Tags(html.parser.HTMLParser):
    """Return the open tags and every text between them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "span"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_has_all_notebook_formats(name: str) -> None:
    shown = OBJECTS[name]
    assert isinstance(shown, Shown)
    bundle = shown._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html", "text/markdown", "text/latex"]
    assert bundle == shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert len(repr(shown)) < 2_500
    tags = Tags(bundle["text/html"])
    assert tags.open == []
    for form in ("text/html", "text/markdown", "text/latex"):
        assert bundle[form].count("$") % 2 == 0
        assert "<symformer" not in bundle[form]
    assert set(shown._repr_mimebundle_(include={"text/html"})) == {"text/html"}
    assert "text/html" not in shown._repr_mimebundle_(exclude=["text/html"])


def test_notebook_html_and_markdown_show_hand_values() -> None:
    # 12*48*1600^2 + 13*48*1600 + (50,257 + 1,024 + 2)*1600 = 1,557,611,200, as printed by transformers for GPT-2 XL
    formula = sf.model("gpt2-xl").params
    assert "1{,}557{,}611{,}200" in formula._repr_html_()  # type: ignore[operator]
    table = formula.rows._repr_markdown_()
    assert table is not None
    assert "| `wte` | $1$ | $V E$ | 80,411,200 | 5.2% |" in table  # 50,257*1600; 80.4112/1557.6112
    assert table.count("\n| ") == len(formula.rows) + 2  # a head and a total
    assert repr(OBJECTS["derivation"]) == "<derivation of N: 9 sections, 15 steps, each proved>"
    assert r"N_{\mathrm{attn}} &= 3 E \cdot E + 3 E + E \cdot E + E" in OBJECTS["derivation"]._repr_latex_()  # type: ignore[attr-defined]
    assert "12 L_{\\mathrm{1}} E_{\\mathrm{1}}^{2}" in OBJECTS["comparison"]._repr_html_()  # type: ignore[attr-defined]
    assert "<td" in OBJECTS["model"]._repr_html_()  # type: ignore[attr-defined]


def test_rows_are_still_a_list() -> None:
    rows = sf.architecture("gpt2").params.rows
    assert isinstance(rows, list)
    assert isinstance(rows, Breakdown)
    assert rows == list(rows)
    assert rows[0].path == "wte"
    assert repr(rows).startswith("<gpt2.params, 15 rows>\nwte: 1 x (VE)\n")


def test_a_very_long_formula_has_only_a_plain_text_form() -> None:
    long = sf.architecture("deepseek-v3").formula("generation-flops")
    assert long._repr_html_() is None
    assert list(long._repr_mimebundle_()) == ["text/plain"]
    assert len(repr(long)) < 400


def test_hostile_names_are_escaped() -> None:
    rows = [[[Code(HOSTILE)], [HOSTILE]], [[Math.of(2 * E)], [Code("x" * 300)]]]
    blocks = [Heading(1, [HOSTILE]), Table([[HOSTILE], [Code(HOSTILE)]], rows, "lr")]
    tags = Tags(notebook.html(blocks))
    assert tags.open == []
    assert "".join(tags.texts).count(HOSTILE) == 5
    assert "<l>" not in notebook.html(blocks)
    lines = notebook.markdown(blocks).splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[2:]}) == 1, "a bar in a name ends no cell"
    array = notebook.mathematics(blocks).partition("{lr}")[2]
    assert len(re.findall(r"(?<!\\)&", array)) == 3, "one between two cells of a row"
    assert not re.search(r"(?<!\\)[%#_~]", array)


def test_outputs_of_the_example_notebook_are_up_to_date(tmp_path: Path) -> None:
    """To update them: python tests/notebook_outputs.py examples/symformer.ipynb --write."""
    root = Path(__file__).parent.parent
    notebook = root / "examples" / "symformer.ipynb"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(root / "tests" / "notebook_outputs.py"), str(notebook)],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == notebook.read_text("utf-8")
    cells = [cell for cell in json.loads(done.stdout)["cells"] if cell["cell_type"] == "code"]
    shown = [output["data"] for cell in cells for output in cell["outputs"]]
    assert len(shown) == len(cells) > 5
    # Radford et al. 2019: the published models, in rich displays
    assert any("1,557,611,200" in "".join(data.get("text/html", "")) for data in shown)
