"""The directive ``commands``: every command, with its help, from the commands themselves.

sphinx-click reads help as reStructuredText, which changes ``--option`` to a dash and drops backslashes. Our help is
plain text, so it is copied unchanged.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from symformer.commands.cli import cli


class Commands(SphinxDirective):
    """Write a section for each command."""

    def run(self) -> list[nodes.Node]:
        context = click.Context(cli, info_name="symformer", **cli.context_settings)
        return [self.section(cli.commands[name], name, context) for name in cli.list_commands(context)]

    def section(self, command: click.Command, name: str, parent: click.Context) -> nodes.section:
        made = nodes.section(ids=[nodes.make_id(f"symformer-{name}")], names=[f"symformer {name}"])
        made += nodes.title("", "", nodes.literal("", f"symformer {name}"))
        context = click.Context(command, info_name=name, parent=parent)
        usage = " ".join(command.collect_usage_pieces(context))
        made += paragraphs(inspect.cleandoc(command.help or ""))
        made += nodes.literal_block("", f"symformer {name} {usage}", language="text")
        records = [param.get_help_record(context) for param in command.get_params(context)]
        table = nodes.definition_list(classes=["options"])
        for names, text in (record for record in records if record and record[1]):
            term = nodes.term("", "", nodes.literal("", names))
            table += nodes.definition_list_item("", term, nodes.definition("", *paragraphs(text)))
        made += table
        return made


def paragraphs(text: str) -> Iterator[nodes.Element]:
    """Yield the paragraphs of a help text; click keeps the lines of a paragraph that starts with ``\\b``."""
    for paragraph in re.split(r"\n\s*\n", text.split("\f")[0]):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            yield nodes.literal_block("", inspect.cleandoc("\n".join(lines[1:])), language="text")
        elif lines:
            yield nodes.paragraph("", "", *inline(" ".join(line.strip() for line in lines)))


def inline(text: str) -> Iterator[nodes.Node]:
    """Yield text, with the words between backticks as code."""
    for place, piece in enumerate(text.split("`")):
        yield nodes.literal("", piece) if place % 2 else nodes.Text(piece)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
