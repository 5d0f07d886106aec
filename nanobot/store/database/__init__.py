"""The database: its tables, and how units of work are executed on SQLite and PostgreSQL. The store
decides what to do with the tables.
"""
