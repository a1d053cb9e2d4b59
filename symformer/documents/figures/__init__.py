"""Figures: their contents, their layout and their drawing."""
