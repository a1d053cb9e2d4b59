"""The language: letters, arithmetic, shapes, sizes and their conditions, notation, and errors."""
