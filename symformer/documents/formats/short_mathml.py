"""MathML without what browsers imply; a page of many formulas is half as long."""

from __future__ import annotations

import re

_MATH = re.compile(r"<math[ >].*?</math>", re.DOTALL)
_BRACKET = re.compile(r'<mo form="(?:prefix|postfix)"([^>]*)>([][()⌈⌉⌊⌋])</mo>')  # each has a single form in MathML
_ALONE = re.compile(r'(<math[^>]*>)<mo form="infix">(?=[^<]*</mo></math>)')
_SEPARATOR = re.compile(r'<mo separator="true">(?=[,;]</mo>)')  # a comma and a semicolon are separators in MathML
# Mathematics without scripts, fractions and roots, which reads as its text does.
_TOLD = re.compile(r'<math alttext="[^"]*">(?=(?:</?(?:mi|mn|mo|mrow)\b[^>]*>|[^<])*</math>)')
_SYMBOL = re.compile(r'<math alttext="[^"]*">(?=<msub><mi>[^<]*</mi><mtext>[^<]*</mtext></msub></math>)')
_ROWS = re.compile(r"</?mrow>")
# A row after a sign and before the next one or the end. Its own signs are between its terms, so it changes nothing.
_TERM = re.compile(
    r"(?<=</mo>)<mrow>(?!<mo)((?:(?!</?m(?:row|frac|sqrt|over|under)\b).)*?)(?<!</mo>)</mrow>(?=<mo|</math>)"
)


def with_short_math(page: str) -> str:
    """Return a page with shorter mathematics. Its style sheet needs ``math { math-style: normal; }``."""
    return _MATH.sub(lambda found: _shorter(found[0]), page)


def _inferred(element: str) -> str:
    """Return a ``math`` element without an ``mrow`` around all of its content, which MathML infers.

    >>> _inferred("<math><mrow><mi>L</mi><mrow><mi>E</mi></mrow></mrow></math>")
    '<math><mi>L</mi><mrow><mi>E</mi></mrow></math>'
    >>> _inferred("<math><mrow><mi>L</mi></mrow><mrow><mi>E</mi></mrow></math>")
    '<math><mrow><mi>L</mi></mrow><mrow><mi>E</mi></mrow></math>'
    """
    start, _, inside = element.removesuffix("</math>").partition(">")
    if not (inside.startswith("<mrow>") and inside.endswith("</mrow>")):
        return element
    depth = 0
    for row in _ROWS.finditer(inside):
        depth += 1 if row[0] == "<mrow>" else -1
        if depth == 0:
            whole = row.end() == len(inside)
            return f"{start}>{inside[len('<mrow>') : -len('</mrow>')]}</math>" if whole else element
    return element


def _shorter(mathematics: str) -> str:
    """Return a ``math`` element without what MathML implies.

    It has no display style, which the style sheet sets, no attributes of signs that they have by default, no row around
    all of its content or around one term, and no alternative text if it reads as its text does.

    >>> _shorter('<math displaystyle="true" alttext="(E"><mo form="prefix" stretchy="false">(</mo><mi>E</mi></math>')
    '<math><mo stretchy="false">(</mo><mi>E</mi></math>'
    >>> _shorter('<math alttext="="><mo form="infix">=</mo></math>')
    '<math><mo>=</mo></math>'
    >>> _shorter('<math alttext="N²,"><mrow><msup><mi>N</mi><mn>2</mn></msup><mo separator="true">,</mo></mrow></math>')
    '<math alttext="N²,"><msup><mi>N</mi><mn>2</mn></msup><mo>,</mo></math>'
    >>> _shorter('<math alttext="+ 7·L_win"><mo>+</mo><mrow><mn>7</mn><mo>⁢</mo><msub><mi>L</mi></msub></mrow></math>')
    '<math alttext="+ 7·L_win"><mo>+</mo><mn>7</mn><mo>⁢</mo><msub><mi>L</mi></msub></math>'
    >>> _shorter('<math alttext="C_win"><msub><mi>C</mi><mtext>win</mtext></msub></math>')
    '<math><msub><mi>C</mi><mtext>win</mtext></msub></math>'
    """
    shorter = mathematics.replace('<math displaystyle="true"', "<math", 1)
    shorter = _ALONE.sub(r"\1<mo>", _BRACKET.sub(r"<mo\1>\2</mo>", shorter))
    shorter = _TERM.sub(r"\1", _inferred(_SEPARATOR.sub("<mo>", shorter)))
    return _SYMBOL.sub("<math>", _TOLD.sub("<math>", shorter))
