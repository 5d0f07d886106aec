"""The tables of memory, and the full-text index of memories in each database's own SQL."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.session.lasting import Provenance
from nanobot.store.database.tables import Id, metadata, next_id, words

# The full text of memories. The database keeps it in sync with triggers. A memory's text never
# changes.
_FTS = (
    "CREATE VIRTUAL TABLE memories_fts USING fts5(terms, content='memories', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 0 categories ''L* N* Co M*''')",
    "CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN "
    "INSERT INTO memories_fts (rowid, terms) VALUES (new.id, new.terms); END",
    "CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN "
    "INSERT INTO memories_fts (memories_fts, rowid, terms) VALUES ('delete', old.id, old.terms); "
    "END",
    # Writers merge it in small steps, see memory_words: left alone, FTS5 merges rarely and much at
    # a time. It would do so only if 500 writes went without a step.
    "INSERT INTO memories_fts (memories_fts, rank) VALUES ('automerge', 0)",
    "INSERT INTO memories_fts (memories_fts, rank) VALUES ('crisismerge', 500)",
)
_TSV = "CREATE INDEX memories_terms ON memories USING gin (to_tsvector('simple'::regconfig, terms))"

# What is remembered across conversations. Active memories follow the files of the workspace.
# `terms` are the words that find a memory; the full-text index above contains them.
memories = sa.Table(
    "memories",
    metadata,
    next_id("memories", once=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column(
        "state",
        sa.Text,
        nullable=False,
        info=words("proposed", "active", "retracted", "forgotten"),
    ),
    sa.Column("kind", sa.Text, nullable=False, info=words("fact", "note", "summary")),
    sa.Column(
        "provenance",
        sa.LargeBinary,
        nullable=False,
        info={"decode": msgspec.json.Decoder(Provenance).decode},
    ),
    sa.Column("file", sa.Text, nullable=False, server_default=""),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("model", sa.Text),
    sa.UniqueConstraint("scope", "digest", name="memories_once"),
    sa.Index("memories_of_scope", "scope", "state", "id"),
    sa.Index("memories_in_file", "scope", "state", "file"),
    sa.Index("memories_in_state", "state", "id"),
    sa.Index("memories_of_model", "state", "model"),
    # An id that a person has seen must never be reused for another memory.
    sqlite_autoincrement=True,
    info={"large": True},
)

# Their vectors, made by `memories.model`. `seq` grows with each vector that a scope gets. They have
# a table of their own, because a row with its vector fills half a page, and a search by words reads
# many rows.
memory_vectors = sa.Table(
    "memory_vectors",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("seq", Id, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Index("memory_vectors_of_scope", "scope", "seq"),
    info={"large": True},
)


def _also(dialect: str, sql: str, event: str = "after_create") -> None:
    sa.event.listen(memories, event, sa.DDL(sql).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


for _sql in _FTS:
    _also("sqlite", _sql)
_also("sqlite", "DROP TABLE IF EXISTS memories_fts", "before_drop")
_also("postgresql", _TSV)
