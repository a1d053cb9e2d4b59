"""Models: a ledger with a name, its numbers, and where these come from."""
