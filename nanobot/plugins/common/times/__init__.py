"""Times as people say them: zones, hours of a day, and when a periodic task looks again."""
