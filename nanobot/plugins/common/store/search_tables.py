"""Tables for finding conversations: their words, and the marks that people set."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata

_FTS = (
    "CREATE VIRTUAL TABLE log_words_fts USING fts5(terms, content='log_words', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 0 categories ''L* N* Co M*''')",
    "CREATE TRIGGER log_words_added AFTER INSERT ON log_words BEGIN "
    "INSERT INTO log_words_fts (rowid, terms) VALUES (new.id, new.terms); END",
    "CREATE TRIGGER log_words_removed AFTER DELETE ON log_words BEGIN "
    "INSERT INTO log_words_fts (log_words_fts, rowid, terms) "
    "VALUES ('delete', old.id, old.terms); END",
    # Merged in small steps by the writer, see full_text.
    "INSERT INTO log_words_fts (log_words_fts, rank) VALUES ('automerge', 0)",
    "INSERT INTO log_words_fts (log_words_fts, rank) VALUES ('crisismerge', 500)",
)
_TSV = (
    "CREATE INDEX log_words_terms ON log_words USING gin (to_tsvector('simple'::regconfig, terms))"
)

# The words of entries that hold text of a conversation; a long entry has several rows. Ids grow
# with the time of the entry, so the newest is found first without sorting.
log_words = sa.Table(
    "log_words",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("seq", Id, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Index("log_words_of_entry", "session_key", "seq"),
    info={"large": True},
)

# Up to which entry a session's log is indexed in the table above.
indexed_logs = sa.Table(
    "indexed_logs",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("last", Id, nullable=False),
    sqlite_with_rowid=False,
    info={"large": True},
)

# What people, and the model that titles conversations, have set; most sessions have no row.
# `title_by`: person or model, "" for the first sentence. `title_upto`: the model's title covers the
# entries up to this one. `archived_at`: the value of `updated_at` when a person archived the
# session, so any new activity brings it back.
session_marks = sa.Table(
    "session_marks",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("title_by", sa.Text, nullable=False, server_default=""),
    sa.Column("title_upto", Id, nullable=False, server_default="0"),
    sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("archived_at", sa.Double),
    sqlite_with_rowid=False,
    info={"large": True},
)


def _also(dialect: str, sql: str, event: str = "after_create") -> None:
    ddl = sa.DDL(sql).execute_if(dialect=dialect)  # type: ignore[no-untyped-call]
    sa.event.listen(log_words, event, ddl)


for _sql in _FTS:
    _also("sqlite", _sql)
_also("sqlite", "DROP TABLE IF EXISTS log_words_fts", "before_drop")
_also("postgresql", _TSV)
