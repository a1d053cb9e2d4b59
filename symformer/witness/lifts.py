"""The lift of a trace: its model is run, its rows are read as operations, and the ordinary rules are held to torch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, cast

import torch
from sympy import Symbol
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..language.errors import SizeError, SymformerError, WitnessError
from ..language.sizes import Condition, without_implied
from ..language.symbols import SYMBOLS, B, C, N_new, S
from ..models.model import Model
from .drawing import DEEP
from .fitting import Point
from .lifting import Lifted, Reader, Sight, star
from .oracles import BACKWARD, FORWARD, Found
from .points import Build, session
from .raised import sentence
from .results import Tie, Trace
from .roles import Chosen, Roles
from .rows import compare_parts
from .runs import RUNS, Runner
from .session import Run, Session, ends, silence, tensors_of
from .traced import Traced
from .tracing import whole_conditions
from .watching import Products, Unmasked

FEW = 11  # tokens of a run with numbers
SMALL = 5  # keys in a window of such a run
CHUNKS = re.compile("chunk|local|block_size|stride|sparse|window")  # fields that a mask may hang on
PARAMETERS = 60_000_000  # that such a run has at most
# What is held to torch: each by a run, or by tensors, of its own.
CHECKED = (
    *("params", "active-params", "flops", "train-flops", "prefill-flops", "decode-flops", "kv-cache"),
    *("inference-memory", "generation-flops"),
)
CACHED = ("kv-cache", "decode-flops", "inference-memory", "generation-flops")
NEW = 3  # tokens that are generated
ADDED = ("generation-flops",)  # a term of these is what a module comes to over all passes
FAR = 100_003  # tokens, beyond every window and chunk that a config has by default
CACHES = (23, 41, 62)  # tokens in a cache, on both sides of WINDOWS
WINDOWS = (17, 71, 29)


@dataclass(frozen=True)
class Runs:
    """How the model of a trace is called."""

    build: Build
    call: Callable[..., Any]  # without a cache
    cached: Callable[..., Any] | None  # on C tokens, which a cache keeps; None where none is kept


def lift(stored: Trace, products: Trace, runner: Runner) -> Trace:
    """The model of a trace with its operations recognised, and what the ordinary rules then answer as torch counts.

    Raises WitnessError where the model cannot be looked at.
    """
    try:
        return _lift(stored, products, runner)
    except (SymformerError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever somebody's code raises
        raise WitnessError(f"the operations of {stored.model.target} cannot be read: {sentence(error)}") from None


def _lift(stored: Trace, products: Trace, runner: Runner) -> Trace:
    runs = Runs(runner.build, runner.calls(RUNS["flops"]), runner.calls(RUNS["kv-cache"]))
    component = cast(Traced, products.model.component)
    letters = {name: SYMBOLS[letter] for name, letter in products.letters.items() if letter in SYMBOLS}
    products = replace(products, checked=tuple(_tied(products, point) for point in products.checked))
    sights = [_sight(runs, point, letters) for point in products.checked]
    windows = {name: SYMBOLS[size] for name, size in _windows(runner, products).items()}
    letters |= windows
    real = _real(runs, products, letters, windows)

    def kept() -> Traced:
        return cast(Traced, products.of("kv-cache").model.component)

    held = cast(Traced, stored.model.component)
    same = {SYMBOLS[each]: tie.expr(letters) for each, tie in _ties(products, letters)}
    counts = {(path, tuple(dim.xreplace(same) for dim in shape)): n for (path, shape), n in held.counts.items()}
    reader = Reader(replace(held, counts=counts), component, sights, real, list(windows.values()), kept)
    rows = reader.rows()
    whole = whole_conditions(each for counts, _ in rows for each in counts)
    lifted = Lifted(
        title=component.title,
        stem=component.stem,
        rows=rows,
        conditions=without_implied((*component.conditions, *whole)),
        maker=component.maker,
        confirmed=dict.fromkeys(CHECKED, 0),
    )
    model = replace(products.model, component=lifted)
    points = [
        {**_deep(point, whole, letters), **({"C": c} if runs.cached else {}), **dict.fromkeys(windows, w)}
        for point, c, w in zip(products.checked, CACHES, WINDOWS, strict=True)
    ]
    check = Check(model, runs, points, letters)
    for sight in sights:
        check.hold("active-params", sight.numbers, partial(_active, sight, check.owners))
    said = check.said
    if said.get("kv-cache") == "":
        shallow = {name: size for name, size in products.checked[0].items() if DEEP.search(name)}
        if why := check.beyond({**runner.start, **_deep(shallow, whole, letters)}, letters):
            said |= dict.fromkeys(CACHED, why)
    for name in CHECKED:  # what nothing was asked of rests on what was refused
        said.setdefault(name, said.get("kv-cache") or said.get("decode-flops") or "this model keeps no cache")
    confirmed = {name: len(points) for name, why in said.items() if not why}
    refusals = {name: why for name, why in said.items() if why}
    lifted = replace(lifted, confirmed=confirmed, refusals=refusals)
    named = {name: str(size) for name, size in letters.items()} | ({"C": "C"} if runs.cached else {})
    model = replace(products.model, component=lifted)
    return replace(products, model=model, checked=tuple(points), letters={**products.letters, **named})


class Check:
    """What the ordinary rules make of a lifted ledger, held to what torch counts at some points, row by row."""

    def __init__(self, model: Model, runs: Runs, points: Sequence[Point], letters: Mapping[str, Symbol]) -> None:
        self.model, self.runs = model, runs
        self.owners = {weight.path: entry.path for _, entry in model.ledger for weight in entry.weights}
        self.said: dict[str, str] = {}  # of each quantity, why it is refused; "" where all points agree
        for point in points:
            self.at(point, {**_numbers(point, letters), **({C: point["C"]} if "C" in point else {})})

    def hold(
        self, quantity: str, numbers: Mapping[Symbol, int], count: Callable[[], Found], **ways: str
    ) -> Found | None:
        """One quantity at one point: what torch says, where the formula says the same, row by row."""
        if self.said.get(quantity):
            return None
        found = None
        try:
            formula = self.model.formula(quantity, **ways)
            found = count()
            differences = compare_parts(formula, dict(numbers), found, added=quantity in ADDED)
            if not found.total:
                raise WitnessError("torch counted nothing")
            why = f"torch counts otherwise: {differences[0]}" if differences else ""
        except SymformerError as error:
            why = str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's code raises
            why = f"the model cannot be run so: {sentence(error)}"
        self.said[quantity] = why
        return None if why else found

    def at(self, point: Point, numbers: dict[Symbol, int]) -> None:
        """One more point."""
        at = session(self.runs.build, point)

        def run(**facts: Any) -> Run:
            return lambda model: self.runs.call(model, point, **facts)

        self.hold("params", numbers, lambda: _weights({k: prod(v) for k, v in at.stored().items()}, self.owners))
        self.hold("flops", numbers, lambda: _counted(at, run()))
        self.hold("train-flops", numbers, lambda: _counted(at, run(), backward=True))
        if self.runs.cached is None:
            return
        caching = self.runs.cached
        outputs: list[Any] = []

        def cached(**facts: Any) -> Found:
            def passed(model: nn.Module) -> Any:
                outputs.append(caching(model, point, **facts))
                return outputs[-1]

            return _counted(at, passed)

        prompt = {**numbers, S: numbers[C]}
        self.hold("prefill-flops", prompt, cached)
        sizes: list[int] = []

        def held() -> Found:
            if not outputs:
                cached()
            sizes.extend(each.numel() for each in tensors_of(outputs[-1].past_key_values).values())
            return _found(Counter(2 * size for size in sizes))

        kept = self.hold("kv-cache", numbers, held, dtype="bf16")
        decoded = self.hold("decode-flops", numbers, lambda: cached(past=outputs[-1].past_key_values))
        if kept and decoded:
            memory = Counter([2 * size for size in sizes])
            memory += Counter(2 * each.numel() for each in at.model().parameters())
            memory += Counter(4 * each.numel() for each in ends(outputs[-1]))
            self.hold("inference-memory", numbers, lambda: _found(memory))

        def generated() -> Found:
            whole = cached(logits_to_keep=1)
            for _ in range(NEW - 1):
                whole += cached(past=outputs[-1].past_key_values)
            return whole

        self.hold("generation-flops", {**prompt, N_new: NEW}, generated)

    def beyond(self, point: Point, letters: Mapping[str, Symbol]) -> str:
        """What a cache holds otherwise far beyond every window that the config has by default; "" for nothing."""
        far = {**point, "C": FAR, "B": 1}
        assert self.runs.cached is not None
        try:
            held = session(self.runs.build, far).cached(partial(self.runs.cached, point=far))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's code raises
            return f"a cache of {FAR:,} tokens cannot be looked at: {sentence(error)}"
        sizes = Counter(2 * prod(shape) for shape in held.values())
        formula = self.model.formula("kv-cache", dtype="bf16")
        differences = compare_parts(formula, {**_numbers(far, letters), C: FAR}, _found(sizes))
        return f"after {FAR:,} tokens torch keeps something else: {differences[0]}" if differences else ""


def _active(sight: Sight, owners: Mapping[str, str]) -> Found:
    """The weights that a token meets: of the tables that matrices are chosen from, as many as each token chooses.

    Raises WitnessError for experts that are not chosen so.
    """
    seen = sight.seen
    tokens = sight.numbers[B] * sight.numbers[S]
    some: dict[str, int] = {}
    for (_, _, factors), roles in seen.roles.items():
        for role in roles:
            if isinstance(role, Chosen):
                some[role.weight] = prod(factors) // tokens  # each matrix is multiplied with one token
    for path in seen.stored:
        if path not in some and "expert" in path and "shared" not in path:
            raise WitnessError(f"which rows of {path} a token meets was not seen")
    return _weights({path: some.get(path, each.numel()) for path, each in seen.stored.items()}, owners)


def _weights(sizes: Mapping[str, int], owners: Mapping[str, str]) -> Found:
    """The elements of weights, each with the operation that stores it."""
    parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for path, size in sizes.items():
        parts[owners.get(star(path), star(path)), FORWARD][size] += 1
    return Found(sum(sizes.values()), parts, frozenset({"", *owners.values()}))


def _counted(at: Session, run: Run, backward: bool = False) -> Found:
    """The products of a run, each in the module that ran it, and what torch's own counter says of them."""
    seen = Products(at.model())
    total = at.flops(run, seen, backward=backward).get_total_flops()
    parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for phase, tally in ((FORWARD, seen.forward), (BACKWARD, seen.backward)):
        for path, sites in tally.times.items():
            for each in sites.values():
                for factors, times in each.items():
                    parts[star(path.rpartition(".")[0]), phase][2 * prod(factors)] += times
    return Found(total, parts, frozenset(star(name) for name in seen.where.ran))


