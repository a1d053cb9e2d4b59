"""Entry point of ``python -m symformer``."""

from .commands.cli import main

main()
