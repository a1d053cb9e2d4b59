"""Fields that the catalogue ignores, at odd values, compared with torch for each class of the catalogue.

``python -m tests.freed_fields [N] [CLASS...]`` tests N classes in a fixed random order (all by default). In each config
that builds on the meta device, it sets fields that the catalogue ignores to values of several types, and compares the
parameters with torch. ``--runs`` also compares the KV cache and the decode FLOPs. It prints every wrong answer and
exits with status 1 if there is one.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import deepcopy
from functools import cache
from math import prod
from time import process_time
from typing import Any

from symformer.catalogue import config_match
from symformer.catalogue.config_match import find
from symformer.catalogue.entries import CatalogueEntry, classes, field_name, find_entry
from symformer.catalogue.record import model_of_records
from symformer.configs.common_fields import INERT
from symformer.language.errors import SymformerError
from symformer.witness.inert_fields import FieldTrials
from symformer.witness.measured_points import session
from symformer.witness.sampling import DEEP
from symformer.witness.transformers_classes import TracedClass, of_config
from symformer.witness.worker_pool import LostJob, run_jobs

BUDGET = 3.0  # CPU seconds per class
LIMIT = 60  # wall-clock seconds after which a class is skipped
LAYERS = 3
FOREIGN = 3  # values for fields of other classes
ANY: tuple[Any, ...] = (3, True, None, False, 0, -1, 0.5, "any", [1, 2], {"a": 1}, 64)
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64, "factor": 8.0}
ROPES: tuple[Any, ...] = (
    {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
    {"rope_type": "default", "rope_theta": 7e5, "partial_rotary_factor": 0.5},
    {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6, "original_max_position_embeddings": 64},
    {"type": "dynamic", "factor": 2.0},
    {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3},
    {"type": "mrope", "mrope_section": [2, 3, 3]},
    {"rope_type": "default", "rope_theta": 5e5, "partial_rotary_factor": 0.25},
    {"full_attention": {"rope_type": "default", "rope_theta": 5e5}, "sliding_attention": {"rope_type": "default"}},
    None,
    3,
)
WINDOW: tuple[Any, ...] = (8, None, True, False, 4096, 1, 0)
LABELS: tuple[Any, ...] = ({"0": "a"}, {str(label): str(label) for label in range(5)}, {}, ["a", "b"], None)
# Fields that a rule ignores in every class, at values of several types.
RULED: Mapping[str, tuple[Any, ...]] = {
    "rope_theta": (1e6, 5_000_000, None, 0.5, 0, "any", True),
    "rope_scaling": ROPES,
    "rope_parameters": ROPES,
    "partial_rotary_factor": (0.5, 0.25, 1.0, None, 2, 0, True),
    "sliding_window": WINDOW,
    "use_sliding_window": (True, False, None, 8),
    "max_window_layers": (1, 0, None, 3, 70),
    "attention_chunk_size": WINDOW,
    "gradient_checkpointing": (True, False, None, 3),
    "add_cross_attention": (False, None, True),
    "cross_attention_hidden_size": (None, 64),
    "num_labels": (5, 1, 3, 0),
    "id2label": LABELS,
    "nobody_reads_this": ANY,
}


def put(config: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with these fields; a field of a part is written text_config.hidden_size."""
    found = deepcopy(dict(config))
    for path, value in fields.items():
        part, _, name = path.rpartition(".")
        (found.setdefault(part, {}) if part else found)[name] = deepcopy(value)
    return found


def stored(source: TracedClass, config: Mapping[str, Any]) -> int | None:
    """Return the parameters by torch, or None if it builds no model of the config."""
    with suppress(Exception):  # any error of third-party code
        own = source.own(config, "config.json")
        fields = {name: value for name, value in own.items() if name != "architectures"}
        return sum(map(prod, session(lambda _: source.build(fields), {}).stored().values()))
    return None


def answer(config: Mapping[str, Any]) -> int | None:
    """Return the parameters by the catalogue, or None if it does not answer."""
    with suppress(SymformerError):
        if (known := find(config)) is not None:
            return int(model_of_records("config.json", known).params.value())
    return None


@cache
def names() -> frozenset[str]:
    """Return all field names that a class of the catalogue has or that common code may read."""
    from transformers import PretrainedConfig

    entries = [kept.config for name, model_type in classes() if (kept := find_entry(name, model_type)) is not None]
    found = {
        field_name(each)
        for entry in entries
        for each in (*entry.sizes, *entry.inert, *entry.inert_for_params, *(entry.names_read or ()))
    }
    found |= {*config_match.common_field_names(), *config_match.common_field_names(whole=False)}
    return frozenset(found - {*dir(PretrainedConfig), *INERT, "model_type", "architectures", "self"})


