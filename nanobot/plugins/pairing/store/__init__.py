"""The pairings in the store: their rows, their codes, and the questions to owners."""
