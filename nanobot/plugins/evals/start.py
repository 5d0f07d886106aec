"""Starts the nightly evaluation of a gateway that has one configured, and loads it only there."""

from __future__ import annotations

from nanobot.app.zones import zone_of_home
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.evals.settings import EvalsSettings
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Models
from nanobot.seam.tables import PluginTables
from nanobot.seam.works import Works
from nanobot.session.journal import Journal
from nanobot.store.opening import Store
from nanobot.system import environment
from nanobot.zones import zone_or_utc


def start(  # noqa: PLR0913 - each is asked for by its type
    settings: EvalsSettings,
    works: Works,
    config: Config,
    store: Store,
    tables: PluginTables,
    models: Models,
    bus: Bus,
    journal: Journal,
    clock: Clock,
    ids: Ids,
) -> None:
    """Evaluate every night at the time set in `evals.nightly`, if it is set."""
    if not settings.nightly:
        return
    from nanobot.plugins.evals.nightly import Nightly  # noqa: PLC0415 - most have none
    from nanobot.plugins.evals.service import Evals  # noqa: PLC0415 - the same

    evals = Evals(config, store, tables, models, journal, clock, ids)
    zone = zone_or_utc(zone_of_home(config.agent, environment()))
    works.add("evals", Nightly(evals, bus, clock, zone).run)
