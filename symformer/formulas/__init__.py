"""Formulas: the account of a ledger, its sum, and the derivation of that sum."""
