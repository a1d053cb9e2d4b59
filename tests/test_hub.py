"""Hub models by id: only the config.json is read, from a local server that may be hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import symformer as sf
from symformer.commands.cli import cli
from symformer.configs import hub as client
from symformer.configs.hub_download import is_hub_url
from symformer.language.errors import FetchError
from symformer.targets.resolution import resolve

from .hub import FIRST, SECOND, Answer, Downloads, Hub, bomb, serving
from .samples import sampled

NAME = "ada/tiny"
TINY = {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 11, "n_positions": 7, "n_embd": 6, "n_head": 2, "n_layer": 3,
}  # fmt: skip
COUNT = 12 * 3 * 36 + 13 * 3 * 6 + 11 * 6 + 7 * 6 + 2 * 6  # 12LE² + 13LE + VE + PE + 2E, by hand
DEEPER = {**TINY, "n_layer": 5}
COUNT_DEEPER = 12 * 5 * 36 + 13 * 5 * 6 + 11 * 6 + 7 * 6 + 2 * 6
HTML = b"<!doctype html><title>Log in</title>" * 9


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.chdir(tmp_path)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", client.OURS, "HF_HUB_CACHE", "HF_TOKEN", "HTTP_PROXY"):
        monkeypatch.setenv(name, "")  # so that it is restored afterwards, also if it was not set
        monkeypatch.delenv(name)
    with serving() as found:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_ENDPOINT", found.address)
        found.put(NAME, TINY)
        found.put(NAME, DEEPER, SECOND, "v2", "feature/deeper")
        yield found


@pytest.fixture(scope="module")
def downloads() -> Iterator[Downloads]:
    made = Downloads()
    yield made
    made.end()


@pytest.fixture
def quick(downloads: Downloads, monkeypatch: pytest.MonkeyPatch) -> None:
    """Download in a process that has imported the HTTP client, in tests of the server and the cache."""
    start, new = client._START, subprocess.run

    def ran(command: list[str], **how: Any) -> Any:
        if command[1:] != ["-I", "-c", start]:
            return new(command, **how)
        return downloads.run(how["input"], how["env"])

    monkeypatch.setattr(subprocess, "run", ran)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="symformer")


def refused(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("symformer: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 500
    return result.stderr


def kept(home: Path) -> list[Path]:
    """Return everything in the cache that could answer: files, file names, and the commits of revisions."""
    return [path for path in home.rglob("*") if not path.is_dir() and {"blobs", "snapshots", "refs"} & {*path.parts}]


def test_show_reads_a_hub_model_and_prints_its_commit(hub: Hub) -> None:
    result = run("show", NAME)
    assert result.exit_code == 0, result.output
    assert f"from the config.json of {NAME} on the Hub, commit {FIRST}\n" in result.stdout
    assert f"= {COUNT:,}" in result.stdout
    assert hub.asked  # nothing but this file
    assert {path for _, path in hub.asked} == {f"/{NAME}/resolve/main/config.json"}
    document = json.loads(run("show", NAME, "--json").stdout)
    assert (document["target"], document["commit"], document["value"]) == (NAME, FIRST, COUNT)


@pytest.mark.parametrize("revision", ["v2", "feature/deeper", SECOND])
def test_revision_may_be_a_branch_a_tag_or_a_commit(hub: Hub, quick: None, revision: str) -> None:
    model, _ = resolve(f"{NAME}@{revision}")
    assert model.params.value() == COUNT_DEEPER
    assert model.target == f"{NAME}@{revision}"
    assert model.provenance.commit == SECOND
    hub.asked.clear()
    assert resolve(f"{NAME}@{SECOND}")[0].params.value() == COUNT_DEEPER
    assert hub.asked == []  # a commit never changes


def test_every_command_accepts_a_hub_id(hub: Hub, quick: None, tmp_path: Path) -> None:
    assert sf.from_config(NAME).params.value() == COUNT
    assert sf.architecture("gpt2").params.value(NAME) == COUNT
    tree = json.loads(run("tree", NAME, "--json").stdout)
    assert (tree["modules"][0]["value"], tree["commit"]) == (COUNT, FIRST)
    both = run("compare", NAME, f"{NAME}@v2").stdout
    assert f"{COUNT_DEEPER - COUNT:,}" in both
    assert f"{NAME}@v2: config.json at commit {SECOND}" in both
    assert run("cite", f"{NAME}.params.h.attn").stdout.startswith("@misc{gpt2.params.h.attn,")
    assert run("cite", NAME).stdout.startswith("@misc{gpt2.params,")
    written = tmp_path / "tiny.md"
    assert run("derive", NAME, "-o", str(written)).exit_code == 0
    assert f"The sizes of `{NAME}` come from its `config.json` at commit `{FIRST}`." in written.read_text()
    model, _ = resolve(NAME)
    assert model.set({"L": 4}).provenance.commit == FIRST


def test_cached_config_is_read_offline(hub: Hub, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    client.fetch(NAME)
    hub.say(NAME, Answer(503))
    model, _ = resolve(NAME)
    assert model.params.value() == COUNT
    host = hub.address.removeprefix("http://")
    assert model.provenance.read_at == f"commit {FIRST}, from the cache ({host} returns status 503)"
    hub.asked.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, _ = resolve(NAME)
    assert model.params.value() == COUNT
    assert model.provenance.read_at == f"commit {FIRST}, from the cache (HF_HUB_OFFLINE is set)"
    assert "HF_HUB_OFFLINE is set, and" in refused("show", "ada/other")
    assert hub.asked == []


def test_internal_offline_switch_does_not_block_fetches(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set by symformer, the switch stops no download, neither here nor in a subprocess; set by the user, it does."""
    client.build_offline()
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    try:
        assert client.fetch(NAME).commit == FIRST
    finally:
        monkeypatch.delenv(client.OURS)
    with pytest.raises(FetchError, match="HF_HUB_OFFLINE is set"):
        client.fetch("ada/other")
    client.build_offline()
    assert client.OURS not in os.environ
    monkeypatch.delenv("HF_HUB_OFFLINE")


