"""Tools that write down their calls, and looks at what a home holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from nanobot.session.entries import Body
from nanobot.testing.gateway import FakeGateway
from nanobot.tools.base import CallContext, Effect, Tool

B = TypeVar("B")


class Args(msgspec.Struct):
    """What every tool here takes."""

    text: str = ""


class Recorder:
    """What tools were called with, and by whom."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.contexts: list[CallContext] = []

    def tool(
        self,
        name: str = "exec",
        effect: Effect = Effect.WORLD,
        then: Callable[[Args], Awaitable[str]] | None = None,
    ) -> Tool[Args]:
        async def run(args: Args, context: CallContext) -> str:
            self.calls.append(f"{name} {args.text}".strip())
            self.contexts.append(context)
            return f"{name} did {args.text}" if then is None else await then(args)

        return Tool(
            name=name,
            description="A tool.",
            args=Args,
            run=run,
            effect=effect,
            taints=False,
            risk="low",
        )


class Gate:
    """A tool's body that hangs until `open`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, args: Args) -> str:
        self.reached.set()
        await self.open.wait()
        return "opened"


def bodies(bot: FakeGateway, kind: type[B], session: str = "fake:1") -> list[B]:
    return [e.body for e in bot.home.entries(session) if isinstance(e.body, kind)]


def kinds(bot: FakeGateway, session: str = "fake:1") -> list[str]:
    return [name(e.body) for e in bot.home.entries(session)]


def name(body: Body | None) -> str:
    return type(body).__name__.removesuffix("Entry")


async def answered(bot: FakeGateway) -> None:
    """An answer arrives, and all that comes of it is done."""
    await bot.channel.pop()
    await bot.settle()
