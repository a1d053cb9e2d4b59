"""Ways in which people count a model: what is left out, counted twice, counted in another unit or at another size."""
