"""Keeps triggers running: one that fails is named and started again, and takes nobody with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from loguru import logger

from nanobot.boundary import boundary
from nanobot.ports import Clock
from nanobot.triggers.base import Publisher, Trigger

_FIRST_PAUSE = 1.0
_LAST_PAUSE = 300.0
_STEADY_SECONDS = 600.0
"""One that ran so long before it failed begins with the first pause again."""


async def supervise(triggers: Mapping[str, tuple[Trigger, Publisher]], clock: Clock) -> None:
    """Run them, by name, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        for name, (trigger, publisher) in triggers.items():
            tasks.create_task(_keep(name, trigger, publisher, clock), name=f"trigger {name}")


async def _keep(name: str, trigger: Trigger, publisher: Publisher, clock: Clock) -> None:
    pause = _FIRST_PAUSE
    while True:
        began = clock.monotonic()
        with boundary(f"trigger {name}") as caught:
            await trigger.run(publisher)
        if caught.error is None:
            logger.info("trigger {} has ended by itself", name)
            return
        if clock.monotonic() - began >= _STEADY_SECONDS:
            pause = _FIRST_PAUSE
        logger.warning("trigger {} is started again in {:g} s", name, pause)
        await clock.sleep(pause)
        pause = min(pause * 2, _LAST_PAUSE)
