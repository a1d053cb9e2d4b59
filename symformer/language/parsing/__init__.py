"""Parser for published formulas in LaTeX, Python or plain text, with a small grammar of its own."""
