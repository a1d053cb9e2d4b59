"""Build the document of every target, quantity and form, whose symbols each must have one meaning.

Run from the top level: ``python -m tests.every_document``. It takes about 45 minutes of a core, and uses all cores.
"""

from __future__ import annotations

import sys
from multiprocessing import get_context

from symformer.language.errors import DocumentError

from .test_every_target_and_quantity import groups
from .test_symbol_table import documents_of


def check(target: str) -> tuple[str, int, str]:
    """Return a target, the number of its documents, and the error of one of them, or ""."""
    try:
        return target, documents_of(target), ""
    except DocumentError as error:
        return target, 0, str(error)


def main() -> int:
    """Print the targets with an error, and return the exit status."""
    failed = total = 0
    with get_context("spawn").Pool() as pool:
        for target, built, error in pool.imap_unordered(check, [group[-1] for group in groups()]):
            total += built
            if error or not built:
                failed += 1
                sys.stdout.write(f"{target}: {error or 'no document'}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{total} documents, {failed} targets with an error\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
