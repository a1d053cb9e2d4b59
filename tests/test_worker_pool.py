"""Worker processes: a job that hangs, crashes or exhausts the memory is lost alone. Nothing here needs torch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symformer.language.errors import WitnessError
from symformer.witness.worker_pool import LostJob, run_jobs


def work(what: str) -> object:
    """Run a job that affects its process in some way."""
    match what:
        case "hang":
            time.sleep(600)
        case "exit":
            os._exit(3)
        case "crash":
            os.abort()  # signal 6
        case "quit":
            raise SystemExit("enough")
        case "hoard":
            return len(bytearray(10**15))  # a thousand terabytes
        case "unsendable":
            return lambda: None
    return what.upper()


@pytest.mark.parametrize("workers", [1, 2])
def test_hanging_or_crashing_job_does_not_affect_others(workers: int) -> None:
    jobs = [(name,) for name in ("a", "hang", "b", "exit", "crash", "quit", "c", "hoard", "unsendable", "d")]
    found = dict(run_jobs(work, jobs, workers, limit=2))
    assert found.pop(("unsendable",)).why.startswith(("AttributeError", "PicklingError"))
    assert found[("hang",)].seconds >= 2, "its duration is not 0"
    assert found == {
        ("a",): "A",
        ("b",): "B",
        ("c",): "C",
        ("d",): "D",
        ("hang",): LostJob("killed after 2 s"),
        ("exit",): LostJob("the process died with exit status 3"),
        ("crash",): LostJob("the process died with exit status -6"),
        ("quit",): LostJob("SystemExit: enough"),
        ("hoard",): LostJob("MemoryError: "),
    }


class Unborn:
    """A function that no process can import."""

    def __call__(self) -> None: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (4,)


def test_worker_that_cannot_start_ends_the_run() -> None:
    with pytest.raises(WitnessError, match="a worker process could not start: the process died with exit status 4"):
        list(run_jobs(Unborn(), [()], 1, limit=2))


def busy(place: str) -> None:
    """Report progress again and again, for a minute, so that no process remains if this test fails."""
    for beat in range(600):
        Path(place).write_text(str(beat))
        time.sleep(0.1)


def test_workers_end_when_their_run_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "beat"
    code = f"from tests.test_worker_pool import busy, run_jobs\nlist(run_jobs(busy, [({str(place)!r},)], 1, limit=600))"
    run = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent.parent)
    wait_until(lambda: place.exists() and bool(place.read_text()), "no worker began")
    run.kill()
    run.wait()

    def still() -> bool:
        beat = place.read_text()
        time.sleep(2)
        return place.read_text() == beat

    wait_until(still, "the worker goes on without the run")


def wait_until(done: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + 40
    while not done():
        assert time.monotonic() < until, otherwise
        time.sleep(0.05)
