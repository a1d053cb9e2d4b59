"""The files of one model of the atlas: its page, the same in Markdown, and its facts as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from sympy import Symbol

from .. import __version__, architectures
from ..algebra.structure_profile import PARTS, profiles
from ..algebra.structure_words import line as phrase_line
from ..certificates import certificates_of
from ..documents.derivation_document import sections
from ..documents.formats.html import markup
from ..documents.formats.md import FORMAT as MARKDOWN
from ..documents.formats.short_mathml import with_short_math
from ..documents.formats.site_html import FORMAT as HTML
from ..documents.formats.site_html import SMALLER, SitePage
from ..formulas.formula import Formula
from ..formulas.structured_form import structured
from ..language.errors import SymformerError
from ..language.notation.display_tree import Label, Tree, tree
from ..language.notation.text import json_number
from ..language.symbols import letter, print_order
from ..models.model import Model
from ..models.provenance import size_meaning
from ..output.blocks import (
    Block,
    Code,
    Document,
    Equation,
    FigureBlock,
    Heading,
    Line,
    Math,
    Paragraph,
    References,
    Table,
    numbered,
    plain,
)
from ..output.chain import Chain
from ..papers import Paper, paper, split_at_keys
from ..views.citations import bibtex_of, papers_of
from ..views.derivation_facts import derivation_facts
from ..views.relative_facts import RelativeFacts, relative_facts
from ..views.stored_summaries import relative_of
from .atlas_entry import AtlasEntry, entry_of, papers_of_architecture
from .atlas_target import AtlasTarget, architecture_of, chosen_targets
from .cost_table import CostTable, cost_table, exact_amount, short_amount
from .derivation_page import derivation_page
from .mechanisms import MEANINGS, mechanism_slug
from .permanent_link import packed
from .preview_card import card
from .site_file import SiteFile, SiteOptions
from .site_page import Metadata, site_page

LARGEST = 100_000  # bytes of a page
COST = "cost"  # the anchor of the section of costs
SHOWN = ("flops", "kv-cache")  # the further quantities whose formulas a page shows
WIDEST = 24  # terms of a formula of these quantities; a longer one is only linked
NEAREST = 8  # presets of the same architecture that the page of a preset lists


@dataclass(frozen=True)
class ModelFiles:
    """The atlas's contents for one model: its row in the index, and its files."""

    entry: AtlasEntry
    files: tuple[SiteFile, ...]


@dataclass(frozen=True)
class PageSection:
    """A section of a page: its anchor and title, and its content in HTML."""

    anchor: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Sibling:
    """Another preset of the same architecture, with the sizes that differ."""

    name: str
    path: str
    params: int
    differences: Markup


def model_files(target: AtlasTarget, options: SiteOptions) -> ModelFiles:
    """Return the row and the files of a model. Raises SymformerError."""
    model = target.model()
    entry = entry_of(target, model)
    params = model.params
    found = derivation_facts(model, ["params"], {}, full=False)
    related = relative_facts(model, "params", {})
    found = replace(found, relative=related)
    formulas = [params, *_further_formulas(model)]
    costs = cost_table(model)
    equations: list[Block] = [_equation(each) for each in formulas[1:]]
    parts = sections(found, equations)
    chapters: list[tuple[str, str, Sequence[Block]]] = [
        ("parameters", "Parameters", parts.result),
        ("parts", "Where the parameters are", [_bare(parts.totals)]),
        ("architecture", "Architecture", parts.figure),
        (COST, "Costs", [*_cost_blocks(costs), *equations]),
        ("letters", "Letters and config fields", [*map(_bare, parts.letters)]),
        ("relative", "Nearest relative", parts.relative),
        ("check", "Check against PyTorch", [Paragraph(parts.checked)]),
    ]
    flat: list[Block] = []
    for anchor, title, blocks in chapters:
        flat += [Heading(1, [title], anchor), *blocks]
    flat, cited = numbered(flat)
    keys = list(dict.fromkeys([*cited, *papers_of_architecture(model), *papers_of(params)]))
    bibtex = bibtex_of(model, params, __version__)
    config = _config(target)
    data = _data(entry, model, formulas, costs)
    written = partial(
        site_page,
        "model.html.jinja",
        target.path,
        "atlas",
        options=options,
        metadata=_metadata(entry, params, keys, _picture(target)),
        entry=entry,
        target=target,
        lead=markup("").join(map(HTML.piece, _lead(target, model))),
        costs=costs,
        short_amount=short_amount,
        exact_amount=exact_amount,
        facts=list(_facts(entry, model)),
        tags=[(name, MEANINGS[name], mechanism_slug(name)) for name in entry.mechanisms],
        siblings=_siblings(target, model),
        presets=_presets(target, model),
        relative=_relative_path(related),
        descendants=_descendants(model) if target.kind == "architecture" else (),
        present=_paths(options.targets),
        papers=[(HTML.anchor(f"ref:{key}"), paper(key), _address(paper(key))) for key in keys],
        bibtex=bibtex,
        certificate=f"certificates/{model.id}.json" if certificates_of(model.id) else "",
        config=config,
        question=_question(target, config),
    )
    page = written(sections=_bodies(flat, HTML))
    for smaller in SMALLER:
        if len(page.content) > LARGEST:
            page = written(sections=_bodies(flat, smaller))
    files = [
        page,
        SiteFile(f"models/{target.slug}.md", _markdown(entry, target, model, flat, keys, bibtex).encode()),
        SiteFile(f"models/{target.slug}.json", _compact(data)),
    ]
    if options.base_url:
        files.append(SiteFile(_picture(target), card(entry, params)))
    if target.kind == "architecture":
        files.append(derivation_page(entry, target, model, options))
    return ModelFiles(entry, tuple(files))


