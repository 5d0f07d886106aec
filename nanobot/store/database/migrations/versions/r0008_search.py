"""The words of conversations, and how people have marked them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Only the tables: a gateway fills the index in the background."""
    op.create_table(
        "log_words",
        sa.Column("id", _Id, primary_key=True, autoincrement=False),
        sa.Column("session_key", sa.Text, nullable=False),
        sa.Column("seq", _Id, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
    )
    op.create_index("log_words_of_entry", "log_words", ["session_key", "seq"])
    op.create_table(
        "indexed_logs",
        sa.Column("session_key", sa.Text, primary_key=True),
        sa.Column("last", _Id, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "session_marks",
        sa.Column("session_key", sa.Text, primary_key=True),
        sa.Column("title_by", sa.Text, nullable=False, server_default=""),
        sa.Column("title_upto", _Id, nullable=False, server_default="0"),
        sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("archived_at", sa.Double),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX log_words_terms ON log_words "
            "USING gin (to_tsvector('simple'::regconfig, terms))"
        )
        return
    op.execute(
        "CREATE VIRTUAL TABLE log_words_fts USING fts5(terms, content='log_words', "
        "content_rowid='id', "
        "tokenize='unicode61 remove_diacritics 0 categories ''L* N* Co M*''')"
    )
    op.execute(
        "CREATE TRIGGER log_words_added AFTER INSERT ON log_words BEGIN "
        "INSERT INTO log_words_fts (rowid, terms) VALUES (new.id, new.terms); END"
    )
    op.execute(
        "CREATE TRIGGER log_words_removed AFTER DELETE ON log_words BEGIN "
        "INSERT INTO log_words_fts (log_words_fts, rowid, terms) "
        "VALUES ('delete', old.id, old.terms); END"
    )
    op.execute("INSERT INTO log_words_fts (log_words_fts, rank) VALUES ('automerge', 0)")
    op.execute("INSERT INTO log_words_fts (log_words_fts, rank) VALUES ('crisismerge', 500)")
