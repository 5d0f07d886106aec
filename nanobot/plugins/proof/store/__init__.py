"""Reads logs to prove that no one changed them."""
