"""Rows of a trace, read as operations."""

from .reader import Reader
from .sights import Sight, Sights, Trained, star

__all__ = ["Reader", "Sight", "Sights", "Trained", "star"]
