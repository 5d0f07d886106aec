"""The store in PostgreSQL, and its move from one database to another."""
