"""Memories over SQL, and how much of each session is remembered."""
