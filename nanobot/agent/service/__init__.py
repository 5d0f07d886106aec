"""Runs for programs: what they ask for, what they get, and what accompanies each run."""
