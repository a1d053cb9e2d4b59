"""``python -m symformer``."""

from .cli import main

main()
