"""Recognition of the rows of a trace as operations."""

from .observations import Observation, Observations, Trained, star
from .recognizer import Recognizer

__all__ = ["Observation", "Observations", "Recognizer", "Trained", "star"]
