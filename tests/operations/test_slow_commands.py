"""A command that hangs or fails costs only the person who gave it: the channel goes on."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.channels import commands
from nanobot.messages import TERMINAL, WEB, Address, InboundMessage, Role, Sender
from nanobot.operations import at_once
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.session.said import Said
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import OWNER


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


@operation("slow", text=lambda value, _: value)
async def slow(context: OperationContext, caller: Caller) -> str:
    """Take longer than the limit."""
    await asyncio.sleep(0.2)
    return "done"


OPTIONS = Options(brings=lambda _: Brought(operations=(hang, break_down, odd, slow)))


async def say(bot: FakeGateway, text: str, chat: str) -> None:
    await bot.channel.push(text, chat=chat)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/hang", "/hang was stopped after 0.2 s. `nanobot hang` has no limit of time."),
        ("/break", "/break failed: ZeroDivisionError. The log has the details."),
        ("/odd", "/odd failed: AttributeError. The log has the details."),
    ],
)
async def test_the_next_chat_is_answered_whatever_a_command_does(
    command: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(commands, "SOON_SECONDS", 0.1)
    MADE.clear()
    async with gateway(ScriptedProvider("fine"), options=OPTIONS) as bot, asyncio.timeout(10):
        await say(bot, command, "1")
        await say(bot, "hello", "2")
        texts = {(message := await bot.channel.pop()).address.chat_id: message.text for _ in "12"}
    assert texts == {"1": answer, "2": "fine"}
    assert len(MADE) == (command == "/break")


@pytest.mark.parametrize(
    ("channel", "answer"),
    [(TERMINAL, "done"), (WEB, "done"), ("telegram", "/slow was stopped after 0.05 s.")],
)
async def test_a_command_has_a_limit_where_others_wait_for_it(
    channel: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_once, "COMMAND_SECONDS", 0.05)
    message = InboundMessage(
        address=Address(channel, "1"),
        message_id="m",
        dedupe_key="m",
        sender=Sender(OWNER, "Ann"),
        text="/slow",
    )
    async with gateway(ScriptedProvider(), options=OPTIONS) as bot:
        given = Said(message=message, session_key=f"{channel}:1", role=Role.OWNER)
        admission = await bot.operations.settled(given)
    assert admission is not None
    assert admission.answer is not None
    assert admission.answer.text.startswith(answer)
