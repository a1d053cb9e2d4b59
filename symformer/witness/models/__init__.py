"""Small torch models for architectures without usable public code. Each states its source."""
