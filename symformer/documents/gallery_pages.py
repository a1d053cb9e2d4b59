"""The gallery: the derivation of every architecture, and the page that links them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sympy import Add, Expr, Integer, Symbol

from ..architectures import architecture, names, presets_of
from ..formulas.formula import Formula
from ..language.notation.latex import latex
from ..language.symbols import B, C, N_bw, N_dev, N_dp, N_micro, N_new, N_peak, N_pp, N_tok, N_tp, N_tps, P, R, S, S_enc
from ..models.model import Model
from ..output.blocks import Document
from ..views.example_facts import with_numbers
from .census_page import pages as census
from .derivation_document import document
from .figures.architecture import architecture_figure
from .figures.drawing_files import emit
from .formats import render
from .formats.pdf import picture
from .operations_page import page as operations
from .pages import page
from .reference_pages import alphabet, corrections, counted, published_formulas, published_numbers

# The pages of the catalogue: title, and the first heads of the model types on the page.
CENSUS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "census": ("language models", ("causal", "seq2seq", "masked")),
    "census-image": ("image classifiers", ("image",)),
    "census-image-text": ("models of images and text", ("image-text",)),
    "census-base": ("models without a head", ("base",)),
}
FIGURE, THUMBNAIL = "-figure.png", 130  # points per inch
MOST_TERMS = 8  # of a formula in the table of architectures
COVER = "gpt2"  # its first page is the picture in the README
# One architecture per family, with a PDF and all costs. The others only have a page for their parameters.
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

# The costs of a model, in the order of a document; an unsupported quantity is listed with the reason.
COSTS = (
    "active-params",
    "flops",
    "train-flops",
    "prefill-flops",
    "decode-flops",
    "generation-flops",
    "weight-memory",
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

# The document of per-rank quantities, at these sizes.
RANK = "llama-2-70b"
RANK_RUN: dict[Symbol, Expr] = {**RUN, N_tp: Integer(8), N_pp: Integer(4), N_dp: Integer(16)}
OF_RANK, OF_COSTS = f"{RANK}-rank", "-costs"
# The document of a model with adapters, with the rank and the layers of the LoRA paper's GPT-3 runs.
ADAPTED = "llama-2-7b"
ADAPTED_OPTIONS = {"lora": "q_proj,v_proj"}
OF_ADAPTED = f"{ADAPTED}-lora"
ADAPTED_QUANTITIES = ("params", "trainable-params", "train-flops", "train-memory")
# The document of a training run. The Llama 2 paper, table 2, states 2e12 tokens in 1,720,320 device hours: 322.9 tokens
# per second and device.
TRAINED = "llama-2-70b"
OF_RUN = f"{TRAINED}-run"
TRAINED_QUANTITIES = (
    *("macs", "attention-share", "run-flops", "mfu", "hfu", "pipeline-bubble"),
    *("train-time", "prefill-time", "decode-time"),
)
TRAINED_RUN: dict[Symbol, Expr] = {
    **{B: Integer(1), S: Integer(4096), N_tok: Integer(2 * 10**12), N_pp: Integer(8), N_micro: Integer(32)},
    **{N_dev: Integer(2000), N_tps: Integer(645_874), N_peak: Integer(312 * 10**12)},
    **{N_bw: Integer(2039 * 10**9), C: Integer(4096)},
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
    """Return every file of the gallery by its name."""
    made = {f"{stem}.md": render(derived(stem, version), "md") for stem in stems()}
    made |= {f"{name}.pdf": render(derived(name, version), "pdf") for name in WHOLE}
    made[f"{COVER}.png"] = picture(derived(COVER, version))
    made |= {f"{name}{FIGURE}": figure(name) for name in WHOLE}
    reference = {
        "README.md": index(),
        "alphabet.md": alphabet(),
        "operations.md": operations(),
        "published.md": published_formulas(),
        "published-numbers.md": published_numbers(),
        "corrections.md": corrections(),
        "counted.md": counted(),
    }
    for name, (words, heads) in CENSUS.items():
        reference |= census(name, words, heads)
    return made | {name: text.encode() for name, text in reference.items()}


def figure(name: str) -> bytes:
    """Return a thumbnail of the architecture of a model."""
    model = with_numbers(typical(name))
    return emit(architecture_figure([(model, model.params)]), "png", THUMBNAIL)


def stems() -> list[str]:
    """Return the file names of all documents, without extension: parameters, costs, one rank, adapters, a run."""
    return [*names(), *(f"{name}{OF_COSTS}" for name in WHOLE), OF_RANK, OF_ADAPTED, OF_RUN]


@cache
def derived(stem: str, version: str) -> Document:
    """Return one document of the gallery."""
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
    """Return an architecture with default options, or its first preset if no preset has these options."""
    model = architecture(name)
    return model if with_numbers(model).known else architecture(presets_of(name)[0])


def example(name: str) -> Model:
    """Return an architecture with the sizes of its first preset, if it has one, and a run of one sequence."""
    model = with_numbers(typical(name))
    rows = model.known.get(P)
    if rows is None:
        return model.set(RUN)
    half, eighth = Integer(min(1024, rows // 2)), Integer(min(128, rows // 8))  # within its learned positions
    return model.set({**RUN, S: half, C: half, N_new: eighth})


@dataclass(frozen=True)
class IndexRow:
    """A row of the index of all architectures."""

    name: str
    title: str
    formula: str  # of the parameters, in LaTeX
    value: int | Fraction
    example: str  # the target with this value
    whole: bool  # with a figure, a PDF and all costs


def index() -> str:
    """Return the page that links all pages."""
    return page(
        "README.md",
        rows=index_rows(),
        most_terms=MOST_TERMS,
        census={name: words for name, (words, _) in CENSUS.items()},
        rank=RANK,
        trained=TRAINED,
        adapted=ADAPTED,
    )


def index_rows() -> list[IndexRow]:
    """Return the rows of the table that links the pages of all architectures."""
    rows = []
    for name in names():
        model = typical(name)
        known = with_numbers(model)
        value = model.params.value(dict(known.known))
        rows.append(IndexRow(name, model.title, brief(model.params), value, known.target, name in WHOLE))
    return rows


def brief(formula: Formula) -> str:
    """Return a formula in LaTeX, or only its leading terms if it has more than ``MOST_TERMS`` terms."""
    if len(Add.make_args(formula.display_expr)) <= MOST_TERMS:
        return formula.latex()
    return rf"{latex(formula.leading().expr)} + \cdots"
