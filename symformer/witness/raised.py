"""What somebody else's code raised, and where, in words that name nothing of this machine."""

from __future__ import annotations

import re
import traceback
from pathlib import Path


def sentence(error: BaseException, longest: int = 160) -> str:
    """What an error says, on one line, and without the folder that this machine keeps its packages in."""
    said = re.sub(r"/\S*/site-packages/", "", " ".join(str(error).split()))
    return f"{type(error).__name__}: {said if len(said) <= longest else said[: longest - 1] + '…'}"


def line_of(error: BaseException) -> str:
    """Where an error was first raised: the file from its package's root, the line, its text; the model's own if any."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_file()]
    if not frames:
        return ""
    own = [frame for frame in frames if _from_root(frame.filename).parts[0] not in ("torch", "symformer")]
    frame = (own or frames)[-1]
    return f"{_from_root(frame.filename).as_posix()}:{frame.lineno}: {frame.line}"


def _from_root(filename: str) -> Path:
    """A file's path from the folder that its outermost package lies in."""
    root = Path(filename).parent
    while (root / "__init__.py").exists():
        root = root.parent
    return Path(filename).relative_to(root)
