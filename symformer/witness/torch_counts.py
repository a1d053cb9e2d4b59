"""Torch's own counts for an architecture's class at one point: FLOPs by its counter, bytes of its tensors.

One session of the class at a point answers every quantity and runs nothing twice. Each oracle asserts that it counted
the requested operations.
"""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from math import prod
from typing import Any

import torch
from sympy import Symbol
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from ..architectures.base_architecture import Architecture
from ..language.errors import WitnessError
from ..language.shape_lines import shape_line
from ..language.sizes import evaluate
from ..language.symbols import B, C, N_new, P, S, V_type
from ..ledger.facts import CARRYING, OperationKind
from .dispatch_recorders import Products, SavedStorages
from .model_calls import encoded_images, unpadded, without_placeholder_checks
from .stored_weights import recipe, witness_class
from .torch_session import Run, Session, is_state, silence, tensors_of, trainable
from .weight_paths import our_path, with_stars

Numbers = Mapping[Symbol, int]
Parts = Mapping[
    tuple[str, str], Mapping[int, int]
]  # a module of ours and a pass -> the value of each part -> its number of occurrences
TAKEN = {"tokens": "input_ids", "pixels": "pixel_values"}  # transformers' names for the inputs in our shape lines
UNMASKED = {"linear_attention", "conv", "mlp", "moe"}  # layer kinds that take no mask [B,1,S,C]
MASKED_AS = {"hybrid": "full_attention"}  # layer kinds that read the mask of another kind
FORWARD, BACKWARD = "forward", "backward"
EXPERTS_IMPLEMENTATIONS = {"grouped": "grouped_mm", "batched": "batched_mm", "looped": "eager"}
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class TorchCount:
    """Torch's count of one quantity: the total, and its parts if they have names."""

    total: int
    parts: Parts | None = None
    ran: frozenset[str] = frozenset()  # our names of all modules that may have parts
    names: Mapping[int, str] = field(default_factory=dict)  # of parts that are not compared by module, by their values

    def __add__(self, other: TorchCount) -> TorchCount:
        parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for each in (self, other):
            for key, values in (each.parts or {}).items():
                parts[key].update(values)
        return TorchCount(self.total + other.total, parts, self.ran | other.ran, {**self.names, **other.names})


@dataclass(frozen=True)
class Oracle:
    """The check of one quantity: torch's conventions and its count."""

    count: Callable[..., TorchCount]  # takes a witness and further conventions
    by: str  # the counter, in words
    conventions: Mapping[str, str]
    ways: tuple[Mapping[str, str], ...] = ()  # further conventions, checked for the first variant of an architecture
    once: bool = False  # slow, so checked for the first variant of an architecture only
    cached: bool = False  # needs a class with a cache
    needs: OperationKind | None = None  # an operation without which there is nothing to check
    library: str = ""  # the only library whose code it counts; "" for any
    last: bool = False  # needs a class that can return the logits of the last position alone
    added: bool = False  # compares the sum of a module's parts
    rows: str = ""  # what is compared row by row, in words; "" if only the total can be compared
    length: Symbol = S  # the length it depends on: tokens read (S) or tokens in the cache (C)


@dataclass
class PromptRun:
    """A cache filled by a prompt, its size at that time, and the passes of one token made since."""

    cache: Any
    read: TorchCount
    held: Mapping[str, int]  # bytes
    passes: list[TorchCount] = field(default_factory=list)
    logits: int = 0  # bytes of one pass's logits


