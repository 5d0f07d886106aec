"""The index of conversations in the store: its rows, how they are made, and the search."""
