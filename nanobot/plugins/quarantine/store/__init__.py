"""Rows in quarantine, in the store."""
