"""The permanent link of a question, which `show --open` opens in the playground."""

from __future__ import annotations

import base64
import json
import webbrowser
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from symformer.commands.cli import cli
from symformer.site.permanent_link import VARIABLE


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that a command opens."""
    found: list[str] = []

    def keep(address: str) -> bool:
        found.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", keep)
    return found


def asked(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).fragment)


def test_a_question_is_opened_in_the_playground(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["show", "llama-3-8b", "-q", "kv-cache", "--set", "C=8192", "--set", "B=2", "--option", "dtype=fp8"]
    result = CliRunner().invoke(cli, [*command, "--open"])
    assert (result.exit_code, result.stdout) == (0, f"{opened[0]}\n")
    assert opened[0].startswith("https://symformer.github.io/symformer/playground.html#")
    expected = {"model": ["llama-3-8b"], "q": ["kv-cache"], "set": ["C=8192", "B=2"], "option": ["dtype=fp8"]}
    assert asked(opened[0]) == expected
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1:8000")
    CliRunner().invoke(cli, ["show", "gpt2", "--open"])
    assert opened[1] == "http://127.0.0.1:8000/playground.html#model=gpt2"


def test_a_config_is_a_part_of_the_link(opened: list[str], tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_embd": 48, "n_layer": 3, "_name_or_path": "é+&="}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert CliRunner().invoke(cli, ["show", str(tmp_path), "--open"]).exit_code == 0
    (packed,) = asked(opened[0])["config"]
    content = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15)  # raw, as in a browser
    assert json.loads(content) == config


def test_what_the_playground_cannot_answer_is_refused(
    opened: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"model_type": "gpt2", "task_specific_params": {f"{n * 7919 % 10007:x}": n for n in range(10_000)}}
    (tmp_path / "config.json").write_text(json.dumps(large), "utf-8")
    for command, reason in (
        (["show", "torch.nn:Linear"], "cannot run in the playground"),
        (["show", "notamodel"], "unknown target 'notamodel'"),
        (["show", "gpt2", "-q", "nope"], "unknown quantity 'nope'"),
        (["show", "gpt2", "-q", "flops", "--set", "S=4096"], "S=4096"),
        (["show", "gpt2", "--set", "G=2"], "unknown symbol 'G' of gpt2"),
        (["show", "openai-community/gpt2", "-q", "nope"], "unknown quantity 'nope'"),
        (["show", str(tmp_path)], "and browsers accept 16,000"),
        (["show", "gpt2", "--json"], "--open can be combined only with -q, --set and --option"),
        (["show", str(tmp_path / "none" / "config.json")], "does not exist"),
    ):
        result = CliRunner().invoke(cli, [*command, "--open"])
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert reason in result.stderr
    for address in ("file:///etc", "http://["):
        monkeypatch.setenv(VARIABLE, address)
        result = CliRunner().invoke(cli, ["show", "gpt2", "--open"])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"SYMFORMER_SITE is '{address}'" in result.stderr
    assert opened == []


def test_without_a_browser_the_address_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    result = CliRunner().invoke(cli, ["show", "gpt2", "--open"])
    assert result.stdout == "https://symformer.github.io/symformer/playground.html#model=gpt2\n"
    assert "no browser" in result.stderr
