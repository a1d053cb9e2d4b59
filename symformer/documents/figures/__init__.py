"""Figures: what stands in one, where each thing stands, and what draws it."""
