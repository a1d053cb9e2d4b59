"""Views: formulas, conventions, citations and provenance of a model, as text and as data."""
