"""Alternative counts of a model: with parts omitted or counted twice, in another unit, or at another size."""
