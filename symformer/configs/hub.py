"""The config.json of a model on the Hub, by its id: nothing else is fetched, no code and no weights.

huggingface_hub fetches it, with its own cache, its login and its offline switch, in a process of its own: so that the
switch may be another than the one models are built under here, and so that a server that never ends is ended.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass

from ..language.errors import FetchError, quoted

PATIENCE = 30.0  # seconds for the whole of a fetch, of a file of some thousand bytes
GRACE = 5.0  # and for the process around it to start, and to say how it went
OFFLINE, OURS = "HF_HUB_OFFLINE", "SYMFORMER_SET_HF_HUB_OFFLINE"
# Nothing but the file: not who runs this and under what, no second protocol with a store of its own.
_QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

_START = """\
import json, sys
asked = json.load(sys.stdin)
sys.path[:] = asked.pop("path")
from symformer.configs.fetching import main
main(**asked)
"""
_WORD = r"[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?"
_ID = re.compile(f"{_WORD}/{_WORD}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9_](?:[\w./+-]{0,198}[\w+-])?", re.ASCII)


@dataclass(frozen=True)
class Fetched:
    """A config.json in the cache: its path there, and the commit of the repository that it is of."""

    path: str
    commit: str
    unasked: str = ""  # why the Hub did not say that this commit is still the one that the revision stands for


def fetch(name: str, revision: str = "") -> Fetched:
    """The config.json of a model on the Hub, at a branch, a tag or a commit. Raises FetchError."""
    if not _ID.fullmatch(name) or "--" in name or ".." in name or name.endswith(".git"):
        raise FetchError(f"{quoted(name)} is no id of a model on the Hub, which is such as Qwen/Qwen3-30B-A3B")
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision):
        raise FetchError(f"{quoted(revision)} is no revision of {name}; give a branch, a tag or a commit")
    told = _asked(name, revision)
    if refused := told.pop("refused", ""):
        raise FetchError(refused)
    return Fetched(**told)


def _asked(name: str, revision: str) -> dict[str, str]:
    """What a process of its own says that it found. Raises FetchError where it cannot run or does not end."""
    import subprocess

    asked = {"path": sys.path, "name": name, "revision": revision, "patience": PATIENCE}
    # Its modules are found where ours were: -I, so that no folder is searched that was not searched here.
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
        raise FetchError(late(name, PATIENCE)) from None
    except OSError as error:
        raise FetchError(f"no process can be started to fetch {name}: {error.strerror}; {instead(name)}") from None
    except ValueError:
        raise FetchError(f"the process that fetches {name} ended with {ran.returncode}; {instead(name)}") from None
    return told


def late(name: str, patience: float) -> str:
    """That a server has not given the whole file in time."""
    return f"the Hub has not given the config.json of {name} within {patience:g} s: try again, or {instead(name)}"


def instead(name: str) -> str:
    """What works without the Hub."""
    return f"download the config.json of {name} and name that file"


def build_offline() -> None:
    """From here on, models that are built in this process fetch nothing, unless the user's own switch says otherwise.

    To be called before anything imports huggingface_hub, which reads the switch once.
    """
    if OFFLINE not in os.environ:
        os.environ |= {OFFLINE: "1", OURS: "1"}


def _environment() -> dict[str, str]:
    """The user's environment, with the offline switch as the user has it."""
    found = {**os.environ, **_QUIET}
    if found.pop(OURS, ""):
        found.pop(OFFLINE, None)
    return found
