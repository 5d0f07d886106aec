"""Background runs over SQL."""
