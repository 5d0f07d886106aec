"""A platform that delivers by HTTP: to a gateway, or to the door of one channel on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.http.channel_routes import channel_routes
from nanobot.plugins.http.doors import Door
from nanobot.ports import Intake, Receiving
from nanobot.system import SystemClock
from tests.server.serving import serve


@dataclass
class Delivery:
    """One request of the platform, and how the last attempt ended; 0: nobody answered."""

    body: bytes
    headers: dict[str, str]
    path: str = ""
    attempts: int = 0
    status: int = 0
    answer: bytes = b""

    @property
    def acknowledged(self) -> bool:
        return self.status == 200


class Deliveries:
    """Those of one platform, in order. `url` is where they go; while it is "" none is made."""

    def __init__(self) -> None:
        self.url = ""
        self.all: list[Delivery] = []

    async def deliver(self, body: bytes, headers: dict[str, str], path: str = "") -> Delivery:
        delivery = Delivery(body, headers, path)
        self.all.append(delivery)
        await self.attempt(delivery)
        return delivery

    async def attempt(self, delivery: Delivery) -> None:
        if not self.url:
            return
        delivery.attempts += 1
        url = f"{self.url}{delivery.path}"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=delivery.body, headers=delivery.headers) as answer,
            ):
                delivery.status, delivery.answer = answer.status, await answer.read()
        except aiohttp.ClientError:
            delivery.status = 0

    async def again(self) -> None:
        """What was not acknowledged is delivered again, as platforms do for hours."""
        for delivery in self.all:
            if not delivery.acknowledged:
                await self.attempt(delivery)


@asynccontextmanager
async def door(channel: Receiving, intake: Callable[[], Intake]) -> AsyncIterator[str]:
    """The address of the channel's requests, behind a server as the gateway has it."""
    doors = {"checked": Door("checked", channel, intake, SystemClock())}
    async with serve(WebSettings(port=0), "token", channel_routes(doors.get)) as server:
        yield f"{server.url}/channels/checked"