def _picture(target: AtlasTarget) -> str:
    """Return the path of the picture that previews of links show."""
    return f"pictures/{target.slug}.png"


def _further_formulas(model: Model) -> Iterator[Formula]:
    """Yield the formulas of the further quantities that the model has and that are not too long for the page."""
    for quantity in SHOWN:
        try:
            formula = model.formula(quantity)
        except SymformerError:
            continue
        if len(formula.display_expr.args) <= WIDEST:
            yield formula


def _equation(formula: Formula) -> Equation:
    """Return a formula in its short form, with an id."""
    label = Label(formula.measure.letter, "", formula.display_expr)
    form = structured(formula.display_expr)
    step = tree(formula.display_expr) if form.parts else form.steps[0]
    return Equation(Chain((label,), (step,)), id=formula.id)


def _bare(block: Block) -> Block:
    return replace(block, caption=()) if isinstance(block, Table) else block


def _cost_blocks(costs: CostTable) -> list[Block]:
    """Return the costs as blocks, for Markdown; the page has a table of its own."""
    columns = max(len(costs.lengths), 1)
    head: list[Line] = [["For one sequence"], *([f"{each:,} tokens"] for each in costs.lengths or (1,))]
    if not costs.lengths:
        head[1] = ["One input"]
    rows: list[Sequence[Line]] = []
    for row in costs.rows:
        cells: list[Line] = [[f"{exact_amount(each)} ({short_amount(each, row.cost.unit)})"] for each in row.amounts]
        rows.append([[row.title], *cells, *([cells[0]] * (columns - len(cells)))])
    blocks: list[Block] = [Table(head, rows, "l" + "r" * columns)]
    return [*blocks, *(Paragraph([f"{', '.join(titles)}: {why}."]) for why, titles in costs.refused.items())]


def _bodies(blocks: Sequence[Block], format_: SitePage) -> list[PageSection]:
    """Return the sections in HTML. The costs have a table in the template, next to the formulas of the section."""
    groups: list[tuple[Heading, list[Block]]] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level == 1:
            groups.append((block, []))
        elif groups[-1][0].anchor != COST or isinstance(block, Equation):
            groups[-1][1].append(block)
    return [
        PageSection(heading.anchor, plain(heading.line), format_.body(group))
        for heading, group in groups
        if group or heading.anchor == COST
    ]


