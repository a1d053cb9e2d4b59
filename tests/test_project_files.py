"""The files around the package agree with it: the workflow, the issue forms and pre-commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def opened(path: str) -> dict:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_the_workflow_runs_the_supported_pythons() -> None:
    job = opened(".github/workflows/ci.yml")["jobs"]["ci"]
    supported = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert job["strategy"]["matrix"]["python-version"] == supported
    assert job["steps"][-1]["run"] == ".ci/run"
    assert opened(".github/workflows/exhaustive.yml")["jobs"]["exhaustive"]["steps"][-1]["run"] == ".ci/exhaustive"


def test_pre_commit_pins_the_linters_of_the_project() -> None:
    (repo,) = opened(".pre-commit-config.yaml")["repos"]
    pinned = {pin for hook in repo["hooks"] for pin in hook.get("additional_dependencies", ())}
    assert len(pinned) == 1
    assert pinned < set(PROJECT["optional-dependencies"]["lint"])


def test_issue_forms_have_unique_fields_with_labels() -> None:
    forms = sorted(path.name for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert forms == ["config.yml", "feature.yml", "refused-config.yml", "wrong-number.yml"]
    for name in forms[1:]:
        form = opened(f".github/ISSUE_TEMPLATE/{name}")
        assert {"name", "description", "body"} <= set(form)
        fields = [field["id"] for field in form["body"]]
        assert len(set(fields)) == len(fields)
        assert all(field["type"] in {"input", "textarea"} and field["attributes"]["label"] for field in form["body"])
    wrong = opened(".github/ISSUE_TEMPLATE/wrong-number.yml")["body"]
    assert {"target", "printed", "right", "source"} <= {field["id"] for field in wrong}
