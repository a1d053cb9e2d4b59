"""A folder of documents, one of each target: what their files are called, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..language.errors import DocumentError, naming
from ..language.target import Kind, name_of, parse
from ..output.files import check_files
from .order import Order

_KEPT = frozenset("._+-")  # beside letters and digits, as they stand in a file's name on any machine


def file_names(targets: Sequence[str], extension: str) -> dict[str, str]:
    """The name of the file of each target. Raises DocumentError where two would have the same.

    >>> file_names(["gpt2", "hf:gpt2", "openai-community/gpt2", "models/tiny/config.json"], "pdf").keys()
    dict_keys(['gpt2.pdf', 'hf-gpt2.pdf', 'openai-community-gpt2.pdf', 'tiny.pdf'])
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}  # without regard to case, which some machines have none for
    for target in targets:
        name = f"{stem(target)}.{extension}"
        if other := taken.get(name.casefold()):
            named = f"{target} is named twice" if other == target else f"{other} and {target} are both named"
            raise DocumentError(f"{named}, and {name} holds one document; leave one out, or write it to a file by -o")
        taken[name.casefold()] = target
        found[name] = target
    return found


def stem(target: str) -> str:
    """What a file is called after its target: in letters, digits and ``._+-``; a config.json by its folder.

    >>> stem("component:mlp"), stem("./small.json"), stem("a b&c/config.json"), stem("-")
    ('component-mlp', 'small', 'a-b-c', 'config')
    """
    name = name_of(target)
    if parse(target).kind is Kind.CONFIG:
        name = name.removesuffix(".json").removesuffix("/config")
    kept = "".join(each if each.isalnum() or each in _KEPT else "-" for each in name)
    return kept.strip(".-") or "config"


def made_of_each(order: Order, targets: Sequence[str], folder: str) -> dict[str, bytes]:
    """The files of a folder, by their names; nothing is written yet.

    Raises SymformerError, before any work is done where a file cannot be written, and with the target's name where one
    is refused.
    """
    names = file_names(targets, order.extension)
    check_files(folder, names)
    found = {}
    for name, target in names.items():
        with naming(target):
            found[name] = order.resolved(target)
    made = {}
    for name, (model, conventions) in found.items():
        with naming(names[name]):
            made[name] = order.written([model], conventions, str(Path(folder) / name))
    return made
