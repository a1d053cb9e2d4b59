"""Algebra over formulas: what two models have in common and where they differ."""
