"""The lifecycle: runs that the workspace requests when the gateway starts and stops.

`BOOT.md` and `SHUTDOWN.md` are admitted like any message, each in a separate session, as an
owner's. Their answers stay in the log.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal, TypeAlias

from loguru import logger

from nanobot.agent.worker import Worker
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import Address, InboundMessage, Origin, Role, RunOptions, Sender
from nanobot.plugins.common.runs.run_client import RunClient
from nanobot.plugins.common.session_keys import LIFECYCLE
from nanobot.plugins.lifecycle.settings import LifecycleSettings
from nanobot.ports import Clock, Ids
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.workspace.folder import clipped

FILE_LIMIT = 8_000
"""Characters of each file that are read."""

_REQUEST_SECONDS = 10.0

Moment: TypeAlias = Literal["boot", "shutdown"]

_SENDER = Sender("lifecycle", "nanobot")
_PREFACE: dict[Moment, str] = {
    "boot": "nanobot has just started. BOOT.md says what to do now:",
    "shutdown": "nanobot is about to stop. SHUTDOWN.md says what to do before:",
}


def session_of(moment: Moment) -> str:
    """The session of such runs."""
    return LIFECYCLE.of(moment)


class Lifecycle:
    """Requests the runs of start and stop, if the workspace has files for them. Their failures
    never keep the gateway from starting or stopping."""

    def __init__(
        self, workspace: Path, settings: LifecycleSettings, bus: Bus, clock: Clock, ids: Ids
    ) -> None:
        self._workspace = workspace
        self.settings = settings
        self._bus = bus
        self._clock = clock
        self._ids = ids

    async def tidy(self) -> None:
        """Before anything runs: abort what an earlier stop left unfinished."""
        with boundary("the run of an earlier stop"):
            if await self._is_busy("shutdown"):
                stop = self._message("shutdown", "/stop", 0.0)
                ending = Ending(state=RunState.ABORTED, error="the gateway was gone before")
                admission = Admission(
                    message=stop,
                    session_key=session_of("shutdown"),
                    role=Role.OWNER,
                    stop=ending,
                    everyone=True,
                )
                await self._bus.admit(stop.address.channel, [admission])

    async def boot(self, worker: Worker) -> None:
        """Request the start run, and wait for its end if that is configured. One that a crash
        interrupted is resumed instead."""
        with boundary("the run of the start"):
            message = self._request("boot", self.settings.boot_seconds)
            if message is None:
                return
            if await self._is_busy("boot"):
                logger.info("BOOT.md: the run of an earlier start continues; no new run begins")
            elif self.settings.wait_for_boot:
                runs = RunClient(self._bus, worker, self._clock, lambda: False)
                await _follow(runs, "boot", message, self.settings.boot_seconds)
            else:
                admission = Admission(
                    message=message, session_key=session_of("boot"), role=Role.OWNER
                )
                await self._bus.admit(message.address.channel, [admission])

    async def shut_down(self, worker: Worker, drain_seconds: float) -> None:
        """Request the stop run and drive it here, because the worker claims nothing any more. End
        it when its time is up."""
        seconds = min(self.settings.shutdown_seconds, drain_seconds)
        runs = RunClient(self._bus, worker, self._clock, lambda: True)
        with boundary("the run of the stop"):
            message = self._request("shutdown", seconds)
            if message is not None and not await _follow(runs, "shutdown", message, seconds):
                await runs.abort(message.address, message.dedupe_key)

    async def _is_busy(self, moment: Moment) -> bool:
        row = await self._bus.journal.session(session_of(moment))
        return row is not None and (row.run is not None or row.waiting > 0)

    def _request(self, moment: Moment, seconds: float) -> InboundMessage | None:
        """The request for the run; None: there is none."""
        text = clipped(self._workspace, f"{moment.upper()}.md", FILE_LIMIT)
        if not self.settings.enabled or not text or seconds <= 0:
            return None
        return self._message(moment, f"{_PREFACE[moment]}\n\n{text}", seconds)

    def _message(self, moment: Moment, text: str, seconds: float) -> InboundMessage:
        run_id = self._ids.run_id()
        options = RunOptions(
            run_id=run_id, direct=True, max_run_seconds=seconds or None, history=()
        )
        return InboundMessage(
            address=Address("lifecycle", moment),
            message_id=run_id,
            dedupe_key=run_id,
            sender=_SENDER,
            text=text,
            sent_at=self._clock.now(),
            origin=Origin.LIFECYCLE,
            options=options,
        )


class Boot:
    """Requests the run of the start; channels wait for it no longer than the settings say."""

    def __init__(self, lifecycle: Lifecycle, worker: Worker) -> None:
        self._lifecycle, self._worker = lifecycle, worker
        waiting = lifecycle.settings.wait_for_boot
        self.seconds = _REQUEST_SECONDS + (lifecycle.settings.boot_seconds if waiting else 0.0)

    async def __call__(self) -> None:
        await self._lifecycle.boot(self._worker)


async def _follow(runs: RunClient, moment: Moment, message: InboundMessage, seconds: float) -> bool:
    """Wait for the end of its run; False if that takes longer."""
    try:
        async with (
            asyncio.timeout(seconds),
            runs.followed(message, session_of(moment)) as events,
        ):
            async for _ in events:
                continue
    except TimeoutError:
        logger.warning("{}.md: not done within {:g} s", moment.upper(), seconds)
        return False
    return True
