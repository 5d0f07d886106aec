"""The database itself: its tables, and how work gets to it, on SQLite and PostgreSQL. What is done
with the tables is the store's business."""
