"""Whose memory a conversation has."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.messages import Address, Role
from nanobot.session.scopes import OWNER, scope_of
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER
from nanobot.tools.base import Effect
from tests.agent.tooling import Recorder

names = st.text(max_size=300)
people = st.tuples(names, names)


@given(people, people)
@example(("t", "A"), ("t", "a"))
@example(("t", ""), ("t", "%"))
@example(("t", ".."), ("t", "%2e%2e"))
@example(("t", "a/b"), ("t", "a%2fb"))
@example(("t", "=a"), ("t", "A"))
def test_two_people_never_share_a_folder(first: tuple[str, str], other: tuple[str, str]) -> None:
    def scope(who: tuple[str, str]) -> str:
        return scope_of(Address(who[0], "1"), who[1], Role.MEMBER, private=True)

    assert (scope(first) == scope(other)) == (first == other)
    assert (scope(first).casefold() == scope(other).casefold()) == (first == other)


@given(names, names, names, st.sampled_from(Role), st.booleans())
def test_a_folder_is_three_plain_names_or_the_owners(
    channel: str, chat: str, sender: str, role: Role, private: bool
) -> None:
    scope = scope_of(Address(channel, chat), sender, role, private=private)
    if scope != OWNER:
        parts = scope.split("/")
        assert len(parts) == 3
        assert not {"", ".", ".."} & set(parts)
        assert all(len(part.encode()) < 250 and part.isascii() for part in parts)
    assert (scope == OWNER) == (private and role is Role.OWNER)


def test_a_thread_belongs_to_its_chat_and_a_group_to_nobody_alone() -> None:
    chat, thread = Address("slack", "C1"), Address("slack", "C1", "7")
    scopes = {
        scope_of(address, sender, role, private=False)
        for address in (chat, thread)
        for sender, role in (("U1", Role.OWNER), ("U2", Role.MEMBER))
    }
    assert scopes == {"chats/slack/=c1"}


async def test_a_call_knows_whether_one_person_alone_reads_there() -> None:
    recorder = Recorder()
    look = recorder.tool("look", Effect.NONE)
    model = ScriptedProvider(asks_for("look"), "a", asks_for("look"), "b")
    async with gateway(model, tools=[look]) as bot:
        await bot.channel.push("one")
        await bot.channel.pop()
        await bot.channel.push("two", sender=MEMBER, chat="-5", group=True)
        await bot.channel.pop()
    assert [context.private for context in recorder.contexts] == [True, False]
