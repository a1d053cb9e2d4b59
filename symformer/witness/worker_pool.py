"""Worker processes for jobs that may hang, crash or exhaust memory: such a job is lost, and the others continue."""

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
START = 300  # seconds for a worker to import its modules

Job = tuple[Any, ...]  # the arguments of one call


@dataclass(frozen=True)
class LostJob:
    """A job without a result, the reason, and its duration."""

    why: str
    seconds: float = field(default=0, compare=False)


class _Worker:
    """A process that imports its modules, reports that it is ready, and then runs jobs one after another."""

    def __init__(self, work: Callable[..., Any], memory: int) -> None:
        context = get_context("spawn")  # a process that has used torch is not safe to fork
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, memory), daemon=True)
        self.process.start()
        theirs.close()  # so that the pipe closes if the worker dies
        self.job: Job | None = None
        self.limit: float = START
        self.until = monotonic() + START

    def give(self, job: Job, limit: float) -> None:
        self.job, self.limit, self.until = job, limit, monotonic() + limit
        with suppress(OSError):  # the worker has just died, which answer() reports
            self.pipe.send(job)

    def answer(self) -> object:
        """Return the result of its job after it answered, died or exceeded its time limit."""
        found = self._heard()
        spent = self.limit - (self.until - monotonic())
        return replace(found, seconds=spent) if isinstance(found, LostJob) else found

    def _heard(self) -> object:
        if monotonic() > self.until and not self.pipe.poll():
            self.end()
            return LostJob(f"killed after {self.limit:g} s")
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(1)
            status = self.process.exitcode
            self.end()
            return LostJob(f"the process died with exit status {status}")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_jobs(work: Callable[..., Any], jobs: Sequence[Job], workers: int, limit: float) -> Generator[tuple[Job, Any]]:
    """Yield each job with the result of ``work(*job)`` as it completes, or LostJob if it exceeds ``limit`` seconds.

    Parameters
    ----------
    work
        A function that a new process can import.
    jobs
        The arguments of each call.
    workers
        The number of processes. Each may use an equal share of the machine's memory.
    limit
        Seconds for each job.

    Raises
    ------
    WitnessError
        If a worker cannot start.

    """
    waiting, memory = deque(jobs), _memory() // workers
    team = [_Worker(work, memory) for _ in jobs[:workers]]
    try:
        while team:
            ready = wait([each.pipe for each in team], max(0, min(each.until for each in team) - monotonic()))
            for worker in [each for each in team if each.pipe in ready or monotonic() > each.until]:
                job, answer = worker.job, worker.answer()
                if job is None and isinstance(answer, LostJob):
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
    """Run jobs in a worker process until the pipe closes."""
    Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _allow(memory)
    pipe.send(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # discard the output of the jobs' code
        os.dup2(nowhere, stream)
    with suppress(EOFError):  # the parent has exited
        while True:
            job = pipe.recv()
            try:
                pipe.send(work(*job))
            except BaseException as error:  # any error of the job's code, even SystemExit
                pipe.send(LostJob(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"))


def _end_with_parent() -> None:
    """End this process as soon as its parent has exited or was killed, even during a long job."""
    if parent := parent_process():
        parent.join()
        _END(1)


def _memory() -> int:
    """Return the machine's memory in bytes, or 0 if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _allow(memory: int) -> None:
    """Limit the memory of this process, so that a model that is too large only fails its own job."""
    if memory:
        with suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
