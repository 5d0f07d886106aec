"""Search in conversations."""
