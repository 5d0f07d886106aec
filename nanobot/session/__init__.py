"""Conversations, and the log from which everything about them is derived."""
