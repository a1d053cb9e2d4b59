"""Small torch modules of symformer's own, for architectures whose public code is not at hand. Each says what it follows."""
