"""Rows that cannot be read: found, and put aside so that all others are served."""
