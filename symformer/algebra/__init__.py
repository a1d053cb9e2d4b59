"""Algebra with formulas: comparisons, solutions, sweeps, sensitivities and checks."""
