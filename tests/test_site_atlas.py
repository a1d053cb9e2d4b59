"""The atlas of the site: its pages, their links, their numbers and their texts."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from posixpath import join, normpath
from urllib.parse import unquote, urldefrag
from xml.etree import ElementTree

import pytest

from symformer import architectures
from symformer.commands.cli import cli
from symformer.documents.formats.site_html import FORMAT as BODY
from symformer.language.errors import UnknownNameError
from symformer.output.blocks import Code, Heading, Paragraph
from symformer.site.atlas import atlas
from symformer.site.atlas_entry import short_count
from symformer.site.atlas_index import ROW, index_files
from symformer.site.atlas_page import ModelFiles, model_files
from symformer.site.atlas_target import atlas_targets, chosen_targets
from symformer.site.compare_page import comparison_files
from symformer.site.cost_table import cost_table
from symformer.site.page_pool import pieces_of_work
from symformer.site.reference_section import divided_pages, reference_page
from symformer.site.site_builder import sitemap
from symformer.site.site_file import SiteFile, SiteOptions
from symformer.site.site_page import Metadata, shared_files, site_page

NAMES = ("gpt2", "gpt2-xl", "llama-3-8b", "hf:afmoe")
OPTIONS = SiteOptions(targets=NAMES)
PAGES = ("models/", "derivations/", "index", "compare", "list/", "mechanisms/")
OTHER_PARTS = ("playground.html", "guide/", "reference/")  # which other tests cover
LARGEST = 100_000  # bytes of a page


@pytest.fixture(scope="module")
def models() -> list[ModelFiles]:
    return [model_files(target, OPTIONS) for target in chosen_targets(NAMES)]


@pytest.fixture(scope="module")
def files(models: list[ModelFiles]) -> dict[str, bytes]:
    """A small site without the reference pages, which take half a minute."""
    made: list[SiteFile] = [*shared_files(), *(file for each in models for file in each.files)]
    made += [*index_files([each.entry for each in models], OPTIONS), *comparison_files(OPTIONS)]
    return {file.path: file.content for file in made}


class Page(HTMLParser):
    """The ids, the links and the scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []  # scripts and styles inside the page, and attributes with code
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("href", "src") if name in found]
        if tag == "style" or "style" in found or any(name.startswith("on") for name in found):
            self.inline.append(tag)
        if tag == "script" and "src" not in found and found.get("type") != "application/ld+json":
            self.inline.append(tag)
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]


def pages(files: dict[str, bytes]) -> dict[str, Page]:
    return {
        path: Page(content.decode())
        for path, content in files.items()
        if path.startswith(PAGES) and path.endswith(".html")
    }


def test_links_and_anchors_resolve(files: dict[str, bytes]) -> None:
    read = pages(files)
    missing = []
    for path, page in read.items():
        for link in page.links:
            if link.startswith(("https://", "data:")):
                continue
            address, anchor = urldefrag(link.partition("?")[0] if "?" in link else link)
            target = normpath(join(path.rpartition("/")[0], unquote(address))) if address else path
            if target.startswith((*OTHER_PARTS, "certificates/")):
                continue
            if target not in files or (anchor and "=" not in anchor and unquote(anchor) not in read[target].ids):
                missing.append((path, link))
    assert missing == []


def test_no_id_occurs_twice(files: dict[str, bytes]) -> None:
    for path, page in pages(files).items():
        assert [each for each, count in Counter(page.ids).items() if count > 1] == [], path


def test_figures_are_well_formed(files: dict[str, bytes]) -> None:
    found = [each for path in pages(files) for each in re.findall(r"<svg.*?</svg>", files[path].decode(), re.DOTALL)]
    made = [ElementTree.fromstring(each) for each in found if 'role="img"' in each]  # noqa: S314 (our own)
    assert len(made) == len(NAMES) + 2  # a page has one, and the derivation of gpt2 has two


def test_pages_load_only_files_of_the_site(files: dict[str, bytes]) -> None:
    for path, page in pages(files).items():
        assert page.inline == [], path
        assert "'unsafe" not in page.policy
        assert page.policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")


def test_pages_are_small(files: dict[str, bytes]) -> None:
    assert {path for path, content in files.items() if path.endswith(".html") and len(content) > LARGEST} == set()


# Published and checked with torch: GPT-2 and GPT-2 XL in tests/models/gpt2.py, Llama 3 8B on its model card.
TOTALS = {"gpt2": 124_439_808, "gpt2-xl": 1_557_611_200, "llama-3-8b": 8_030_261_248}


def test_pages_state_the_published_numbers(models: list[ModelFiles], files: dict[str, bytes]) -> None:
    for name, total in TOTALS.items():
        assert f'class="big">{total:,}<' in files[f"models/{name}.html"].decode()
        assert json.loads(files[f"models/{name}.json"])["params"] == total
        assert {each.entry.name: each.entry.params for each in models}[name] == total


