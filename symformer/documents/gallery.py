"""The gallery: every architecture's derivation, and the page that links them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from sympy import Expr, Integer, Symbol

from ..architectures import architecture, names, presets_of
from ..language.symbols import B, C, N_dev, N_dp, N_micro, N_new, N_peak, N_pp, N_tok, N_tp, N_tps, P, R, S, S_enc
from ..models.model import Model
from .blocks import Document
from .census import pages as census
from .corrections import page as corrections
from .counted import page as counted
from .derivation import document, with_numbers
from .figures.architecture import drawn
from .figures.emit import emit
from .formats import render
from .formats.pdf import picture
from .published_formulas import page as published_formulas
from .published_numbers import page as published_numbers

# The catalogue as pages: in words, and by the first head that a model type has.
CENSUS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "census": ("language models", ("causal", "seq2seq", "masked")),
    "census-image": ("image classifiers", ("image",)),
    "census-image-text": ("models that answer images and text with text", ("image-text",)),
    "census-base": ("models without a head", ("base",)),
}
FIGURE, THUMBNAIL = "-figure.png", 130  # points to an inch
COVER = "gpt2"  # whose first page is the picture in the README
# One of each family: derived to PDF too, and with every cost. Of the others the page of their parameters says enough.
WHOLE = (
    "bare-bones-transformer-lm",
    "bert",
    "deepseek-v3",
    "feed-forward-lm",
    "gemma2",
    "gpt-from-scratch",
    "gpt2",
    "llama",
    "mistral",
    "mixtral",
    "palm",
    "transformer",
    "transformer-decoder-layer",
    "transformer-encoder-layer",
)

# What a model costs, in the order of a document; a quantity that a model refuses is left out, with the reason.
COSTS = (
    "active-params",
    "flops",
    "train-flops",
    "prefill-flops",
    "decode-flops",
    "generation-flops",
    "kv-cache",
    "activations",
    "train-memory",
    "inference-memory",
    "traffic",
    "intensity",
)
# The run of the examples.
RUN: dict[Symbol, Expr] = {
    size: Integer(number) for size, number in ((B, 1), (S, 1024), (S_enc, 512), (C, 1024), (N_new, 128))
}

# One rank of many: a document of its own, at these numbers.
RANK = "llama-2-70b"
RANK_RUN: dict[Symbol, Expr] = {**RUN, N_tp: Integer(8), N_pp: Integer(4), N_dp: Integer(16)}
OF_RANK, OF_COSTS = f"{RANK}-rank", "-costs"
# A model with adapters: a document of its own too, at the rank and the layers of the paper's own GPT-3 runs.
ADAPTED = "llama-2-7b"
ADAPTED_OPTIONS = {"lora": "q_proj,v_proj"}
OF_ADAPTED = f"{ADAPTED}-lora"
ADAPTED_QUANTITIES = ("params", "trainable-params", "train-flops", "train-memory")
# A whole run of training: a document too. Llama 2's paper has 2e12 tokens in 1,720,320 hours of such a device, table 2,
# which are 322.9 a second of each.
TRAINED = "llama-2-70b"
OF_RUN = f"{TRAINED}-run"
TRAINED_QUANTITIES = ("macs", "attention-share", "run-flops", "mfu", "hfu", "pipeline-bubble")
TRAINED_RUN: dict[Symbol, Expr] = {
    **{B: Integer(1), S: Integer(4096), N_tok: Integer(2 * 10**12), N_pp: Integer(8), N_micro: Integer(32)},
    **{N_dev: Integer(2000), N_tps: Integer(645_874), N_peak: Integer(312 * 10**12)},
}
RANK_QUANTITIES = ("params", "train-memory", "communication")
RANK_CONVENTIONS = {
    "tensor": "sequence",
    "pipeline": "first",
    "data": "zero1",
    "recipe": "bf16",
    "implementation": "none",
}


def pages(version: str) -> dict[str, bytes]:
    """Every file of the gallery by its name."""
    made = {f"{stem}.md": render(derived(stem, version), "md") for stem in stems()}
    made |= {f"{name}.pdf": render(derived(name, version), "pdf") for name in WHOLE}
    made[f"{COVER}.png"] = picture(derived(COVER, version))
    made |= {f"{name}{FIGURE}": figure(name) for name in WHOLE}
    title = (
        "# Derivations\n\nWritten by `symformer gallery reports`. Every number of parameters is certified against a "
        "torch model; each page says what its other formulas were held against.\n"
    )
    also = [
        "[Published formulas](published.md), each as it is printed beside the one derived here.",
        "[Published numbers](published-numbers.md), and what each counts.",
        "[Corrections](corrections.md): where a published number or formula says something else than what it counts.",
        "[FLOPs as others count them](counted.md): the rules of code bases and papers, and how far each is from ours.",
        "A census of the model types of transformers, each read off its own code: "
        + ", ".join(f"[{words}]({name}.md)" for name, (words, _) in CENSUS.items())
        + ".",
        f"[One rank of many]({OF_RANK}.md): what the first of four stages of {RANK} holds and sends.",
        f"[A whole training run]({OF_RUN}.md): the FLOPs of that of {TRAINED}, and what part of a peak they are.",
        f"[A model with adapters]({OF_ADAPTED}.md): what {ADAPTED} with updates of low rank stores, trains and needs.",
    ]
    made["README.md"] = "\n\n".join(["\n".join([title, *index(".", names())]), *also, ""]).encode()
    made["published.md"] = published_formulas().encode()
    made["published-numbers.md"] = published_numbers().encode()
    made["corrections.md"] = corrections().encode()
    made["counted.md"] = counted().encode()
    for name, (words, heads) in CENSUS.items():
        made |= {file: text.encode() for file, text in census(name, words, heads).items()}
    return made


def figure(name: str) -> bytes:
    """The architecture of a model as a picture for a list."""
    model = with_numbers(typical(name))
    return emit(drawn([(model, model.params)]), "png", THUMBNAIL)


def stems() -> list[str]:
    """The documents by the names of their files: of each architecture its parameters, of some their costs, one rank."""
    return [*names(), *(f"{name}{OF_COSTS}" for name in WHOLE), OF_RANK, OF_ADAPTED, OF_RUN]


@cache
def derived(stem: str, version: str) -> Document:
    """One document of the gallery."""
    if stem == OF_RANK:
        rank = architecture(RANK).set(RANK_RUN)
        return document(rank, RANK_QUANTITIES, version, "one rank", **RANK_CONVENTIONS)
    if stem == OF_ADAPTED:
        adapted = architecture(ADAPTED, **ADAPTED_OPTIONS).set({**RUN, R: Integer(8)})
        return document(adapted, ADAPTED_QUANTITIES, version, "adapters", implementation="none")
    if stem == OF_RUN:
        return document(architecture(TRAINED).set(TRAINED_RUN), TRAINED_QUANTITIES, version, "a training run")
    if stem.endswith(OF_COSTS):
        return document(example(stem.removesuffix(OF_COSTS)), COSTS, version, "costs")
    return document(typical(stem), ["params"], version)


def typical(name: str) -> Model:
    """An architecture in its usual form; where every model of it that is named has another, the first of these."""
    model = architecture(name)
    return model if with_numbers(model).known else architecture(presets_of(name)[0])


def example(name: str) -> Model:
    """An architecture at its first preset, or with no sizes of its own, in a run of one sequence."""
    model = with_numbers(typical(name))
    rows = model.known.get(P)
    if rows is None:
        return model.set(RUN)
    half, eighth = Integer(min(1024, rows // 2)), Integer(min(128, rows // 8))  # as far as its positions reach
    return model.set({**RUN, S: half, C: half, N_new: eighth})


def index(folder: str, shown: Iterable[str] = WHOLE) -> list[str]:
    """The rows of the table that links the gallery, from a page beside ``folder``."""
    head = ["", "Architecture", "Parameters", "For", "Derivation", "Costs"]
    rows = [f"| {' | '.join(head)} |", "| --- | --- | --- | ---: | --- | --- |"]
    for name in shown:
        model = typical(name)
        known = with_numbers(model)
        value = f"{model.params.value(dict(known.known)):,} ({known.target})"
        links = f"[Markdown]({folder}/{name}.md)"
        costs = f"[Markdown]({folder}/{name}{OF_COSTS}.md)" if name in WHOLE else ""
        links += f", [PDF]({folder}/{name}.pdf)" if name in WHOLE else ""
        drawn_ = f'<img src="{folder}/{name}{FIGURE}" alt="The architecture of {model.title}" width="80">'
        cells = [drawn_ if name in WHOLE else "", model.title, f"$`{model.params.latex()}`$", value, links, costs]
        rows.append(f"| {' | '.join(cells)} |")
    return rows
