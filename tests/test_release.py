"""The release script refuses a version that is not stated everywhere, and the metadata agree with it."""

from __future__ import annotations

import doctest
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = spec_from_file_location("release", ROOT / ".ci/release.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_disagreements_are_named(release: ModuleType) -> None:
    assert doctest.testmod(release).failed == 0
    assert list(release.disagreements("0.2.0", "version: 0.2.0\n", "# C\n\n## 0.2.0 (2026-12-01)\n", "v0.2.0")) == []
    assert len(list(release.disagreements("0.2.0", "", "", "0.2.0"))) == 3


def test_the_script_finds_the_version_and_the_command(release: ModuleType) -> None:
    import symformer

    assert release.package_version() == symformer.__version__
    assert release.main_command() == ["derive", "gpt2", "-o", "gpt2.pdf"]


def test_every_python_that_is_tried_is_declared(release: ModuleType) -> None:
    declared = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert declared == list(release.PYTHONS)
    assert PROJECT["requires-python"] == f">={release.PYTHONS[0]}"
