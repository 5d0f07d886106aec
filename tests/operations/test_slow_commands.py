"""A command that hangs or fails costs only the person who gave it: the channel goes on."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.operations import dispatcher
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.model import ScriptedProvider


@operation("hang")
async def hang(context: OperationContext, caller: Caller) -> str:
    """Wait for ever."""
    await asyncio.sleep(3600)
    return ""


MADE: list[str] = []


@operation("break")
async def break_down(context: OperationContext, caller: Caller) -> str:
    """Fail with what nobody expects."""
    MADE.append("broken")
    raise ZeroDivisionError("down we go")


@operation("odd", text=lambda value, _: value.nothing)
async def odd(context: OperationContext, caller: Caller) -> str:
    """Give what cannot be shown."""
    return "odd"


OPTIONS = Options(brings=lambda _: Brought(operations=(hang, break_down, odd)))


async def say(bot: FakeGateway, text: str, chat: str) -> None:
    await bot.channel.push(text, chat=chat)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/hang", "/hang was stopped after 0.2 s. `nanobot hang` has no limit of time."),
        ("/break", "/break failed: ZeroDivisionError. The log has the details."),
        ("/odd", "/odd failed: AttributeError. The log has the details."),
    ],
)
async def test_the_next_chat_is_answered_whatever_a_command_does(
    command: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "COMMAND_SECONDS", 0.2)
    MADE.clear()
    async with gateway(ScriptedProvider("fine"), options=OPTIONS) as bot, asyncio.timeout(10):
        await say(bot, command, "1")
        await say(bot, "hello", "2")
        texts = {(message := await bot.channel.pop()).address.chat_id: message.text for _ in "12"}
    assert texts == {"1": said, "2": "fine"}
    assert len(MADE) == (command == "/break")
