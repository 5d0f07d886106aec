"""Scheduled jobs: when they are due, what they do, and the service that fires them."""
