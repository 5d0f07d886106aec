"""Webhooks: what other services tell by HTTP, checked, worded, and published once."""
