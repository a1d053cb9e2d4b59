"""Rows of a trace, read as operations."""

from .lifted import Lifted
from .reader import Reader
from .sights import Sight, Sights, Trained, star

__all__ = ["Lifted", "Reader", "Sight", "Sights", "Trained", "star"]
