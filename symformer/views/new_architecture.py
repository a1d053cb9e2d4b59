"""A new architecture in a checkout of the repository: its skeleton files, and the list of missing parts."""

from __future__ import annotations

import doctest
import importlib
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sympy import Expr

from .. import architectures
from ..architectures.base_architecture import HEAD_WIDTH, HEADS_DIVIDE, Architecture
from ..certificates import certificate_for, certificates_of
from ..configs.config_fields import Field
from ..language.errors import DocumentError, SymformerError, TargetError, UnknownNameError, quoted
from ..language.registry import Registry
from ..language.symbols import letter
from ..papers import cited_papers, papers

ROOT = Path(architectures.__file__).parent.parent.parent
PRESETS, PAPERS = "symformer/architectures/presets.json", "symformer/papers/papers.json"
TODO = "TODO"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def check_checkout() -> None:
    """Raise DocumentError if the package is not in a checkout of the repository."""
    if not (ROOT / "tests" / "models" / "__init__.py").is_file():
        raise DocumentError(
            f"{ROOT} has no tests/models, so it is not a checkout of the repository; clone the repository and run "
            "pip install -e . in it"
        )


def check_name(name: str) -> None:
    """Raise TargetError if an architecture cannot have this name."""
    if not _NAME.fullmatch(name):
        raise TargetError(
            f"{quoted(name)} cannot name an architecture; use lower-case letters, digits and single hyphens, and begin "
            "with a letter, such as my-model"
        )
    if keyword.iskeyword(name) or name in ("bases", _module(Architecture).replace("_", "-")):
        raise TargetError(f"{quoted(name)} is reserved; choose another name")
    preset = architectures.presets().get(name)
    if preset and preset["architecture"] != name:
        raise TargetError(f"{quoted(name)} is already a preset of {preset['architecture']}; choose another name")


def paths(name: str) -> tuple[str, str]:
    """Return the paths of the two files of an architecture in the repository: its class and its test case."""
    stem = name.replace("-", "_")
    return f"symformer/architectures/{stem}.py", f"tests/models/{stem}.py"


def skeleton(name: str, like: str) -> dict[str, str]:
    """Return the files of a new architecture by their paths. Lines that must be completed contain TODO.

    Parameters
    ----------
    name
        The name of the new architecture.
    like
        An existing architecture. The new one gets the same base classes and the same sizes, without their values.

    Raises
    ------
    UnknownNameError
        If there is no architecture ``like``.
    TargetError
        If it has no base class in ``architectures/bases/``.

    """
    if like not in architectures.names():
        raise UnknownNameError("architecture", like, architectures.names())
    model = architectures.architecture_class(like)
    bases = [base for base in model.__bases__ if ".bases." in base.__module__]
    if not bases:
        raise TargetError(f"{like} has no base class in architectures/bases; choose another architecture for --like")
    stem = "".join(word.capitalize() for word in name.split("-"))
    own, case = paths(name)
    return {own: _class(stem, model, bases), case: _case(name, stem, model)}


def _class(stem: str, model: type[Architecture], bases: list[type]) -> str:
    stated = (vars(each)["config"].sizes for each in model.__mro__ if "config" in vars(each))
    fields = next(filter(None, stated))  # of the nearest class that states any
    sizes = {size: _field(field, letter(size).config[:1]) for size, field in fields.items()}
    named = ", ".join(base.__name__ for base in bases)
    used = {*fields} | {size for field in fields.values() for size in getattr(_default(field), "free_symbols", ())}
    letters = sorted(map(str, used))
    own = [each for each in vars(model) if each[0] != "_" and each not in ("config", "title", "witness")]
    field = "Field, " if any(value.startswith("Field") for value in sizes.values()) else ""
    head_width = "HEAD_WIDTH, " if "HEAD_WIDTH" in sizes.values() else ""
    divides = model.witness.conditions == HEADS_DIVIDE
    return "\n".join(
        [
            f'"""{stem}."""',
            "",
            "from __future__ import annotations",
            "",
            "from dataclasses import dataclass",
            "",
            f"from ..language.symbols import {', '.join(letters)}",
            f"from .base_architecture import {head_width}{'HEADS_DIVIDE, ' * divides}{field}Fields, WitnessSpec, usual",
            *sorted(f"from .bases.{_module(base)} import {base.__name__}" for base in bases),
            "",
            "",
            "@dataclass(frozen=True, kw_only=True)",
            f"class {stem}({named}):",
            f'    """{TODO}: its paper with the key in papers.json, the section, and its differences from {named}.',
            "",
            f"    >>> {stem}().params",
            f"    {TODO}: the formula of the number of parameters",
            '    """',
            "",
            f'    title = "{stem}"  # {TODO}: the name in its paper',
            f"    # {TODO}: the defaults of the sizes in the config class of transformers; the fields without effect",
            "    config = Fields(",
            "        usual(",
            "            {",
            *(f"                {size}: {value}," for size, value in sizes.items()),
            "            }",
            "        ),",
            "        inert=(),",
            "    )",
            f"    # {TODO}: the prefix of its classes in transformers and the conditions of its config class, or",
            "    # WitnessSpec.ours(MODULE)",
            f'    witness = WitnessSpec("{stem}"{", conditions=HEADS_DIVIDE" * divides})',
            f"    # {TODO}: its options, the components that differ from those of {named}, and the variants to verify",
            *([f"    # {model.__name__} sets {', '.join(own)}; copy what the new architecture shares"] if own else []),
            "",
        ]
    )


