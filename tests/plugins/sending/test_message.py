"""Messages that the model sends before its answer, and to other chats."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.channels.host import Hosting
from nanobot.errors import ChatGone, NotSent
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.message_tool import message_tool
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.session.entries import PostEntry, ToolResultEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, FakePlatform
from nanobot.workspace.blobs import Blobs
from tests.agent.tooling import bodies

TOOLS = [message_tool({"fake"})]


def results(bot: FakeGateway) -> list[str]:
    return [result.text for result in bodies(bot, ToolResultEntry)]


async def test_it_reaches_its_own_chat_before_the_answer() -> None:
    model = ScriptedProvider(asks_for("message", content="one moment"), "here it is")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("go", sender=MEMBER)
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["one moment", "here it is"]
        assert results(bot) == ["delivered as message m2"]
        assert bodies(bot, PostEntry) == []


async def test_another_chat_gets_it_and_its_log_has_it() -> None:
    model = ScriptedProvider(asks_for("message", content="dinner!", chat_id="2"), "told them")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("tell the others")
        assert (await bot.channel.pop("2")).text == "dinner!"
        assert (await bot.channel.pop("1")).text == "told them"
        (post,) = bodies(bot, PostEntry, "fake:2")
        assert post.text == "dinner!"
        assert bot.home.verify("fake:2") == 1


async def test_a_members_message_to_another_chat_needs_an_owners_word() -> None:
    model = ScriptedProvider("hi", asks_for("message", content="psst", chat_id="2"), "sent")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("hello", chat="9")
        await bot.channel.pop("9")
        await bot.channel.push("tell chat 2", sender=MEMBER)
        text = (await bot.channel.pop("9")).text
        assert "members write to their own chat only" in text
        await bot.channel.push("/approve 1", chat="9")
        assert (await bot.channel.pop("2")).text == "psst"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"content": " "}, "there is nothing to say"),
        ({"content": ""}, "there is nothing to say"),
        ({"content": "x", "channel": "pigeon", "chat_id": "1"}, 'there is no "pigeon"; fake are'),
        ({"content": "x", "channel": "pigeon"}, "chat_id: required with another channel"),
        ({"content": "x", "chat_id": " "}, "chat_id: must name a chat"),
    ],
)
async def test_what_cannot_be_sent_is_told(arguments: dict[str, str], reason: str) -> None:
    model = ScriptedProvider(asks_for("message", **arguments), "no")
    async with gateway(model, tools=TOOLS) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        assert reason in results(bot)[0]
        await bot.settle()
        assert len(bot.channel.sent) == 1


async def test_what_the_platform_refuses_for_good_is_told_as_a_failure() -> None:
    model = ScriptedProvider(asks_for("message", content="dinner!", chat_id="2"), "they are gone")
    async with gateway(model, tools=TOOLS) as bot:
        bot.channel.fail(ChatGone("the bot was blocked"), chat="2")
        await bot.channel.push("tell the others")
        assert (await bot.channel.pop("1")).text == "they are gone"
        (result,) = bodies(bot, ToolResultEntry)
        assert not result.ok
        assert result.text == "error: it could not be delivered: the bot was blocked"


async def test_what_is_held_back_is_told_at_once() -> None:
    model = ScriptedProvider(asks_for("message", content="dinner!", chat_id="2"), "it will be told")
    options = Options(quiet=limiter(QuietHours(QuietSettings(max_per_hour=1))))
    async with gateway(model, tools=TOOLS, options=options) as bot:
        await bot.journal.post(
            "fake:2",
            OutboundMessage(
                address=Address("fake", "2"), text="1", key="k", kind=OutboundKind.POST
            ),
        )
        await bot.channel.push("tell the others")
        assert (await bot.channel.pop("1")).text == "it will be told"
        assert results(bot)[0].startswith("held back: that chat has heard enough")


async def test_what_takes_long_is_told_to_wait() -> None:
    model = ScriptedProvider(asks_for("message", content="dinner!", chat_id="2"), "it will be told")
    async with gateway(model, tools=TOOLS) as bot:
        bot.channel.fail(NotSent("429", retry_after=60), chat="2")
        await bot.channel.push("tell the others")
        assert (await bot.channel.pop("1")).text == "it will be told"
        assert results(bot)[0].startswith("queued for fake:2; should it not arrive, you are told")
        assert (await bot.channel.pop("2")).text == "dinner!"


async def test_a_crash_before_its_receipt_is_known_sends_it_once() -> None:
    model = ScriptedProvider(
        asks_for("message", content="once", chat_id="2"), otherwise=lambda _: "done"
    )
    async with MemoryHome() as home:
        async with gateway(model, tools=TOOLS, home=home) as bot:

            def crash(verb: str) -> None:
                if verb == "receipt":
                    bot.crash()

            bot.process.after = crash
            await bot.channel.push("go")
            await bot.settle()
            assert [message.text for message in bot.channel.sent] == ["once"]
        async with gateway(model, tools=TOOLS, home=home) as bot:
            assert (await bot.channel.pop("1")).text == "done"
            await bot.settle()
            assert [message.text for message in bot.channel.sent] == ["done"]
            assert results(bot) == ["delivered as message m2"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_its_result_sends_it_exactly_once(when: str) -> None:
    model = ScriptedProvider(
        asks_for("message", content="once", chat_id="2"), otherwise=lambda _: "done"
    )
    async with MemoryHome() as home:
        async with gateway(model, tools=TOOLS, home=home) as bot:

            def crash(verb: str) -> None:
                if verb == "record_result":
                    bot.crash()

            setattr(bot.process, when, crash)
            await bot.channel.push("go")
            await bot.settle()
        async with gateway(model, tools=TOOLS, home=home) as bot:
            assert (await bot.channel.pop("2")).text == "once"
            assert (await bot.channel.pop("1")).text == "done"
            await bot.settle()
            assert len(bodies(bot, PostEntry, "fake:2")) == 1
            assert len(bodies(bot, ToolResultEntry)) == 1


async def test_files_of_the_workspace_go_with_it(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7 ...")
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n...")
    blobs = Blobs(tmp_path / "blobs")
    tools = [message_tool({"fake"}, ConfinedFiles(tmp_path))]
    files = ["report.pdf", "chart.png"]
    model = ScriptedProvider(asks_for("message", content="here", files=files), "done")
    platform, options = FakePlatform(), Options(hosting=Hosting(blobs=blobs), receipts=False)
    async with (
        MemoryHome(ManualClock(instant=False)) as home,
        gateway(model, platform, tools=tools, options=options, home=home) as bot,
    ):
        bot.tools.blobs = blobs
        await bot.channel.push("send me the report")
        await platform.until(lambda: any(message.text == "done" for message in platform.sent))
        assert [upload.file.name for upload in platform.files] == files
        assert platform.files[0].content == b"%PDF-1.7 ..."
        assert [message.text for message in bot.channel.sent if message.text] == ["here", "done"]


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "missing.txt", "empty.txt", "folder"])
async def test_what_is_no_file_of_the_workspace_is_not_sent(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    tools = [message_tool({"fake"}, ConfinedFiles(tmp_path))]
    model = ScriptedProvider(asks_for("message", content="here", files=[path]), "done")
    async with gateway(model, tools=tools) as bot:
        bot.tools.blobs = Blobs(tmp_path / "blobs")
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "done"
        assert not bodies(bot, ToolResultEntry)[0].ok
        assert not (tmp_path / "blobs").exists()
