"""The index of words that memories are found by, in each database's own SQL."""

from __future__ import annotations

# The full text of memories, kept in step by the database itself. A memory's text never changes.
MEMORIES_FTS = (
    "CREATE VIRTUAL TABLE memories_fts USING fts5(terms, content='memories', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 0 categories ''L* N* Co M*''')",
    "CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN "
    "INSERT INTO memories_fts (rowid, terms) VALUES (new.id, new.terms); END",
    "CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN "
    "INSERT INTO memories_fts (memories_fts, rowid, terms) VALUES ('delete', old.id, old.terms); "
    "END",
)
MEMORIES_TSV = (
    "CREATE INDEX memories_terms ON memories USING gin (to_tsvector('simple'::regconfig, terms))"
)
