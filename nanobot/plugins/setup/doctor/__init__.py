"""Finds the problems of a home."""
