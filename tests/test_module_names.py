"""Documents and figures name modules and parameters of the torch class, and no other operations, in monospace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import symformer as sf
from symformer.documents.derivation_document import document
from symformer.documents.figures.figure import Box, Frame, Graph
from symformer.documents.figures.figure_builder import FigureBuilder
from symformer.output.blocks import Paragraph, plain
from symformer.views.figure_facts import figure_facts


def paragraphs(target: str, quantity: str = "params") -> list[str]:
    """Return the paragraphs of a derivation as text."""
    return [
        plain(block.line)
        for block in document(sf.model(target), [quantity], "1").blocks
        if isinstance(block, Paragraph)
    ]


def boxes(graph: Graph) -> Iterator[Box]:
    """Yield the boxes of a graph, also inside frames."""
    for node in graph.nodes:
        if isinstance(node, Frame):
            yield from boxes(node.graph)
        elif isinstance(node, Box):
            yield node


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("gpt-oss-20b", "The module rotary_emb contributes nothing."),  # its experts have no act_fn
        ("nemotron-h-8b", "The modules layers.*.mixer.act and layers.*.mixer.act_fn contribute nothing."),
    ],
)
def test_modules_without_parameters_are_listed(target: str, sentence: str) -> None:
    assert [each for each in paragraphs(target) if "nothing" in each] == [sentence]


def test_parameters_without_flops_are_not_called_modules() -> None:
    """ViT adds its class token and its positions, which takes no product of matrices."""
    (said,) = (each for each in paragraphs("vit-base-patch16-224", "flops") if "nothing" in each)
    modules, parameters = said.split(" The parameters ")
    assert parameters == "embeddings.cls_token and embeddings.position_embeddings contribute nothing."
    assert "cls_token" not in modules


def test_a_parameter_that_a_product_reads_contributes() -> None:
    said = " ".join(each for each in paragraphs("siglip", "flops") if "nothing" in each)
    assert "logit_bias" in said
    assert "in_proj" not in said


def test_totals_of_modules_of_a_layer_are_explained_once() -> None:
    """Whisper's layers have modules fc1 and fc2, and no module mlp; GPT-2 has one."""
    said = [each for each in paragraphs("whisper-tiny") if "fc1 and fc2" in each]
    named = (
        "Here, N[encoder.mlp] is the total of fc1 and fc2 in a layer of encoder.layers; N[decoder.mlp] is their total"
    )
    assert said == [f"{named} in a layer of decoder.layers."]
    assert not [each for each in paragraphs("gpt2") if each.startswith("Here, N[") and "c_fc and" in each]


def test_the_rows_of_in_proj_are_explained() -> None:
    said = [each for each in paragraphs("siglip") if "in_proj_weight consists" in each]
    rows = [f"{letter}_in_proj,{row}" for letter in "Wb" for row in "qkv"]
    assert len(said) == 1
    assert all(each in said[0] for each in rows)
    assert not [each for each in paragraphs("llama") if "consists of the rows" in each]


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("gpt-oss", "layers.self_attn"),
        ("gpt-oss", "layers.mlp"),
        ("nemotron-h", "ssm_layers.mixer"),
        ("siglip", "vision_model.head.attention"),
        ("gpt2", "h.attn"),
    ],
)
def test_figures_name_only_modules_and_parameters(target: str, part: str) -> None:
    model = sf.architecture(target)
    builder = FigureBuilder(figure_facts(model, model.params))
    real = {
        entry.path
        for ledger in (model.ledger, model.ledger.apart)
        for _, entry in ledger
        if entry.module or entry.weights
    }
    ends = {path.rpartition(".")[2] for path in real}
    figure = builder.part(part, amounts=False)
    named = [box.name for box in boxes(figure.graph) if box.name]
    assert named
    assert {name.rpartition(".")[2] for name in named} <= ends
    assert not {"scores", "softmax", "mix", "top_k", "combine", "act_fn", "gate", "scan", "product"} & {*named}


def test_the_figure_of_experts_adds_1_to_the_up_projection() -> None:
    """GptOssExperts computes (up + 1) * glu."""
    model = sf.architecture("gpt-oss")
    (experts,) = (
        node
        for node in FigureBuilder(figure_facts(model, model.params)).part("layers.mlp").graph.nodes
        if isinstance(node, Frame)
    )
    labels = [(arrow.target, plain(arrow.label)) for arrow in experts.graph.arrows if "+ 1" in plain(arrow.label)]
    assert [target.rpartition(".")[2] for target, _ in labels] == ["product"]


def test_figures_of_queries_show_where_keys_and_values_come_from() -> None:
    """Torch's MultiheadAttention has one parameter in_proj_weight, whose rows are read by three products."""
    model = sf.architecture("siglip")
    figure = FigureBuilder(figure_facts(model, model.params)).part("vision_model.head.attention", amounts=False)
    titles = {box.key: box.title for box in boxes(figure.graph)}
    assert {"Queries", "Keys", "Values"} <= {*titles.values()}
    ports = [plain(port).partition(" ")[0] for port in figure.graph.ports]
    read = {titles[arrow.target]: ports[arrow.leaves] for arrow in figure.graph.arrows if not arrow.source}
    assert read == {"Queries": "x", "Keys": "m", "Values": "m"}


def test_cosine_similarities_have_their_name() -> None:
    model = sf.architecture("siglip")
    figure = FigureBuilder(figure_facts(model, model.params)).architecture()
    assert "Cosine similarities" in {box.title for box in boxes(figure.graph)}
    (scale,) = (arrow for arrow in figure.graph.arrows if arrow.source.endswith("exp"))
    assert plain(scale.label) == ""  # the view [1, 1] of [1]
