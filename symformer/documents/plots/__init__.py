"""Plots by matplotlib: one kind a file. Every number is a formula's, at whole sizes."""
