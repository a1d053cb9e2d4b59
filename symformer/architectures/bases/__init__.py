"""What whole models share, so that an architecture's file says only how it differs.

:class:`~.stacked.Stacked` is any tower: what goes in (``embed``), what every layer reads beside its input
(``context``), its layers (``layer``, or ``stacks`` of several), the last norm, and what comes out (``finish``).
:class:`~.decoder.Decoder` is one with a language-model head, and :class:`~.decoder.HubDecoder` has it as transformers'
classes do. :class:`~.llama_like.LlamaLike` is a decoder with rotary attention and pre-norm layers by Llama's names, as
most are; :mod:`~.biased`, :mod:`~.sparse`, :mod:`~.windowed`, :mod:`~.local_global` and :mod:`~.sandwich` each change
one part of it, and stand beside each other. :class:`~.gpt_like.GPTLike` has layer norms and heads of width E/A.
An encoder is a Stacked with a ``finish`` of its own; :class:`~.encoder_decoder.EncoderDecoder` is two towers, of which
the second attends to the first.

A base says what its family shares: its parts, its options, each with where a config has it, and in ``config`` which
fields change nothing. A subclass adds to that, and hands in parts as objects: it overrides the property of that name,
and starts from the part that is shared.

    norm = RMSNorm(offset=True)
    tied: bool = option(Switch("tie_word_embeddings", True))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=True)
"""
