"""reports/ is what the code would write today, and README links it."""

from __future__ import annotations

from pathlib import Path

from symformer import __version__
from symformer.documents.files import stale, write_all
from symformer.documents.gallery import ADAPTED_QUANTITIES, COSTS, RANK_QUANTITIES, TRAINED_QUANTITIES, index, pages
from symformer.quantities import quantities

ROOT = Path(__file__).parent.parent


def test_reports_are_fresh() -> None:
    assert stale(str(ROOT / "reports"), pages(__version__)) == [], "run: symformer gallery reports"


def test_every_quantity_has_a_page() -> None:
    assert {*COSTS, *RANK_QUANTITIES, *ADAPTED_QUANTITIES, *TRAINED_QUANTITIES} == set(quantities())


def test_readme_links_every_derivation() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    between = readme.split("<!-- derivations -->\n")[1].split("<!-- end -->")[0]
    assert between.splitlines() == ["", *index("reports"), ""]


def test_stale_names_what_differs(tmp_path: Path) -> None:
    made = {"a.md": b"a", "b.md": b"b", "c.md": b"c"}
    write_all(str(tmp_path), made)
    assert stale(str(tmp_path), made) == []
    (tmp_path / "a.md").write_bytes(b"A")
    (tmp_path / "b.md").unlink()
    (tmp_path / "d.md").write_bytes(b"d")
    assert stale(str(tmp_path), made) == ["a.md", "b.md", "d.md"]