def test_costs_of_gpt2_are_those_of_hand_arithmetic() -> None:
    (target,) = chosen_targets(("gpt2",))
    found = cost_table(target.model())
    amounts = {row.cost.key: row.amounts for row in found.rows}
    assert found.lengths == (1_024,)  # its learned positions
    # 12 layers of 24 E² + 4 S E, and the LM head with 2 V E, for each token
    assert amounts["forward"] == (12 * (24 * 768**2 + 4 * 1_024 * 768) + 2 * 50_257 * 768,)
    assert amounts["cache"] == (2 * 12 * 768 * 1_024 * 2,)
    assert amounts["weights"] == (2 * 124_439_808,)


def test_an_encoder_states_why_it_has_no_cache() -> None:
    (target,) = chosen_targets(("bert",))
    (why,) = [why for why, titles in cost_table(target.model()).refused.items() if "KV cache" in " ".join(titles)]
    assert "not causal" in why


def test_a_class_of_the_catalogue_has_training_memory_without_activations() -> None:
    (target,) = chosen_targets(("hf:rwkv",))
    (states,) = [row.amounts for row in cost_table(target.model()).rows if row.cost.key == "states"]
    # 16 bytes for each parameter, and a counter of 4 bytes for each tensor: 18 in each of 32 layers, and 6 others
    assert states == (16 * 7_392_649_216 + 4 * (18 * 32 + 6),)


def test_costs_without_a_length_are_those_of_one_input() -> None:
    (target,) = chosen_targets(("vit",))
    found = cost_table(target.model())
    assert found.lengths == ()
    assert "Forward FLOPs" in {row.title for row in found.rows}


def test_texts_are_escaped() -> None:
    title = '<b>"&'
    heading, paragraph = Heading(1, [title]), Paragraph([title, Code("</code><script>")])
    body = str(BODY.body([heading, paragraph]))
    assert "<b>" not in body
    assert "<script" not in body
    page = site_page("compare.html.jinja", "a/b.html", metadata=Metadata(title, title, {"name": "</script><b>"}))
    text = page.content.decode()
    assert "<b>" not in text
    assert text.count("</script>") == 2  # of the data and of the page's own script


def test_a_title_of_a_component_is_escaped_in_the_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architectures.architecture_class("gpt2"), "title", "<b>GPT</b>")
    (target,) = chosen_targets(("gpt2",))
    text = "".join(
        file.content.decode() for file in model_files(target, OPTIONS).files if file.path.endswith("models/gpt2.html")
    )
    assert "<b>GPT" not in text
    assert "&lt;b&gt;GPT" in text


def test_every_model_has_a_file_name_of_its_own() -> None:
    slugs = Counter(target.slug.lower() for target in atlas_targets())
    assert [slug for slug, count in slugs.items() if count > 1] == []
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", slug) for slug in slugs)


def test_every_architecture_preset_and_class_has_a_page() -> None:
    kinds = Counter(target.kind for target in atlas_targets())
    assert kinds["architecture"] == len(architectures.names())
    assert kinds["architecture"] + kinds["preset"] == len({*architectures.names(), *architectures.presets()})
    assert kinds["class"] > 400


def test_an_unknown_model_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"gtp2.*did you mean gpt2"):
        next(atlas(SiteOptions(targets=("gtp2",))))


def test_every_model_is_reachable_without_scripts(files: dict[str, bytes], models: list[ModelFiles]) -> None:
    read = pages(files)
    reached, waiting = set[str](), ["index.html"]
    while waiting:
        path = waiting.pop()
        if path in read and path not in reached:
            reached.add(path)
            links = [urldefrag(link)[0] for link in read[path].links if not link.startswith("https://")]
            waiting += [normpath(join(path.rpartition("/")[0], link)) for link in links if link]
    assert {each.entry.path for each in models} <= reached
    assert '<form id="search" class="search" role="search" hidden>' in files["index.html"].decode()


def test_the_index_lists_architectures_and_the_lists_all_models(files: dict[str, bytes]) -> None:
    index = files["index.html"].decode()
    assert re.findall('href="(models/[^"]*)"', index) == ["models/gpt2.html", "models/gpt2.html#relatives"]
    assert ">1 preset</a>" in index
    lists = {path for path in files if path.startswith("list/")}
    assert lists == {"list/a.html", "list/g.html", "list/l.html"}
    assert re.findall('href="../models/([^"#]*).html"', files["list/g.html"].decode()) == ["gpt2", "gpt2-xl"]


def test_the_data_of_the_index_are_the_facts_of_its_rows(files: dict[str, bytes], models: list[ModelFiles]) -> None:
    data = json.loads(files["models.json"])
    assert data["row"] == [*ROW]
    read = [dict(zip(data["row"], row, strict=True)) for row in data["models"]]
    for row in read:
        row["kind"], row["family"] = data["kinds"][row["kind"]], data["families"][row["family"]]
        row["mechanisms"] = [data["mechanisms"][each] for each in row["mechanisms"]]
    assert [row["name"] for row in read] == ["gpt2", "gpt2-xl", "llama-3-8b", "hf:afmoe"]
    entries = {each.entry.name: each.entry for each in models}
    for row in read:
        facts = entries[row["name"]].to_json()
        del facts["path"]  # the script makes it from the name
        assert {name: fact for name, fact in row.items() if fact not in (None, [])} == facts


