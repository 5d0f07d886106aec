"""Scheduled jobs over SQL: stored, fired by the clock, paused."""
