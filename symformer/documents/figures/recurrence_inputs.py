"""The inputs of recurrences, such as a scan or a delta rule, in the order of axes in which their classes pass them.

The ledger puts heads before tokens, as attention does. The classes of transformers and of flash-linear-attention put
them after the tokens, except Mamba, whose scan reads channels first and no heads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...language.shape_lines import Shape
from ...ledger.facts import ATTENDING, CARRYING, ONE, Entry, OperationKind


def heads_follow_tokens(entries: Sequence[Entry]) -> bool:
    """Return True for the operations of a part with a recurrence and no attention."""
    kinds = {entry.kind for entry in entries}
    return bool(kinds.intersection(CARRYING)) and not kinds.intersection(ATTENDING)


def class_shape(entry: Entry, shape: Shape) -> Shape:
    """Return the shape of an input of an operation as its class passes it, in a part where heads follow tokens.

    Parameters
    ----------
    entry
        The operation.
    shape
        The shape in the ledger: [B,A,S,D] for an input with heads.

    """
    axes = tuple(shape)
    stored = bool(axes) and axes[0] == ONE  # a parameter, such as A_log [1,1,A,1]
    if entry.kind is OperationKind.SCAN and entry.inputs[0].width == ONE:  # of Mamba: one channel in each head
        if len(axes) == 4 and not stored:
            batch, heads, length, width = axes
            return (batch, heads if width == ONE else width, length)
        if len(axes) == 3:  # the step sizes
            batch, length, channels = axes
            return (batch, channels, length)
    if len(axes) != 4 or stored:
        return shape
    batch, heads, length, width = axes
    if entry.kind is OperationKind.RECURRENCE:  # reads all channels, and splits them into heads itself
        return (batch, length, heads * width)
    return (batch, length, heads, width)