def test_the_page_of_a_mechanism_lists_its_models(files: dict[str, bytes]) -> None:
    page = files["mechanisms/rotary-positions.html"].decode()
    assert 'Llama: <a href="../models/llama-3-8b.html">llama-3-8b</a>' in page
    assert '<a href="../models/hf-afmoe.html">hf:afmoe</a>' in page
    assert "gpt2" not in page
    unknown = files["mechanisms/learned-positions.html"].decode()
    assert "The catalogue does not state whether the other 1 class has it." in unknown


def test_a_class_says_that_its_other_mechanisms_are_not_stated(files: dict[str, bytes]) -> None:
    assert '<li class="rest">others not stated</li>' in files["models/hf-afmoe.html"].decode()
    assert "not stated" not in files["models/gpt2.html"].decode()


def test_pages_of_models_that_are_not_built_have_no_link(files: dict[str, bytes]) -> None:
    assert "gpt2-medium" in files["models/gpt2.html"].decode()
    assert 'href="gpt2-medium.html"' not in files["models/gpt2.html"].decode()


def test_counts_are_short() -> None:
    assert [short_count(each) for each in (999, 1_000_000, 7_248_023_552, 1_000_000_000_000)] == [
        "999",
        "1M",
        "7.2B",
        "1T",
    ]


def test_metadata_needs_the_address_of_the_site() -> None:
    (target,) = chosen_targets(("gpt2",))
    made = {file.path: file.content for file in model_files(target, replace(OPTIONS, base_url="https://a.org/b")).files}
    page = made["models/gpt2.html"].decode()
    assert '<link rel="canonical" href="https://a.org/b/models/gpt2.html">' in page
    assert '<meta property="og:image" content="https://a.org/b/pictures/gpt2.png">' in page
    assert made["pictures/gpt2.png"].startswith(b"\x89PNG")
    assert made["pictures/gpt2.png"][16:24] == (1200).to_bytes(4, "big") + (630).to_bytes(4, "big")
    rows = sitemap([*made, "index.html"], "https://a.org/b/").content.decode()
    assert re.findall("<loc>(.*?)</loc>", rows) == [
        "https://a.org/b/models/gpt2.html", "https://a.org/b/derivations/gpt2.html", "https://a.org/b/",
    ]  # fmt: skip


SOURCE = """# Numbers of <b>

See [gpt2](gpt2.md), [llama](llama.md), [the index](README.md#a) and [the alphabet](alphabet.md#sizes).

| Name | Formula |
| --- | ---: |
| a_b | $`2 L E + 4{,}096`$ |

## Same

## Same

```math
\\begin{aligned}
N &= a \\\\
&\\quad + b
\\end{aligned}
```
"""


def test_reference_pages_are_converted_from_markdown() -> None:
    page = reference_page("corrections", SOURCE, SiteOptions(), {"models/gpt2.html"})
    text = page.content.decode()
    assert page.path == "reference/corrections.html"
    assert "<b>" not in text
    assert '<a href="../models/gpt2.html">gpt2</a>, llama, <a href="../index.html">the index</a>' in text
    assert '<a href="alphabet.html#sizes">' in text
    assert [each for each in Page(text).ids if each.startswith("same")] == ["same", "same-1"]
    assert "<mn>4,096</mn>" in text
    assert text.count("<math displaystyle") == 2


def test_a_long_reference_page_is_an_index_and_a_page_for_each_section() -> None:
    source = SOURCE.replace("## Same\n\n## Same", "See [the first](#first).\n\n## First\n\nText.\n\n## Second")
    made = {each.path: each.content.decode() for each in divided_pages("corrections", source, SiteOptions(), set())}
    index, first, second = (f"reference/corrections{name}.html" for name in ("", "-first", "-second"))
    assert [*made] == [index, first, second]
    assert '<li id="first"><a href="corrections-first.html">First</a></li>' in made[index]
    assert 'See <a href="corrections-first.html">the first</a>.' in made[index]
    assert "displaystyle" not in made[index] + made[first]
    assert made[second].count("<math displaystyle") == 2
    assert '<a href="corrections.html">Numbers of &lt;b&gt;</a> / <span>Second</span>' in made[second]
    assert '<a rel="prev" href="corrections-first.html">Previous: First</a>' in made[second]
    assert "<h2" not in made[first] + made[second]


def test_what_a_process_needs_for_a_model_can_be_pickled() -> None:
    """The options of the command line have the commands, which the playground offers as forms."""
    options = SiteOptions(base_url="https://example.org/", commands={"show": cli.commands["show"]})
    targets = chosen_targets(("gpt2", "hf:bert-generation"))
    work = pickle.loads(pickle.dumps(pieces_of_work(targets, options)))  # noqa: S301 (our own bytes)
    assert [(target.name, given.base_url) for target, given in work] == [
        ("gpt2", "https://example.org/"),
        ("hf:bert-generation", "https://example.org/"),
    ]
