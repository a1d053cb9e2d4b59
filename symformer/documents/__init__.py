"""Documents: a derivation as neutral blocks, and the languages that print them."""
