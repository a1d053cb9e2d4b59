"""Models: a component with a name, its sizes, and their provenance."""
