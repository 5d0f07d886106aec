"""Conversations and the log that is their only truth."""
