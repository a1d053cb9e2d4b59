"""Checkpoints: the headers of files with stored weights, and their comparison with a model. Tensor data is not read."""
