"""A Slack on loopback, a channel connected to it, and the intake that it brings messages to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nanobot.testing.machine import ManualClock
from nanobot_channels.slack import SlackChannel
from nanobot_channels.slack.receiving import Policy
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.slack_methods import START
from tests.doubles.slack_server import SlackServer

PING_SECONDS = 0.4


class Bench:
    """A Slack server, a channel and its intake."""

    def __init__(self, slack: SlackServer, policy: Policy) -> None:
        self.slack = slack
        self.intake = FakeIntake()
        self.clock = ManualClock(START + 3600.0)
        self.policy = policy
        self.channel = self.another()

    def another(self) -> SlackChannel:
        """A new process's channel."""
        return SlackChannel(
            "slack",
            (self.slack.bot_token, self.slack.app_token),
            self.slack.api_root,
            policy=self.policy,
            clock=self.clock,
            ping_seconds=PING_SECONDS,
        )

    @asynccontextmanager
    async def running(self, *, ends: bool = False) -> AsyncIterator[asyncio.Task[None]]:
        """The channel receives, is connected, and does not receive any more after it. If it
        `ends` by itself, the task tells why."""
        task = asyncio.create_task(self.channel.run(self.intake))
        waiting = asyncio.create_task(self.slack.connected())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                yield task
        finally:
            waiting.cancel()
            task.cancel()
            await asyncio.wait([task, waiting])
        if not ends and not task.cancelled():
            task.result()


@asynccontextmanager
async def bench(**policy: Any) -> AsyncIterator[Bench]:
    """A server and a channel, not receiving yet."""
    async with SlackServer() as slack:
        workbench = Bench(slack, Policy(**policy))
        try:
            yield workbench
        finally:
            await workbench.channel.close()
