"""The store in PostgreSQL, which several processes can share."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="postgres",
    summary="The store in PostgreSQL, which several processes can share.",
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.common.store.lease_tables",),
    databases={
        "postgresql": "nanobot.plugins.postgres.store.server:PostgresServer",
        "postgresql+psycopg": "nanobot.plugins.postgres.store.server:PostgresServer",
    },
    sharing="nanobot.plugins.postgres.processes.service:sharing",
    commands="nanobot.plugins.postgres.commands:commands",
)
