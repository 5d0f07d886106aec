"""Search: the words that it compares, and the list of conversations that it finds."""