def test_trace_fetches_only_the_config(hub: Hub) -> None:
    """Without any switch of the user, models are built offline during a trace, for any config."""
    hub.put(NAME, {**TINY, "_name_or_path": "ada/elsewhere", "auto_map": {"AutoConfig": "ada/code--config.Config"}})
    code = (
        "import sys; from symformer.commands.cli import cli\n"
        f"cli(['trace', {NAME!r}, '--at', {NAME + '@v2'!r}], standalone_mode=False)\n"
        "import huggingface_hub; print('offline', huggingface_hub.is_offline_mode())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert f"from the config.json of {NAME} on the Hub, commit {FIRST}\n" in told.stdout
    assert f"{NAME}@v2: {COUNT_DEEPER:,}" in told.stdout
    assert "offline True" in told.stdout
    assert {path for _, path in hub.asked} == {f"/{NAME}/resolve/{at}/config.json" for at in ("main", "v2")}


def _elsewhere(hub: Hub, name: str, *methods: str) -> None:
    hub.say(name, Answer(302, headers={"Location": "http://127.0.0.2:9/config.json"}), *methods)


def _short(hub: Hub, name: str) -> None:
    body = json.dumps({**TINY, "n_layer": 9}).encode()
    hub.say(name, Answer(200, body, {"Content-Length": str(2 * len(body))}))


def _large(hub: Hub, name: str) -> None:
    hub.say(name, Answer(200, headers={"Content-Length": str(20_000_000)}))


def _endless(hub: Hub, name: str) -> None:
    hub.say(name, Answer(200, b"[" + b"1," * 20_000_000, without=("Content-Length",)), "GET")


def _bomb(hub: Hub, name: str) -> None:
    hub.say(name, Answer(200, bomb(60_000_000), {"Content-Encoding": "gzip"}), "GET")
    hub.say(name, Answer(200, without=("Content-Length",)), "HEAD")


def _called(hub: Hub, name: str, **headers: str) -> None:
    hub.say(name, Answer(200, headers={key.replace("_", "-"): value for key, value in headers.items()}))


HOSTILE: dict[str, tuple[Any, str]] = {
    "missing": (lambda hub, name: hub.say(name, Answer(404)), "has no public model of that name (404)"),
    "private": (lambda hub, name: hub.say(name, Answer(401)), "(401): check the spelling, or, if it is private"),
    "gated": (
        lambda hub, name: hub.say(name, Answer(403, headers={"X-Error-Code": "GatedRepo"})),
        "is gated: accept its terms",
    ),
    "bare": (
        lambda hub, name: hub.say(name, Answer(404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": FIRST})),
        "has no config.json at its main branch",
    ),
    "undated": (
        lambda hub, name: hub.say(name, Answer(404, headers={"X-Error-Code": "RevisionNotFound"})),
        "has no revision",
    ),
    "teapot": (lambda hub, name: hub.say(name, Answer(418)), "returns status 418"),
    "broken": (lambda hub, name: hub.say(name, Answer(500)), "returns status 500, and the config.json"),
    "broken-later": (lambda hub, name: hub.say(name, Answer(500), "GET"), "returns status 500 during"),
    "half": (_short, "closes the connection"),
    "differs": (lambda hub, name: hub.say(name, Answer(200, b'{"model_type":'), "GET"), "closes the connection"),
    "login": (
        lambda hub, name: hub.say(name, Answer(200, HTML, without=("X-Repo-Commit", "ETag"))),
        "such as a login or proxy page",
    ),
    "login-named": (
        lambda hub, name: hub.say(name, Answer(200, HTML, {"Content-Type": "text/html"})),
        "such as a login or proxy page",
    ),
    "login-disguised": (lambda hub, name: hub.say(name, Answer(200, HTML)), "is not valid JSON"),
    "login-later": (
        lambda hub, name: hub.say(name, Answer(200, HTML, {"Content-Type": "text/html"}), "GET"),
        "such as a login or proxy page",
    ),
    "list": (lambda hub, name: hub.put(name, [1, 2]), "contains a list"),
    "large": (_large, "has 20,000,000 bytes"),
    "endless": (_endless, "more than 16,000,000 bytes"),
    "bomb": (_bomb, "more than 16,000,000 bytes"),
    "elsewhere": (_elsewhere, "redirects to '127.0.0.2:9'"),
    "elsewhere-later": (lambda hub, name: _elsewhere(hub, name, "GET"), "redirects to '127.0.0.2:9'"),
    "round": (
        lambda hub, name: hub.say(name, Answer(302, headers={"Location": f"/{name}/resolve/main/config.json"})),
        "cannot be reached (TooManyRedirects",
    ),
    "up": (lambda hub, name: _called(hub, name, ETag='"../../../up"'), "names a commit or a file '\"../../../up\"'"),
    "up-linked": (lambda hub, name: _called(hub, name, X_Linked_ETag='"../../up"'), "names a commit or a file"),
    "up-commit": (lambda hub, name: _called(hub, name, X_Repo_Commit="../../../up"), "names a commit or a file"),
}


@pytest.mark.parametrize("kind", sampled(4, HOSTILE))
def test_hostile_server_gives_a_one_sentence_error_and_caches_nothing(
    hub: Hub, quick: None, kind: str, tmp_path: Path
) -> None:
    name, (make, words) = f"ada/{kind}", HOSTILE[kind]
    hub.put(name, TINY)
    make(hub, name)
    assert words in refused("show", name)
    assert kept(tmp_path / "home") == []
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []
    assert {path.partition("/resolve/")[0] for _, path in hub.asked} == {f"/{name}"}
    assert len(hub.asked) < 24


@pytest.mark.parametrize("kind", sampled(3, ["login-disguised", "half", "broken-later"]))
def test_refused_config_is_read_after_the_server_recovers(
    hub: Hub, quick: None, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous state is restored: the commit of the revision, and other files."""
    before, beside = client.fetch(NAME), tmp_path / "home/hub/models--ada--tiny/snapshots" / FIRST / "model.safetensors"
    beside.write_text("weights")
    hub.put(NAME, DEEPER, SECOND, "main")
    HOSTILE[kind][0](hub, NAME)
    with pytest.raises(FetchError):
        client.fetch(NAME)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert client.fetch(NAME).path == before.path
    assert resolve(NAME)[0].params.value() == COUNT
    monkeypatch.delenv("HF_HUB_OFFLINE")
    hub.answers.clear()
    assert resolve(NAME)[0].params.value() == COUNT_DEEPER
    assert beside.read_text() == "weights"


@pytest.mark.parametrize(("answer", "methods"), [(Answer(silent=True), ("HEAD",)), (Answer(drip=0.5), ("GET",))])
def test_slow_server_times_out(
    hub: Hub, answer: Answer, methods: tuple[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PATIENCE", 3.0)
    hub.say(NAME, answer, *methods)
    assert "did not return the config.json of ada/tiny within 3 s" in refused("show", NAME)
    assert kept(tmp_path / "home") == []


def test_hanging_fetch_process_is_terminated(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_START", "import time; time.sleep(60)")
    monkeypatch.setattr(client, "PATIENCE", 0.2)
    monkeypatch.setattr(client, "GRACE", 0.2)
    assert "within 0.2 s" in refused("show", NAME)
    monkeypatch.setattr(client, "_START", "raise SystemExit(7)")
    assert "exited with status 7" in refused("show", NAME)


@pytest.mark.parametrize(
    "text",
    ["ada/..", "a..b/c", "ada/x--y", "ada/repo.git", "ada/tiny.", "ada/" + "x" * 97,
     "ada/tiny@..", "ada/tiny@../../up", "ada/tiny@a//b", "ada/tiny@-x", "ada/tiny@a b", "ada/tiny@main/",
     "a/b@" + "x" * 300],
)  # fmt: skip
def test_invalid_id_is_not_fetched(hub: Hub, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_asked", lambda *_: pytest.fail("asked"))
    assert "is not a valid " in refused("show", text)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"__init__": "raise ImportError"}, "is not installed: pip install huggingface_hub, or download"),
        (
            {"__init__": "__version__ = '0.36.2'", "errors": "", "constants": ""},
            "0.36.2 is too old to download ada/tiny",
        ),
        ({"__init__": "__version__ = '1.30.0rc1'", "errors": "", "constants": ""}, "which requires 1.31: pip install"),
    ],
)
def test_missing_package_error_says_what_to_install(
    hub: Hub, files: dict[str, str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "first/huggingface_hub"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(package.parent))
    assert words in refused("show", NAME)


def test_a_module_in_the_working_directory_is_not_run(hub: Hub, tmp_path: Path) -> None:
    for name in ("json", "huggingface_hub", "symformer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    assert client.fetch(NAME).commit == FIRST


def test_refusal_suggests_the_preset_of_that_name(hub: Hub, quick: None) -> None:
    assert "symformer show gpt2" in refused("show", "openai-community/gpt2")


def test_unwritable_cache_is_named(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "file"))
    assert "huggingface_hub cannot use" in refused("show", NAME)


def test_completion_fetches_nothing(hub: Hub) -> None:
    offered = ShellComplete(cli, {}, "symformer", "").get_completions(["show", NAME, "--set"], "B")
    assert [each.value for each in offered][:1] == ["B="]  # sizes of the run, which every model has
    assert hub.asked == []


def test_commands_without_a_fetch_do_not_import_the_client() -> None:
    code = (
        "import sys; from symformer.commands.cli import cli\n"
        "cli(['show', 'gpt2', '--json'], standalone_mode=False)\n"
        "names = ('huggingface_hub', 'httpx', 'httpx2', 'symformer.configs.hub')\n"
        "print([name for name in names if name in sys.modules], file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr == "[]\n"


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        ("https://mirror.example/a/b", True),
        ("https://huggingface.co/a/b", True),  # a mirror redirects to its source
        ("https://cas-bridge.xethub.hf.co/xet", True),  # the host of the Hub's files
        ("http://huggingface.co/a/b", False),  # without TLS
        ("http://mirror.example/a/b", False),
        ("https://mirror.example:8443/a/b", False),
        ("https://huggingface.co.example/a/b", False),
        ("https://ada@evil.example/huggingface.co", False),
        ("https://ahf.co/a/b", False),
        ("file:///etc/passwd", False),
    ],
)
def test_fetch_allows_only_hub_hosts(url: str, goes: bool) -> None:
    assert is_hub_url(url, "https://mirror.example") is goes
