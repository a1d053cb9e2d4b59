"""The pages of reports/: every quantity has one, the index links them, and every link works.

`symformer gallery reports --check` in .ci/run tests that they are up to date.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from symformer.architectures import architecture, names
from symformer.documents import operations_page
from symformer.documents.gallery_pages import (
    ADAPTED_QUANTITIES,
    COSTS,
    MOST_TERMS,
    RANK_QUANTITIES,
    TRAINED_QUANTITIES,
    WHOLE,
    brief,
    index_rows,
)
from symformer.language.symbols import LETTERS
from symformer.ledger.facts import OperationKind
from symformer.ledger.operations import Operations
from symformer.output.files import stale, write_all
from symformer.quantities import quantities

ROOT = Path(__file__).parent.parent


def test_every_quantity_has_a_page() -> None:
    assert {*COSTS, *RANK_QUANTITIES, *ADAPTED_QUANTITIES, *TRAINED_QUANTITIES} == set(quantities())


def test_the_index_links_the_page_of_every_architecture() -> None:
    text = (ROOT / "reports" / "README.md").read_text("utf-8")
    assert [name for name in names() if f"[Markdown]({name}.md)" not in text] == []
    assert [name for name in WHOLE if f"[PDF]({name}.pdf)" not in text] == []


def test_the_index_shortens_long_formulas() -> None:
    terms = [row.formula.removesuffix(r" + \cdots").count(" + ") + 1 for row in index_rows()]
    assert max(terms) == MOST_TERMS
    # 12 terms; the highest degree is the 4 of the experts' 3 matrices of E x M
    assert brief(architecture("gpt-oss").params) == r"3 L E X M + \cdots"


def test_the_alphabet_lists_every_size_and_quantity() -> None:
    text = (ROOT / "reports" / "alphabet.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| `([^`]+)` \| \$`([^`]+)`\$ \| (\w.*?) \| (\w.*?) \|", text)
    assert {name for name, *_ in rows} == {*LETTERS, *quantities()}
    symbols = Counter(symbol for _, symbol, *_ in rows)
    assert [symbol for symbol, times in symbols.items() if times > 1] == []
    assert ("kv-cache", r"U_{\mathrm{cache}}", "bytes of the key/value cache", "bytes") in rows


def test_the_operations_page_lists_every_operation_and_kind() -> None:
    public = {name for name, item in vars(Operations).items() if callable(item) and not name.startswith("_")}
    assert public == {*operations_page.EXAMPLES, *operations_page.STRUCTURE}
    entries = {name: operations_page.written(example) for name, example in operations_page.EXAMPLES.items()}
    kinds = {entry.kind for entry in entries.values() if entry}
    assert not kinds & {*operations_page.OTHERS}
    assert kinds | {*operations_page.OTHERS} == {*OperationKind}
    views = {name for name, entry in entries.items() if not entry}
    assert views == {"split", "heads", "repeat_heads", "merge", "channels_first", "channels_last"}
    rows = [line.split(" | ") for line in operations_page.page().splitlines() if line.startswith("| `linear")]
    # A matrix of H rows of E and H biases; 2 FLOPs per multiply-add, and 1 per added bias.
    assert rows[1][1:] == ["`x[B,S,E]`", "`y[B,S,H]`", "$`E H + H`$", "$`2 B S E H`$", "$`2 B S E H + B S H`$ |"]


def test_stale_lists_the_pages_that_differ(tmp_path: Path) -> None:
    made = {"a.md": b"a", "b.md": b"b", "c.md": b"c"}
    write_all(str(tmp_path), made)
    assert stale(str(tmp_path), made) == []
    (tmp_path / "a.md").write_bytes(b"A")
    (tmp_path / "b.md").unlink()
    (tmp_path / "d.md").write_bytes(b"d")
    assert stale(str(tmp_path), made) == ["a.md", "b.md", "d.md"]


def headings(page: str) -> set[str]:
    """Return the anchors of the headings of a page, as on GitHub, and its explicit anchors."""
    seen, found = Counter[str](), set(re.findall(r'<a id="([^"]+)"', page))
    for heading in re.findall(r"(?m)^#+ (.*)$", page):
        name = re.sub(r"[^\w\- ]", "", heading.replace("\\_", "_").lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def test_every_link_has_a_target() -> None:
    made = {page.name: page.read_text("utf-8") for page in (ROOT / "reports").glob("*.md")}
    ends, followed = {name: headings(page) for name, page in made.items()}, 0
    for name, page in made.items():
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page):
            file, _, end = link.partition("#")
            assert (ROOT / "reports" / (file or name)).exists(), (name, link)
            assert not end or end in ends[file or name], (name, link)
            followed += 1
    assert followed > 500
