"""Everything of the store that backups, checks and vacuums need."""