class TorchWitness(Session):
    """The session of an architecture's torch class at some sizes."""

    def __init__(self, component: Architecture, numbers: Numbers, twice: bool = False) -> None:
        super().__init__(recipe(component, numbers))
        self.component, self.numbers = component, numbers
        self.twice = twice  # count FLOPs also with torch's FlopCounterMode
        self._prompts: dict[int, PromptRun] = {}
        self._kept: dict[tuple[str, ...], TorchCount] = {}
        self._memory: Tensor | None = None  # the encoder's output
        self._chances: dict[tuple[int, str], float] = {}  # dropout of each module of a model kept here
        self._states: dict[tuple[str, str, bool, bool], tuple[int, int, int, int]] = {}

    # -- calls --------------------------------------------------------------------------------------------------

    def call(
        self,
        new: int = 0,
        *,
        cache: Any = None,
        implementation: str = "eager",
        moe: str = "batched",
        masked: bool = True,
        last: bool = False,
    ) -> Run:
        """Return a function that runs the class on ``new`` tokens, or S, with eager attention and batched experts."""
        component, numbers = self.component, {**self.numbers, S: new or self.numbers.get(S, 0)}
        multiplying = (OperationKind.LINEAR, OperationKind.CONVOLUTION)
        products = [entry for _, entry in component.ledger if entry.kind in multiplying]
        multiplied = {entry.inputs[0].name for entry in products}  # so they are numbers, not indices

        def run(model: nn.Module) -> Any:
            device = next(model.parameters()).device
            inputs: dict[str, Tensor] = {}
            for axes in shape_line(component.shapes).inputs:
                shape = [evaluate(dim, numbers, axes.name) for dim in axes.dims]
                indexed = len(shape) < 3 and axes.name not in multiplied
                dtype = torch.long if indexed else next(model.parameters()).dtype
                inputs[axes.name] = torch.zeros(shape, dtype=dtype, device=device)
            if component.witness.library != "transformers":
                return model(*inputs.values())
            config: Any = model.config
            for each in [config, *(module.config for module in model.modules() if hasattr(module, "config"))]:
                each._attn_implementation = implementation  # a submodule may have its own config
            if cache is not None and "pixels" in inputs and cache.get_seq_length():
                del inputs["pixels"]  # the tokens of the images are in the cache
            if config.is_encoder_decoder:
                return self._both(model, *inputs.values(), cache=cache, masked=masked)
            # By default batched: torch silently counts no FLOPs of grouped_mm.
            config._experts_implementation = EXPERTS_IMPLEMENTATIONS[moe]
            if S not in self.numbers:  # an image, which determines the number of tokens
                with unpadded():
                    return model(*inputs.values())
            new = numbers[S]
            facts: dict[str, Any] = {}
            attends = any(entry.kind is OperationKind.SCORES for _, entry in component.ledger)
            if masked and attends and component.witness.masked:  # the model cannot create a mask on meta
                kinds: list[str] = getattr(config.get_text_config(), "layer_types", None) or [""]
                masks: dict[str, Tensor | None] = dict.fromkeys({*kinds} & UNMASKED)
                for kind in {*kinds} - UNMASKED:  # a window keeps fewer tokens than were read
                    seen = new if cache is None else cache.get_mask_sizes(new, kinds.index(kind))[0]
                    masks[MASKED_AS.get(kind, kind)] = torch.zeros(numbers[B], 1, new, seen, device=device)
                facts["attention_mask"] = masks if len({*kinds}) > 1 else next(iter(masks.values()))
            # Otherwise a causal model creates the positions itself: one row for all sequences with rotary positions.
            if attends and (masked or not keeps_cache(component) or P in component.fields.sizes):
                facts["position_ids"] = torch.zeros(1, new, dtype=torch.long, device=device)
            if V_type in component.fields.sizes:
                facts["token_type_ids"] = torch.zeros(numbers[B], new, dtype=torch.long, device=device)
            if keeps_cache(component):
                named = inspect.signature(model.forward).parameters.keys() & {"past_key_values", "cache_params"}
                facts |= {"use_cache": cache is not None, **dict.fromkeys(named, cache)}
            if last and hasattr(model, "lm_head"):
                facts["logits_to_keep"] = 1
            with unpadded(), without_placeholder_checks(model):
                if "pixels" in inputs and component.witness.each_image:
                    facts |= encoded_images(model, inputs.pop("pixels"))
                if "pixels" in component.shapes:
                    return model(**{TAKEN[name]: given for name, given in inputs.items()}, **facts)
                return model(*inputs.values(), **facts)

        return run

    def _both(self, model: nn.Module, source: Tensor, target: Tensor, *, cache: Any, masked: bool) -> Any:
        """Run an encoder-decoder; with a filled cache, only its decoder.

        On meta the decoder receives its mask, and the encoder creates none.
        """
        batch, new = target.shape
        facts: dict[str, Any] = {"decoder_input_ids": target, "use_cache": cache is not None, "past_key_values": cache}
        before = cache.get_seq_length() if cache is not None else 0
        kinds: list[str] = getattr(getattr(model.config, "decoder", None), "layer_types", [])
        if masked and kinds:  # the decoder has a mask for each kind; the encoder and cross-attention need none
            masks: dict[str, Tensor] = {}
            for kind in {*kinds}:
                seen = new if cache is None else cache.self_attention_cache.get_mask_sizes(new, kinds.index(kind))[0]
                masks[kind] = torch.zeros(batch, 1, new, seen, device=target.device)
            facts |= {"decoder_attention_mask": masks, "attention_mask": dict.fromkeys(masks)}
        elif masked:
            facts["decoder_attention_mask"] = torch.zeros(batch, 1, new, before + new, device=target.device)
        if before:
            from transformers.modeling_outputs import BaseModelOutput

            facts["encoder_outputs"] = BaseModelOutput(last_hidden_state=self._memory)
        else:
            facts[model.main_input_name] = source  # type: ignore[index]
        with unpadded(), nullcontext() if masked else _of_ones():
            output = model(**facts)
        self._memory = output.encoder_last_hidden_state
        return output

    def empty(self) -> Any:
        """Return an empty cache of the class's own kind."""
        if not keeps_cache(self.component):
            raise WitnessError(
                f"the torch class of {self.component.name} has no cache, so its cache cannot be measured"
            )
        from transformers import DynamicCache, EncoderDecoderCache

        config: Any = self.model().config
        if config.is_encoder_decoder:  # each cache is as deep as the decoder; the config's depth is the encoder's
            return EncoderDecoderCache(DynamicCache(config=getattr(config, "decoder", None)), DynamicCache())
        return DynamicCache(config=config)

    # -- FLOPs ---------------------------------------------------------------------------------------------------

    @cached_property
    def forward(self) -> TorchCount:
        """One forward pass."""
        return self.counted(self.call())

    @cached_property
    def trained(self) -> TorchCount:
        """One forward and one backward pass."""
        return self.counted(self.call(), backward=True)

    def prompted(self, length: Symbol) -> PromptRun:
        """Return a prompt whose keys and values are cached."""
        tokens = self.numbers[length]
        if tokens not in self._prompts:
            cache = self.empty()
            read = self.counted(self.call(tokens, cache=cache))
            states = {**tensors_of(cache), **self.states_of_modules()}
            held = {row: tensor.numel() * tensor.element_size() for row, tensor in states.items()}
            if not held:
                raise WitnessError(f"the cache of {self.component.name} is empty: nothing was counted")
            self._prompts[tokens] = PromptRun(cache, read, held)
        return self._prompts[tokens]

    def states_of_modules(self) -> dict[str, Tensor]:
        """Return the states that recurrent modules store themselves, instead of the cache, by path."""
        if all(entry.kind is not OperationKind.RECURRENCE for _, entry in self.component.ledger):
            return {}
        return {
            f"{path}.{name}": value
            for path, module in self.model().named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }

    def decoded(self, length: Symbol, passes: int = 1) -> PromptRun:
        """Return a prompt and at least this many passes of one token after it."""
        prompted = self.prompted(length)
        while len(prompted.passes) < passes:
            prompted.passes.append(self.counted(partial(_one_more, self.call(1, cache=prompted.cache), prompted)))
        return prompted

    @cached_property
    def prompt_for_one(self) -> TorchCount:
        """A prompt that returns the logits of the last position only."""
        return self.counted(self.call(cache=self.empty(), last=True))

    def counted(self, run: Run, *, backward: bool = False) -> TorchCount:
        """Count the products of a run, each in the module that ran it, and their FLOPs by torch's formulas."""
        seen, how = Products(self.model()), {"backward": backward, "train": backward}
        # A trainable weight is multiplied unchanged; a linear layer may copy a frozen one for each sequence.
        if self.twice:
            total = self.flops(run, seen, prepare=trainable, **how).get_total_flops()
        else:
            self.run(run, seen, prepare=trainable, **how)
            total = seen.flops
        parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for phase, tally in ((FORWARD, seen.forward), (BACKWARD, seen.backward)):
            for path, sites in tally.times.items():
                key = (with_stars(self.ours(path.rpartition(".")[0])), phase)
                for each in sites.values():
                    for factors, times in each.items():
                        parts[key][2 * prod(factors)] += times
        named = sum(value * times for each in parts.values() for value, times in each.items())
        if not named == seen.flops == total:
            name = self.component.name
            raise WitnessError(f"torch counts {total:,} FLOPs of {name}, but its products sum to {named:,}")
        _something(self.component, seen)
        return TorchCount(seen.flops, parts, self.named(seen.where.ran))

    # -- names ---------------------------------------------------------------------------------------------------

    def ours(self, path: str) -> str:
        """Return our name for a module."""
        return our_path(self.component, path, self.numbers)

    def named(self, paths: Iterable[str]) -> frozenset[str]:
        """Return our names of modules, with * for layer numbers."""
        return frozenset(with_stars(self.ours(path)) for path in paths)

    # -- bytes ---------------------------------------------------------------------------------------------------

    def held(self) -> TorchCount:
        """Return the tensors of the cache after C tokens, each by its attention module."""
        held = self.prompted(C).held
        # An encoder-decoder has two caches: for self-attention and for cross-attention to the encoder.
        attends = {
            with_stars(entry.path.rpartition(".")[0]): "cross.layers" if entry.inputs[1].encoded else "self.layers"
            for _, entry in self.component.ledger
            if entry.kind is OperationKind.SCORES and not entry.output.encoded
        }
        both = len(set(attends.values())) > 1
        layers: dict[str, str] = {}
        indexers: dict[str, str] = {}  # modules with keys of their own inside an attention module
        kinds: dict[tuple[str, bool], str] = {}  # a layer can have both attention and a mixer with states
        for name, module in self.model().named_modules():
            if isinstance(place := getattr(module, "layer_idx", getattr(module, "layer_id", None)), int):
                if place < 0:  # a shared module learns its layer in each run
                    place = next(int(word) for word in name.split(".") if word.isdigit())
                stack = attends.get(with_stars(self.ours(name)), "") if both else "layers"
                above = layers.get(f"{stack}.{place}", name)
                if name.startswith(f"{above}.") and with_stars(self.ours(above)) in attends:
                    indexers[f"{stack}.{place}"] = name
                    continue
                layers[f"{stack}.{place}"] = name
                kinds = {key: path for key, path in kinds.items() if not name.startswith(f"{path}.")}  # only innermost
                kinds[f"{stack}.{place}", with_stars(self.ours(name)) not in attends] = name
        owners = {*layers.values(), *indexers.values()}
        stored = self.states_of_modules()
        parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for row, size in held.items():
            place, _, kept = row.rpartition(".")
            inside = indexers.get(place) if kept == "indexer_keys" else None
            path = place if row in stored else inside or kinds.get((place, is_state(row)), layers.get(place))
            if path is None:
                raise WitnessError(f"no attention of {self.component.name} owns {row} of the cache")
            owners.add(path)
            parts[with_stars(self.ours(path)), FORWARD][size] += 1
        return TorchCount(sum(held.values()), parts, self.named(owners) | {""})

    def activations(
        self,
        implementation: str = "eager",
        dropout: str = "off",
        recompute: str = "none",
        dtype: str = "fp32",
        moe: str = "batched",
        device: str = "fake",
    ) -> TorchCount:
        """Return the bytes of every storage that a forward pass saves for the backward pass, excluding weights.

        Tensors are fake CPU tensors unless real memory is requested. The meta device does not work, because a model
        cannot create its own mask there.
        """
        key = (implementation, dropout, recompute, dtype, moe, device)
        if key not in self._kept:

            def within(model: nn.Module, seen: SavedStorages) -> AbstractContextManager[None]:
                trainable(model)
                for module in model.modules():
                    for name, value in vars(module).items():
                        named = "drop" in name or (name == "p" and isinstance(module, nn.Dropout))
                        if named and isinstance(value, float):
                            chance = self._chances.setdefault((id(module), name), value)
                            setattr(module, name, chance if dropout == "on" else 0.0)
                return recomputing(model, recompute, seen.keep)

            run = self.call(implementation=implementation, moe=moe, masked=False)
            seen = self.kept(run, device=device, dtype=_DTYPES[dtype], train=True, within=within)
            values: Counter[int] = Counter()
            names: dict[int, str] = {}
            for path, sites in seen.tally.times.items():
                module = with_stars(self.ours(path.rpartition(".")[0]))
                for each in sites.values():
                    for factors, times in each.items():
                        values[prod(factors)] += times
                        names.setdefault(prod(factors), f"{module or self.component.name} ({_shape(factors)})")
            total = sum(value * times for value, times in values.items())
            if not total:
                raise WitnessError(f"{self.component.name} saves nothing for the backward pass: nothing was counted")
            self._kept[key] = TorchCount(total, {("", FORWARD): values}, frozenset([""]), names)
        return self._kept[key]

    def states(
        self, optimizer: str, single: bool, device: str = "meta", copied: bool = True
    ) -> tuple[int, int, int, int]:
        """Return the bytes of the parameters, gradients, master copies and optimizer state after a real step.

        In half precision, the optimizer updates a single-precision master copy of the parameters if ``copied``, and
        otherwise the parameters themselves.
        """
        copied = copied and not single
        key = (optimizer, device, single, copied)
        if key not in self._states:
            model = Session(self._build).model(device)
            trainable(model)
            with silence():  # diffusers logs the cast
                parameters = list(model.to(torch.float32 if single else torch.bfloat16).parameters())
            trained = [parameter for parameter in parameters if parameter.requires_grad]
            masters = [parameter.detach().to(torch.float32) for parameter in trained] if copied else trained
            # the optimizer state of a parameter depends on its shape alone, so it steps on one of each shape
            copies = Counter(master.shape for master in masters)
            stepped_on = list({master.shape: master for master in masters}.values())
            for master in stepped_on:
                master.grad = torch.zeros_like(master)
            makes: dict[str, Callable[[], Any]] = {
                "adam": lambda: torch.optim.AdamW(stepped_on, foreach=False),
                "sgd": lambda: torch.optim.SGD(stepped_on, foreach=False),
                "momentum": lambda: torch.optim.SGD(stepped_on, momentum=0.9, foreach=False),
                "adafactor": lambda: torch.optim.Adafactor(stepped_on, foreach=False),
            }
            stepped = makes[optimizer]()
            stepped.step()
            state = sum(
                copies[master.shape] * _bytes(value for value in kept.values() if isinstance(value, Tensor))
                for master, kept in stepped.state.items()
            )
            if optimizer != "sgd" and not state:
                raise WitnessError(f"{optimizer} keeps no state for {self.component.name}: nothing was counted")
            gradients = _bytes(trained)
            self._states[key] = (_bytes(parameters), gradients, _bytes(masters) if copied else 0, state)
        return self._states[key]


