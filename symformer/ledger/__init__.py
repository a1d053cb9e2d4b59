"""The ledger: facts, the operations that write them, and their placement on ranks."""
