"""Formulas: the account of a ledger, what it adds up to, and how that is derived."""
