"""Answers as pictures: what each draws, exactly, and where it has nothing to draw."""
