"""Entry point of ``python -m symformer``."""

from .commands.cli import main

if __name__ == "__main__":  # worker processes import this file
    main()
