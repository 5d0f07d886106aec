"""Keeps triggers running: one that fails is named in the log and started again; others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from loguru import logger

from nanobot.boundary import boundary
from nanobot.ports import Clock
from nanobot.system import Backoff
from nanobot.triggers.base import Publisher, Trigger

_RESTARTS = Backoff(first=1.0, longest=300.0)
_STEADY_SECONDS = 600.0
"""One that ran so long before it failed begins with the first pause again."""


async def supervise(triggers: Mapping[str, tuple[Trigger, Publisher]], clock: Clock) -> None:
    """Run them, by name, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        for name, (trigger, publisher) in triggers.items():
            tasks.create_task(_keep(name, trigger, publisher, clock), name=f"trigger {name}")


async def _keep(name: str, trigger: Trigger, publisher: Publisher, clock: Clock) -> None:
    failures = 0
    while True:
        began = clock.monotonic()
        with boundary(f"trigger {name}") as caught:
            await trigger.run(publisher)
        if caught.error is None:
            logger.info("trigger {} has ended by itself", name)
            return
        if clock.monotonic() - began >= _STEADY_SECONDS:
            failures = 0
        failures += 1
        pause = _RESTARTS.delay(failures)
        logger.warning("trigger {} is started again in {:g} s", name, pause)
        await clock.sleep(pause)
