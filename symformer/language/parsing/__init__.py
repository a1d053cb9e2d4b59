"""Formulas as people print them, read: LaTeX, Python or plain text, by a small grammar of our own."""
