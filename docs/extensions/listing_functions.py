"""The packages that can be called, such as ``symformer.architectures()``, documented as the functions that they are."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from docutils import nodes
from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ListingFunction(SphinxDirective):
    """Write a callable package as a function, with the docstring of the function that it calls."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].rpartition(".")
        function = getattr(import_module("symformer.views.listing"), name)
        signature = f"{name}() -> {function.__annotations__['return']}"
        text = str(SphinxDocString(inspect.getdoc(function) or "", {}))
        lines = [
            f".. py:function:: {signature}",
            f"   :module: {module}",
            "",
            *(f"   {line}" for line in text.splitlines()),
        ]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("listing-function", ListingFunction)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
