"""Runs: how plugins and programs start them, and what is known of one that ran."""
