"""Rows of a trace, read as operations."""

from .observations import Sight, Sights, Trained, star
from .recognizer import Reader

__all__ = ["Reader", "Sight", "Sights", "Trained", "star"]