def _found(values: Counter[int]) -> Found:
    return Found(sum(value * times for value, times in values.items()), {("", FORWARD): values}, frozenset([""]))


def _windows(runner: Runner, trace: Trace) -> dict[str, str]:
    """The sizes of a config that may be windows, and their letters."""
    names = [name for name in runner.start if "window" in name and not DEEP.search(name)]
    known = runner.letters([*trace.letters, *names])
    return {name: str(known[name]) for name in names}


def _deep(point: Point, conditions: Sequence[Condition], letters: Mapping[str, Symbol]) -> Point:
    """A point with as many layers as these conditions ask for."""
    layers = [name for name in point if name in letters and DEEP.search(name)]
    for more in range(13):
        deeper = {**point, **{name: point[name] + more for name in layers}}
        try:
            for condition in conditions:
                condition.check(_numbers(deeper, letters))
        except SizeError:
            continue
        return deeper
    return point


def _numbers(point: Point, letters: Mapping[str, Symbol]) -> dict[Symbol, int]:
    return {letters[name]: value for name, value in point.items() if name in letters}


def _sight(runs: Runs, point: Point, letters: Mapping[str, Symbol]) -> Sight:
    at = session(runs.build, point)
    seen = Roles(at.model(), {})
    at.run(lambda model: runs.call(model, point), seen)
    return Sight(seen, _numbers(point, letters))


