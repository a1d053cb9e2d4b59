"""Configs: a config.json read, and what each of its fields does."""
