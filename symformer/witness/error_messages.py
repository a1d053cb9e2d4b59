"""Error messages of traced code, and where they were raised, without the paths of this machine."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from ..language.errors import SymformerError


def sentence(error: BaseException, longest: int = 160) -> str:
    """Return an error's type and message on one line, without this machine's package folder.

    The message of an error of symformer has no type. The validation errors of huggingface_hub quote the error of the
    config class, whose type and message are enough.
    """
    said = re.sub(r"/\S*/site-packages/", "", " ".join(str(error).split()))
    kind = type(error).__name__
    if quoted := re.fullmatch(r"(?:Class v|V)alidation error for \w+ '\w+': ([A-Z]\w+): (.*)", said):
        kind, said = quoted.groups()
    said = said if len(said) <= longest else said[: longest - 1] + "…"
    return said if isinstance(error, SymformerError) else f"{kind}: {said}"


def line_of(error: BaseException) -> str:
    """Return where an error was first raised, preferably in the model's code: file in its package, line and text."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_file()]
    if not frames:
        return ""
    own = [frame for frame in frames if _from_root(frame.filename).parts[0] not in ("torch", "symformer")]
    frame = (own or frames)[-1]
    return f"{_from_root(frame.filename).as_posix()}:{frame.lineno}: {frame.line}"


def _from_root(filename: str) -> Path:
    """Return a file's path relative to the folder of its outermost package."""
    root = Path(filename).parent
    while (root / "__init__.py").exists():
        root = root.parent
    return Path(filename).relative_to(root)
