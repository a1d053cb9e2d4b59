"""Recognition of the rows of a trace as operations."""

from .observations import Sight, Sights, Trained, star
from .recognizer import Reader

__all__ = ["Reader", "Sight", "Sights", "Trained", "star"]
