"""Base classes of architectures, so that the file of an architecture contains only its differences.

:class:`~.stacked.Stacked` is any tower: the embedding (``embed``), the further inputs of every layer (``context``), the
layers (``layer``, or ``stacks`` of several kinds), the final norm, and the output (``finish``).
:class:`~.decoder.Decoder` is a tower with a language-model head, and :class:`~.decoder.HubDecoder` has the head of
transformers' classes. :class:`~.llama_like.LlamaLike` is a decoder with rotary attention and pre-norm layers, with
Llama's names, as in most models; :mod:`~.biased`, :mod:`~.sparse`, :mod:`~.windowed`, :mod:`~.local_global`,
:mod:`~.sandwich`, :mod:`~.res_post_norm` and :mod:`~.multiplied` each change one part of it and can be combined.
:class:`~.gpt_like.GPTLike` has layer norms and heads of width E/A. An encoder is a Stacked with its own ``finish``;
:class:`~.encoder_decoder.EncoderDecoder` has two towers, of which the second attends to the first.
:class:`~.multimodal.Multimodal` adds a vision tower and a projector to the language model that a subclass also inherits
from, whose config fields are then those of a section: ``class LLaVA(ClipVision, Llama)``.

A base defines the common parts of a family, its options with their config fields, and in ``config`` the fields without
effect. A subclass adds to these. It changes a part by overriding the property of that name, starting from the common
part:

    norm = RMSNorm(offset=True)
    tied: bool = option(BoolField("tie_word_embeddings", True))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=True)
"""