def _case(name: str, stem: str, model: type[Architecture]) -> str:
    classes = ", ".join(f'"{stem}{end}"' for end in model.heads)
    fields = [each.names[0] for each in model.fields.sizes.values() if each.names]
    return "\n".join(
        [
            f'"""{stem}."""',
            "",
            "from __future__ import annotations",
            "",
            "from . import Computation, ModelCase, SmallConfig",
            "",
            "MODEL = ModelCase(",
            f'    "{name}",',
            "    totals=(",
            f"        # {TODO}: (PRESET, OPTIONS, TOTAL), with the source or the arithmetic in a comment",
            "    ),",
            f"    # {TODO}: a small config in which all sizes differ; no config if transformers has no such class",
            "    config=SmallConfig(",
            f'        "{name.replace("-", "_")}",',
            "        {",
            *(f'            "{field}": 0,' for field in fields),
            "        },",
            f"        ({classes},)," if len(model.heads) == 1 else f"        ({classes}),",
            "    ),",
            f"    # {TODO}: the functions and numbers that differ from the usual; see tests/models/__init__.py",
            "    computation=Computation(),",
            ")",
            "",
        ]
    )


def _field(field: Field, usual: tuple[str, ...]) -> str:
    """Return the code of a field without its number."""
    if field == HEAD_WIDTH:
        return "HEAD_WIDTH"
    default = _default(field)
    value = "None" if default is None else str(default).replace("*", " * ").replace("/", " / ")
    return value if field.names[:1] == usual or not field.names else f"Field({field.names!r}, {value})"


def _default(field: Field) -> Expr | None:
    """Return the default of a field if it is a product of sizes, such as E/A, which the new architecture keeps."""
    default = field.default
    return default if isinstance(default, Expr) and re.fullmatch(r"\w+([*/]\w+)?", str(default)) else None


def _module(each: type) -> str:
    return each.__module__.rpartition(".")[2]


def missing(name: str) -> list[str]:
    """Return a sentence for each thing that an architecture still needs, in the order in which to add them.

    The list is empty once ``symformer verify NAME --write`` has stored a valid certificate of every variant.
    """
    own, case = paths(name)
    found = [line for path in (own, case) for line in _undone(path)]
    try:
        model = _loaded(name)
    except Exception as error:
        return [*found, f"{own}: cannot be imported: {type(error).__name__}: {error}"]
    if not any(line.startswith(own) for line in found):
        found += [f"{own}: {sentence}" for sentence in _docstring(model)]
    if not architectures.presets_of(name):
        found.append(f"{PRESETS}: a preset of {name}, with its sizes and their source")
    if found:
        return [*found, f"a certificate: run symformer verify {name} --write when all of the above is done"]
    try:
        found += _certificate(name)
    except SymformerError as error:
        return [f"{own}: {error}"]
    if not (ROOT / "reports" / f"{name}.md").is_file():
        found.append(f"reports/{name}.md: run symformer gallery reports")
    return found


def _undone(path: str) -> Iterator[str]:
    if not (ROOT / path).is_file():
        yield f"{path}: the file is missing"
        return
    for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
        _, found, rest = line.partition(f"{TODO}: ")
        if found:
            yield f"{path}:{number}: {rest.rstrip('.')}"


def _loaded(name: str) -> type[Architecture]:
    """Return the class of an architecture, also if its file is newer than the list of architectures."""
    importlib.invalidate_caches()
    return Registry(architectures.__name__, Architecture).load(name)  # type: ignore[type-abstract]


def _docstring(model: type[Architecture]) -> Iterator[str]:
    keys = cited_papers([model.__doc__ or ""])
    if not keys:
        yield "the docstring cites no paper by a key of a name and a year, such as [touvron2023] or [touvron2023b]"
    yield from (f"the docstring cites [{key}]; add it to {PAPERS}" for key in keys if key not in papers())
    module = sys.modules[model.__module__]
    tests = [test for test in doctest.DocTestFinder(recurse=False).find(model, model.__name__, module) if test.examples]
    if not tests:
        yield f"the docstring has no formula; add >>> {model.__name__}().params"
    for test in tests:
        said: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
        if said:
            yield "the doctest of the formula fails: " + " ".join("".join(said).split())[-200:]


def _certificate(name: str) -> Iterator[str]:
    if not certificates_of(name):
        yield f"symformer/certificates/{name}.json: run symformer verify {name} --write"
        return
    for variant in architectures.variants(architectures.architecture(name)):
        if certificate_for(variant, variant.params) is None:
            chosen = [f"{key}={value}" for key, value in variant.component.changed_options.items()]
            options = ", ".join(chosen) or "the default options"
            yield (
                f"symformer/certificates/{name}.json: no valid certificate for {options}; run symformer verify {name} "
                "--write"
            )
