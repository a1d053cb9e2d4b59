"""Plots by matplotlib, one kind per file. Every number is the exact value of a formula at integer sizes."""
