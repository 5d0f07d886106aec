"""People and memory: what they may list, accept and forget, in chats and by calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanobot.errors import NanobotError, UsageError
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.platform import MEMBER
from tests.plugins.memory.kept import memory_of, with_memory

THEIRS = f"people/fake/{MEMBER}"
GROUP = "chats/fake/-5"


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    return await bot.operations.call(operation, arguments)


async def said(bot: FakeGateway, text: str, **fields: Any) -> str:
    """What is answered to a message."""
    await bot.channel.push(text, **fields)
    return (await bot.channel.pop(fields.get("chat", "1"))).text


async def filled(bot: FakeGateway) -> None:
    """A memory in each scope, and one proposed."""
    for scope, text in ((OWNER, "owner's tea"), (THEIRS, "member's tea"), (GROUP, "group's tea")):
        await memory_of(bot).save(scope, text, Provenance())
    await memory_of(bot).save(THEIRS, "member's rumour", Provenance(), state="proposed")


async def test_each_sees_their_own_and_owners_everything_where_nobody_else_reads(
    tmp_path: Path,
) -> None:
    async with gateway(options=with_memory(tmp_path)) as bot:
        await filled(bot)
        everything = await said(bot, "/memory")
        assert everything.count("tea") == 3
        theirs = await said(bot, "/memory list", chat="2", sender=MEMBER)
        assert ("member's tea" in theirs, theirs.count("tea")) == (True, 1)
        for sender in ({}, {"sender": MEMBER}):
            shared = await said(bot, "/memory list", chat="-5", group=True, **sender)
            assert ("group's tea" in shared, shared.count("tea")) == (True, 1)
        assert "owner's tea" in await said(bot, "/memory search tea")
        assert "member's tea" in await said(bot, f"/memory search scope={THEIRS} tea")
        refused = await said(bot, "/memory list scope=owner", chat="2", sender=MEMBER)
        assert refused == "Only owners can see the memories of others, and only in a private chat."
        refused = await said(bot, "/memory search scope=owner tea", chat="-5", group=True)
        assert refused == "Only owners can see the memories of others, and only in a private chat."


async def test_nobody_touches_what_is_not_theirs(tmp_path: Path) -> None:
    async with gateway(options=with_memory(tmp_path)) as bot:
        await filled(bot)
        for verb in ("show", "forget"):
            text = await said(bot, f"/memory {verb} 1", chat="2", sender=MEMBER)
            assert text == "There is no memory 1; `memory list` shows what there is."
            text = await said(bot, f"/memory {verb} 1", chat="-5", group=True)
            assert text == "There is no memory 1; `memory list` shows what there is."
        text = await said(bot, "/memory accept 4", chat="2", sender=MEMBER)
        assert text == "Remembered: member's rumour"
        assert await said(bot, "/memory forget 1") == "Forgotten: owner's tea"


async def test_programs_have_it_all_by_calls(tmp_path: Path) -> None:
    async with gateway(options=with_memory(tmp_path)) as bot:
        await filled(bot)
        assert [view.id for view in await call(bot, "memory list", state="proposed")] == [4]
        (view,) = await call(bot, "memory search", text="tea", scope=GROUP)
        assert view.text == "group's tea"
        assert (await call(bot, "memory reject", id=4)).state == "retracted"
        assert (await call(bot, "memory show", id=2)).scope == THEIRS
        with pytest.raises(NanobotError, match="is not proposed: it is retracted"):
            await call(bot, "memory accept", id=4)
        with pytest.raises(UsageError):
            await call(bot, "memory list", state="lost")


async def test_a_scope_that_is_no_scope_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory" / "people").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("- the secret tea\n")
    async with gateway(options=with_memory(workspace)) as bot:
        for scope in (
            "../..",
            "..",
            "/",
            "people/../..",
            "people",
            "people/a/b/c",
            "chats",
        ):
            with pytest.raises(NanobotError, match="has no memory"):
                await call(bot, "memory list", scope=scope)
            with pytest.raises(NanobotError, match="has no memory"):
                await call(bot, "memory search", text="tea", scope=scope)
        with pytest.raises(UsageError, match="NUL"):
            await call(bot, "memory list", scope="x\0y")
