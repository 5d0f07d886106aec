"""What the model would be sent, told before it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.agent.prompt import PromptBuilder
from nanobot.errors import NanobotError
from nanobot.plugins.context.operations import operations
from nanobot.plugins.context.shown import ContextView
from nanobot.plugins.prompt_files.operations import operations as of_prompt_files
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import PromptEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, MemoryHome, Options
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER
from nanobot.workspace import folder as workspace
from tests.agent.tooling import Recorder, bodies


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workspace.prepare(tmp_path / "workspace")
    return tmp_path / "workspace"


def brings(_: FakeGateway) -> Brought:
    """What the plugin adds to a gateway, and `reload`."""
    return Brought(operations=(*operations(), *of_prompt_files()))


def options(folder: Path) -> Options:
    return Options(persona=PromptBuilder(folder), brings=brings)


async def say(bot: FakeGateway, text: str, **more: object) -> str:
    await bot.channel.push(text, **more)  # type: ignore[arg-type]
    return (await bot.channel.pop()).text


async def show(bot: FakeGateway, key: str = "fake:1") -> ContextView:
    view = await bot.operations.call("context show", {"session": key})
    assert isinstance(view, ContextView)
    return view


async def test_it_is_what_the_next_call_begins_with(folder: Path) -> None:
    tool = Recorder().tool("look")
    script = ("one", asks_for("look", text="x"), "two")
    async with gateway(ScriptedProvider(*script), tools=[tool], options=options(folder)) as bot:
        await say(bot, "first")
        await say(bot, "second")
        view = await show(bot)
        before = len(bot.provider.requests)
        await say(bot, "third")
        sent = bot.provider.requests[before]
    assert sent.messages[0].content == view.system
    assert sent.messages[1:-1] == view.messages
    assert sent.tools == view.tools
    assert not view.renewed


async def test_the_parts_add_up_and_are_named(folder: Path) -> None:
    tool = Recorder().tool("look")
    async with gateway(tools=[tool], options=options(folder)) as bot:
        await say(bot, "hello")
        view = await show(bot)
    names = [part.name for part in view.parts]
    assert names[:3] == ["system: identity", "system: principles", "system: persona"]
    assert {"system: AGENTS.md", "system: SOUL.md", "tools (1)"} < set(names)
    assert names[-2:] == ["history (1 message)", "last message (assistant)"]
    assert view.tokens == sum(part.tokens for part in view.parts)
    assert all(part.tokens > 0 for part in view.parts)


async def test_looking_changes_nothing(folder: Path) -> None:
    async with gateway(options=options(folder)) as bot:
        await say(bot, "hello")
        before = len(bot.home.entries("fake:1"))
        assert await show(bot) == await show(bot)
        assert len(bot.home.entries("fake:1")) == before


async def test_a_small_model_has_one_part(folder: Path) -> None:
    small = ModelProfile(name="small", provider="test", short_prompt=True, tools=False)
    async with gateway(ScriptedProvider(model=small), options=options(folder)) as bot:
        await say(bot, "hello")
        view = await show(bot)
    assert view.parts[0].name == "system: prompt"
    assert view.tools == ()


async def test_a_session_that_is_not_there_is_an_error(folder: Path) -> None:
    async with gateway(options=options(folder)) as bot:
        with pytest.raises(NanobotError, match="no session fake:9"):
            await show(bot, "fake:9")


async def test_in_a_chat_only_owners_see_it_and_only_the_counts(folder: Path) -> None:
    async with gateway(options=options(folder)) as bot:
        await say(bot, "hello")
        text = await say(bot, "/context show")
        assert "- system: identity: " in text
        assert "prints all of it" in text
        assert "personal assistant" not in text
        assert await say(bot, "/context show", sender=MEMBER) == "/context show is for owners."


async def test_a_changed_file_counts_after_reload(folder: Path) -> None:
    async with gateway(options=options(folder)) as bot:
        await say(bot, "hello")
        (folder / "SOUL.md").write_text("You are a pirate.")
        await say(bot, "still the old one")
        assert "pirate" not in (await show(bot)).system
        assert (
            await say(bot, "/reload")
            == "Reloaded; 1 open conversations use it from their next message on."
        )
        view = await show(bot)
        assert "You are a pirate." in view.system
        assert view.renewed
        await say(bot, "ahoy")
        assert "You are a pirate." in str(bot.provider.requests[-1].messages[0].content)
        assert len(bodies(bot, PromptEntry)) == 2


async def test_new_makes_the_prompt_anew(folder: Path) -> None:
    async with gateway(options=options(folder)) as bot:
        await say(bot, "hello")
        (folder / "SOUL.md").write_text("You are a pirate.")
        await say(bot, "/new")
        await say(bot, "ahoy")
        assert "You are a pirate." in str(bot.provider.requests[-1].messages[0].content)


async def test_a_restart_does_not_make_the_prompt_anew(folder: Path) -> None:
    async with MemoryHome() as home:
        async with gateway(home=home, options=options(folder)) as bot:
            await say(bot, "hello")
        (folder / "SOUL.md").write_text("You are a pirate.")
        async with gateway(home=home, options=options(folder)) as bot:
            await say(bot, "ahoy", key="another")
            assert "pirate" not in str(bot.provider.requests[-1].messages[0].content)
