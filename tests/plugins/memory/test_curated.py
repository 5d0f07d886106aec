"""The curated memory of a person or group stands in the prompts of their conversations alone."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.messages import Address, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.context.operations import operations as of_context
from nanobot.plugins.context.shown import ContextView
from nanobot.plugins.memory.files import curated
from nanobot.plugins.prompt_files.operations import operations as of_prompt_files
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import PromptEntry
from nanobot.session.scopes import OWNER as OWNERS
from nanobot.session.scopes import scope_of
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import MEMBER, OWNER
from tests.agent.tooling import bodies
from tests.plugins.memory.kept import remembering

OTHER = "3003"
GROUP = scope_of(Address("fake", "1"), "", Role.MEMBER, private=False)


def person(sender: str) -> str:
    return scope_of(Address("fake", "1"), sender, Role.MEMBER, private=True)


def options(folder: Path) -> Options:
    return Options(workspace=folder, brings=remembering(folder), members=(MEMBER, OTHER))


def write(folder: Path, scope: str, text: str) -> None:
    file = folder / curated(scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def say(bot: FakeGateway, text: str, **more: object) -> str:
    await bot.channel.push(text, **more)  # type: ignore[arg-type]
    return (await bot.channel.pop()).text


def prompts(bot: FakeGateway) -> list[str]:
    return [str(request.messages[0].content) for request in bot.provider.requests]


async def test_a_member_is_answered_by_what_is_known_of_them(tmp_path: Path) -> None:
    write(tmp_path, person(MEMBER), "- Bob is allergic to nuts.")
    async with gateway(options=options(tmp_path)) as bot:
        await say(bot, "hello", sender=MEMBER)
        await say(bot, "hello", sender=OTHER, chat="2")
        await say(bot, "hello", chat="3")
    member, other, owner = prompts(bot)
    assert "these are notes" in " ".join(member.split()).lower()
    assert "Bob is allergic to nuts." in member
    assert "Bob" not in other + owner


async def test_a_group_has_its_own_for_whoever_speaks_there(tmp_path: Path) -> None:
    write(tmp_path, GROUP, "- We meet on Tuesdays.")
    write(tmp_path, OWNERS, "- The safe is behind the painting.")
    write(tmp_path, person(MEMBER), "- Bob is allergic to nuts.")
    async with gateway(options=options(tmp_path)) as bot:
        for sender in (OWNER, MEMBER, OTHER):
            await say(bot, "hello", sender=sender, group=True)
    for prompt in prompts(bot):
        assert "Tuesdays" in prompt
        assert "painting" not in prompt
        assert "Bob" not in prompt


async def test_it_is_a_part_of_its_own_with_its_tokens(tmp_path: Path) -> None:
    write(tmp_path, person(MEMBER), "- Bob is allergic to nuts.")
    async with gateway(options=options(tmp_path)) as bot:
        await say(bot, "hello", sender=MEMBER)
        desk = Dispatcher(bot.engine, of_context(), bot.offers)
        view = await desk.call("context show", {"session": "fake:1"})
    assert isinstance(view, ContextView)
    (part,) = [entry for entry in view.parts if "MEMORY.md" in entry.name]
    assert part.name == f"system: memory/people/fake/{MEMBER}/MEMORY.md"
    assert 10 < part.tokens < 100
    assert view.tokens == sum(entry.tokens for entry in view.parts)


async def test_an_edit_counts_at_the_next_renewal_and_not_before(tmp_path: Path) -> None:
    write(tmp_path, person(MEMBER), "- Bob likes tea.")
    async with gateway(options=options(tmp_path)) as bot:
        await say(bot, "one", sender=MEMBER)
        write(tmp_path, person(MEMBER), "- Bob likes beer.")
        await say(bot, "two", sender=MEMBER)
        await Dispatcher(bot.engine, of_prompt_files(), bot.offers).call("reload", {})
        await say(bot, "three", sender=MEMBER)
        write(tmp_path, person(MEMBER), "- Bob likes wine.")
        await say(bot, "/new", sender=MEMBER)
        await say(bot, "four", sender=MEMBER)
        liked = [prompt.partition("likes ")[2][:4] for prompt in prompts(bot)]
        assert liked == ["tea.", "tea.", "beer", "wine"]
        assert len(bodies(bot, PromptEntry)) == 3


async def test_what_it_holds_is_limited_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, person(MEMBER), "- " + "x" * 9_000)
    async with gateway(options=options(tmp_path)) as bot:
        await say(bot, "one", sender=MEMBER)
    (prompt,) = prompts(bot)
    assert "[... MEMORY.md goes on; memory_search finds the rest ...]" in prompt
    assert prompt.count("x" * 100) <= 80


async def test_a_small_model_is_shown_none_of_it(tmp_path: Path) -> None:
    write(tmp_path, person(MEMBER), "- Bob likes tea.")
    small = ModelProfile(name="small", provider="test", short_prompt=True)
    async with gateway(ScriptedProvider(model=small), options=options(tmp_path)) as bot:
        await say(bot, "one", sender=MEMBER)
    assert "Bob" not in prompts(bot)[0]


async def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / curated(person(MEMBER))
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "MEMORY.md")
    write(tmp_path, OWNERS, "- The safe is behind the painting.")
    (tmp_path / curated(GROUP)).parent.mkdir(parents=True)
    (tmp_path / curated(GROUP)).mkdir()
    async with gateway(options=options(tmp_path)) as bot:
        assert await say(bot, "one", sender=MEMBER) == "echo: one"
        assert await say(bot, "two", chat="2", group=True) == "echo: two"
    assert not any("painting" in prompt for prompt in prompts(bot))


speakers = st.tuples(
    st.sampled_from([OWNER, MEMBER, OTHER]), st.sampled_from(["1", "2"]), st.booleans()
)


@pytest.mark.process
@settings(max_examples=25)
@given(st.lists(speakers, min_size=1, max_size=6))
def test_no_prompt_holds_what_is_known_of_another_scope(
    talk: list[tuple[str, str, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_said(Path(folder), talk))


async def _said(folder: Path, talk: list[tuple[str, str, bool]]) -> None:
    groups = [scope_of(Address("fake", chat), "", Role.MEMBER, private=False) for chat in "12"]
    scopes = [OWNERS, *groups, *map(person, (OWNER, MEMBER, OTHER))]
    for number, scope in enumerate(scopes):
        write(folder, scope, f"- secret {number}.")
    async with gateway(options=options(folder)) as bot:
        mixed: dict[str, set[str]] = {}
        grouped: set[str] = set()
        for sender, chat, group in talk:
            await say(bot, "hello", sender=sender, chat=chat, group=group)
            mixed.setdefault(chat, set()).add(sender)
            grouped |= {chat} if group else set()
            role = Role.OWNER if sender == OWNER else Role.MEMBER
            scope = scope_of(Address("fake", chat), sender, role, private=chat not in grouped)
            alone = scope != OWNERS or mixed[chat] == {OWNER}
            wanted = {scopes.index(scope)} if alone else set()
            prompt = prompts(bot)[-1]
            assert {n for n in range(len(scopes)) if f"secret {n}." in prompt} == wanted
