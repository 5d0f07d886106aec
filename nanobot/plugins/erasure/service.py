"""Erases and archives while a gateway serves, as configured in `[retention]`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from nanobot.config.loader import Config
from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.erasure.archives import Archives
from nanobot.plugins.erasure.settings import RetentionSettings
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.erasure.store.retention import Retention
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.workspace.blobs import Blobs


def objects(
    settings: RetentionSettings, config: Config, store: Store, blobs: Blobs
) -> Mapping[Any, Any]:
    """The eraser and the archives. Of several processes only one writes to archives; see
    `one_process`."""
    archives = Archives(config.home / Path(settings.archive).expanduser())
    own = None if store.shared else archives
    eraser = SqlEraser(store.database, store.writer, blobs, own)
    return {Eraser: eraser, SqlEraser: eraser, Archives: archives}


class Resuming(AbstractAsyncContextManager[None]):
    """Before a run can begin: remove the rest of the conversations whose removal an earlier process
    began."""

    seconds = 600.0
    """How long runs wait for that; the rest is then removed while they run."""

    def __init__(self, eraser: SqlEraser) -> None:
        self._eraser = eraser

    async def __aenter__(self) -> None:
        await self._eraser.remove_rows()

    async def __aexit__(self, *failure: object) -> None:
        """There is nothing to leave."""


def around_runs(eraser: SqlEraser) -> Resuming:
    """What is entered before the first run begins."""
    return Resuming(eraser)


def every_process(eraser: SqlEraser, works: Works) -> None:
    """Erase what is noted, whichever process notes it."""
    works.add("erasing", eraser.run)


def one_process(
    settings: RetentionSettings,
    store: Store,
    eraser: SqlEraser,
    archives: Archives,
    works: Works,
) -> None:
    """Archive old entries, if configured, and erase from archives."""
    days = settings.entries_days
    retention = Retention(store.database, store.writer, eraser, days, archives)
    works.add("retention", retention.run)
