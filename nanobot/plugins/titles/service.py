"""Gives titles while a gateway serves, as configured in `[agent]`."""

from __future__ import annotations

from functools import partial

from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.titles.settings import TitleKeys
from nanobot.plugins.titles.store import SqlTitles
from nanobot.plugins.titles.titling import Titling
from nanobot.providers.base import Models
from nanobot.seam.works import Works
from nanobot.store.opening import Store


def start(config: Config, store: Store, models: Models, bus: Bus, works: Works) -> None:
    """Watch for first answers."""
    if config.of(TitleKeys).titles == "model":
        titles = SqlTitles(store.database, store.writer)
        works.add("titles", partial(Titling(titles, AuxiliaryModels(models)).run, bus))
