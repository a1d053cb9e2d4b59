"""Inference engines: how each stores the cache of a sequence of C tokens, according to one version of its source."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sympy import Expr, Min, ceiling

from ..language.errors import OptionError, RuleError
from ..language.symbols import C, S_step
from ..ledger.facts import ATTENDING, CARRYING, Entry, Ledger, OperationKind
from ..ledger.placement import WHOLE, Placement
from .cache_formats import CACHE_FORMATS, ELEMENTS, paged

DEFAULT = "transformers"
PLAIN = ("bf16", "fp16", "fp32")
TOKENS, WINDOWS, STATES, KINDS = "tokens", "windows", "states", "kinds"  # the subjects of the sentences on a layout
NO_ENGINE = f"choose engine={DEFAULT}"
POWERS = ("16", "32", "64", "128", "256")
CELLS = 256  # llama.cpp: the cells of a sequence are a multiple of this
BY_LAYERS = "because llama.cpp divides whole layers among devices; for several devices, use fit with a GGUF format"
CHUNK = 8192  # llama.cpp: the tokens of a chunk, whatever a config states


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The cache of an inference engine. The values hold for its default settings.

    Attributes
    ----------
    title : str
        Its name.
    source : str
        The version and the commit of the source that the rules follow.
    layout : Mapping[str, str]
        Sentences on the cached tokens, windows and states, and on models with several of these.
    models : frozenset[str]
        The architectures with a class in the engine.
    unknown : frozenset[str]
        The architectures with a class in the engine, but whose cache layout is not known.
    formats : frozenset[str]
        The formats of keys and values that it supports.
    latents : frozenset[str]
        The architectures whose latents it caches. It caches the keys and values of other architectures with latents.
    expands : bool
        Whether it can also cache the keys and values of an architecture in ``latents``.
    pages : tuple[str, ...]
        The supported tokens per page, the default first; ("off",) without pages.
    latent_page : str
        The default tokens per page of latents.
    window : str
        The value of the convention ``window`` that is its default for layers with a window.
    windowed : frozenset[str] | None
        The architectures whose windows it uses; None: all. It caches all tokens of the others.
    wider : frozenset[str]
        The architectures whose window lengths differ from those in transformers.
    states : str
        The value of the convention ``state`` that is its default.
    float_states : frozenset[str]
        The architectures whose recurrent states are float32 by default, regardless of ``states``.
    stores_states : bool
        Whether its states have a rule.
    stores_encoders : bool
        Whether its cross-attention has a rule.
    packs_indexers : bool
        Whether the keys of an indexer have 1 byte per element and 4 bytes for each 128, in any format of the cache.
        Its only format with 1 byte per element is then fp8-ds-mla.
    indexer_page : str
        The only tokens per page of a model with an indexer; "" if it has no such limit.
    shares : bool
        Whether sequences can share the pages of a prefix.
    divides : bool
        Whether it divides models among ranks as the conventions of placement do.
    step : int
        The default of S_step; 0 without default.

    """

    title: str
    source: str
    layout: Mapping[str, str]
    models: frozenset[str]
    formats: frozenset[str]
    unknown: frozenset[str] = frozenset({"deepseek-v4"})
    latents: frozenset[str] = frozenset()
    expands: bool = False
    pages: tuple[str, ...] = ("off",)
    latent_page: str = "off"
    window: str = "needed"
    windowed: frozenset[str] | None = None
    wider: frozenset[str] = frozenset()
    states: str = "fp32"
    float_states: frozenset[str] = frozenset()
    stores_states: bool = True
    stores_encoders: bool = True
    packs_indexers: bool = False
    indexer_page: str = ""
    shares: bool = True
    divides: bool = True
    step: int = 0

    @property
    def name(self) -> str:
        """The value of the convention."""
        return self.title.lower()

    @property
    def meaning(self) -> str:
        """The source of the layout, in words."""
        return f"the cache is stored as in {self.title} {self.source}"

    def note(self, entries: Collection[Entry]) -> str:
        """Return sentences on how the operations of a model store their cache."""
        found = {TOKENS for entry in entries if entry.kind in ATTENDING}
        found |= {WINDOWS for entry in entries if entry.window is not None}
        found |= {STATES for entry in entries if entry.kind in CARRYING or (entry.causal and not entry.output.encoded)}
        found |= {KINDS} if len(found) > 1 else set()
        said = [sentence for topic, sentence in self.layout.items() if topic in found]
        return " ".join([f"The cache is stored as in {self.title} {self.source}.", *said])

    def defaults(self, architecture: str, ledger: Ledger) -> dict[str, str]:
        """Return the values of the other conventions that the engine uses for an architecture."""
        entries = [entry for _, entry in ledger]
        latent = any(entry.latent for entry in entries) and (not architecture or architecture in self.latents)
        page = (_has_indexer(ledger) and self.indexer_page) or (self.latent_page if latent else self.pages[0])
        used = self.windowed is None or architecture in self.windowed
        found = {}
        if any(entry.kind in ATTENDING for entry in entries):
            found["block"] = page
        if any(entry.window is not None for entry in entries):
            found["window"] = self.window if used else "reserved"
        if any(entry.latent for entry in entries):
            found["latent"] = "compressed" if latent else "expanded"
        if any(entry.kind in CARRYING for entry in entries):
            found["state"] = "fp32" if architecture in self.float_states else self.states
        return found

    def check(self, architecture: str, ledger: Ledger, cache: str, conventions: Mapping[str, str]) -> None:
        """Raise an error for a model, a format or another convention that the engine does not support.

        Parameters
        ----------
        architecture : str
            The name of the architecture; "" for a component.
        ledger : Ledger
            Its operations.
        cache : str
            The convention that names the format of the cache.
        conventions : Mapping[str, str]
            All conventions.

        Raises
        ------
        RuleError
            For a model.
        OptionError
            For a convention.

        """
        if architecture in self.unknown:
            raise RuleError(
                f"engine={self.name} does not support {architecture}: how {self.title} {self.source} stores its "
                f"cache is not known; {NO_ENGINE}"
            )
        if architecture and architecture not in self.models:
            raise RuleError(
                f"engine={self.name} does not support {architecture}; it supports only built-in architectures with a "
                f"class in {self.title} {self.source}; {NO_ENGINE}"
            )
        if not self.divides and Placement.of(conventions) != WHOLE:
            raise RuleError(f"engine={self.name} is not supported per rank, {BY_LAYERS}")
        form, block = conventions[cache], conventions.get("block", "off")
        if form not in self.formats:
            raise OptionError(f"{cache}={form} is not a format of {self.title}; choose from {_listed(self.formats)}")
        packed, indexed = CACHE_FORMATS[form].packed, _has_indexer(ledger)
        if indexed and self.packs_indexers and form in ("fp8", "fp8-head", "int8-head", "nvfp4"):
            raise OptionError(
                f"{cache}={form} is not a format of {self.title} for attention with an indexer; choose fp8-ds-mla"
            )
        if packed and not indexed:
            raise OptionError(
                f"{cache}={form} is a format of {self.title} only for attention with an indexer; choose fp8"
            )
        pages = (self.indexer_page,) if indexed and self.indexer_page else self.pages
        if block not in pages and any(entry.kind in ATTENDING for _, entry in ledger):
            choices = f"choose {pages[0]}" if len(pages) == 1 else f"choose from {', '.join(pages)}"
            choices = "it has no pages; choose block=off" if pages == ("off",) else choices
            raise OptionError(f"block={block} is not a page size of {self.title} for this model; {choices}")
        if conventions["window"] == "rolling":
            raise OptionError(f"window=rolling is not supported by {self.title}; choose window=reserved")
        if architecture in self.wider and conventions["window"] == "needed":
            raise RuleError(
                f"{self.title} uses different window lengths from transformers for {architecture}; choose "
                "window=reserved"
            )
        if conventions.get("tokens") == "one":
            raise OptionError(f"tokens=one is not supported with engine={self.name}; choose tokens=all")
        if conventions.get("context") == "on":
            raise OptionError(f"context=on is not supported with engine={self.name}; choose context=off")
        if conventions.get("prefix") == "shared" and not self.shares:
            raise OptionError(
                f"prefix=shared is not supported by {self.title}, which divides its cells among sequences; choose "
                "prefix=off"
            )
        if any(entry.latent for _, entry in ledger) and architecture:
            wanted = "compressed" if architecture in self.latents else "expanded"
            if conventions["latent"] != wanted and not (self.expands and wanted == "compressed"):
                raise OptionError(
                    f"latent={conventions['latent']} is not supported by {self.title} for {architecture}; choose "
                    f"latent={wanted}"
                )

    def tokens(self, entry: Entry, window: str, block: str) -> Expr:
        """Return the number of tokens for which a layer has room, for a sequence of C tokens."""
        if entry.window is None or window == "reserved":
            return self.room(block)
        raise RuleError(
            f"{entry.path}: how {self.title} caches a layer with a sliding window is not known; choose window=reserved"
        )

    def room(self, block: str, tokens: Expr = C) -> Expr:
        """Return the number of tokens for which a layer without a window has room."""
        return paged(block, tokens)

    def convolution_size(self, model: Expr) -> Expr:
        """Return the bytes per element of a convolution state, given the bytes per element of the model."""
        return model

    def shift_size(self, model: Expr) -> Expr:
        """Return the bytes per element of the input of a token shift."""
        return self.convolution_size(model)