def _real(runs: Runs, trace: Trace, letters: Mapping[str, Symbol], windows: Mapping[str, Symbol]) -> Sight | None:
    """A run with numbers, at sizes as small as the code takes."""
    point = _small(runs, trace, windows)
    if sum(each.numel() for each in session(runs.build, point).model().parameters()) > PARAMETERS:
        return None
    with torch.random.fork_rng(), silence(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        torch.manual_seed(0)
        model = session(runs.build, point).model("cpu").eval()
        for parameter in model.parameters():
            wide = parameter.dim() > 1
            parameter.normal_(0, 0.5 * parameter.shape[-1] ** -0.5) if wide else parameter.uniform_(0.5, 1.5)
        inputs: dict[str, Tensor] = {}
        hook = model.register_forward_pre_hook(partial(_tokens, inputs), with_kwargs=True)
        seen = Roles(model, inputs)
        try:
            with seen:
                runs.call(model, point)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever somebody's code raises where tensors hold numbers: then none are known
            return None
        finally:
            hook.remove()
    return Sight(seen, _numbers(point, letters))


def _tokens(inputs: dict[str, Tensor], model: Any, args: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Numbers instead of zeros: tokens that are none of the special ones, and segments; positions the model finds."""
    config = model.config
    special = {value for name, value in vars(config).items() if name.endswith("_token_id") and isinstance(value, int)}
    rows = config.get_text_config().vocab_size
    some = [each for each in range(rows // 3, rows) if each not in special]
    kinds = getattr(config, "type_vocab_size", 0) or 1
    inputs.clear()
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor) or tensor.is_floating_point():
            continue
        if name == "token_type_ids":
            inputs["segments"] = torch.arange(tensor.numel()).view(tensor.shape) ** 2 % 3 % kinds
        elif name.endswith("input_ids"):
            places = torch.arange(tensor.numel()).view(tensor.shape) ** 2 * 5 + 3 * (name != "input_ids")
            inputs["tokens" if name == "input_ids" else name] = torch.tensor(some)[places % len(some)]
    ours = {"tokens": "input_ids", "segments": "token_type_ids"}
    changed = {ours.get(name, name): tensor for name, tensor in inputs.items()}
    return args, {name: changed.get(name, value) for name, value in given.items() if name != "position_ids"}


def _small(runs: Runs, trace: Trace, windows: Mapping[str, Symbol]) -> Point:
    """Sizes that the code takes, as small as they become by halves, from the least that it was seen with."""
    point: dict[str, int] = {**sorted(trace.checked, key=_depth)[0]}
    point |= {name: FEW + place for place, name in enumerate(each for each in ("S", "S_enc") if each in point)}
    point |= dict.fromkeys(windows, SMALL)
    point |= {"B": 2} if "B" in point else {}

    def takes(at: Point) -> bool:
        try:
            tried = session(runs.build, at)
            tried.run(lambda model: runs.call(model, at), Unmasked())  # type: ignore[no-untyped-call]
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever somebody's code raises, it does not take these
            return False
        return True

    for name in (each for each in point if CHUNKS.search(each) and each not in windows):  # else no mask shows them
        point = {**point, name: SMALL} if takes({**point, name: SMALL}) else point
    held = {
        "B",
        "S",
        "S_enc",
        *windows,
        *(each for each in point if CHUNKS.search(each)),
        *trace.ties,
        *(each.name for each in trace.pinned),
    }
    small = {name: size for name in point if name not in held and (size := _least(name, point[name]))}
    moving = [name for name in point if name in trace.letters and name not in held]

    def light(at: Point) -> bool:
        return takes(at) and sum(each.numel() for each in session(runs.build, at).model().parameters()) < PARAMETERS

    for apart in ("$.", "vocab"):  # token ids may be larger than a small vocabulary
        some = {name: size for name, size in small.items() if not re.search(apart, name)}
        if light(tried := _tied(trace, {**point, **some})):
            return tried
    for name, size in sorted(small.items(), key=lambda each: -point[each[0]]):
        tried = _tied(trace, {**point, name: size})
        point = tried if takes(tried) else point
    for factor in (256, 60, 16, 4, 2, 2, 2):
        for name in sorted(moving, key=lambda each: -point[each]):
            smaller = _tied(trace, {**point, name: point[name] // factor})
            whole = point[name] % factor == 0 and smaller[name] > 1
            point = smaller if whole and name not in small and takes(smaller) else point
    return point


# What the fields of a config that say so are made in a run with numbers, in the order that they are asked in.
LEAST = (
    ("vocab", 96),
    ("position|n_ctx", 64),
    ("rotary|rope", 8),
    ("per_tok|top_?k", 2),
    ("expert", 4),
    ("key_value|kv_heads|n_kv|group", 2),
    ("head_dim|kv_channels|d_kv", 16),
    ("head", 4),
    ("hidden_size$|d_model|n_embd|embed_dim", 64),
    ("intermediate|ffn|n_inner|d_ff", 48),
    ("lora|rank", 24),
    ("(dim|size|width)$", 32),
)


def _least(name: str, size: int) -> int:
    """What a size is made, by its name; 0 for one that says nothing."""
    found = next((least for word, least in LEAST if re.search(word, name.rpartition(".")[2])), 0)
    return min(found, size)


def _tied(trace: Trace, point: Point) -> dict[str, int]:
    return {**point, **{name: tie.at(point) for name, tie in trace.ties.items()}}


def _ties(trace: Trace, letters: Mapping[str, Symbol]) -> Iterator[tuple[str, Tie]]:
    """The letters of sizes that a run asks to be others."""
    for name, tie in trace.ties.items():
        if name in letters and tie.powers.keys() <= letters.keys():
            yield str(letters[name]), tie


def _depth(point: Point) -> int:
    return prod(size for name, size in point.items() if DEEP.search(name))
