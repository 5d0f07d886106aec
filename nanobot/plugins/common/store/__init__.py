"""The part of the shared code that uses SQL."""
