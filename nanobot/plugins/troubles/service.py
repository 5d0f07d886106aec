"""Trouble reports of a process that serves."""

from __future__ import annotations

from nanobot.bus.core import Bus
from nanobot.plugins.troubles.reports import TroubleReports
from nanobot.plugins.troubles.store import SqlOwnerNotices
from nanobot.ports import Clock
from nanobot.seam.works import Works
from nanobot.store.opening import Store


def start(store: Store, bus: Bus, clock: Clock, works: Works) -> None:
    """Tell owners of this process's troubles from now on."""
    notices = SqlOwnerNotices(store.database, store.writer)
    works.add("trouble reports", TroubleReports(notices, bus, clock).run)
