"""The process that fills in user templates. A template sees only plain text, no files and no code.

It reads the JSON that :mod:`symformer.documents.formats.user_template` sends, and answers with the text or an error
message.
"""

from __future__ import annotations

import json
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from .base_language import SYNTAX, Language
from .user_template import BREAK, SECONDS

MOST_WRITTEN = 20_000_000  # characters of a document
MEMORY = 2**30
NAME = "<template>"
_WITHOUT = ("attr", "random", "pprint")  # removed filters: attribute access, nondeterminism, Python objects
_GLOBALS = ("range", "dict", "cycler", "joiner", "namespace")
_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class SafeMarkup(str):
    """Text that is already in the document's language."""

    __slots__ = ()


def fill(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the text that a template produces from the views of a document, or an error message."""
    made = Markup if given["extension"] == "html" else SafeMarkup
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=given["extension"] == "html", **SYNTAX
    )
    for name in _WITHOUT:
        environment.filters.pop(name, None)
    environment.globals = {name: environment.globals[name] for name in _GLOBALS}
    try:
        parsed = environment.parse(given["template"], filename=NAME)
        if reached := next(parsed.find_all(_FILES), None):
            return {"refused": f"line {reached.lineno} refers to another file; a template must be a single file"}
        pieces: list[str] = []
        written = 0
        for piece in environment.from_string(parsed).generate(_names(given, made)):
            written += len(piece)
            if written > MOST_WRITTEN:
                return {"refused": f"it writes more than {MOST_WRITTEN:,} characters"}
            pieces.append(piece)
        return {"text": "".join(pieces)}
    except TemplateSyntaxError as error:
        return {"refused": f"line {error.lineno}: {error.message}"}
    except MemoryError:
        return {"refused": f"it needs more than {MEMORY:,} bytes of memory"}
    except RecursionError:
        return {"refused": "it is infinitely recursive or nested too deeply"}
    except Exception as error:  # any error of a template is reported to its author
        said = str(error).partition("\n")[0] or type(error).__name__
        return {"refused": f"{_line(error)}{said}"}


def _line(error: BaseException) -> str:
    """Return the line of the template in which an error occurred."""
    found, trace = "", error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == NAME:
            found = f"line {trace.tb_lineno}: "
        trace = trace.tb_next
    return found


def _names(given: Mapping[str, Any], made: type[str]) -> dict[str, Any]:
    """Return the names that a template can use: the document, its language, its page."""
    module = import_module(f".{given['extension']}", __package__)
    language: Language = module.FLAVOURS[given["flavour"]] if given["extension"] == "md" else module.FORMAT
    blocks = tuple(_block(view, made) for view in given["blocks"])
    chapters = tuple((blocks[place], tuple(blocks[each] for each in below)) for place, below in given["chapters"])

    def text(name: str) -> Callable[[str], str]:
        spell = getattr(language, name)
        return lambda told: made(spell(str(told)))

    def spelt(name: str) -> Callable[[Any], Any]:
        return lambda block: getattr(block.spelt, name)

    def rows(name: str) -> Callable[..., str]:
        return lambda block, row_break="": made(
            getattr(block.spelt, name).replace(BREAK, str(row_break) or language.row_break)
        )

    def line(told: str) -> str:
        return told if isinstance(told, made) else made(language.prose(str(told)))

    names = {name for several in language.of_blocks.values() for name in several}
    speaks: dict[str, Any] = {name: spelt(name) for name in sorted(names)}
    speaks |= {name: text(name) for name in language.of_texts}
    speaks |= {name: made(told) for name, told in given["facts"].items()}
    speaks |= {name: rows(name) for name in ("equation", "computation")}
    speaks |= {"line": line, "contents": lambda _: chapters}
    speaks["strong"] = lambda told: made(language.strong(line(told)))
    facts = {
        name: _fact(name) for name in ("long", "brief", "wide", "columns", "tail", "begun", "kept", "scaled", "split")
    }
    return {
        "document": _record("Document", {**_frozen(given["about"], str), "blocks": blocks}),
        "language": _record("Language", speaks),
        "page": _record("Page", {**facts, "ending": lambda _: given["ending"]}),
        "tall": _fact("tall"),
    }


def _fact(name: str) -> Callable[[Any], Any]:
    return lambda block: getattr(block, name)


def _block(view: Mapping[str, Any], made: type[str]) -> Any:
    """Return the view of a block, with text in the document's language marked as such."""
    told = {
        name: _frozen(each, made if name in ("line", "head", "rows", "caption") else str) for name, each in view.items()
    }
    spelt = {name: _frozen(each, made) for name, each in view["spelt"].items()}
    return _record("Block", {**told, "spelt": _record("SafeMarkup", spelt)})


def _frozen(value: Any, made: type[str]) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(each, made) for name, each in value.items()}
    if isinstance(value, list):
        return tuple(_frozen(each, made) for each in value)
    return made(value) if isinstance(value, str) else value


def _record(name: str, values: Mapping[str, Any]) -> Any:
    """Return an immutable record of named values."""
    return namedtuple(name, list(values))(**values)


def _bound() -> None:
    """Limit CPU time and memory, and forbid writing files, if the system supports it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> None:
    given = json.load(sys.stdin)
    import_module(f".{given['extension']}", __package__)  # imported before the limits apply
    _bound()
    sys.stdout.write(json.dumps(fill(given)))


if __name__ == "__main__":
    main()
