"""The English of the package: how often it uses phrases that read like a literal translation.

``python -m tests.test_prose [FOLDER]`` prints the number of each, and of all per 1,000 words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = (
    r"\bhangs on\b",
    r"\bbeside\b",
    r"\bthat of\b",
    r"\bthose of\b",
    r"\bstands?\b(?! for)",
    r"\breckon(?:ed|s|ing)?\b",
    r"(?<!there )\bis no\b(?! longer)",
    r"(?<!there )\bare no\b",
    r"\bgo(?:es)? by\b",
    r"\bnothing that\b",
    r"\bcomes? to\b",
    r"\bcame of\b",
    r"\bcomes of\b",
    r"\basks? for\b",
    r"\basked for\b",
    r"\ball else\b",
    r"\bas it is\b",
    r"\bsuch a one\b",
    r"\bof one's own\b",
    r"\bthe like\b",
    r"\bfrom \d+ on\b",
    r"\bread off\b",
    r"\bread as it is\b",
    r"\bheld to\b",
    r"\bis said\b",
    r"\bare said\b",
    r"\bwhat (?:is|are|has|have|was|were|it|they|a|an|the|one)\b",
    r"\bknown here\b",
    r"\bcomposed here\b",
    r"\bone of many\b|\bof many ranks\b",
    r"\bonce more\b",
    r"\b(?:nobody|somebody|anybody)\b",
    r"\btaken for\b",
    r"\bheld against\b",
    r"\bsaid of\b",
    r"\bnone such\b",
    r"\bgives? back\b",
    r"\b(?:knows|says|shows) nothing\b",
    r"\b(?:does|counts?|reads?) otherwise\b",
    r"\bgoes to\b",
    r"\bwhere (?:it|they|there|one) (?:is|are|has|have|does)\b",
    r"\bby so (?:many|much)\b|\bso many as\b",
    r"\b(?:bytes|FLOPs|elements|parameters|numbers|weights) an? (?:token|layer|parameter|element|second)\b",
    r"\bas (?:is|are) the (?:next|others?)\b",
)
FOUND = [re.compile(phrase, re.IGNORECASE) for phrase in PHRASES]
# Strings of each kind, which may contain "#", or a comment. Python's tokenizer takes ten times as long.
STRING_OR_COMMENT = re.compile(
    r'"{3}(?:\\.|[^\\])*?"{3}'
    r"|'{3}(?:\\.|[^\\])*?'{3}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|(#[^\n]*)",
    re.DOTALL,
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
MOST = 0.6  # phrases per 1,000 words
SENTENCE = 3  # words: a shorter string is a name or a key


def prose(source: str) -> Iterator[str]:
    """Yield the comments and the strings of a module that have at least three words."""
    for found in STRING_OR_COMMENT.finditer(source):
        if (comment := found[1]) and not comment.startswith(("# noqa", "# type:", "# fmt:")):
            yield comment
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "\n".join(line for line in node.value.splitlines() if not line.lstrip().startswith(">>>"))
            if len(WORD.findall(text)) >= SENTENCE:
                yield text


def texts(root: Path) -> Iterator[str]:
    """Yield everything that users and contributors read: code, tests, templates, stored texts and documents."""
    for folder in ("symformer", "tests", "examples", ".ci"):
        for place in sorted((root / folder).rglob("*.py")):
            if place.name != Path(__file__).name:
                yield from prose(place.read_text("utf-8"))
    stored = [
        root / "symformer" / "architectures" / "presets.json",
        *sorted((root / "symformer/papers").glob("*.json")),
    ]
    documents = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    templates = [place for place in sorted((root / "templates").rglob("*")) if place.parent.name != "fonts"]
    for place in (*templates, *documents, *stored):
        if place.is_file():
            yield place.read_text("utf-8")


def counted(root: Path) -> tuple[int, Counter[str]]:
    """Return the number of words, and how often each phrase occurs."""
    words, found = 0, Counter[str]()
    for text in texts(root):
        words += len(WORD.findall(text))
        for pattern in FOUND:
            found[pattern.pattern] += len(pattern.findall(text))
    return words, found


@pytest.mark.exhaustive
def test_phrases_of_a_literal_translation_are_rare() -> None:
    words, found = counted(ROOT)
    assert words > 50_000
    assert found.total() < MOST * words / 1000, found.most_common(10)


def test_a_phrase_is_found_in_comments_docstrings_and_messages() -> None:
    source = '"""What it is of a thing."""\n# it hangs on that\nraise ValueError(f"{x} is no number here")\n'
    found = [pattern.pattern for text in prose(source) for pattern in FOUND if pattern.search(text)]
    assert len(found) == 3


if __name__ == "__main__":
    words, found = counted(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    for phrase, number in found.most_common():
        print(f"{number:6} {phrase}")  # noqa: T201
    print(f"{found.total():,} in {words:,} words, {1000 * found.total() / words:.2f} per 1,000")  # noqa: T201