def _lead(target: AtlasTarget, model: Model) -> Line:
    """Return a sentence on the subject of the page."""
    if target.kind == "class" and target.config:
        class_name, model_type = target.config
        stated = "The numbers hold for its default config."
        if not model.known:
            stated = "Its default config does not state all sizes, so this page has no numbers."
        return [
            "The class ", Code(class_name), " of transformers for configs with the model type ", Code(model_type),
            f", from symformer's catalogue. {stated}",
        ]  # fmt: skip
    if target.kind == "architecture":
        shown = "" if not model.known else model.name
        count = len(architectures.presets_of(model.id))
        presets = f"{count} presets" if count != 1 else "one preset"
        numbers: Line = [" The numbers hold for ", Code(shown), "."] if shown else []
        return [f"An architecture with {presets} in symformer.", *numbers]
    source = architectures.presets()[target.name]["source"]
    return [f"A preset of {model.title}. The sizes come from ", *_plain(source), "."]


def _plain(words: str) -> Line:
    """Return a sentence without the keys of papers, which follow their names."""
    return ["".join(split_at_keys(words)[::2]).replace(" ,", ",").replace("  ", " ").strip()]


def _facts(entry: AtlasEntry, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the facts at the top of a page."""
    if entry.params is not None:
        yield "Parameters", f"{entry.params:,}"
    if entry.active is not None and entry.active != entry.params:
        yield "Active parameters", f"{entry.active:,}"
    numbers = {str(size): number for size, number in model.known.items()}
    for name, words in (("L", "Layers"), ("E", "Hidden size"), ("V", "Vocabulary")):
        if name in numbers:
            yield words, f"{numbers[name]:,}"
    if entry.year:
        yield "Paper", str(entry.year)


def _metadata(entry: AtlasEntry, params: Formula, keys: Sequence[str], picture: str) -> Metadata:
    """Return what search engines and previews of links show."""
    number = f"{entry.params:,} parameters. " if entry.params is not None else ""
    formula = params.text()
    shown = formula if len(formula) <= 120 else f"{params.leading().expr} + …"
    description = (
        f"{entry.title}: {number}N = {shown}. FLOPs, KV cache and memory in closed form, checked against PyTorch."
    )
    article = {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": f"{entry.title}: parameters, FLOPs and memory in closed form",
        "description": description,
        "about": {"@type": "Thing", "name": entry.title},
        "citation": [
            {"@type": "ScholarlyArticle", "name": each.title, "datePublished": str(each.year), **_identified(each)}
            for each in map(paper, keys)
        ],
    }
    return Metadata(f"{entry.title} · symformer", description, article, picture)


def _identified(found: Paper) -> Mapping[str, str]:
    return {"sameAs": address} if (address := _address(found)) else {}


def _address(found: Paper) -> str:
    return f"https://arxiv.org/abs/{found.arxiv}" if found.arxiv else ""


@cache
def _sizes_of_presets(name: str) -> tuple[tuple[str, int, Mapping[Symbol, int]], ...]:
    """Return the presets of an architecture from the smallest: the name, the parameters and the sizes of each."""
    found = []
    for preset in architectures.presets_of(name):
        model = architectures.architecture(preset)
        found.append((preset, int(model.params.value()), model.known))
    return tuple(sorted(found, key=lambda each: each[1]))


def _presets(target: AtlasTarget, model: Model) -> list[tuple[str, str, int]]:
    """Return the name, the path and the parameters of each preset of an architecture."""
    if target.kind != "architecture":
        return []
    return [(name, AtlasTarget(name, "preset").path, params) for name, params, _ in _sizes_of_presets(model.id)]


def _siblings(target: AtlasTarget, model: Model) -> list[Sibling]:
    """Return the presets of the same architecture whose number of parameters is nearest."""
    if target.kind != "preset":
        return []
    presets = _sizes_of_presets(model.id)
    own = next(place for place, each in enumerate(presets) if each[0] == target.name)
    start = max(0, min(own - NEAREST // 2, len(presets) - NEAREST - 1))
    found = []
    for name, params, sizes in presets[start : start + NEAREST + 1]:
        if name != target.name:
            path = AtlasTarget(name, "preset").path
            found.append(Sibling(name, path, params, _differences(model.known, sizes)))
    return found


def _differences(own: Mapping[Symbol, int], other: Mapping[Symbol, int]) -> Markup:
    """Return the sizes of another preset that differ, such as L = 48, E = 1,600."""
    changed = [size for size in sorted({*own, *other}, key=print_order) if own.get(size) != other.get(size)]
    said = [
        markup(f"{HTML.math(tree(size))} = {other[size]:,}") if size in other else markup(f"no {HTML.math(tree(size))}")
        for size in changed
    ]
    return markup(", ").join(said) if said else markup("the same sizes")


def _relative_path(found: RelativeFacts | None) -> tuple[str, str] | None:
    """Return the title and the path of the nearest relative."""
    if found is None:
        return None
    name = found.relative.name
    return architectures.architecture_class(name).title, AtlasTarget(name, "architecture").path


@cache
def _relatives() -> Mapping[str, tuple[str, ...]]:
    """Return the architectures that have each architecture as their nearest relative."""
    found: dict[str, list[str]] = {}
    for name in architectures.names():
        if (relative := relative_of(name)) is not None:
            found.setdefault(relative.name, []).append(name)
    return {name: tuple(each) for name, each in found.items()}


def _descendants(model: Model) -> list[tuple[str, str]]:
    """Return the titles and the paths of the architectures whose nearest relative is this one."""
    names = _relatives().get(model.id, ())
    return [(architectures.architecture_class(name).title, AtlasTarget(name, "architecture").path) for name in names]


def _config(target: AtlasTarget) -> str:
    """Return the config.json that names a class of the catalogue, or ""."""
    if target.config is None:
        return ""
    class_name, model_type = target.config
    return json.dumps({"model_type": model_type, "architectures": [class_name]})


@cache
def _paths(names: tuple[str, ...] | None) -> frozenset[str]:
    """Return the paths of the pages of the site's models."""
    return frozenset(each.path for each in chosen_targets(names))


def _question(target: AtlasTarget, config: str) -> str:
    """Return the part of the playground's address of a question about the model, by its name or by its config."""
    if target.typed:
        return f"model={quote(target.typed, safe='')}"
    return f"config={packed(config)}"


def _markdown(
    entry: AtlasEntry, target: AtlasTarget, model: Model, blocks: Sequence[Block], keys: Sequence[str], bibtex: str
) -> str:
    """Return the page in Markdown."""
    kept: list[Block] = [Paragraph(_lead(target, model))]
    for block in blocks:
        if not isinstance(block, FigureBlock):
            if isinstance(block, Heading) and isinstance(kept[-1], Heading):
                kept.pop()  # a section without text
            kept.append(block)
    if keys:
        entries = [(key, paper(key).byline, paper(key).title, paper(key).place) for key in keys]
        kept += [Heading(1, ["Papers"]), References(entries)]
    subtitle = f"{entry.params:,} parameters" if entry.params is not None else "Parameters, FLOPs and memory"
    spelt = MARKDOWN.spell(Document(entry.title, subtitle, kept))
    return f"{spelt.rstrip()}\n\n## BibTeX\n\n```bibtex\n{bibtex}\n```\n"


def _data(entry: AtlasEntry, model: Model, formulas: Sequence[Formula], costs: CostTable) -> dict[str, Any]:
    """Return the facts that scripts compare; mathematics and phrases are in HTML."""
    places = model.provenance.places
    return {
        **entry.to_json(),
        "title": entry.title,
        "family_title": entry.family_title,
        "sizes": [
            [_shown(tree(size)), size_meaning(size, places.get(str(size))), number]
            for size, number in sorted(model.known.items(), key=lambda each: print_order(each[0]))
            if not letter(size).run
        ],
        "formulas": [
            [each.measure.name, each.measure.title, each.measure.letter, _shown(tree(each.display_expr))]
            for each in formulas
        ],
        "costs": [
            [row.cost.key, row.title, row.cost.unit, [json_number(each) for each in row.amounts]] for row in costs.rows
        ],
        "lengths": list(costs.lengths),
        "structure": _structure(model),
    }


def _shown(shown: Tree) -> str:
    """Return mathematics in HTML that a line can break."""
    return with_short_math(str(HTML.piece(Math(shown))))


def _structure(model: Model) -> list[Any]:
    """Return the phrases of each stack of layers, by part; [] for a class of the catalogue."""
    if architecture_of(model) is None:
        return []
    found = []
    for name, stack in profiles(model.component).items():
        parts: dict[str, list[str]] = {}
        for aspect, part in PARTS.items():
            for phrase in stack.aspects.get(aspect, ()):
                parts.setdefault(part, []).append(str(HTML.line(phrase_line(phrase.rstrip(",")))))
        found.append([name, list(parts.items())])
    return found


def _compact(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
