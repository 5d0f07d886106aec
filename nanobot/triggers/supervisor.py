"""Keeps triggers running: a trigger that fails is logged and restarted; the others continue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from loguru import logger

from nanobot.ports import Clock
from nanobot.supervision import side_by_side
from nanobot.triggers.base import Publisher, Trigger


async def supervise(triggers: Mapping[str, tuple[Trigger, Publisher]], clock: Clock) -> None:
    """Run the triggers, by name, until cancelled."""
    works = {
        f"trigger {name}": partial(_ending, name, trigger, publisher)
        for name, (trigger, publisher) in triggers.items()
    }
    await side_by_side(works, clock)


async def _ending(name: str, trigger: Trigger, publisher: Publisher) -> None:
    await trigger.run(publisher)
    logger.info("trigger {} has ended", name)
