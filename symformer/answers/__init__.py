"""Answers: what is said of a model that a user names."""
