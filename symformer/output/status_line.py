"""A status line on the terminal for work that takes longer than two seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from threading import Event, Thread
from time import monotonic

PATIENCE = 2.0  # seconds
EVERY = 1.0  # seconds between updates
_SAYING: ContextVar[bool] = ContextVar("saying", default=False)  # whether an outer call already shows a line


@contextmanager
def status_line(what: str) -> Iterator[None]:
    """Show the current work and its elapsed seconds on standard error, if that is a terminal.

    The line is cleared at the end. Worker processes and nested calls show nothing. The line is written to
    the terminal itself, because traced code runs with both standard streams redirected.
    """
    terminal = None if _SAYING.get() else _terminal()
    if terminal is None:
        yield
        return
    outer, done = _SAYING.set(True), Event()
    thread = Thread(target=_tell, args=(terminal, what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        _SAYING.reset(outer)
        done.set()
        thread.join()
        os.close(terminal)


def _terminal() -> int | None:
    """Return a descriptor of standard error if it is a terminal, else None."""
    with suppress(OSError, ValueError, AttributeError):
        if parent_process() is None and sys.stderr.isatty():
            return os.dup(sys.stderr.fileno())
    return None


def _tell(terminal: int, what: str, done: Event) -> None:
    begun = monotonic()
    if done.wait(PATIENCE):
        return
    with suppress(OSError):  # the terminal has gone
        while True:
            os.write(terminal, f"\r\x1b[K{what}: {monotonic() - begun:.0f} s".encode(errors="replace"))
            if done.wait(EVERY):
                break
        os.write(terminal, b"\r\x1b[K")
