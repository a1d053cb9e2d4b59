"""Short names of paths: their last words, if necessary after one of the words before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def path_names(words: Sequence[str], below: Sequence[str], least: int = 1) -> Iterator[tuple[int, str, bool]]:
    """Yield the names of a path from the shortest, each with its number of words; some of them several times.

    Parameters
    ----------
    words
        The words of the path.
    below
        The same words without those that every path in a list of layers has, such as ``layers``.
    least
        The smallest number of words.

    Yields
    ------
    int
        The number of words.
    str
        The name.
    bool
        Whether the name is the end of the path, without words left out.

    Examples
    --------
    >>> names = path_names(["encoder", "layers", "fc1"], ["encoder", "fc1"])
    >>> list(dict.fromkeys(name for _, name, _ in names))
    ['fc1', 'layers.fc1', 'encoder.fc1', 'encoder.layers.fc1']

    """
    for length in range(least, len(words) + 1):
        if not words[-length].isdigit():  # such as the number of a sublayer
            yield length, ".".join(words[-length:]), True
        for each in (below, words) if length > least else ():
            ahead, tail = each[: 1 - length], each[1 - length :]
            if not tail[0].isdigit():
                yield from ((length, ".".join((word, *tail)), False) for word in reversed(ahead) if not word.isdigit())
