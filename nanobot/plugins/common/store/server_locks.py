"""The locks of a PostgreSQL server."""

from __future__ import annotations

# They are per database, but a store occupies only one schema of it.
_PLACE = "CASE current_schema() WHEN 'public' THEN '' ELSE current_schema() || ':' END || :n"
LOCK = f"hashtext({_PLACE})"
"""The number of the lock with the name `n`."""
