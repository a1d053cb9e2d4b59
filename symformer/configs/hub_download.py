"""Download one config.json with huggingface_hub, in the subprocess that hub.py starts.

The server is not trusted. Redirects, file names, sizes and times are limited, and an invalid config.json is removed
from the cache.
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
from .config_json import CONFIG, MAX_BYTES, read_config
from .hub import offline_advice, timeout_message

OLDEST = (1, 31)  # earlier versions resume from a partial file of another download
INSTALL = "pip install huggingface_hub"
LATER = (408, 425, 429)  # temporary errors, in addition to 5xx
NEAR = ("huggingface.co", "hf.co")  # hosts of the Hub's files, for any endpoint
_COMMIT, _NAME = re.compile(r"[0-9a-f]{40}"), re.compile(r'(W/)?"?[\w-]{1,128}"?', re.ASCII)


def main(name: str, revision: str, patience: float) -> None:
    """Download the config.json and print the result as JSON."""
    try:
        with _within(name, patience):
            told = _Fetch(name, revision).run()
    except FetchError as error:
        told = {"refused": str(error)}
    print(json.dumps(told))  # noqa: T201


@contextmanager
def _within(name: str, patience: float) -> Iterator[None]:
    """Raise FetchError on timeout. Without ``setitimer``, only the parent process enforces the timeout."""

    def over(*_: object) -> None:
        raise FetchError(timeout_message(name, patience))

    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_hub_url(url: str, endpoint: str) -> bool:
    """Return True if a URL is on the endpoint or on a host of the Hub's files.

    >>> is_hub_url("https://cdn-lfs.hf.co/x", "https://huggingface.co"), is_hub_url("https://notthehf.co/x", "https://huggingface.co")
    (True, False)
    """
    place, home = urlsplit(url), urlsplit(endpoint)
    host = (place.hostname or "").lower()
    same = (place.scheme, place.netloc) == (home.scheme, home.netloc)
    return same or (place.scheme == "https" and any(host == each or host.endswith(f".{each}") for each in NEAR))


class _Counted:
    """A progress bar for huggingface_hub that counts the bytes received."""

    def __init__(self, *_: object, **__: object) -> None:
        self.size = 0

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def update(self, size: float = 1) -> None:
        self.size += int(size)
        if self.size > MAX_BYTES:
            raise FetchError(f"the Hub sends more than {MAX_BYTES:,} bytes, too large for a config.json")


class _Fetch:
    """The download of the config.json of one repository."""

    def __init__(self, name: str, revision: str) -> None:
        self.name, self.revision = name, revision
        try:
            self.hub: Any = import_module("huggingface_hub")
            self.errors: Any = import_module("huggingface_hub.errors")
            constants: Any = import_module("huggingface_hub.constants")
        except ImportError:
            raise FetchError(
                f"{name} is not a local file, and huggingface_hub, needed to download its config.json, is not "
                f"installed: {INSTALL}, or {offline_advice(name)}"
            ) from None
        version = str(self.hub.__version__)
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            self._refuse(
                f"huggingface_hub {version} is too old to download {name}, which requires {oldest}: {INSTALL} --upgrade"
            )
        self.endpoint = str(constants.ENDPOINT)
        self.host = urlsplit(self.endpoint).netloc
        self.folder = Path(constants.HF_HUB_CACHE, "models--" + name.replace("/", "--"))

    def run(self) -> dict[str, str]:
        """Return the path and the commit. Raises FetchError."""
        if self.hub.is_offline_mode():
            switch = "HF_HUB_OFFLINE is set"
            return self._cached(switch) or self._refuse(
                f"{self.name} is not a local file, {switch}, and its config.json is not in the Hub cache: unset "
                f"HF_HUB_OFFLINE, or {offline_advice(self.name)}"
            )
        if _COMMIT.fullmatch(self.revision) and (found := self._cached()):
            return found  # a commit never changes
        self._guard()
        try:
            commit = self._commit()
        except FetchError:
            raise
        except Exception as error:  # the type depends on the HTTP library
            return self._unmet(error)
        return self._downloaded(commit)

    def _guard(self) -> None:
        """Check every request and every response."""
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
                    f"the config.json of {self.name} on {self.host} has {int(size):,} bytes, more than the limit of "
                    f"{MAX_BYTES:,}"
                )

    def _stay(self, url: str) -> None:
        """Raise FetchError for URLs outside the endpoint and the hosts of the Hub's files."""
        if not is_hub_url(url, self.endpoint):
            other = quoted(urlsplit(url).netloc)
            self._refuse(
                f"{self.host} redirects to {other} for the config.json of {self.name}, which is not the Hub: log in to "
                f"the network if it requires a login, or {offline_advice(self.name)}"
            )

    def _named(self, headers: Any) -> None:
        """Check the server's names of the commit and the file, which become paths in the cache."""
        commit = headers.get("X-Repo-Commit", "0" * 40)
        names = [headers.get(name, "0") for name in ("ETag", "X-Linked-ETag")]
        if not _COMMIT.fullmatch(commit) or not all(map(_NAME.fullmatch, names)):
            odd = next((name for name in names if not _NAME.fullmatch(name)), commit)
            self._refuse(
                f"{self.host} names a commit or a file {quoted(odd)}, which the Hub never does; check HF_ENDPOINT"
            )

    def _page(self) -> None:
        self._refuse(
            f"{self.host} does not return the config.json of {self.name} but something else, such as a login or proxy "
            f"page: log in to the network, check HF_ENDPOINT, or {offline_advice(self.name)}"
        )

    def _commit(self) -> str:
        """Return the commit of the revision, with a single request that is not retried."""
        url = self.hub.hf_hub_url(self.name, CONFIG, revision=self.revision or None)
        found = self.hub.get_hf_file_metadata(url, library_name="symformer")
        if not found.commit_hash or not found.etag:
            self._page()
        return str(found.commit_hash)

    def _downloaded(self, commit: str) -> dict[str, str]:
        """Return the path and commit of the cached file. Remove incomplete and invalid files from the cache."""
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
                self._refuse(f"the config.json of {self.name} from {self.host} {why}")
            if isinstance(error, FetchError) or not isinstance(error, Exception):
                raise
            self._lost(error)
        return {"path": str(path), "commit": path.parent.name}

    def _download(self, **how: Any) -> str:
        return str(self.hub.hf_hub_download(self.name, CONFIG, revision=self.revision or None, **how))

    def _forget(self, pointer: Path | None, ref: Path, stood: bytes | None) -> None:
        """Remove the files of a failed download from the cache, and restore the commit of the revision."""
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
        """Return the cached file, and why the Hub was not asked; an empty dict if the cache does not have it."""
        try:
            path = Path(self._download(local_files_only=True))
        except (self.errors.LocalEntryNotFoundError, OSError, ValueError):
            return {}
        return {"path": str(path), "commit": path.parent.name, "unasked": why}

    def _unmet(self, error: Exception) -> dict[str, str]:
        """Handle a server error: return the cached file for temporary errors, otherwise raise FetchError."""
        self._place(error)
        status = getattr(getattr(error, "response", None), "status_code", 0)
        if isinstance(error, self.errors.GatedRepoError):
            self._refuse(
                f"{self.name} is gated: accept its terms on its page on the Hub and log in with `hf auth login`, or "
                f"{offline_advice(self.name)}"
            )
        if isinstance(error, self.errors.RevisionNotFoundError):
            self._refuse(f"{self.name} has no revision {quoted(self.revision)}; give a branch, a tag or a commit")
        if isinstance(error, self.errors.EntryNotFoundError):
            where = self.revision or "its main branch"
            self._refuse(f"{self.name} is on {self.host}, but has no config.json at {where}")
        if status in (401, 403, 404):
            self._refuse(
                f"{self.name} is not a local file, and {self.host} has no public model of that name ({status}): check "
                "the spelling, or, if it is private, log in with `hf auth login`"
            )
        if 400 <= status < 500 and status not in LATER:
            self._refuse(f"{self.host} returns status {status} for the config.json of {self.name}; check HF_ENDPOINT")
        why = f"{self.host} returns status {status}" if status else f"{self.host} cannot be reached ({_said(error)})"
        return self._cached(why) or self._refuse(
            f"{why}, and the config.json of {self.name} is not in the Hub cache: try again later, or "
            f"{offline_advice(self.name)}"
        )

    def _lost(self, error: Exception) -> None:
        """Raise FetchError for a failed download of an existing file."""
        self._place(error)
        status = getattr(getattr(error, "response", None), "status_code", 0)
        why = f"returns status {status}" if status else f"closes the connection ({_said(error)})"
        self._refuse(f"{self.host} {why} during the download of the config.json of {self.name}: try again later")

    def _place(self, error: Exception) -> None:
        """Raise FetchError if the error is a file error on this machine."""
        if isinstance(error, OSError) and error.filename:
            self._refuse(
                f"{self.name} cannot be downloaded, because huggingface_hub cannot use {error.filename}: "
                f"{error.strerror}; check HF_HOME"
            )

    def _refuse(self, why: str) -> dict[str, str]:
        raise FetchError(why)


def _said(error: Exception) -> str:
    """Return a short description of a third-party error."""
    return ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split())[:120])))
