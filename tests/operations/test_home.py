"""What a home is made of, looked at and changed through the operations of a gateway at rest."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nanobot.config.loader import load
from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Address, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller
from tests.doubles.telegram_server import TelegramServer
from tests.operations.homes import WRITTEN, file_of
from tests.operations.homes import environ as environ
from tests.operations.homes import operations as operations


async def test_a_server_is_switched_off_for_the_next_start(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    await operations.call("mcp disable", {"name": "files"})
    assert load(environ).tables["mcp"]["files"].enabled is False
    with pytest.raises(UsageError, match="no MCP server"):
        await operations.call("mcp enable", {"name": "nowhere"})


async def test_channels_are_listed_without_their_secrets(operations: Dispatcher) -> None:
    (channel,) = await operations.call("channels list", {})
    assert (channel.name, channel.enabled, channel.owners) == ("telegram", False, ["1001"])
    types = {each.name: each for each in await operations.call("channels types", {})}
    token = next(field for field in types["telegram"].fields if field.key == "token")
    assert token.secret


async def test_a_channel_that_its_platform_refuses_is_not_kept(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    settings = "token=2:other\napi_base=http://127.0.0.1:9"
    with pytest.raises(NanobotError):
        await operations.call("channels connect", {"channel": "telegram", "settings": settings})
    assert file_of(environ) == WRITTEN
    with pytest.raises(UsageError, match="no channel type"):
        await operations.call("channels connect", {"channel": "pigeon"})


async def test_whoever_writes_to_a_channel_to_be_is_known_and_greeted_there(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    async with TelegramServer() as telegram:
        settings = f"token={telegram.token}\napi_root={telegram.root_url}"
        channel = {"channel": "telegram", "name": "second", "settings": settings}
        telegram.say(6, "not me")
        async with asyncio.TaskGroup() as tasks:
            meeting = tasks.create_task(
                operations.call("channels meet", {**channel, "others": "6"})
            )
            telegram.say(7, "it is me")
        person = meeting.result()
        assert (person.id, person.chat) == ("7", "7")
        assert file_of(environ) == WRITTEN
        connected = await operations.call(
            "channels connect",
            {**channel, "owners": person.id, "greet": True, "chat": person.chat},
        )
        assert (connected.owned, connected.greeted, connected.refused) == (True, True, "")
        assert "I am set up" in (await telegram.reply_in(7)).text
        assert "[channels.second]" in file_of(environ)


async def test_who_asks_again_waits_instead_of_whoever_waited_before(
    operations: Dispatcher,
) -> None:
    async with TelegramServer() as telegram:
        settings = f"token={telegram.token}\napi_root={telegram.root_url}"
        channel = {"channel": "telegram", "name": "second", "settings": settings}
        waiting = {asyncio.create_task(operations.call("channels meet", channel)) for _ in "abc"}
        while len(waiting) > 1:
            given_up, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for meeting in given_up:
                assert "asked for again" in str(meeting.exception())
        telegram.say(7, "it is me")
        assert [(await meeting).id for meeting in waiting] == ["7"]
        telegram.say(8, "me, too")
        met = await operations.call("channels meet", {**channel, "others": "7"})
        assert met.id == "8"


async def test_a_channel_whose_owner_cannot_be_greeted_is_kept_and_says_why(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    async with TelegramServer() as telegram:
        telegram.block(7)
        settings = f"token={telegram.token}\napi_root={telegram.root_url}"
        channel = {"channel": "telegram", "name": "second", "settings": settings}
        connected = await operations.call(
            "channels connect", {**channel, "owners": "7", "greet": True}
        )
        assert not connected.greeted
        assert "blocked" in connected.refused
        assert "[channels.second]" in file_of(environ)


async def test_nobody_is_waited_for_where_messages_are_answered_or_no_id_is_wanted(
    operations: Dispatcher,
) -> None:
    with pytest.raises(UsageError, match="is already connected"):
        await operations.call("channels meet", {"channel": "telegram", "settings": "token=1:abc"})
    with pytest.raises(UsageError, match="cannot wait"):
        await operations.call("channels meet", {"channel": "udp", "settings": "token=12345678"})


async def test_models_that_could_answer_are_found_with_why(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    environ["OPENAI_API_KEY"] = "sk-here"
    models = await operations.call("models found", {})
    assert models[0].name.startswith("openai/")
    assert models[0].why == "OPENAI_API_KEY is set"


@pytest.mark.process
async def test_findings_come_with_their_remedies(operations: Dispatcher) -> None:
    findings = await operations.call("doctor", {})
    assert {"home", "disk", "store"} <= {finding.about for finding in findings}
    assert any(finding.about == "gateway" for finding in findings)


async def test_only_a_gateway_starts_again_by_itself(operations: Dispatcher) -> None:
    with pytest.raises(UsageError, match="only a gateway"):
        await operations.call("restart", {})


_UDP = {"channel": "udp", "name": "", "settings": ""}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("config get", {"key": ""}),
        ("config set", {"key": "tools.exec.sandbox", "text": "off", "force": False}),
        ("config unset", {"key": "agent.model"}),
        ("doctor", {"fix": True}),
        ("restart", {}),
        ("prompts write", {"name": "USER.md", "text": "x", "digest": ""}),
        ("prompts show", {"name": "USER.md"}),
        ("channels connect", {**_UDP, "owners": "", "greet": True, "chat": ""}),
        ("channels meet", {**_UDP, "others": ""}),
        ("models found", {}),
        ("mcp disable", {"name": "files"}),
    ],
)
async def test_an_account_on_a_platform_is_not_enough_to_change_the_machine(
    operations: Dispatcher, environ: dict[str, str], name: str, arguments: dict[str, Any]
) -> None:
    (operation,) = [each for each in operations.listed if each.name == name]
    owner = Caller(
        role=Role.OWNER,
        session_key="telegram:1001",
        by="1001",
        address=Address("telegram", "1001"),
    )
    with pytest.raises(UsageError, match="does not work in a chat"):
        await operation.perform(operations, owner, arguments)
    assert file_of(environ) == WRITTEN
