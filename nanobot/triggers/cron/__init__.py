"""Scheduled jobs: schedules, actions, and the service that fires them."""
