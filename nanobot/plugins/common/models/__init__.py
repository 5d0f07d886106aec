"""Calls of models beside the loop of a run, and what is known of models."""
