"""The history of the tables. Expand only: an older program still running must not break."""
