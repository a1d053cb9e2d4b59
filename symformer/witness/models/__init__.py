"""Small torch modules of symformer's own, for architectures without public code at hand. Each says what it follows."""
