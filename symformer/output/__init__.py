"""Output: files, written completely or not at all, and plots as objects."""
