"""Rows that cannot be read: found, put aside so that all others are served, and put back."""