def _shape(factors: tuple[int, ...]) -> str:
    """Return the shape of a saved tensor in words, from its axes and the bytes of an element, or its bytes alone."""
    *axes, size = factors
    return f"a tensor {' × '.join(map(str, axes))} of {size} bytes each" if axes else f"{size:,} bytes"


def _one_more(run: Run, prompted: PromptRun, model: nn.Module) -> Any:
    output = run(model)
    logits = getattr(output, "logits", None)
    prompted.logits = logits.untyped_storage().nbytes() if logits is not None else 0
    return output


def train_flops(
    component: Architecture,
    numbers: Numbers,
    recompute: str = "none",
    early_stop: bool = False,
    prepare: Callable[[nn.Module], object] = lambda model: None,
) -> int:
    """Return the FLOPs of one forward and one backward pass, with part of the forward pass recomputed if requested.

    By default, torch stops recomputing early, when it has every tensor that the backward pass reads.
    """
    witness = TorchWitness(component, numbers)

    def checkpointed(model: Any) -> None:
        prepare(model)
        if recompute == "full":
            enable: Any = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
            enable({"use_reentrant": False})
            # Transformers also enables a gradient of the embeddings' output, which only reentrant checkpointing needs.
            model.disable_input_require_grads()

    core = _checkpointed_attention(witness.model()) if recompute == "selective" else nullcontext()
    with set_checkpoint_early_stop(early_stop), core:
        counter = witness.flops(witness.call(), backward=True, train=True, prepare=checkpointed)
    return int(counter.get_total_flops())


