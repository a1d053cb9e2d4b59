"""A script without its comments, its indentation and the blanks between its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"[`}](?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)  # up to its end or its next expression
_OTHER = re.compile(" +|.", re.DOTALL)
_BEFORE_PATTERNS = "(,=:[!&|?{};\n"  # a slash after one of these signs starts a pattern and does not divide
_SIGNS = ',;:{}()[]=?&|<>*+-!"`'  # no blank is needed next to them


@cache
def compact(script: str) -> str:
    """Return a script with the same tokens on the same lines, and without comments on lines of their own.

    Strings, templates and patterns stay as they are. Every line that only has a comment starts with ``//``.

    >>> compact('  // adds\\n  const add = (a, b) => `${a} + ${ b }`.replace(/ +/, " ");')
    'const add=(a,b)=>`${a} + ${b}`.replace(/ +/," ");'
    """
    lines = (line.strip() for line in script.split("\n"))
    kept = "\n".join(line for line in lines if line and not line.startswith("//"))
    tokens = [*_tokens(kept)]
    spelt = ""
    for token, after in zip(tokens, [*tokens[1:], "\n"], strict=True):
        signs = spelt[-1:] in _SIGNS or after[:1] in _SIGNS
        twice = spelt[-1:] == after[:1] and after[:1] in "+-"  # a - -b
        if token.strip(" ") or (not signs or twice):
            spelt += token
    return spelt.replace(" \n", "\n").strip()


def _tokens(script: str) -> Iterator[str]:
    """Yield strings, texts of templates and patterns whole, runs of blanks as one blank, and all else by character."""
    place, last = 0, "\n"  # the last sign that is not blank
    open_braces: list[int] = []  # for each template that the place is in: the open braces of its expression
    while place < len(script):
        sign = script[place]
        inside = bool(open_braces)
        if sign == '"':
            found = _STRING.match(script, place)
        elif sign == "`" or (sign == "}" and inside and not open_braces[-1]):
            found = _TEMPLATE.match(script, place)
            if sign == "}":
                open_braces.pop()
            if found and found.group().endswith("{"):
                open_braces.append(0)
        elif script.startswith("//", place):
            place = (script + "\n").index("\n", place)
            continue
        elif sign == "/" and last in _BEFORE_PATTERNS:
            found = _PATTERN.match(script, place)
        else:
            found = _OTHER.match(script, place)
            if inside:
                open_braces[-1] += (sign == "{") - (sign == "}")
        if found is None:
            raise ValueError(
                f"the script has an incomplete string, template or pattern at {script[place : place + 40]}"
            )
        token = found.group()
        yield " " if token.strip(" ") == "" else token
        last = token.strip(" ")[-1:] or last
        place = found.end()
