"""Fixtures and settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # each worker has one core
os.environ["SYMFORMER_CACHE"] = ""  # ignore the cache of earlier runs
os.environ["HF_HUB_CACHE"] = os.path.join(os.path.dirname(__file__), "no-cache")  # ignore the user's own cache

import symformer.witness  # noqa: F401 (it looks at the switch once, before a test takes that away)
from symformer.architectures import cached_component, registry

# Cached values stay alive for later tests. Scanning all of them for garbage repeatedly took a fifth of the time of the
# slowest tests.
gc.set_threshold(100_000, 20, 20)

collect_ignore_glob = ["benchmarks/*", "gpu/*", "browser/*"]  # programs without doctests

Rewrite = Callable[[type, Any], None]


@pytest.fixture
def rewrite(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rewrite]:
    """Yield a function that replaces the ``forward`` of parts until the test ends, also inside whole models."""

    def given(part: type, forward: Any) -> None:
        monkeypatch.setattr(part, "forward", forward)
        cached_component.cache_clear()

    yield given
    monkeypatch.undo()
    cached_component.cache_clear()


@pytest.fixture
def arcee_not_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the architecture arcee, the example of tests of configs that no architecture reads.

    Such an example would otherwise have to change whenever its architecture is added.
    """
    files = {name: path for name, path in registry.files.items() if name != "arcee"}
    assert len(files) == len(registry.files) - 1
    monkeypatch.setattr(registry, "files", files)


# The slowest files. They run first, because the run ends late if a worker starts one of them last.
LONGEST = (
    *(
        "config_fields",
        "witness",
        "trace",
        "identities",
        "sweep",
        "hub",
        "documents",
        "recognition",
        "trace_coverage",
        "factories",
    ),
    *(
        "census",
        "live",
        "activations",
        "shell",
        "config_resolution",
        "figures",
        "solve",
        "comparison_pages",
        "template",
        "catalogue",
    ),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Assign the tests of one file to one worker, which shares their fixtures; all doctests count as one file."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return file if file.startswith("tests/") else "doctests"

    config.option.loadscopereorder = False  # in the order of collection, not by the number of tests
    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Exclude everything imported and collected so far from garbage collection."""
    gc.freeze()
