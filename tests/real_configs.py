"""Published config.json files: how many answers agree with torch, with and without torch installed.

``python -m tests.real_configs FOLDER`` reads every ``*.json`` in a folder. For each it compares the parameters that
symformer computes without torch with the parameters of the class that the config names, built on the meta device, and
prints the refused and wrong ones. With ``--trace``, it also traces, with torch, each config that is refused without it.

A ``quantization_config`` is removed first: the storage format of weights does not affect the number of parameters.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from symformer.configs.config_json import read_config
from symformer.configs.quantization import unquantized
from symformer.language.errors import SymformerError
from symformer.targets.resolution import model as opened_at_the_door

LIMIT = 120  # seconds for one config, with torch
ALONE = "import sys; sys.modules['torch'] = None; from tests.real_configs import answers; answers(sys.argv[1:])"
READ_AS = re.compile(r"read as (\w+)")


def plain(path: str) -> dict[str, Any]:
    """Return a config without its quantization fields."""
    return dict(unquantized(read_config(path))[0])


def answer(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a config, with its class if the config names none, or the refusal."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "config.json")
        place.write_text(json.dumps(config))
        try:
            model = opened_at_the_door(str(place))
            read = READ_AS.search(" ".join(model.provenance.assumed))
            return {"params": int(model.params.value()), "class": read[1] if read else "", "by": model.provenance.by}
        except SymformerError as error:
            return {"refused": str(error).replace(str(place), "config.json")}
        except Exception as error:
            return {"refused": f"CRASH {type(error).__name__}: {error}"}


def answers(paths: Sequence[str]) -> None:
    """Print the answer to each config as a line of JSON."""
    for path in paths:
        print(json.dumps(answer(plain(path))), flush=True)  # noqa: T201


def alone(paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the answer to each config of a process in which torch cannot be imported."""
    with Popen([sys.executable, "-c", ALONE, *paths], stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)


def stored(path: str, named: str) -> int | None:
    """Return the parameters of the class that a config names, or of ``named``, by torch, or None if it builds none."""
    from tests.every_type import stored as counted

    config = plain(path)
    try:
        return counted({**config, **({"architectures": [named]} if named else {})})
    except Exception:
        return None


def verdict(found: Mapping[str, Any], theirs: int) -> str:
    """Return whether an answer is right, refused or wrong, and why."""
    if "refused" in found:
        return f"refused: {found['refused']}"
    return "right" if found["params"] == theirs else f"wrong: {found['params']:,} for {theirs:,}"


def traced(path: str) -> dict[str, Any]:
    """Return the answer to a config with torch."""
    return answer(plain(path))


def main(folder: str, trace: bool) -> None:
    """Check every config of a folder."""
    from symformer.witness.worker_pool import LostJob, run_jobs

    paths = sorted(map(str, Path(folder).glob("*.json")))
    told: dict[str, Counter[str]] = {"without torch": Counter()}
    found = dict(zip(paths, alone(paths), strict=True))
    again: list[tuple[str]] = []
    truth: dict[str, int] = {}
    with closing(run_jobs(stored, [(path, found[path].get("class", "")) for path in paths], 1, LIMIT)) as counts:
        for (path, _), theirs in counts:
            if not isinstance(theirs, int):
                told["without torch"]["built by no class of torch"] += 1
                continue
            truth[path] = theirs
            said = verdict(found[path], theirs)
            told["without torch"][said.partition(":")[0]] += 1
            if said != "right":
                print(f"{Path(path).stem}, without torch: {said}", flush=True)  # noqa: T201
            if "refused" in found[path]:
                again.append((path,))
    if trace:
        told["with torch"] = Counter(right=told["without torch"]["right"], wrong=told["without torch"]["wrong"])
        with closing(run_jobs(traced, again, 1, LIMIT)) as results:
            for (path,), result in results:
                said = f"refused: {result.why}" if isinstance(result, LostJob) else verdict(result, truth[path])
                told["with torch"][said.partition(":")[0]] += 1
                if said != "right":
                    print(f"{Path(path).stem}, with torch: {said}", flush=True)  # noqa: T201
    for way, sums in told.items():
        print(f"{way}: {sums['right']} right, {sums['refused']} refused, {sums['wrong']} wrong; {dict(sums)}")  # noqa: T201


if __name__ == "__main__":
    main(*[word for word in sys.argv[1:] if word != "--trace"], trace="--trace" in sys.argv)
