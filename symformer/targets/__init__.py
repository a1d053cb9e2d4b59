"""Targets: the model that a target names, alone or next to other targets."""