@contextmanager
def _of_ones() -> Iterator[None]:
    """Treat a decoder's own mask of ones as one, as on a CPU: a fake mask has no values to look at."""
    from transformers import masking_utils

    module: Any = masking_utils
    before = module.is_tracing, module.fast_all
    module.is_tracing, module.fast_all = lambda *args: False, lambda mask: True
    try:
        yield
    finally:
        module.is_tracing, module.fast_all = before


@contextmanager
def _checkpointed_attention(model: nn.Module) -> Iterator[None]:
    """Wrap the eager attention function of transformers in a checkpoint."""
    module: Any = import_module(type(model).__module__)
    plain, calls = module.eager_attention_forward, []

    def attention(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return checkpoint(plain, *args, use_reentrant=False, **kwargs)

    module.eager_attention_forward = attention
    try:
        yield
    finally:
        module.eager_attention_forward = plain
    if not calls:
        raise WitnessError(f"{type(model).__name__} did not call its module's attention: nothing was checkpointed")


def activation_bytes(component: Architecture, numbers: Numbers, fake: bool = True, **way: str) -> int:
    """Return the bytes that a forward pass saves for the backward pass, with fake or real tensors."""
    return TorchWitness(component, numbers).activations(**way, device="fake" if fake else "cpu").total


@contextmanager
def recomputing(model: Any, recompute: str, keep: Callable[[Tensor], None]) -> Iterator[None]:
    """Checkpoint every layer, as transformers does, or every attention function.

    A checkpoint holds all its arguments, positional or by keyword; saved_tensors_hooks see only the positional ones.
    """
    from transformers import modeling_utils

    interface: Any = modeling_utils.AttentionInterface
    times = 0

    def checkpointed(function: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal times
        times += 1
        given = [*args, *kwargs.values(), *(function.keywords.values() if isinstance(function, partial) else ())]
        for value in given:
            for tensor in value if isinstance(value, tuple) else (value,):
                if isinstance(tensor, Tensor):
                    keep(tensor)
        return checkpoint(function, *args, use_reentrant=False, **kwargs)

    find = interface.get_interface
    if recompute == "full":
        model._set_gradient_checkpointing(gradient_checkpointing_func=checkpointed)
    elif recompute == "selective":
        interface.get_interface = lambda *args: partial(checkpointed, find(*args))
    try:
        yield
    finally:
        interface.get_interface = find
        for module in model.modules() if recompute == "full" else ():
            if hasattr(module, "gradient_checkpointing"):
                module.gradient_checkpointing = False
    if not times and recompute != "none":
        raise WitnessError("no layer was checkpointed: nothing was counted")


def train_bytes(component: Architecture, numbers: Numbers, device: str = "meta", **way: str) -> int:
    """Return the bytes of parameters, gradients and optimizer state after a step, plus activations if requested."""
    return train_memory(TorchWitness(component, numbers), device=device, **way).total


def train_memory(
    witness: TorchWitness,
    recipe: str = "fp32",
    optimizer: str = "adam",
    implementation: str = "none",
    recompute: str = "none",
    device: str = "meta",
) -> TorchCount:
    single = recipe == "fp32"
    parameters, gradients, masters, state = witness.states(optimizer, single, device, recipe != "pure-bf16")
    if recipe == "bf16-fp32-gradients":
        gradients = masters
    total = parameters + masters + gradients + state
    if implementation != "none":
        dtype, where = "fp32" if single else "bf16", "fake" if device == "meta" else device
        total += witness.activations(implementation, recompute=recompute, dtype=dtype, device=where).total
    return TorchCount(total)


def generation_flops(witness: TorchWitness, new: int) -> TorchCount:
    """Count a prompt of S tokens and one pass per new token except the first, which the prompt's logits give."""
    prompted = witness.decoded(S, new - 1)
    found = tensors_of(prompted.cache)
    grows = [row for row in found if row.endswith(("keys", "values")) and not row.startswith("cross.")]
    held = {found[row].shape[-2] for row in grows}  # states have the same size after any number of tokens
    tokens = witness.numbers[S] + len(prompted.passes)
    windows = {entry.window for _, entry in witness.component.ledger if entry.window is not None}
    drawn = [each for each in windows if each.free_symbols <= witness.numbers.keys()]  # GPT-Neo caches all tokens
    within = {min(tokens, evaluate(window, witness.numbers, "window") - 1) for window in drawn}
    if held - {tokens, *within} or not found:
        raise WitnessError(
            f"the cache of {witness.component.name} holds {held} tokens after generation: the model does not use it"
        )
    return sum(prompted.passes[: new - 1], start=witness.prompt_for_one)


def inference_memory(witness: TorchWitness) -> TorchCount:
    """Return the bytes of the parameters, of the cache after C tokens, and of the logits of one more token."""
    parameters = _bytes(list(witness.model().parameters()))
    return TorchCount(parameters + witness.held().total + witness.decoded(C).logits)


def active_elements(witness: TorchWitness) -> TorchCount:
    """Count every unique parameter, but of the experts' tables only the experts of one token."""
    model: Any = witness.model()
    total, experts = sum(int(parameter.numel()) for parameter in model.parameters()), 0
    for module in model.modules():
        tables = list(module.parameters(recurse=False))  # weights and biases of the experts
        if hasattr(module, "num_experts") and any(weight.dim() == 3 for weight in tables):
            experts += 1
            names = ("num_experts_per_tok", "top_k_experts")
            chosen = next(getattr(model.config, name) for name in names if hasattr(model.config, name))
            idle = module.num_experts - chosen
            total -= sum(int(weight.numel()) // int(weight.shape[0]) * int(idle) for weight in tables)
    if not experts:
        raise WitnessError(f"the torch class of {witness.component.name} has no experts: nothing was counted")
    return TorchCount(total)


def keeps_cache(component: Architecture) -> bool:
    """Return True if the witness has a cache that all its layers can use: causal attention or a scan."""
    if component.witness.library != "transformers" or not component.witness.cached:
        return False
    attention = [entry for _, entry in component.ledger if entry.kind in (OperationKind.SCORES, OperationKind.MIX)]
    back = any(entry.mask == "causal" for entry in attention)
    back |= any(entry.kind in CARRYING for _, entry in component.ledger)
    return back and all(entry.mask == "causal" or entry.inputs[1].encoded for entry in attention)


def returns_last_logits(component: Architecture) -> bool:
    """Return True if the witness can return the logits of the last position alone, or has no logits.

    The classes of encoder-decoders cannot: they continue from a single token.
    """
    if not any(entry.logits for _, entry in component.ledger):
        return True
    return "logits_to_keep" in inspect.signature(witness_class(component).forward).parameters


def _something(component: Architecture, seen: Products) -> None:
    """Raise WitnessError if part of a model was silently not counted."""
    kinds = {entry.kind for _, entry in component.ledger}
    ran = {path.rpartition(".")[2] for path in seen.forward.times}
    if OperationKind.SCORES in kinds and "bmm" not in ran:
        raise WitnessError(f"no FLOPs were counted for the attention of {component.name}; counted: {', '.join(ran)}")
    if OperationKind.EXPERTS in kinds and not any(".experts." in path for path in seen.forward.times):
        raise WitnessError(
            f"no FLOPs were counted for the experts of {component.name}; counted: {', '.join(seen.forward.times)}"
        )
    if not ran & {"mm", "addmm"}:
        raise WitnessError(
            f"no FLOPs were counted for the linear layers of {component.name}; counted: {', '.join(ran)}"
        )


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


_COUNTER = (
    "the total, against the formulas of torch's FlopCounterMode (at one point per depth, also against FlopCounterMode "
    "itself)"
)
_EACH = "each matrix product of each module"
_PRODUCTS = {"embedding": "lookup", "count": "contractions"}

ORACLES: dict[str, Oracle] = {
    "flops": Oracle(
        lambda witness: witness.forward,
        _COUNTER,
        {**_PRODUCTS, "attention": "full", "logits": "all"},
        rows=_EACH,
    ),
    "train-flops": Oracle(
        lambda witness: witness.trained,
        _COUNTER,
        {"attention": "full", "embedding": "lookup", "train": "all", "recompute": "none"},
        rows=f"{_EACH}, forward and backward",
    ),
    "prefill-flops": Oracle(
        lambda witness: witness.prompted(S).read,
        _COUNTER,
        {**_PRODUCTS, "attention": "full", "logits": "all"},
        cached=True,
        rows=_EACH,
    ),
    "decode-flops": Oracle(
        lambda witness: witness.decoded(C).passes[0], _COUNTER, _PRODUCTS, cached=True, rows=_EACH, length=C
    ),
    "generation-flops": Oracle(
        lambda witness: generation_flops(witness, witness.numbers[N_new]),
        _COUNTER,
        {**_PRODUCTS, "attention": "full"},
        once=True,
        cached=True,
        last=True,
        added=True,
        rows="the matrix products of each module, summed over all passes",
    ),
    "active-params": Oracle(
        active_elements,
        "the number of parameters, without the experts that a token is not routed to",
        {},
        needs=OperationKind.EXPERTS,
    ),
    "activations": Oracle(
        TorchWitness.activations,
        "the total of all unique storages passed to torch's saved_tensors_hooks and checkpoint",
        {"implementation": "eager", "dropout": "off", "moe": "batched", "recompute": "none", "dtype": "fp32"},
        (
            {"dropout": "on"},
            {"recompute": "selective"},
            {"recompute": "full"},
            {"dtype": "bf16"},
            {"implementation": "sdpa"},
            {"implementation": "sdpa", "dtype": "bf16"},
            {"implementation": "sdpa", "dtype": "bf16", "recompute": "full"},
        ),
        library="transformers",
        rows="the bytes of each storage, whichever module saves it",
    ),
    "train-memory": Oracle(
        train_memory,
        "the bytes of the parameters, of their gradients and of the optimizer's state after a real step; and of the "
        "activations passed to saved_tensors_hooks and torch's checkpoint",
        {
            **{"recipe": "fp32", "optimizer": "adam", "implementation": "none", "dropout": "off"},
            **{"moe": "batched", "recompute": "none"},
        },
        (
            {"optimizer": "sgd"},
            {"optimizer": "momentum"},
            {"recipe": "bf16"},
            {"recipe": "bf16-fp32-gradients"},
            {"implementation": "eager"},
            {"recipe": "bf16", "implementation": "sdpa", "recompute": "full"},
        ),
    ),
    "inference-memory": Oracle(
        inference_memory,
        "the bytes of the parameters, of the model's own cache and of the logits it returns",
        {"weights": "fp32", "cache": "fp32", "window": "needed", "latent": "compressed", "logits": "fp32"},
        cached=True,
        length=C,
    ),
    "kv-cache": Oracle(
        TorchWitness.held,
        "the total of the model's own cache after a forward pass",
        {"dtype": "fp32", "window": "needed", "latent": "compressed"},
        cached=True,
        rows="each tensor of the cache, by its attention module",
        length=C,
    ),
}