class _VLLM(Engine):
    def tokens(self, entry: Entry, window: str, block: str) -> Expr:
        if entry.window is None or window == "reserved":
            return self.room(block)
        if entry.chunked:
            return self.room(block, Min(C, entry.window + S_step))
        return self.room(block, Min(C, entry.window - 1 + S_step)) + int(block)


class _SGLang(Engine):
    def convolution_size(self, model: Expr) -> Expr:
        return ELEMENTS["bf16"]


class _LlamaCpp(Engine):
    def tokens(self, entry: Entry, window: str, block: str) -> Expr:
        if entry.window is None or window == "reserved":
            return self.room(block)
        kept = CHUNK if entry.chunked else entry.window
        return Min(self.room(block), CELLS * ceiling((kept + S_step) / CELLS))

    def room(self, block: str, tokens: Expr = C) -> Expr:
        return CELLS * ceiling(tokens / CELLS)

    def convolution_size(self, model: Expr) -> Expr:
        return ELEMENTS["fp32"]


def _has_indexer(ledger: Ledger) -> bool:
    """Return whether a model selects keys with an indexer, whose own keys are also cached."""
    return any(entry.detached and entry.kind is OperationKind.SCORES for _, entry in ledger)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(name for name in CACHE_FORMATS if name in names)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VLLM_MODELS = _names(
    "apertus arcee axk1 bloom cohere cohere2 cwm deepseek-v2 deepseek-v3 deepseek-v32 ernie4-5 ernie4-5-moe exaone4 "
    "falcon falcon-h1 falcon-mamba flex-olmo gemma gemma2 gemma3 gemma3-multimodal gemma3n gemma4 glm glm-moe-dsa glm4 "
    "glm4-moe glm4-moe-lite gpt-bigcode gpt-neox gpt-oss gpt2 gptj granite granitemoe granitemoehybrid "
    "hunyuan-v1-dense hunyuan-v1-moe jamba kimi-linear lfm2 lfm2-moe llama llama4 llava mamba mamba2 mimo-v2-flash "
    "minimax-m2 ministral3 mistral mixtral nemotron nemotron-h olmo olmo-hybrid olmo2 olmo3 olmoe opt paligemma phi "
    "phi3 phimoe qwen2 qwen2-moe qwen3 qwen3-5 qwen3-5-moe qwen3-moe qwen3-next qwen3-vl seed-oss smollm3 stablelm "
    "starcoder2 whisper zamba2"
)
_SGLANG_MODELS = _names(
    "apertus arcee cohere cohere2 deepseek-v2 deepseek-v3 deepseek-v32 ernie4-5-moe exaone4 falcon-h1 falcon-mamba "
    "gemma gemma2 gemma3 gemma3-multimodal gemma3n gemma4 glm-moe-dsa glm4 glm4-moe glm4-moe-lite gpt-bigcode gpt-oss "
    "gpt2 gptj granite granitemoe granitemoehybrid hunyuan-v1-dense hunyuan-v1-moe kimi-linear lfm2 lfm2-moe llama "
    "llama4 llava mamba mamba2 mimo-v2-flash minicpm3 minimax-m2 ministral3 mistral mixtral nemotron-h olmo olmo2 "
    "olmoe opt phi phi3 phimoe qwen2 qwen2-moe qwen3 qwen3-5 qwen3-5-moe qwen3-moe qwen3-next qwen3-vl stablelm "
    "starcoder2 whisper"
)
_LLAMA_CPP_MODELS = _names(
    "apertus arcee bamba bitnet bloom cohere cohere2 deepseek-v2 deepseek-v3 deepseek-v32 dots1 ernie4-5 ernie4-5-moe "
    "exaone4 falcon falcon-h1 falcon-mamba gemma gemma2 gemma3 gemma3-multimodal gemma3n gemma4 glm glm-moe-dsa glm4 "
    "glm4-moe glm4-moe-lite gpt-bigcode gpt-neox gpt-oss gpt2 granite granitemoe granitemoehybrid hunyuan-v1-dense "
    "hunyuan-v1-moe jamba kimi-linear lfm2 lfm2-moe llama llama4 llava mamba mamba2 mimo-v2-flash minicpm3 minimax-m2 "
    "ministral3 mistral mixtral mpt mt5 nemotron nemotron-h olmo olmo2 olmo3 olmoe phi phi3 phimoe qwen2 qwen2-moe "
    "qwen3 qwen3-5 qwen3-5-moe qwen3-moe qwen3-next qwen3-vl rwkv7 seed-oss smollm3 solar-open stablelm starcoder2 t5 "
    "umt5 youtu"
)
_TENSORRT_MODELS = _names(
    "cohere2 deepseek-v2 deepseek-v3 exaone4 gemma3 gemma3n gemma4 glm4-moe glm4-moe-lite "
    "gpt-oss granite granitemoehybrid hunyuan-v1-dense hunyuan-v1-moe llama llama4 minimax-m2 mistral mixtral nemotron "
    "nemotron-h olmo3 phi3 qwen2 qwen3 qwen3-5-moe qwen3-moe qwen3-next seed-oss smollm3"
)
_LATENTS = _names("deepseek-v2 deepseek-v3 deepseek-v32 glm-moe-dsa glm4-moe-lite")

