"""Worker processes: a job that hangs, crashes or wants all memory is lost alone. Nothing here needs torch."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from symformer.language.errors import WitnessError
from symformer.witness.crew import Lost, crew


def work(what: str) -> object:
    """A job, and what it does to its process."""
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
def test_a_job_that_hangs_or_crashes_is_lost_alone(workers: int) -> None:
    jobs = [(name,) for name in ("a", "hang", "b", "exit", "crash", "quit", "c", "hoard", "unsendable", "d")]
    found = dict(crew(work, jobs, workers, limit=2))
    assert found.pop(("unsendable",)).why.startswith(("AttributeError", "PicklingError"))
    assert found[("hang",)].seconds >= 2, "what it took is no 0"
    assert found == {
        ("a",): "A",
        ("b",): "B",
        ("c",): "C",
        ("d",): "D",
        ("hang",): Lost("killed after 2 s"),
        ("exit",): Lost("the process died with exit status 3"),
        ("crash",): Lost("the process died with exit status -6"),
        ("quit",): Lost("SystemExit: enough"),
        ("hoard",): Lost("MemoryError: "),
    }


class Unborn:
    """Work that no process can import."""

    def __call__(self) -> None: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (4,)


def test_a_worker_that_cannot_start_ends_the_run() -> None:
    with pytest.raises(WitnessError, match="a worker process could not start: the process died with exit status 4"):
        list(crew(Unborn(), [()], 1, limit=2))
