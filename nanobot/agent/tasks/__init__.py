"""Background runs: requests for them, their types, and their storage."""
