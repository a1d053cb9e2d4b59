"""Documents name modules as the class does, also if the ledger has a list of its own for each kind of layers."""

from __future__ import annotations

import re

import pytest

import symformer as sf
from symformer.documents.derivation_document import document
from symformer.documents.formats import render
from symformer.output.blocks import Code, Heading, Table

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# Small configs with one layer of each kind.
CONFIGS = {
    "lfm2": (
        "Lfm2",
        {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2},
    ),
    "kimi-linear": (
        "KimiLinear",
        {
            "layer_types": ["linear_attention", "linear_attention", "full_attention"],
            "mlp_layer_types": ["dense", "sparse", "sparse"],
            "num_hidden_layers": 3,
        },
    ),
    "gemma3": (
        "Gemma3",
        {"layer_types": ["sliding_attention", "full_attention"], "num_hidden_layers": 2},
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_row_of_a_document_is_a_module_of_the_class(name: str) -> None:
    """The class has one list, such as ``layers``, for the layers of all kinds."""
    stem, fields = CONFIGS[name]
    config = getattr(transformers, f"{stem}TextConfig" if name == "gemma3" else f"{stem}Config")(**fields)
    with torch.device("meta"):
        model = getattr(transformers, f"{stem}ForCausalLM")(config)
    modules = {re.sub(r"\.\d+(?=\.|$)", ".*", path).removeprefix("model.") for path, _ in model.named_modules()}
    modules |= {re.sub(r"\.\d+(?=\.|$)", ".*", path).removeprefix("model.") for path, _ in model.named_parameters()}
    rows = rows_of(name)
    assert len(rows) > 10
    assert [row for row in rows if row not in modules] == []


def rows_of(name: str) -> list[str]:
    """Return the names in the table of a document that has all rows."""
    tables = [block for block in document(sf.model(name), ["params"], "0").blocks if isinstance(block, Table)]
    table = next(each for each in tables if each.head[0] == ["Row"])
    return [cell.text for row in table.rows for cell in row[0] if isinstance(cell, Code)]


def test_kinds_of_layers_are_named_in_words() -> None:
    """Kimi Linear: one mixer in two kinds of layers, and another in the third, all in ``layers.*.self_attn``."""
    whole = document(sf.model("kimi-linear"), ["params"], "0")
    written = render(whole, "md", "typst").decode()
    mixer = "`layers.*.self_attn` in the layers with a dense feed-forward network and the layers with linear attention"
    assert f"{mixer} and experts. Linear attention with a state" in written
    assert "`layers.*.self_attn` in the layers with attention. Attention whose keys" in written
    headings = [tuple(map(str, block.line)) for block in whole.blocks if isinstance(block, Heading)]
    assert len(headings) == len({*headings})
