"""A folder of documents, one per target: file names and contents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..language.errors import DocumentError, naming
from ..language.target import TargetKind, name_of, parse
from ..output.files import check_files
from .document_request import DocumentRequest

_KEPT = frozenset("._+-")  # in addition to letters and digits, allowed in file names on any machine


def file_names(targets: Sequence[str], extension: str) -> dict[str, str]:
    """Return the target of each file name. Raises DocumentError if two targets have the same file name.

    >>> file_names(["gpt2", "hf:gpt2", "openai-community/gpt2", "models/tiny/config.json"], "pdf").keys()
    dict_keys(['gpt2.pdf', 'hf-gpt2.pdf', 'openai-community-gpt2.pdf', 'tiny.pdf'])
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}  # case-insensitive, since some file systems are
    for target in targets:
        name = f"{stem(target)}.{extension}"
        if other := taken.get(name.casefold()):
            named = f"{target} is given twice" if other == target else f"{other} and {target} are both given"
            raise DocumentError(f"{named}, but {name} holds one document; remove one, or write it to a file with -o")
        taken[name.casefold()] = target
        found[name] = target
    return found


def stem(target: str) -> str:
    """Return the file name of a target without extension: letters, digits and ``._+-``; a config.json by its folder.

    >>> stem("component:mlp"), stem("./small.json"), stem("a b&c/config.json"), stem("-")
    ('component-mlp', 'small', 'a-b-c', 'config')
    """
    name = name_of(target)
    if parse(target).kind is TargetKind.CONFIG:
        name = name.removesuffix(".json").removesuffix("/config")
    kept = "".join(each if each.isalnum() or each in _KEPT else "-" for each in name)
    return kept.strip(".-") or "config"


def folder_files(order: DocumentRequest, targets: Sequence[str], folder: str) -> dict[str, bytes]:
    """Return the files of a folder by name, without writing them.

    Raises
    ------
    SymformerError
        If a file cannot be written (raised before any document is built), or if a target is refused (names the target).

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
