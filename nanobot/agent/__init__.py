"""The agent: lanes, runs, and what a run does next."""
