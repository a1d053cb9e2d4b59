"""The census: a stopped run goes on, nothing usual stays a number unsaid, and the page says what was found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symformer.commands.cli import cli
from symformer.documents.census import page, section
from symformer.documents.gallery import CENSUS
from symformer.language.errors import DocumentError
from symformer.witness import census as made_by
from symformer.witness.census import OURS, Census, Surveyed, _untried, census, pairs, survey, versions

REPORTS = Path(__file__).parent.parent / "reports"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crew of this process alone: what a real one does is tested with it, and each worker of it imports torch."""

    def alone(work: Callable[..., Any], jobs: Sequence[Any], workers: int, limit: float) -> Generator[Any]:
        for job in jobs:
            yield job, work(*job)

    monkeypatch.setattr(made_by, "crew", alone)


def noted(model_type: str, head: str) -> Surveyed:
    """An entry without torch's help, and a line in a file for each time it was asked for."""
    with Path("asked").open("a") as file:
        file.write(f"{model_type} {head}\n")
    return Surveyed(model_type, head, formula="V*E", seconds=1)


@pytest.mark.usefixtures("here")
def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jobs, kept = [("one", "causal"), ("two", "causal"), ("three", "masked")], Path("census.jsonl")

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        census(jobs, 1, 60, kept, stop, noted)
    kept.write_text(kept.read_text()[:-9])  # the last line was cut off
    done: list[int] = []
    found = census(jobs, 1, 60, kept, done.append, noted)
    assert [(each.model_type, each.head) for each in found.entries] == jobs
    assert done == [1, 2, 3]
    asked = Path("asked").read_text().splitlines()
    assert (asked.count("one causal"), asked.count("two causal")) == (1, 2)
    assert not kept.exists()


