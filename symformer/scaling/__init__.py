"""Scaling laws, and the models that use a budget of training FLOPs best."""
