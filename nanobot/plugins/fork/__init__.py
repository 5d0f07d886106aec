"""Fork: continues a run from any entry of its log, in a session of its own and without effects."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="fork",
    summary="Continue a run from any entry, and compare both.",
    texts=Path(__file__).parent,
    migrations=(
        "CREATE TABLE fork_runs (run_id TEXT PRIMARY KEY, asked TEXT UNIQUE, plan TEXT NOT NULL, "
        "following BIGINT NOT NULL, first BIGINT NOT NULL, done INTEGER NOT NULL)",
        "CREATE INDEX fork_runs_open ON fork_runs (run_id) WHERE done = 0",
    ),
    operations="nanobot.plugins.fork.operations:operations",
    page="nanobot.plugins.fork.view:views",
    stand_in="nanobot.plugins.fork.answering:stand_in",
    start="nanobot.plugins.fork.service:start",
    store_hooks="nanobot.plugins.fork.store.erasing:hook",
)
