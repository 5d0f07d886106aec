"""A bot on the Matrix double, and rooms for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from nanobot.errors import NanobotError
from nanobot.messages import Address, OutboundMessage
from nanobot_channels.matrix import MatrixChannel
from nanobot_channels.matrix.access import Invites
from nanobot_channels.matrix.api import Account
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer

BOB = "@bob:loopback"
GROUP = "!group:loopback"
KNOWN = Invites(known=frozenset({ANN}), strangers=False)


def account(server: MatrixServer, **how: Any) -> Account:
    """With its token, unless a password is given."""
    token = {} if "password" in how else {"access_token": server.token}
    return Account(server.root_url, **(token | {"user": ME, "device": "NANOBOTX"} | how))


def channel(server: MatrixServer, **how: Any) -> MatrixChannel:
    """A bot that Ann may invite."""
    return MatrixChannel("matrix", account(server), **({"invites": KNOWN} | how))


@asynccontextmanager
async def receiving(made: MatrixChannel, intake: FakeIntake) -> AsyncIterator[FakeIntake]:
    """The bot receives, and has seen what is the case now."""
    before = intake.signs_of_life
    task = asyncio.create_task(made.run(intake))
    task.add_done_callback(lambda _: intake.alive())
    try:
        await intake.until(lambda: intake.signs_of_life > before + bool(not intake.stored))
        yield intake
    finally:
        task.cancel()
        await asyncio.wait([task])
        await made.close()
    if not task.cancelled():
        task.result()


async def ended(made: MatrixChannel, intake: FakeIntake, act: Callable[[], None]) -> Exception:
    """What the bot ends with, after something happens while it receives."""
    intake.on_admit = act
    try:
        async with asyncio.timeout(20):
            await made.run(intake)
    except NanobotError as error:
        return error
    finally:
        intake.on_admit = lambda: None
        await made.close()
    raise AssertionError("it goes on")


def group(server: MatrixServer) -> str:
    """A room with Ann, Bob and the bot."""
    server.rooms.names[BOB] = "Bob"
    return server.room(GROUP, ANN, BOB)


def answer(text: str, chat: str, **fields: Any) -> OutboundMessage:
    return OutboundMessage(address=Address("matrix", chat), text=text, key="k", **fields)


def about(relates: dict[str, Any]) -> dict[str, Any]:
    """The field of a message that refers to another one."""
    return {"m.relates_to": relates}
