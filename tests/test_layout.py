"""Facts first, layout second: a document is laid out from its facts, without a formula, a value or a stored fact."""

from __future__ import annotations

import ast
from typing import NoReturn

import pytest

from symformer import architectures, certificates
from symformer.documents.derivation_document import laid_out
from symformer.documents.formats import render
from symformer.documents.slides import slides
from symformer.formulas.formula import Formula
from symformer.models.model import Model
from symformer.quantities import quantity
from symformer.quantities.quantity import Quantity
from symformer.targets.resolution import resolve
from symformer.views.derivation_facts import derivation_facts

from .floors import PACKAGE

# The modules that write a derivation, a live page or a part of one.
LAYOUT = (
    "amount_table",
    "computation",
    "condition_text",
    "derivation_document",
    "key_result",
    "ledger_dataflow",
    "legend",
    "live_data",
    "nearest_relative",
    "pages",
    "part_sections",
    "sentences",
    "slide_steps",
    "slides",
    "subject",
    "verification",
)
# The packages and modules that answer questions. A layout module may name a type of theirs, but no function.
ANSWERING = ("algebra.open_model", "architectures", "configs", "quantities", "targets", "witness")
CALLS = {
    "formula",
    "formulas",
    "value",
    "omitted_share",
    "leading",
    "row_total",
    "evaluate",
    "certificate_for",
    "resolve",
}


@pytest.mark.parametrize("name", LAYOUT)
def test_layout_modules_request_nothing(name: str) -> None:
    module = ast.parse((PACKAGE / "documents" / f"{name}.py").read_text("utf-8"))
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
            assert not node.module.startswith(ANSWERING), f"{name} imports {node.module}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in CALLS, f"{name} calls .{node.func.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS - {"value"}, f"{name} calls {node.func.id}"  # ``value`` reads a tree


@pytest.mark.parametrize(
    ("target", "quantities", "conventions"),
    [
        ("gpt2", ["params", "flops", "train-memory", "intensity", "mfu"], {"count": "all"}),
        ("llama-2-70b", ["params", "communication"], {"tensor": "on"}),
        ("hf:bamba", ["params"], {}),
        ("component:gated-mlp", ["params"], {}),
    ],
)
def test_a_derivation_is_laid_out_from_its_facts_alone(
    monkeypatch: pytest.MonkeyPatch, target: str, quantities: list[str], conventions: dict[str, str]
) -> None:
    model = resolve(target)[0]
    found = derivation_facts(model, quantities, conventions)

    def refuse(*given: object, **named: object) -> NoReturn:
        raise AssertionError("the layout asks for more than its facts")

    for owner, name in [
        (Model, "formula"),
        (Model, "known"),
        (Quantity, "formula"),
        *((type(quantity(name)), "account") for name in quantities),
        (Formula, "value"),
        (Formula, "row_total"),
        (certificates, "certificates_of"),
        (architectures, "presets"),
    ]:
        monkeypatch.setattr(owner, name, property(refuse) if name == "known" else refuse)
    with pytest.raises(AssertionError):
        model.formula()
    for form, extension in (("full", "html"), ("short", "md")):  # only HTML draws the figure
        made = render(laid_out(found, "0", form=form), extension).decode()
        assert found.subject.title in made
    if all(each.formula.additive for each in found.quantities):
        assert found.subject.title in slides(found, "0").title
