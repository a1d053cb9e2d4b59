"""Long work is shown on the terminal only."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest

from symformer.output import status_line as waits
from symformer.output.status_line import status_line


@contextmanager
def _terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pseudo-terminal in place of standard error; reading it returns the user's view."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    monkeypatch.setattr(waits, "EVERY", 0.02)
    with open(theirs, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        yield ours
    os.close(ours)


def _seen(terminal: int) -> str:
    try:
        return os.read(terminal, 10_000).decode()
    except BlockingIOError:
        return ""


def test_long_work_shows_a_status_line_that_is_cleared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "PATIENCE", 0.05)
    with _terminal(monkeypatch) as terminal:
        seen = ""
        with status_line("tracing kv-cache of z.json"), status_line("a part of it"):
            for _ in range(1_000):  # a busy machine may start the thread late
                sleep(0.01)
                if seen := seen + _seen(terminal):
                    break
        seen += _seen(terminal)
    assert re.search(r"tracing kv-cache of z\.json: \d+ s", seen)
    assert "a part of it" not in seen
    assert seen.endswith("\r\x1b[K")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with _terminal(monkeypatch) as terminal:
        with status_line("tracing kv-cache of z.json"):
            pass
        assert _seen(terminal) == ""


def test_nothing_is_shown_if_standard_error_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "PATIENCE", 0.01)
    place = tmp_path / "errors"
    with place.open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with status_line("tracing kv-cache of z.json"):
            sleep(0.05)
    assert place.read_text() == ""
