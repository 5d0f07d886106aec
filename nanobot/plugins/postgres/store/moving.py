"""Moves a store that is at rest into another database."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.errors import UsageError
from nanobot.plugins.common.store.at_rest import at_rest, where
from nanobot.plugins.common.store.servers import NO_PLUGINS
from nanobot.plugins.postgres.store.transfer import Moved, head_of, move
from nanobot.store.plugin_tables import Revisions


def migrate_to(
    source_url: str, target_url: str, plugins: Mapping[str, Revisions] = NO_PLUGINS
) -> Moved:
    """Copy the store of one URL into an empty database of another, with the tables of these
    plugins. The source is kept."""
    if where(source_url) == where(target_url):
        raise UsageError("--to names the database that is configured already")
    with at_rest(source_url) as source, at_rest(target_url) as target:
        return source.run_now(
            lambda reading: target.run_now(lambda writing: move(reading, writing, head_of, plugins))
        )