_ENGINES: tuple[Engine, ...] = (
    _VLLM(
        title="vLLM",
        source="0.33.0, commit 4ba787ec9",
        layout={
            TOKENS: "Each sequence occupies whole pages, of 16 tokens by default, or 64 for latents.",
            WINDOWS: "A layer with a sliding window has pages for its window and the S_step tokens of one step, plus "
            "one page.",
            STATES: "A recurrent layer has one page per sequence, for its state and the last K_conv - 1 inputs of its "
            "convolutions; attention pages are enlarged to the same number of bytes. Prefix caching of states is off.",
            KINDS: "Layers are grouped by kind into groups of equal size, with padding layers in incomplete groups.",
        },
        models=_VLLM_MODELS,
        unknown=_names("deepseek-v4 minicpm3"),
        formats=frozenset({*PLAIN, "fp8", "fp8-head", "int8-head", "nvfp4", "fp8-ds-mla"}),
        latents=_LATENTS | _names("axk1 kimi-linear"),
        pages=POWERS,
        latent_page="64",
        wider=_names("cohere2 mimo-v2-flash"),
        states="model",
        float_states=_names("kimi-linear nemotron-h qwen3-5 qwen3-5-moe"),
        packs_indexers=True,
        indexer_page="64",
    ),
    _SGLang(
        title="SGLang",
        source="0.5.23",
        layout={
            TOKENS: "Each sequence occupies one slot per token, or whole pages with block > 1; padding slots are not "
            "counted.",
            STATES: "Recurrent states are stored in float32, and the last K_conv - 1 inputs of convolutions in "
            "bfloat16.",
        },
        models=_SGLANG_MODELS,
        formats=frozenset({*PLAIN, "fp8", "nvfp4", "fp8-ds-mla"}),
        latents=_LATENTS | _names("kimi-linear minicpm3"),
        pages=("1", *POWERS),
        latent_page="1",
        stores_encoders=False,
        packs_indexers=True,
        indexer_page="64",
    ),
    _LlamaCpp(
        title="llama.cpp",
        source="commit 0c1e57098",
        layout={
            TOKENS: "The cells of each sequence are rounded up to a multiple of 256.",
            WINDOWS: "A layer with a sliding window has cells for its window and the S_step tokens of one micro-batch, "
            "if llama.cpp implements the windows of the architecture.",
            STATES: "Recurrent states and the last K_conv - 1 inputs of convolutions are stored in float32.",
        },
        models=_LLAMA_CPP_MODELS,
        formats=frozenset({*PLAIN, "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"}),
        latents=_LATENTS | _names("kimi-linear youtu"),
        expands=True,
        windowed=_names(
            "cohere2 exaone4 gemma2 gemma3 gemma3-multimodal gemma3n gemma4 gpt-oss llama4 mimo-v2-flash olmo3"
        ),
        wider=_names("mimo-v2-flash"),
        stores_encoders=False,
        shares=False,
        divides=False,
        step=512,
    ),
    Engine(
        title="TensorRT-LLM",
        source="commit d2a5560ab",
        layout={
            TOKENS: "Each sequence occupies whole pages, of 32 tokens by default.",
            WINDOWS: "All tokens are stored, also in layers with a sliding window.",
        },
        models=_TENSORRT_MODELS,
        unknown=_names("deepseek-v32 deepseek-v4 glm-moe-dsa"),
        formats=frozenset({*PLAIN, "fp8", "nvfp4"}),
        latents=_LATENTS,
        pages=("32", "16", "64", "128", "256"),
        latent_page="32",
        window="reserved",
        stores_states=False,
        stores_encoders=False,
    ),
)
ENGINES: Mapping[str, Engine] = MappingProxyType({each.name: each for each in _ENGINES})
ENGINE_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        DEFAULT: "the cache contains the same tensors as in transformers",
        **{name: each.meaning for name, each in ENGINES.items()},
    }
)


def engine_of(conventions: Mapping[str, str]) -> Engine | None:
    """Return the engine that a convention names, or None for transformers."""
    return ENGINES.get(conventions.get("engine", DEFAULT))
