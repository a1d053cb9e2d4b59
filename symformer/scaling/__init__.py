"""Scaling laws, and the models that use a budget of training FLOPs best.

To add a law, add its constants to ``laws.json`` as the paper prints them, with the equation, what N and the FLOPs
count, the published uncertainty and the range of the fit; its paper to ``papers/papers.json``; and an optimum or a loss
that the paper or its code prints to ``tests/test_scaling.py``. A law of another form is a class, with its line in
``laws.py``.
"""
