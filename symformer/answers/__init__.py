"""Answers: the results and sentences about the models that a user names."""
