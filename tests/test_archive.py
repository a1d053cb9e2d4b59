"""The package runs from a ZIP archive on ``sys.path``, as in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the package with its templates, as in a wheel."""
    made = tmp_path_factory.mktemp("archive") / "symformer.zip"
    package, templates = ROOT / "symformer", ROOT / "templates"
    with ZipFile(made, "w") as written:
        for place in (*package.rglob("*"), *templates.rglob("*")):
            if place.is_file() and "__pycache__" not in place.parts:
                inside = place.relative_to(ROOT)
                written.write(place, inside if package in place.parents else Path("symformer") / inside)
    return made


def run(archive: Path, folder: Path, *arguments: str) -> str:
    """Run a command with the package of the archive, and return its output."""
    program = (
        "import sys, symformer; assert '.zip' in symformer.__file__; from symformer.commands.cli import main; main()"
    )
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_model_and_a_class_of_the_catalogue_are_answered(archive: Path, tmp_path: Path) -> None:
    shown = json.loads(run(archive, tmp_path, "show", "gpt2", "--json"))
    assert shown["value"] == 124_439_808  # GPT2LMHeadModel(GPT2Config())
    config = {"model_type": "biogpt", "architectures": ["BioGptForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert (
        json.loads(run(archive, tmp_path, "show", "config.json", "--json"))["value"] == 346_763_264
    )  # BioGptForCausalLM


def test_a_page_is_written_with_the_templates_of_the_archive(archive: Path, tmp_path: Path) -> None:
    run(archive, tmp_path, "derive", "gpt2", "-o", "gpt2.html")
    assert "124,439,808" in (tmp_path / "gpt2.html").read_text("utf-8")
