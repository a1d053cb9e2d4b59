"""Worker processes for jobs that may hang, crash or want all memory: such a job is lost, and the others go on."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from time import monotonic
from typing import Any

from ..language.errors import WitnessError

_END = os._exit  # not available to traced code
START = 300  # seconds in which a worker has to have imported what its work needs

Job = tuple[Any, ...]  # the arguments of one call


@dataclass(frozen=True)
class Lost:
    """A job that gave no result, why, and how long it took."""

    why: str
    seconds: float = field(default=0, compare=False)


class _Worker:
    """A process that imports what its work needs, says so, and then does job after job."""

    def __init__(self, work: Callable[..., Any], memory: int) -> None:
        context = get_context("spawn")  # a process that has used torch is not safe to fork
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, memory), daemon=True)
        self.process.start()
        theirs.close()  # so that its death ends the pipe
        self.job: Job | None = None
        self.limit: float = START
        self.until = monotonic() + START

    def give(self, job: Job, limit: float) -> None:
        self.job, self.limit, self.until = job, limit, monotonic() + limit
        with suppress(OSError):  # it has just died: answer() says so
            self.pipe.send(job)

    def answer(self) -> object:
        """What came of its job, now that it has answered, died, or had its time."""
        found = self._heard()
        spent = self.limit - (self.until - monotonic())
        return replace(found, seconds=spent) if isinstance(found, Lost) else found

    def _heard(self) -> object:
        if monotonic() > self.until and not self.pipe.poll():
            self.end()
            return Lost(f"killed after {self.limit:g} s")
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(1)
            status = self.process.exitcode
            self.end()
            return Lost(f"the process died with exit status {status}")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def crew(work: Callable[..., Any], jobs: Sequence[Job], workers: int, limit: float) -> Generator[tuple[Job, Any]]:
    """Each job with the result of ``work(*job)`` as it comes; Lost where none comes within ``limit`` seconds.

    ``work`` is a function of a module that a fresh process can import. Each worker may take its share of the machine's
    memory. Raises WitnessError where a worker cannot start.
    """
    waiting, memory = deque(jobs), _memory() // workers
    team = [_Worker(work, memory) for _ in jobs[:workers]]
    try:
        while team:
            ready = wait([each.pipe for each in team], max(0, min(each.until for each in team) - monotonic()))
            for worker in [each for each in team if each.pipe in ready or monotonic() > each.until]:
                job, answer = worker.job, worker.answer()
                if job is None and isinstance(answer, Lost):
                    raise WitnessError(f"a worker process could not start: {answer.why}")
                if waiting and worker.process.is_alive():
                    worker.give(waiting.popleft(), limit)
                else:
                    worker.end()
                    team.remove(worker)
                    team += [_Worker(work, memory) for _ in list(waiting)[:1]]
                if job is not None:
                    yield job, answer
    finally:
        for worker in team:
            worker.end()


def _serve(pipe: Connection, work: Callable[..., Any], memory: int) -> None:
    """The life of a worker."""
    Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to answer
    _allow(memory)
    pipe.send(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # somebody's code may print whatever it likes
        os.dup2(nowhere, stream)
    with suppress(EOFError):  # the parent is gone
        while True:
            job = pipe.recv()
            try:
                pipe.send(work(*job))
            except BaseException as error:  # whatever somebody's code raises, even SystemExit
                pipe.send(Lost(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"))


def _end_with_parent() -> None:
    """End this process when its parent is gone, even killed, and not only after a job that may take minutes."""
    if parent := parent_process():
        parent.join()
        _END(1)


def _memory() -> int:
    """The machine's memory in bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _allow(memory: int) -> None:
    """Limit this process's data, so that too large a model is a MemoryError of its own job."""
    if memory:
        with suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