@pytest.mark.parametrize("other", [{"limit": 61}, {"versions": {"torch": "1.0"}}, {"code": "another"}])
@pytest.mark.usefixtures("here")
def test_what_another_code_found_is_not_taken(
    other: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = Path("census.jsonl")
    with pytest.raises(KeyboardInterrupt):
        census([("one", "causal"), ("two", "causal")], 1, 60, kept, interrupt, noted)
    first, line = kept.read_text().splitlines()
    facts = json.loads(line)
    kept.write_text(first + "\n" + json.dumps({**facts, "of": {**facts["of"], **other}}) + "\n")
    census([("one", "causal")], 1, 60, kept, work=noted)
    assert Path("asked").read_text().splitlines().count("one causal") == 2


def interrupt(done: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "content",
    [b"", b"my notes\n", b'{"a": 1}\n{"of": {}, "entry": {}}\n', b"\xff\xfe\n", b'{"kept by": "symformer census"}\n'],
)
def test_a_file_that_is_not_ours_is_left_alone(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.jsonl").write_bytes(content)
    result = run("gpt2", "-o", "notes.md", "--workers", "1", "--head", "causal")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "notes.jsonl is there and was written by no census" in result.stderr
    assert Path("notes.jsonl").read_bytes() == content
    assert [place.name for place in tmp_path.iterdir()] == ["notes.jsonl"]


@pytest.mark.parametrize("kind", ["link", "nowhere", "folder", "pipe"])
def test_what_is_no_file_is_left_alone(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to a file of ours too: it may be somebody's way of keeping it."""
    monkeypatch.chdir(tmp_path)
    place = Path("notes.jsonl")
    match kind:
        case "link":
            Path("other").write_text(OURS + "\n")
            place.symlink_to("other")
        case "nowhere":
            place.symlink_to("missing")
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
    before = os.lstat(place)
    with pytest.raises(DocumentError, match=r"notes\.jsonl is there and was written by no census"):
        census([("one", "causal")], 1, 60, place, work=noted)
    assert os.lstat(place) == before


@pytest.mark.usefixtures("here")
def test_a_file_that_took_the_place_of_ours_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def replaced(done: int) -> None:
        Path("mine").write_text("my notes\n")
        os.replace("mine", "census.jsonl")

    census([("one", "causal")], 1, 60, Path("census.jsonl"), replaced, noted)
    assert Path("census.jsonl").read_text() == "my notes\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["census", *arguments], prog_name="symformer")


def test_a_small_census(tmp_path: Path) -> None:
    """GPT-2's formula is the one in its paper's sizes; dbrx has no config that its own class takes."""
    output = tmp_path / "small.md"
    result = run("gpt2", "dbrx", "-o", str(output), "--head", "causal", "--workers", "1", "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert {key: shown[key] for key in ("models", "build", "traced", "whole", "share")} == {
        "models": 2,
        "build": 1,
        "traced": 1,
        "whole": 1,
        "share": 100.0,
    }
    dbrx, gpt2 = shown["entries"]
    assert gpt2["formula"] == "12*L*E**2 + 13*L*E + V*E + P*E + 2*E"
    assert (gpt2["model_type"], gpt2["head"], gpt2["checked"], gpt2["pinned"], gpt2["kept"]) == (
        "gpt2",
        "causal",
        3,
        [],
        [],
    )
    assert gpt2["seconds"] > gpt2["once"] > 0
    assert not dbrx["builds"]
    assert dbrx["why"].startswith("transformers cannot build DbrxForCausalLM")
    assert "N = 12LE² + 13LE + VE + PE + 2E\n" in output.read_text("utf-8")
    assert [place.name for place in tmp_path.iterdir()] == ["small.md"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gpt2", "-q", "decode-flops"], "no run of torch gives decode-flops; a trace knows params, flops"),
        (["gpt3"], "unknown causal or masked or seq2seq model type 'gpt3'; did you mean"),
        (["--head", "casual"], "unknown head 'casual'; did you mean causal?"),
        (["-o", "census.pdf"], "a census is written as .md, not as .pdf"),
        (["-o", "nowhere/census.md"], "the folder nowhere does not exist"),
    ],
)
def test_what_is_refused(arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert not list(tmp_path.iterdir())


def entry(model_type: str, **facts: Any) -> Surveyed:
    return Surveyed(model_type, "causal", **facts)


def test_the_page_counts_and_names_every_model() -> None:
    pinned = [
        {"name": "text.num_hidden_layers", "value": 4096, "why": "ValueError: a|b"},
        {"name": "n_langs", "value": 1, "why": ""},
    ]
    ties = {"d_inner": "d_model"}
    long = " + ".join(["1,234·hidden_width·E"] * 9)
    entries = [
        entry("plain", formula="E", text="E", symbols={"E": "d_model", "k": "k"}, checked=3, seconds=6, once=0.5),
        entry("odd_one", formula="E", text=long, pinned=pinned, ties=ties, checked=3, seconds=1, once=0.5),
        entry("wild", why="x is odd", seconds=2.04),
        entry("broken", why="no * width", builds=False),
    ]
    found = Census(entries, {"torch": "2.0"})
    # 1 of 3 that build; 6/0.5 = 12 times and 1/0.5 = 2 times, with 7 between them; 6 + 1 + 2.04 seconds
    assert (round(found.share, 1), found.ratio) == (33.3, 7)
    shown = page(found)
    assert "**1 of the 3 models that build, 33.3 %, have a whole formula; the bar of 95 % is not reached.**" in shown
    assert "takes 7.0 times as long" in shown
    assert "of every model type of transformers that has a class of the kind causal, traced" in shown
    assert "all of them 9 seconds" in shown
    flops = page(Census(entries, {"torch": "2.0"}, "flops"))
    assert "**2 of the 3 models that run, 66.7 %, have an exact formula; the bar of 90 % is not reached.**" in flops
    assert "what torch's own FlopCounterMode counts" in flops
    for row in (
        "| with an exact formula | 2 | 2 |",
        "| [odd\\_one](#odd_one-causal) | causal | `text.num_hidden_layers` |",
        "| `wild` | causal | x is odd | 2.0 |",
        "| `broken` | causal | no \\* width |",
        "| [plain](#plain-causal) | causal | 3 | 0 | 6.0 |",
        "- `text.num_hidden_layers` stays 4,096: ValueError: a\\|b",
        "- `d_inner` is always `d_model`: the code takes no other",
    ):
        assert row in shown.splitlines(), row
    assert section(entries[0]) == "### plain, causal\n\n```text\nN = E\n```\n\nE is `d_model`."
    # a term and its sign have 23 characters: four of them on a line, and the next begins with its sign
    assert section(entries[1]).splitlines()[4].startswith("    + 1,234·hidden_width·E + ")


def test_a_model_that_its_own_config_does_not_run_is_not_counted() -> None:
    """DeepSeek-V2's default config says nothing of how many experts a token has; its parameters are known."""
    found = survey("deepseek_v2", "causal", "flops")
    assert (found.formula, found.builds) == ("", False)
    assert found.why.startswith("the model cannot be run: TypeError: topk()")
    assert survey("deepseek_v2", "causal").formula


@pytest.mark.parametrize(
    ("model_type", "names"),
    [
        ("llama", []),
        ("gemma3n_text", ["intermediate_size"]),
        ("nemo_speechlm", ["audio_config.asr_config.hidden_size"]),
    ],
)
def test_a_usual_size_that_no_trace_changes_is_named(model_type: str, names: list[str]) -> None:
    """gemma3n's widths are a list with one for each layer, and nemo's stand two configs deep."""
    untried = _untried(model_type)
    assert set(names) <= set(untried)
    assert bool(names) == bool(untried)
    assert entry(model_type, formula="E", untried=untried).whole == (not names)


# Of each report, a few models, which are traced again.
def test_the_page_says_which_operations_were_recognised() -> None:
    lifts = {
        "all_known": {"observed": [], "confirmed": {"params": 3, "flops": 3}, "refused": {}},
        "some": {
            "observed": ["h.*.mm"],
            "confirmed": {"params": 3},
            "refused": {"train-flops": "who | knows", "kv-cache": "who | knows", "decode-flops": "no cache"},
        },
        "mixed": {"observed": [], "products": ["h.*.bmm"], "confirmed": {"params": 3}, "refused": {}},
        "none": {"why": "it cannot be run"},
    }
    entries = [entry(name, formula="E", text="E", lift=lift) for name, lift in lifts.items()]
    shown = page(Census([*entries, entry("wild", why="x is odd")], {"torch": "2.0"}, "flops"))
    assert "recognised as an operation: **2 of 4**. In 1 of these it is known" in shown
    for row in (
        "| lifted into operations | 2 | 2 |",
        "| [mixed](#mixed-causal) | causal | yes, with `h.*.bmm` | params |  |",
        "| [all\\_known](#all_known-causal) | causal | yes | params, flops |  |",
        "| [some](#some-causal) | causal | no: `h.*.mm` | params | `train-flops`, `kv-cache`: who \\| knows; "
        "`decode-flops`: no cache |",
        "| [none](#none-causal) | causal | no |  | it cannot be run |",
    ):
        assert row in shown.splitlines(), row
    assert "lifted" not in page(Census([entry("plain", formula="E", text="E")], {}, "flops"))


AGAIN = {
    "census.md": [("bert", "masked"), ("qwen3_moe", "causal"), ("t5", "seq2seq")],
    "census-flops.md": [("bloom", "causal"), ("mamba2", "causal"), ("distilbert", "masked"), ("marian", "seq2seq")],
    "census-image.md": [("swin", "image")],
    "census-base.md": [("wav2vec2", "base")],
}


@pytest.mark.parametrize("name", CENSUS)
def test_the_report_is_of_the_libraries_that_are_here(name: str) -> None:
    """A whole census takes minutes; its list of models is compared, and a few of them are traced again."""
    report = (REPORTS / name).read_text("utf-8")
    quantity, heads, _ = CENSUS[name]
    bar = Census([Surveyed("", head) for head in heads], {}, quantity).bar
    assert ", ".join(f"{library} {version}" for library, version in versions().items()) in report
    assert (f"the bar of {bar} % is reached" in report) == (name in ("census.md", "census-flops.md"))
    lines = set(report.splitlines())
    for model_type, head in pairs(heads):
        rows = [line for line in lines if line.startswith(f"| `{model_type}` | {head} | ")]
        assert len(rows) + (f"### {model_type}, {head}" in lines) == 1, (model_type, head)
    letter = Census([], {}, quantity).measure.letter
    for model_type, head in AGAIN[name]:
        remade = section(survey(model_type, head, quantity), letter)
        assert remade in report, (
            f"run: symformer census -q {quantity} --head {' --head '.join(heads)} -o reports/{name}"
            + " --lifts" * (quantity == "flops")
        )
