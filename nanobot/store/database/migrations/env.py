"""Alembic's entry: runs the revisions on the connection it is handed."""

from __future__ import annotations

from alembic import context

from nanobot.store.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata(),
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
