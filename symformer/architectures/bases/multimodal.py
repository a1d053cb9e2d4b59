"""Multimodal: a vision tower, a projector, and a language model whose sequences contain the tokens of images."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache, reduce
from typing import ClassVar

from ...components import Component
from ...configs.field_mapping import Fields
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base_architecture import collected_fields
from .decoder import HubDecoder

TEXT, IMAGE = "text_config", "vision_config"
LANGUAGE = "language_model"  # torch's name


class TowerFields:
    """The config fields of a multimodal model: its own, and one section for each tower."""

    def __get__(self, instance: Multimodal | None, owner: type[Multimodal]) -> Fields:
        return _tower_fields(owner)


@cache
def _tower_fields(owner: type[Multimodal]) -> Fields:
    text, own = owner.language.fields.within(TEXT), collected_fields(owner, Multimodal)
    types = Fields(fixed={f"{TEXT}.model_type": owner.language.fields.model_types})
    return reduce(lambda base, more: more.combined_with(base), (text, types, own))


@dataclass(frozen=True, kw_only=True)
class Multimodal(HubDecoder):
    """A vision tower, a projector, and a language model, which a subclass inherits from.

    The tokens of B_vis images are among the S tokens of the sequences. A subclass sets ``language``, the class it
    inherits the language model from, adds the conditions of the vision tower to ``constraints``, and defines ``vision``
    and ``projector``.
    """

    shapes = "pixels[B_vis,N_chan,Z,Z], tokens[B,S] -> output"
    heads = {"ForConditionalGeneration": {"head": "lm"}, "Model": {"head": "none"}}
    config = Fields(
        language=TEXT,
        inert=(
            *("image_token_index", "image_token_id", "image_seq_length", "ignore_index"),  # token ids
            "vocab_size",  # older releases; the language model has its own
        ),
    )
    fields = TowerFields()

    language: ClassVar[type[HubDecoder]]

    @property
    @abstractmethod
    def vision(self) -> Component:
        """Return the vision tower: pixels[B_vis,N_chan,Z,Z] to features of the positions of each image."""

    @property
    @abstractmethod
    def projector(self) -> Component:
        """Return the projector: features of each image to tokens of the language model."""

    def forward(self, ops: Operations, pixels: Tensor, tokens: Tensor) -> Tensor:  # type: ignore[override]
        with ops.encoder():
            images = ops.call("multi_modal_projector", self.projector, ops.call("vision_tower", self.vision, pixels))
        return ops.call("", LanguageTower(whole=self), tokens, images)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        head = self.lm_head
        if head is None:
            return x
        return ops.call(self.names.head, head, x, ops.weight(f"{LANGUAGE}.{self.names.table}.weight"))


@dataclass(frozen=True, kw_only=True)
class LanguageModel(Component):
    """A language model without its head, in whose sequence the tokens of images replace placeholders."""

    title = "Language model"
    role = "tower"
    shapes = "tokens[B,S], images[B_vis,S_enc,E] -> x[B,S,E]"
    further_inputs = {"images": "are the tokens of the images"}

    whole: Multimodal

    @property
    def about(self) -> str:
        """Return the description of the language model."""
        said = " ".join((self.whole.language.__doc__ or "").split("\n\n")[0].split())
        return f"{said} The tokens of the images replace placeholders among the S tokens."

    def forward(self, ops: Operations, tokens: Tensor, images: Tensor) -> Tensor:
        x = ops.scatter("image_tokens", self.whole.embed(ops, tokens), images)
        return self.whole.run_layers(ops, x, tokens)


@dataclass(frozen=True, kw_only=True)
class LanguageTower(Component):
    """The language model and its head."""

    title = "Language model and head"
    role = "tower"
    tower = "language"
    shapes = "tokens[B,S], images[B_vis,S_enc,E] -> output"
    further_inputs = {"images": "are the tokens of the images"}

    whole: Multimodal

    @property
    def name(self) -> str:
        return self.tower

    def forward(self, ops: Operations, tokens: Tensor, images: Tensor) -> Tensor:
        return self.whole.finish(ops, ops.call(LANGUAGE, LanguageModel(whole=self.whole), tokens, images))
