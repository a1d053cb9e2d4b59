"""Download the config.json of a model on the Hub by its id. No code and no weights are downloaded.

huggingface_hub downloads it in a subprocess, with its own cache, login and offline switch. The subprocess can have a
different offline switch than the process that builds models, and it can be stopped if a server does not respond.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass

from ..language.errors import FetchError, quoted

PATIENCE = 30.0  # seconds for a download of a few thousand bytes
GRACE = 5.0  # additional seconds for the subprocess to start and to report
OFFLINE, OURS = "HF_HUB_OFFLINE", "SYMFORMER_SET_HF_HUB_OFFLINE"
# Download only the file: no telemetry, and no Xet protocol with a cache of its own.
_QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

_START = """\
import json, sys
asked = json.load(sys.stdin)
sys.path[:] = asked.pop("path")
from symformer.configs.hub_download import main
main(**asked)
"""
_WORD = r"[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?"
_ID = re.compile(f"{_WORD}/{_WORD}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9_](?:[\w./+-]{0,198}[\w+-])?", re.ASCII)


@dataclass(frozen=True)
class CachedConfig:
    """A cached config.json: its path and the commit of its repository."""

    path: str
    commit: str
    unasked: str = ""  # why the current commit of the revision was not requested from the Hub


def fetch(name: str, revision: str = "") -> CachedConfig:
    """Return the config.json of a model on the Hub.

    Parameters
    ----------
    name
        The id of the model, such as ``Qwen/Qwen3-30B-A3B``.
    revision
        A branch, a tag or a commit. Default: the main branch.

    Raises
    ------
    FetchError
        If the id or the revision is invalid, or the file cannot be downloaded and is not cached.

    """
    if not _ID.fullmatch(name) or "--" in name or ".." in name or name.endswith(".git"):
        raise FetchError(f"{quoted(name)} is not a valid model id on the Hub, such as Qwen/Qwen3-30B-A3B")
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision):
        raise FetchError(f"{quoted(revision)} is not a valid revision of {name}; give a branch, a tag or a commit")
    told = _asked(name, revision)
    if refused := told.pop("refused", ""):
        raise FetchError(refused)
    return CachedConfig(**told)


def _asked(name: str, revision: str) -> dict[str, str]:
    """Return the result of the subprocess. Raises FetchError if it does not start or does not end."""
    import subprocess

    asked = {"path": sys.path, "name": name, "revision": revision, "patience": PATIENCE}
    # -I and our own sys.path: the subprocess imports modules from the same folders as this process.
    command = [sys.executable, "-I", "-c", _START]
    try:
        ran = subprocess.run(  # noqa: S603
            command,
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE + GRACE,
            env=_environment(),
            check=False,
        )
        told: dict[str, str] = json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        raise FetchError(timeout_message(name, PATIENCE)) from None
    except OSError as error:
        raise FetchError(
            f"cannot start a process to download {name}: {error.strerror}; {offline_advice(name)}"
        ) from None
    except ValueError:
        raise FetchError(
            f"the process that downloads {name} exited with status {ran.returncode}; {offline_advice(name)}"
        ) from None
    return told


def timeout_message(name: str, patience: float) -> str:
    """Return the error message of a timeout."""
    return (
        f"the Hub did not return the config.json of {name} within {patience:g} s: try again, or {offline_advice(name)}"
    )


def offline_advice(name: str) -> str:
    """Return the advice to work without the Hub."""
    return f"download the config.json of {name} yourself and give its path"


def build_offline() -> None:
    """Keep models that are built in this process from downloading anything, unless the user set the offline switch.

    Call this before huggingface_hub is imported, which reads the switch once.
    """
    if OFFLINE not in os.environ:
        os.environ |= {OFFLINE: "1", OURS: "1"}


def _environment() -> dict[str, str]:
    """Return the user's environment with the user's own offline switch."""
    found = {**os.environ, **_QUIET}
    if found.pop(OURS, ""):
        found.pop(OFFLINE, None)
    return found
