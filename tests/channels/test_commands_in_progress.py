"""Commands that take longer: nobody else waits, and each is performed and answered once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from nanobot.channels import commands
from nanobot.channels.host import Hosting
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import StoreError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.memory_home import MemoryHome
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import MEMBER, OWNER, FakePlatform

BEGUN: list[str] = []
"""The command of each call, by its key."""
READY: list[asyncio.Event] = []
"""Set by the test when commands are to end."""
INTERRUPTED = (
    "/wait was interrupted by a restart. Whether it had an effect is unknown: "
    "look before you send it again."
)


@operation("wait", text=lambda value, _: value)
async def wait(context: OperationContext, caller: Caller) -> str:
    """Wait until the test says so."""
    BEGUN.append(caller.key)
    await READY[0].wait()
    return "it is done"


@operation("fail late")
async def fail_late(context: OperationContext, caller: Caller) -> str:
    """Wait, then fail with what nobody expects."""
    await READY[0].wait()
    raise ZeroDivisionError("down we go")


@operation("ask", role=Role.MEMBER, text=lambda value, _: value)
async def ask(context: OperationContext, caller: Caller) -> str:
    """Wait until the test says so, for members too."""
    await READY[0].wait()
    return "it is done"


@operation("hang")
async def hang(context: OperationContext, caller: Caller) -> str:
    """Wait for ever."""
    await asyncio.sleep(3600)
    return ""


OPTIONS = Options(brings=lambda _: Brought(operations=(wait, fail_late, ask, hang)))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "SOON_SECONDS", 0.05)
    BEGUN.clear()
    READY[:] = [asyncio.Event()]


def texts(bot: FakeGateway) -> list[str]:
    return [message.text for message in bot.channel.sent]


async def begun(bot: FakeGateway) -> None:
    await bot.channel.push("/wait", chat="1", key="w")
    assert BEGUN


async def performing(bot: FakeGateway) -> int:
    rows = await bot.journal.begun_commands(bot.host.name)
    return len(rows)


async def test_other_chats_and_its_own_go_on_and_it_is_answered_when_it_ends() -> None:
    async with gateway(ScriptedProvider("one", "two"), options=OPTIONS) as bot:
        async with asyncio.timeout(10):
            await begun(bot)
            await bot.channel.push("hello", chat="2")
            assert (await bot.channel.pop("2")).text == "one"
            await bot.channel.push("hello", chat="1")
            assert (await bot.channel.pop("1")).text == "two"
            assert await performing(bot) == 1
            READY[0].set()
            assert (await bot.channel.pop("1")).text == "it is done"
        assert await performing(bot) == 0
    assert len(BEGUN) == 1


async def test_its_message_gets_no_mark_that_nothing_would_change() -> None:
    platform, options = (
        FakePlatform(),
        replace(OPTIONS, hosting=Hosting(settings=ChannelSettings(type="fake", marks=True))),
    )
    async with gateway(channel=platform, options=options) as bot, asyncio.timeout(10):
        await begun(bot)
        READY[0].set()
        await bot.channel.pop()
        await bot.settle()
        assert platform.marks == []


@pytest.mark.parametrize("killed", [True, False])
async def test_a_command_that_a_restart_interrupts_is_not_performed_again(killed: bool) -> None:
    home = MemoryHome()
    with suppress(ExceptionGroup):
        async with gateway(home=home, options=OPTIONS) as bot, asyncio.timeout(10):
            await begun(bot)
            assert await performing(bot) == 1
            if killed:
                bot.crash()
    async with gateway(home=home, options=OPTIONS) as bot, asyncio.timeout(10):
        assert (await bot.channel.pop()).text == INTERRUPTED
        assert await performing(bot) == 0
    async with gateway(home=home, options=OPTIONS) as bot, asyncio.timeout(10):
        await bot.settle()
        assert texts(bot) == []
    assert len(BEGUN) == 1


async def test_a_command_that_the_platform_brings_twice_is_performed_once() -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        await begun(bot)
        await bot.channel.push("/wait", chat="1", key="w")
        READY[0].set()
        assert (await bot.channel.pop()).text == "it is done"
        await bot.channel.push("/wait", chat="1", key="w")
        await bot.settle()
        assert texts(bot) == ["it is done"]
        assert set(BEGUN) == {BEGUN[0]}


@pytest.mark.parametrize("ended", [False, True], ids=["goes on", "has ended"])
@pytest.mark.parametrize("again", [False, True], ids=["not brought again", "brought again"])
async def test_it_is_answered_though_its_admission_seemed_to_fail(
    monkeypatch: pytest.MonkeyPatch, *, again: bool, ended: bool
) -> None:
    """A commit whose confirmation is lost: the message is there, and nobody knows its number."""
    monkeypatch.setattr(commands, "_ADMISSION_SECONDS", 0.1)
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(20):
        admit = bot.journal.admit

        async def unconfirmed(*args: Any) -> None:
            await admit(*args)
            monkeypatch.setattr(bot.journal, "admit", admit)
            raise StoreError("the connection was cut")

        monkeypatch.setattr(bot.journal, "admit", unconfirmed)
        with pytest.raises(StoreError):
            await bot.channel.push("/wait", chat="1", key="w")
        if ended:
            READY[0].set()
        if again:
            await bot.channel.push("/wait", chat="1", key="w")
        READY[0].set()
        assert (await bot.channel.pop()).text == "it is done"
        await bot.settle()
        assert await performing(bot) == 0
        assert texts(bot) == ["it is done"]
    assert len(BEGUN) == 1


async def test_what_it_gives_is_kept_while_the_store_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(20):
        stored, tries = bot.journal.performed, []

        async def failing(*args: object) -> bool:
            tries.append(args)
            if len(tries) < 3:
                raise StoreError("the disk is full")
            return await stored(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(bot.journal, "performed", failing)
        await begun(bot)
        READY[0].set()
        assert (await bot.channel.pop()).text == "it is done"
        assert len(BEGUN) == 1


async def test_a_late_failure_is_answered() -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        await bot.channel.push("/fail late", chat="1")
        assert await performing(bot) == 1
        READY[0].set()
        said = "/fail late failed: ZeroDivisionError. The log has the details."
        assert (await bot.channel.pop()).text == said


async def test_one_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "LONGEST_SECONDS", 0.3)
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        await bot.channel.push("/hang", chat="1")
        said = "/hang was stopped after 0.3 s. `nanobot hang` has no limit of time."
        assert (await bot.channel.pop()).text == said


@pytest.mark.parametrize("who", [OWNER, MEMBER])
async def test_an_order_to_stop_reaches_ones_own_and_an_owners_everyones(who: str) -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        await bot.channel.push("/ask", chat="1", sender=MEMBER, group=True)
        await bot.channel.push("/ask", chat="2", sender=MEMBER)
        await bot.channel.push("/stop", chat="1", sender=who, group=True)
        said = {(await bot.channel.pop("1")).text for _ in range(2)}
        assert said == {"Stopped.", "/ask was stopped."}
        assert await performing(bot) == 1
        await bot.channel.push("/stop", chat="1", sender=who, group=True)
        assert "othing" in (await bot.channel.pop("1")).text


async def test_an_order_to_stop_that_comes_before_a_moment_is_over_is_answered_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where a platform pushes: each request is by itself."""
    monkeypatch.setattr(commands, "SOON_SECONDS", 60.0)
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        async with asyncio.TaskGroup() as requests:
            requests.create_task(bot.channel.push("/wait", chat="1"))
            await bot.settle()
            assert BEGUN
            await bot.channel.push("/stop", chat="1")
        said = {(await bot.channel.pop("1")).text for _ in range(2)}
        assert said == {"Stopped.", "/wait was stopped."}
        assert await performing(bot) == 0


async def test_a_member_does_not_stop_what_others_gave() -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(10):
        await bot.channel.push("/ask", chat="1", sender=OWNER, group=True)
        await bot.channel.push("/stop", chat="1", sender=MEMBER, group=True)
        assert (await bot.channel.pop()).text == "Nothing of yours was running here."
        assert await performing(bot) == 1


async def test_one_person_has_four_at_most_and_others_have_their_own() -> None:
    async with gateway(options=OPTIONS) as bot, asyncio.timeout(20):
        for number in range(5):
            await bot.channel.push("/wait", chat=f"{number}", key=f"w{number}", sender=OWNER)
        refused = await bot.channel.pop()
        assert refused.text.startswith("4 commands of yours are still being performed.")
        assert refused.address.chat_id == "4"
        assert await performing(bot) == 4
        await bot.channel.push("/help", chat="5", sender=MEMBER)
        assert (await bot.channel.pop()).address.chat_id == "5"
        READY[0].set()
        for _ in range(4):
            assert (await bot.channel.pop()).text == "it is done"
        await bot.channel.push("/wait", chat="6", key="w6", sender=OWNER)
        assert (await bot.channel.pop()).text == "it is done"
