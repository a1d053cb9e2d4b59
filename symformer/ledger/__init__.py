"""The ledger: the operations of a model as data, the functions that record them, and their placement on ranks."""
