"""The engine behind operations: the parts of one gateway, and its self-description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from nanobot.operations.rendering import Now

if TYPE_CHECKING:
    from nanobot.agent.worker import Worker
    from nanobot.bus.core import Bus
    from nanobot.ports import Clock
    from nanobot.providers.base import ModelProfile, Models
    from nanobot.session.entries import ReplyEntry
    from nanobot.session.journal import Journal
    from nanobot.session.records import Records
    from nanobot.session.runs import Run
    from nanobot.tools.registry import ToolRegistry


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one gateway that operations work with. `began`: when the process did, by the
    monotonic clock. `zone`: the one whose clocks people see."""

    bus: Bus
    worker: Worker
    models: Models
    records: Records
    tools: ToolRegistry
    clock: Clock
    zone: str
    began: float

    @property
    def journal(self) -> Journal:
        """The store's verbs."""
        return self.bus.journal

    def running(self) -> list[Run]:
        """The runs driven now."""
        return self.worker.running

    def partial(self, session_key: str) -> ReplyEntry | None:
        """What the session's run has said so far."""
        return self.worker.partial(session_key) or self.bus.peers.partial(session_key)

    async def describe_model(self, label: str | None) -> ModelProfile:
        """The model that a session with that label talks to; raises ConfigError or ModelError."""
        return (await self.models.pick(label))[1]

    def now(self) -> float:
        return self.clock.now()

    def shown_at(self) -> Now:
        """Now, by the clocks of the gateway's zone."""
        return Now(self.now(), self.zone)

    def uptime(self) -> float:
        """Seconds since the start."""
        return self.clock.monotonic() - self.began
