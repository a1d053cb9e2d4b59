"""One config.json fetched by huggingface_hub: what runs in the process that hub.py starts, and nowhere else.

What a server sends is not trusted: where it sends us on to, how it names the file, how large that is and how long it
takes are bounded, and what is no config.json leaves nothing in the cache that would answer the next time.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..language.errors import ConfigError, FetchError, quoted
from .hub import instead, late
from .reading import CONFIG, MAX_BYTES, read_config

OLDEST = (1, 31)  # earlier ones go on from half a file that another fetch has left
INSTALL = "pip install huggingface_hub"
LATER = (408, 425, 429)  # beside 5xx, the answers of a server that may answer another time
NEAR = ("huggingface.co", "hf.co")  # where the Hub keeps its files, whatever server stands for it
_COMMIT, _NAME = re.compile(r"[0-9a-f]{40}"), re.compile(r'(W/)?"?[\w-]{1,128}"?', re.ASCII)


def main(name: str, revision: str, patience: float) -> None:
    """Fetch, and print what came of it as JSON."""
    try:
        with _within(name, patience):
            told = _Fetch(name, revision).run()
    except FetchError as error:
        told = {"refused": str(error)}
    print(json.dumps(told))  # noqa: T201


@contextmanager
def _within(name: str, patience: float) -> Iterator[None]:
    """Raise FetchError where the time is over; a system that has no such clock leaves that to whoever waits."""

    def over(*_: object) -> None:
        raise FetchError(late(name, patience))

    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def near(url: str, endpoint: str) -> bool:
    """Whether an address is that of the server asked, or of one that the Hub keeps its files on.

    >>> near("https://cdn-lfs.hf.co/x", "https://huggingface.co"), near("https://notthehf.co/x", "https://huggingface.co")
    (True, False)
    """
    place, home = urlsplit(url), urlsplit(endpoint)
    host = (place.hostname or "").lower()
    same = (place.scheme, place.netloc) == (home.scheme, home.netloc)
    return same or (place.scheme == "https" and any(host == each or host.endswith(f".{each}") for each in NEAR))


class _Counted:
    """What huggingface_hub takes for a progress bar: it counts what was sent."""

    def __init__(self, *_: object, **__: object) -> None:
        self.size = 0

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def update(self, size: float = 1) -> None:
        self.size += int(size)
        if self.size > MAX_BYTES:
            raise FetchError(f"the Hub sends more than {MAX_BYTES:,} bytes as a config.json, which none has")


class _Fetch:
    """One file of one repository."""

    def __init__(self, name: str, revision: str) -> None:
        self.name, self.revision = name, revision
        try:
            self.hub: Any = import_module("huggingface_hub")
            self.errors: Any = import_module("huggingface_hub.errors")
            constants: Any = import_module("huggingface_hub.constants")
        except ImportError:
            raise FetchError(
                f"{name} is no file here, and huggingface_hub, which fetches its config.json from the Hub, is not "
                f"installed: {INSTALL}, or {instead(name)}"
            ) from None
        version = str(self.hub.__version__)
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            self._refuse(
                f"huggingface_hub {version} is too old to fetch {name}, which takes {oldest}: {INSTALL} --upgrade"
            )
        self.endpoint = str(constants.ENDPOINT)
        self.host = urlsplit(self.endpoint).netloc
        self.folder = Path(constants.HF_HUB_CACHE, "models--" + name.replace("/", "--"))

    def run(self) -> dict[str, str]:
        """The path and the commit. Raises FetchError."""
        if self.hub.is_offline_mode():
            switch = "HF_HUB_OFFLINE is set"
            return self._cached(switch) or self._refuse(
                f"{self.name} is no file here, {switch}, and its config.json is not in the cache of the Hub: unset "
                f"that, or {instead(self.name)}"
            )
        if _COMMIT.fullmatch(self.revision) and (found := self._cached()):
            return found  # a commit never changes
        self._guard()
        try:
            commit = self._commit()
        except FetchError:
            raise
        except Exception as error:  # of whichever HTTP library it has
            return self._unmet(error)
        return self._downloaded(commit)

    def _guard(self) -> None:
        """Have every request and every answer looked at."""
        first = self.hub.get_session()
        before, after = (list(first.event_hooks[when]) for when in ("request", "response"))
        hooks = {"request": [*before, self._asks], "response": [*after, self._answers]}
        kind = type(first)
        self.hub.set_client_factory(lambda: kind(event_hooks=hooks, follow_redirects=True, timeout=None))

    def _asks(self, request: Any) -> None:
        self._stay(str(request.url))

    def _answers(self, response: Any) -> None:
        headers = response.headers
        if response.has_redirect_location:
            self._stay(urljoin(str(response.url), headers["Location"]))
        elif response.is_success and headers.get("Content-Type", "").startswith("text/html"):
            self._page()
        if response.request.method == "HEAD" and not response.is_error:
            self._named(headers)
        for size in (headers.get("Content-Length", ""), headers.get("X-Linked-Size", "")):
            if size.isdecimal() and len(size) < 20 and int(size) > MAX_BYTES and not response.is_error:
                self._refuse(
                    f"the config.json of {self.name} on {self.host} has {int(size):,} bytes, more than the "
                    f"{MAX_BYTES:,} that are read"
                )

    def _stay(self, url: str) -> None:
        """Go nowhere but to the server that was named, and to where the Hub keeps its files."""
        if not near(url, self.endpoint):
            other = quoted(urlsplit(url).netloc)
            self._refuse(
                f"{self.host} sends on to {other} for the config.json of {self.name}, which is not the Hub: log in to "
                f"the network if it asks for that, or {instead(self.name)}"
            )

    def _named(self, headers: Any) -> None:
        """What a server calls a commit and a file becomes a path in the cache."""
        commit = headers.get("X-Repo-Commit", "0" * 40)
        names = [headers.get(name, "0") for name in ("ETag", "X-Linked-ETag")]
        if not _COMMIT.fullmatch(commit) or not all(map(_NAME.fullmatch, names)):
            odd = next((name for name in names if not _NAME.fullmatch(name)), commit)
            self._refuse(f"{self.host} calls a commit or a file {quoted(odd)}, as the Hub never does; see HF_ENDPOINT")

    def _page(self) -> None:
        self._refuse(
            f"{self.host} gives something else for the config.json of {self.name}, such as the page of a login or of a "
            f"proxy: log in to the network, see HF_ENDPOINT, or {instead(self.name)}"
        )

    def _commit(self) -> str:
        """The commit that the revision stands for, by one question that is not repeated."""
        url = self.hub.hf_hub_url(self.name, CONFIG, revision=self.revision or None)
        found = self.hub.get_hf_file_metadata(url, library_name="symformer")
        if not found.commit_hash or not found.etag:
            self._page()
        return str(found.commit_hash)

    def _downloaded(self, commit: str) -> dict[str, str]:
        """The file, in the cache; what is not whole, or no config.json, does not stay there."""
        pointer = self.folder / "snapshots" / commit / CONFIG
        there = pointer.exists()
        ref = self.folder / "refs" / (self.revision or "main")
        stood = ref.read_bytes() if ref.is_file() else None
        try:
            path = Path(self._download(tqdm_class=_Counted))
            if path != pointer and path.exists():  # the revision has moved on since
                pointer, there = path, False
            if not there:
                read_config(str(path))
        except BaseException as error:
            self._forget(None if there else pointer, ref, stood)
            if isinstance(error, ConfigError) and not isinstance(error, FetchError):
                why = str(error).removeprefix(str(pointer)).strip()
                self._refuse(f"what {self.host} gives as the config.json of {self.name} {why}")
            if isinstance(error, FetchError) or not isinstance(error, Exception):
                raise
            self._lost(error)
        return {"path": str(path), "commit": path.parent.name}

    def _download(self, **how: Any) -> str:
        return str(self.hub.hf_hub_download(self.name, CONFIG, revision=self.revision or None, **how))

    def _forget(self, pointer: Path | None, ref: Path, stood: bytes | None) -> None:
        """Take what a failed fetch has put into the cache out again, and put back what the revision stood for."""
        with suppress(OSError):
            if stood is not None:
                ref.write_bytes(stood)
            else:
                ref.unlink(missing_ok=True)
        if pointer and pointer.exists():
            blob = pointer.resolve()
            for each in (pointer, blob):
                with suppress(OSError):
                    each.unlink(missing_ok=True)

    def _cached(self, why: str = "") -> dict[str, str]:
        """What the cache has by itself, and why the Hub was not asked; nothing where it has none."""
        try:
            path = Path(self._download(local_files_only=True))
        except (self.errors.LocalEntryNotFoundError, OSError, ValueError):
            return {}
        return {"path": str(path), "commit": path.parent.name, "unasked": why}

    def _unmet(self, error: Exception) -> dict[str, str]:
        """What to do where the server gives no file: what the cache has, if this may be over soon."""
        self._place(error)
        status = getattr(getattr(error, "response", None), "status_code", 0)
        if isinstance(error, self.errors.GatedRepoError):
            self._refuse(
                f"{self.name} is gated: accept its terms on its page on the Hub and log in with `hf auth login`, or "
                f"{instead(self.name)}"
            )
        if isinstance(error, self.errors.RevisionNotFoundError):
            self._refuse(f"{self.name} has no revision {quoted(self.revision)}; give a branch, a tag or a commit")
        if isinstance(error, self.errors.EntryNotFoundError):
            where = self.revision or "its main branch"
            self._refuse(f"{self.name} is on {self.host}, and has no config.json at {where}")
        if status in (401, 403, 404):
            self._refuse(
                f"{self.name} is no file here, and {self.host} shows no such model ({status}): see how it is spelt, "
                "or, if it is private, log in with `hf auth login`"
            )
        if 400 <= status < 500 and status not in LATER:
            self._refuse(f"{self.host} answers {status} when asked for the config.json of {self.name}; see HF_ENDPOINT")
        why = f"{self.host} answers {status}" if status else f"{self.host} cannot be reached ({_said(error)})"
        return self._cached(why) or self._refuse(
            f"{why}, and the config.json of {self.name} is not in the cache of the Hub: try again later, or "
            f"{instead(self.name)}"
        )

    def _lost(self, error: Exception) -> None:
        """What to do where a file that is there does not come."""
        self._place(error)
        status = getattr(getattr(error, "response", None), "status_code", 0)
        why = f"answers {status}" if status else f"breaks off ({_said(error)})"
        self._refuse(f"{self.host} {why} when asked for the config.json of {self.name}: try again later")

    def _place(self, error: Exception) -> None:
        """Refuse where the trouble is on this machine."""
        if isinstance(error, OSError) and error.filename:
            self._refuse(
                f"{self.name} cannot be fetched, since huggingface_hub cannot use {error.filename}: {error.strerror}; "
                "see HF_HOME"
            )

    def _refuse(self, why: str) -> dict[str, str]:
        raise FetchError(why)


def _said(error: Exception) -> str:
    """An error of somebody else's in a few words."""
    return ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split())[:120])))
