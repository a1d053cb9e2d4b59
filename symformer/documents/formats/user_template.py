"""User templates: plain views of a document, filled in by a separate process with time and memory limits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from ...language.errors import DocumentError
from ...output.blocks import Block, Computation, Document, Equation, FigureBlock, Paragraph, References, Table
from .base_language import Language
from .page_layout import is_tall

SECONDS = 20
MOST_READ = 1_000_000  # bytes of a template
BREAK = "\0"  # placeholder for the end of a row, which a template may choose
MESSAGE = 400  # maximum characters of an error message


def read_template(path: str) -> str:
    """Return the text of a template. Raises DocumentError if it cannot be read."""
    place = Path(path)
    try:
        if not place.is_file():
            raise DocumentError(f"the template {path[:200]} is not a file; give a file name, such as paper.tex.jinja")
        with place.open("rb") as file:
            content = file.read(MOST_READ + 1)
        if len(content) > MOST_READ:
            raise DocumentError(f"the template {path} is larger than the limit of {MOST_READ:,} bytes")
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DocumentError(f"the template {path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise DocumentError(f"the template {path[:200]} cannot be read: {said}") from None


def check_delimiters(text: str, path: str) -> str:
    """Return a warning if a template has standard Jinja tags, which are copied unchanged, or no tags; else "".

    Raises DocumentError if it has standard tags only: nothing in it would be filled in.
    """
    found = _FOREIGN.search(text)
    if found is None:
        none = f"the template {path} has no tags, so the output has nothing of the document; write <%= … %> and <% … %>"
        return "" if "<%" in text else none
    line = text.count("\n", 0, found.start()) + 1
    said = f"the template {path}, line {line}: {found[0]} is copied unchanged; write tags as <%= … %> and <% … %>"
    if "<%" not in text:
        raise DocumentError(said)
    return said


# Jinja tags with a name from the templates or a statement. LaTeX has other text in double braces, and {% at line ends.
_FOREIGN = re.compile(
    r"\{\{-?\s*(?:document|language|page|tall|block)\b[^{}\n]{0,40}\}\}"
    r"|\{%-?\s*(?:for|if|set|macro|block|include|extends|import|from|end\w+|else|elif)\b[^{}\n]{0,40}%\}"
)


def fill(document: Document, extension: str, flavour: str, template: str, name: str) -> bytes:
    """Fill in a template with a document in the language of an extension.

    Raises DocumentError if the template is invalid, accesses anything outside the document, or takes too long.
    """
    module = import_module(f".{extension}", __package__)
    language: Language = module.FLAVOURS[flavour] if extension == "md" else module.FORMAT
    given = {"template": template, "extension": extension, "flavour": flavour, **views(document, language)}
    command = [sys.executable, "-P", "-m", f"{__package__}.template_process"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
    try:
        run = subprocess.run(  # noqa: S603
            command,
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=SECONDS,
            env=environment,
            check=False,
        )
        said = json.loads(run.stdout)
    except subprocess.TimeoutExpired:
        raise DocumentError(f"the template {name} did not finish within {SECONDS} seconds") from None
    except OSError as error:
        raise DocumentError(f"the template {name} needs a separate process, which cannot be started: {error}") from None
    except ValueError:
        raise DocumentError(f"the template {name} exceeded the time or memory limit and was stopped") from None
    if "refused" in said:
        raise DocumentError(f"the template {name} is rejected: {said['refused'][:MESSAGE]}")
    text: str = said["text"]
    return language.completed(text).encode("utf-8", "replace")


def views(document: Document, language: Language) -> dict[str, Any]:
    """Return a document as plain text, numbers and lists, without references to other objects."""
    made = language.prepared(document)
    places = {id(block): place for place, block in enumerate(made.blocks)}
    chapters = [
        [places[id(chapter)], [places[id(section)] for section in sections]]
        for chapter, sections in language.contents(made)
    ]
    return {
        "about": {
            "title": made.title,
            "subtitle": made.subtitle,
            "keywords": list(made.keywords),
            "attached": [list(each) for each in made.attached],
            "one_page": made.one_page,
        },
        "blocks": [_view(block, language) for block in made.blocks],
        "chapters": chapters,
        "ending": language.page.ending(made.blocks),
        "facts": {name: str(getattr(language, name)) for name in language.of_itself},
    }


def _view(block: Block, language: Language) -> dict[str, Any]:
    """Return the fields of a block and its text in a language."""
    view: dict[str, Any] = {}
    for field in fields(block):
        value = getattr(block, field.name)
        match field.name:
            case "line" | "caption":
                view[field.name] = language.line(value)
            case "head":
                view["head"] = [language.line(cell) for cell in value]
            case "rows":
                view["rows"] = [[language.line(cell) for cell in row] for row in value]
            case "caption":
                view["caption"] = language.line(value)
            case "entries":
                view["entries"] = value
            case _ if isinstance(value, str | int):
                view[field.name] = value
    page = language.page
    if isinstance(block, Table):
        view |= {"columns": page.columns(block), "kept": page.kept(block), "scaled": page.scaled(block)}
        view |= {"begun": page.begun(block), "wide": page.wide(block)}
    if isinstance(block, Table | Paragraph):
        view["tall"] = is_tall(block)
    if isinstance(block, FigureBlock):
        view["fills"] = block.fills
    if isinstance(block, References):
        view["tail"] = page.tail(block)
    if isinstance(block, Table | Equation):
        view["long"] = page.long(block)
    if isinstance(block, Equation):
        view["brief"] = page.brief(block)
    if isinstance(block, Computation):
        view["split"] = page.split(block)
    if isinstance(block, Equation | Computation):
        view["spoken"] = block.spoken
    view["spelt"] = {name: _spelt(block, name, language) for name in language.of_blocks.get(block.kind, ())}
    return view


def _spelt(block: Block, name: str, language: Language) -> str | bool:
    if isinstance(block, Equation) and name == "equation":
        return language.equation(block, BREAK)
    if isinstance(block, Computation) and name == "computation":
        return language.computation(block, BREAK)
    made = getattr(language, name)(block)
    return made if isinstance(made, str | bool) else language.line(made)
