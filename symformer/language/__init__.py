"""The language: letters, arithmetic, shapes, sizes and their conditions, notation, and what an error says."""
