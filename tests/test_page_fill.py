"""Pages of derivations are at least half full: what may not break is short, and the rest flows on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pypdfium2 import PdfDocument

from symformer.architectures import architecture, names
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.language.errors import RuleError

from .samples import sampled

HEIGHT, MARGIN = 297, 24  # millimetres
# DeBERTa and Flux have the longest computations, in which shapes have rows of their own
DERIVED = [*((name, "params") for name in names()[::2]), *((name, "flops") for name in names()[1::4])]
CASES = sampled(43, DERIVED, lambda case: case[0] == "flux")


@pytest.mark.parametrize(("name", "quantity"), [*CASES, ("deberta-v2", "params")])
def test_pages_are_at_least_half_full(name: str, quantity: str) -> None:
    try:
        content = render(document(architecture(name), [quantity], "1"), "pdf")
    except RuleError:
        pytest.skip("the model does not have this quantity")
    *pages, _ = PdfDocument(content)
    for number, page in enumerate(pages, 1):
        inked = np.flatnonzero(_rows(page))
        assert inked[-1] > 0.5 * len(_rows(page)), f"page {number}"
        assert np.diff(inked).max() < 0.45 * len(_rows(page)), f"page {number}"  # above a figure at its foot
        assert not _footer_is_crowded(page), f"page {number}"


def _image(page: object) -> np.ndarray:
    return np.array(page.render(scale=0.5, grayscale=True).to_pil())  # type: ignore[attr-defined]


def _rows(page: object) -> np.ndarray:
    """Return whether each row of pixels between the margins has ink."""
    image = _image(page)
    top, end = (round(len(image) * place / HEIGHT) for place in (MARGIN, HEIGHT - MARGIN))
    return (image[top:end] < 200).any(axis=1)


def _footer_is_crowded(page: object) -> bool:
    """Return True if anything other than the page number is in the lower margin."""
    image = _image(page)
    below = image[round(len(image) * (HEIGHT - MARGIN + 3) / HEIGHT) :] < 200
    columns = np.flatnonzero(below.any(axis=0))
    return bool(columns[-1] - columns[0] > 0.1 * image.shape[1])


def test_latex_keeps_a_short_table_with_its_equation() -> None:
    source = render(document(architecture("gpt2"), ["params"], "1"), "tex").decode()
    between = re.findall(r"\\usebox\{\\drawn\}\\fi\n\\par\}(.*)\n+\\begin\{equation\}", source)
    assert between == [r"\nopagebreak"] * 2  # of attention and of the MLP
