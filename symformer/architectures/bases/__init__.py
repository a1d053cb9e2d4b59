"""What whole models share, so that an architecture's file says only how it differs.

:class:`~.stacked.Stacked` is any tower: what goes in (``embed``), what every layer reads beside its input
(``context``), its layers (``layer``, or ``stacks`` of several), the last norm, and what comes out (``finish``).
:class:`~.decoder.Decoder` is one with a language-model head, and :class:`~.llama_like.LlamaLike` a decoder with rotary
attention and pre-norm layers by Llama's names, as most are. An encoder is a Stacked with a ``finish`` of its own.
:class:`~.encoder_decoder.EncoderDecoder` is two towers, of which the second attends to the first.
:mod:`~.hub` has what the configs and classes of transformers share, for every family.

A subclass hands in parts as objects: it overrides the property of that name, and starts from the part that is shared.

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, window=C_win)
"""
