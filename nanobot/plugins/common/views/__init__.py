"""What people see of sessions, runs, entries and outgoing messages."""
