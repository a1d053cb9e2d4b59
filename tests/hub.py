"""A local server that implements the part of the Hub's API needed for one file, with configurable faults."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any

FIRST, SECOND = "1f" * 20, "2e" * 20  # two commits


@dataclass
class Answer:
    """The response to one method: a status, additional headers, and a body."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # the usual headers to omit
    drip: float = 0  # seconds before each byte
    silent: bool = False  # never answer


@dataclass
class Hub:
    """Files by repository and revision, and responses that replace files, by repository and method."""

    files: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""

    def put(self, name: str, config: Any, commit: str = FIRST, *revisions: str) -> None:
        """Add a config.json under a commit and under a revision such as main."""
        body = config if isinstance(config, bytes) else json.dumps(config).encode()
        for revision in (commit, *(revisions or ("main",))):
            self.files[name, revision] = commit, body

    def say(self, name: str, answer: Answer, *methods: str) -> None:
        for method in methods or ("HEAD", "GET"):
            self.answers[name, method] = answer


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    stop: threading.Event

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_GET(self) -> None:
        self._answer("GET")

    def _answer(self, method: str) -> None:
        self.hub.asked.append((method, self.path))
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/config\.json", self.path)
        name, revision = (found[1], found[2]) if found else (self.path, "")
        commit, body = self.hub.files.get((name, revision.replace("%2F", "/")), ("", b""))
        answer = self.hub.answers.get((name, method))
        if answer is None:
            answer = Answer(200, body) if commit else Answer(404, headers={"X-Error-Code": "RepoNotFound"})
        usual = {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(answer.body or body)),
            "ETag": f'"{sha1(answer.body or body).hexdigest()}"',  # noqa: S324 (as git does)
            "X-Repo-Commit": commit or FIRST,
        }
        if answer.silent:
            self.stop.wait(30)
            return
        self.send_response(answer.status)
        for key, value in {**(usual if answer.status < 400 else {}), **answer.headers}.items():
            if key not in answer.without:
                self.send_header(key, value)
        self.end_headers()
        with suppress(OSError):  # the client has disconnected
            if method == "GET" and answer.drip:
                for byte in answer.body or body:
                    time.sleep(answer.drip)
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
            elif method == "GET":
                self.wfile.write(answer.body or body)


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a server inside a block."""
    hub, stop = Hub(), threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub, "stop": stop}))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


# Starts one child process for each download. The child imports huggingface_hub, in its own environment, but not the
# packages that huggingface_hub imports, which takes most of the time of a download.
_FORKS = """\
import json, os, sys
sys.path[:] = json.loads(sys.stdin.readline())
import asyncio, email.message, filelock, httpx2, importlib.metadata, tqdm.auto, urllib.request, yaml
from symformer.configs.hub_download import main
assert "huggingface_hub" not in sys.modules
for line in sys.stdin:
    child = os.fork()
    if not child:
        environment, asked = json.loads(line)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = asked.pop("path")
        main(**asked)
        sys.stdout.flush()
        os._exit(0)
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Downloads:
    """A process that downloads as the subprocess of a fetch does, in a third of the time."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(sys.path)

    def run(self, asked: bytes, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        """Return the output and the status of one download."""
        self._send([dict(environment), json.loads(asked)])
        assert self.process.stdout
        *output, status = iter_until(self.process.stdout, b"status ")
        return subprocess.CompletedProcess([], int(status.split()[1]), b"".join(output))

    def end(self) -> None:
        self.process.communicate()

    def _send(self, message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


def iter_until(lines: IO[bytes], start: bytes) -> Iterator[bytes]:
    """Yield lines up to the first that has this start."""
    for line in lines:
        yield line
        if line.startswith(start):
            return


def bomb(size: int) -> bytes:
    """Return a few compressed bytes that expand to many."""
    return gzip.compress(b"[" + b"1," * (size // 2))