class Attack:
    """One class of the catalogue."""

    def __init__(self, name: str, model_type: str) -> None:
        self.until = process_time() + BUDGET
        kept = find_entry(name, model_type)
        assert kept is not None
        self.kept: CatalogueEntry = kept
        self.source = of_config({"model_type": model_type, "architectures": [name]}, "config.json")
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.named = {"model_type": model_type, "architectures": [name]}

    def base(self) -> dict[str, Any] | None:
        """Return a small config for which the catalogue and torch agree, or None."""
        trials = FieldTrials(self.source)
        entry = self.kept.config
        few = {each: min(size, LAYERS) for each, size in entry.sizes.items() if DEEP.search(field_name(each))}
        asked = {each: trials.usual[each] for each in entry.required if "." not in each and each in trials.usual}
        for point in ({**asked, **few}, few, asked, {}):
            with suppress(Exception):
                fields = trials.fields(trials.filled(point))
                config = {**self.named, entry.part: fields} if entry.part else {**fields, **self.named}
                if (ours := answer(config)) is not None and ours == stored(self.source, config):
                    return config
        return None

    def offered(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield each field with a rule of its own, and the values to test."""
        entry = self.kept.config
        own = f"{entry.part}." if entry.part else ""
        for part in (own, *(f"{own}{each}." for each in entry.parts if not own)):
            yield from ((part + name, values) for name, values in RULED.items())
        known = {*entry.inert, *entry.inert_for_params, *entry.aliases, *self.kept.switches}
        for path in sorted(known):
            if field_name(path) not in (*RULED, *INERT, "model_type") and "[" not in path:
                kinds = [LAYERS * [kind] for kind in ("full_attention", "sliding_attention")]
                yield own + path, ROPES if "rope" in path else kinds if "layer_types" in path else ANY

    def others(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield each field of other classes that the catalogue assumes to be unread."""
        own = f"{self.kept.config.part}." if self.kept.config.part else ""
        known = {
            *self.kept.config.sizes,
            *self.kept.config.inert,
            *self.kept.config.inert_for_params,
            *self.kept.switches,
        }
        known |= self.kept.config.aliases.keys() | self.kept.config.layer_kinds.keys()
        for name in sorted(names() - RULED.keys() - known):
            yield own + name, [value for value in ANY if config_match._unasked(self.kept, name, value)]

    def run(self) -> tuple[dict[str, int], list[str]]:
        """Return the numbers of right, refused and wrong answers, and the wrong ones."""
        base = self.base()
        if base is None:
            return {"classes without a config to start from": 1}, []
        offered, others = dict(self.offered()), dict(self.others())
        for turn in range(max(map(len, (*offered.values(), ANY)))):
            if process_time() > self.until:
                self.told["classes cut short"] += 1
                break
            tried = {path: values[turn] for path, values in offered.items() if turn < len(values)}
            right = {path: value for path, value in tried.items() if find(put(base, {path: value})) is not None}
            self.told["refused"] += len(tried) - len(right)
            self.compare(base, right)
            if turn < FOREIGN:
                self.compare(base, {path: values[turn] for path, values in others.items() if turn < len(values)})
        return dict(self.told), self.wrong

    def compare(self, base: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        """Compare a config with these fields; if the two disagree, compare each half of the fields."""
        if not fields:
            return
        config = put(base, fields)
        ours = answer(config)
        theirs = stored(self.source, config) if ours is not None else None
        if ours is not None and ours == theirs:
            self.told["right"] += len(fields)
        elif len(fields) > 1 and process_time() < self.until + BUDGET:
            items = [*fields.items()]
            self.compare(base, dict(items[: len(items) // 2]))
            self.compare(base, dict(items[len(items) // 2 :]))
        elif len(fields) > 1:
            self.told["not compared"] += len(fields)
        elif ours is None:
            self.told["refused"] += 1
        elif theirs is None:
            self.told["built by no class of torch"] += 1
        else:
            self.told["wrong"] += 1
            self.wrong.append(f"{self.kept.config.name} with {fields}: {ours:,} for {theirs:,}")


def attacked(name: str, model_type: str) -> tuple[dict[str, int], list[str]]:
    """Return the results of one class."""
    return Attack(name, model_type).run()


def jobs(many: int | None = None, only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return this many classes of the catalogue in a fixed random order, or the named ones."""
    found = [each for each in classes() if each[0] in only or not only]
    random.Random(28).shuffle(found)  # noqa: S311
    found.sort(key=lambda each: only.index(each[0]) if only else 0)
    return found[:many]


def main(words: Sequence[str]) -> int:
    """Compare many classes and print each wrong answer."""
    many = next((int(word) for word in words if word.isdigit()), None)
    told: Counter[str] = Counter()
    with closing(run_jobs(attacked, jobs(many, [word for word in words if not word.isdigit()]), 1, LIMIT)) as results:
        for done, ((name, _), result) in enumerate(results, 1):
            counts, wrong = ({"classes lost": 1}, [f"{name}: {result.why}"]) if isinstance(result, LostJob) else result
            told.update(counts)
            for each in wrong:
                print(each[:400], flush=True)  # noqa: T201
            if done % 10 == 0:
                print(done, dict(told), flush=True)  # noqa: T201
    print(dict(told))  # noqa: T201
    return int(told["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
