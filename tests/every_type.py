"""Default configs of all model types of transformers, answered with and without torch.

``python -m tests.every_type [TYPE...]`` writes the default config of each type as a config.json and prints how many
answers agree with torch, with torch and from the catalogue alone. ``--alone`` uses only the catalogue.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from math import prod
from pathlib import Path
from typing import Any

from symformer.catalogue import config_match
from symformer.catalogue.record import model_of_records
from symformer.configs.config_json import read_config
from symformer.language.errors import SymformerError
from symformer.targets.resolution import model as opened_at_the_door
from symformer.witness.measured_points import session
from symformer.witness.transformers_classes import first_heads, of_config
from symformer.witness.worker_pool import LostJob, run_jobs

LIMIT = 90  # seconds per type
GENERATING = ("causal", "masked", "seq2seq")


def asked(model_type: str, head: str, alone: bool) -> dict[str, str]:
    """Return the verdict on a type's default config: exact, refused or wrong; "" if torch builds no model."""
    import transformers

    try:
        made = transformers.AutoConfig.for_model(model_type)
        written = made.to_json_string(use_diff=False)
        with tempfile.TemporaryDirectory() as folder:
            config = read_config(_file(folder, written))
        theirs = stored(config)
    except Exception:
        return {}
    found: dict[str, str] = {}
    known = config_match.find(config)
    with suppress(SymformerError):
        if known is not None:
            value = model_of_records("config.json", known).params.value()
            found["catalogue"] = "exact" if value == theirs else f"wrong: {value:,} for {theirs:,}"
    found.setdefault("catalogue", "refused")
    if alone:
        return found
    with tempfile.TemporaryDirectory() as folder:
        try:
            model = opened_at_the_door(_file(folder, written))
            # a built-in model may be read as another class of the type, which a note states
            read = re.search(r"read as (\w+)", " ".join(model.provenance.assumed))
            theirs = stored({**config, "architectures": [read[1]]}) if read else theirs
            value = model.params.value()
            found["door"] = "exact" if value == theirs else f"wrong: {value:,} for {theirs:,}"
        except SymformerError as error:
            found["door"] = f"refused: {str(error).replace(folder, '')}"
    return found


def _file(folder: str, written: str) -> str:
    place = Path(folder, "config.json")
    place.write_text(written)
    return str(place)


def stored(config: dict[str, Any]) -> int:
    """Return the parameters of the class that a config names, by torch."""
    source = of_config(config, "config.json")
    fields = {name: value for name, value in source.own(config, "config.json").items() if name != "architectures"}
    return sum(map(prod, session(lambda point: source.build(fields), {}).stored().values()))


def main(types: Sequence[str], alone: bool) -> None:
    """Check all types, or the given ones."""
    jobs = [(*job, alone) for job in first_heads() if job[0] in types or not types]
    told: dict[str, Counter[str]] = {}
    with closing(run_jobs(asked, jobs, 2, LIMIT)) as answers:
        for (model_type, head, _), answer in answers:
            said = {"door": answer.why} if isinstance(answer, LostJob) else answer
            group = "causal, masked and seq2seq" if head in GENERATING else "others"
            for way, what in said.items():
                told.setdefault(f"{way}, {group}", Counter())[what.partition(":")[0]] += 1
                if what != "exact":
                    print(f"{model_type} ({head}), {way}: {what}", flush=True)  # noqa: T201
    for way, counts in told.items():
        print(f"{way}: {counts['exact']} of {sum(counts.values())} exact, {dict(counts)}")  # noqa: T201


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--alone"], "--alone" in sys.argv)
