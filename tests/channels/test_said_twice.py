"""A command that comes twice, in one batch or later, as itself or as an edit, is performed once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from loguru import logger

from nanobot.errors import StoreError
from nanobot.messages import Address, InboundMessage, Role, Sender
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Rest
from nanobot.session.said import Said
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.platform import OWNER

PERFORMED: list[str] = []


@operation(name="tick", role=Role.OWNER)
async def tick(_context: OperationContext, caller: Caller, word: Rest = "") -> str:
    """Count."""
    PERFORMED.append(f"{caller.key} {word}".strip())
    return f"tick {word}"


OPTIONS = Options(brings=lambda _: Brought(operations=(tick,)))


@pytest.fixture(autouse=True)
def none_yet() -> None:
    PERFORMED.clear()


def said(text: str, key: str, **fields: Any) -> InboundMessage:
    return InboundMessage(
        address=Address("fake", "1"),
        message_id=key,
        dedupe_key=key,
        sender=Sender(OWNER),
        text=text,
        sent_at=1.0,
        **fields,
    )


async def answers(bot: FakeGateway, *batches: list[InboundMessage]) -> list[str]:
    for number, batch in enumerate(batches):
        await bot.intake.admit(batch, f"{number}")
    await bot.settle()
    return [message.text for message in bot.channel.sent]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("moved", [False, True])
async def test_an_edit_that_changes_nothing_performs_its_command_no_second_time(
    batches: int, moved: bool
) -> None:
    """The platform adds data of its own to a message, and tells so while nobody listens."""
    async with gateway(options=OPTIONS) as bot:
        if moved:
            await bot.intake.moved("0", "1")
        told = [
            said("/tick a", "7"),
            said("/tick a", "7 edited", edit_of="7"),
            said("hello", "8"),
            said("/tick a", "7 edited again", edit_of="7"),
        ]
        done = await answers(bot, *([told] if batches == 1 else [[each] for each in told]))
        assert sorted(done) == ["echo: hello", "tick a"]
        assert len(PERFORMED) == 1
        assert await bot.intake.cursor() == ("0" if batches == 1 else "3")


async def test_a_command_that_was_corrected_is_performed_as_it_was_and_as_it_is() -> None:
    async with gateway(options=OPTIONS) as bot:
        told = [said("/tick a", "7"), said("/tick b", "7 edited", edit_of="7")]
        assert await answers(bot, told) == ["tick a", "tick b"]


@pytest.mark.parametrize("batches", [1, 2])
async def test_a_command_that_is_delivered_again_changes_nothing_again(batches: int) -> None:
    """A platform whose delivery was not answered in time brings it again, perhaps hours later."""
    async with gateway(options=OPTIONS) as bot:
        told = [said("/tick a", "7"), said("/tick b", "8"), said("/tick a", "7")]
        done = await answers(bot, *([told] if batches == 1 else [[each] for each in told]))
        assert done == ["tick a", "tick b"]
        assert len(PERFORMED) == 2


async def test_a_model_that_was_chosen_later_stays_when_an_older_choice_comes_again() -> None:
    async with gateway() as bot:
        first, later = said("/model test/other", "7"), said("/model default", "8")
        await answers(bot, [first], [later], [first])
        row = await bot.journal.session("fake:1")
        assert row
        assert row.model is None


@pytest.mark.parametrize("field", ["message_id", "dedupe_key", "chat", "sender", "edit_of"])
@pytest.mark.parametrize("text", ["hello", "/tick a"])
async def test_an_id_that_no_store_can_hold_is_one_line_in_the_log(field: str, text: str) -> None:
    odd = said(text, "7")
    match field:
        case "chat":
            odd = msgspec.structs.replace(odd, address=Address("fake", "\ud83d"))
        case "sender":
            odd = msgspec.structs.replace(odd, sender=Sender("\ud83d"))
        case _:
            odd = msgspec.structs.replace(odd, **{field: "\ud83d"})
    async with gateway(options=OPTIONS) as bot:
        log: list[str] = []
        sink = logger.add(lambda line: log.append(str(line).encode().decode()), level="INFO")
        try:
            await bot.intake.admit([odd, said("/tick b", "8")], "1")
        finally:
            logger.remove(sink)
        assert "tick b" in (await answers(bot))
        lines = [line for line in log if "is skipped" in line]
        assert "Traceback" not in "".join(log)
        assert len(lines) == 1
        assert lines[0].count("\n") == 1


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("failures", [1, 3])
@pytest.mark.parametrize("failure", [StoreError("no space"), asyncio.CancelledError()])
async def test_a_command_whose_admission_fails_is_not_performed_again(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException, failures: int, *, committed: bool
) -> None:
    """The disk is full, or the connection breaks just then: the platform brings it again."""
    async with gateway(options=OPTIONS) as bot:
        admit, left = bot.journal.admit, failures

        async def failing(*args: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                return await admit(*args)
            if committed:
                await admit(*args)
            raise failure

        monkeypatch.setattr(bot.journal, "admit", failing)
        for _ in range(failures):
            with suppress(StoreError, asyncio.CancelledError):
                await bot.intake.admit([said("/tick a", "1")], "1")
        assert await answers(bot, [said("/tick a", "1")]) == ["tick a"]
        assert len(PERFORMED) == 1


async def test_a_command_whose_commit_was_not_noticed_is_answered_when_it_comes_again() -> None:
    """The process lost its connection to the store between the commit and its end."""
    message = said("/tick a", "7")
    admission = Said(message=message, session_key="fake:1", role=Role.OWNER).answered("tick a")
    async with gateway(options=OPTIONS) as bot:
        await bot.journal.admit("fake", [admission], None, 50)
        assert await answers(bot) == []
        assert await answers(bot, [message]) == ["tick a"]
        assert PERFORMED == []
