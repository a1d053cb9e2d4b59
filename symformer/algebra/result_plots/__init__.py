"""Plots of the results of the algebra."""
