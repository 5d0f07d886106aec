"""What concerns one person of a group is shown to that person alone where the platform can."""

from __future__ import annotations

from collections import deque

import msgspec
import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import ModelError, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address
from nanobot.ports import Capabilities, OutboundPart
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER, FakePlatform
from nanobot.tools.base import AnyTool
from tests.agent.tooling import Recorder

GROUP = "-5"
STRANGER = "666"
EVERYBODY = ""


class DiscreetPlatform(FakePlatform):
    """Shows what one person of a group is told to that person alone, until it is refused there.
    `confided` are the persons, `troubles` how the next ones fail."""

    def __init__(self, capabilities: Capabilities = Capabilities()) -> None:  # noqa: B008 - frozen
        super().__init__(capabilities=capabilities)
        self.confided: dict[str, str] = {}
        self.troubles: deque[Exception] = deque()
        self._public: set[str] = set()

    def confides(self, address: Address, person: str) -> bool:
        return address.chat_id.startswith("-") and address.chat_id not in self._public

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        error = self.troubles.popleft() if self.troubles else None
        if isinstance(error, Refused):
            self._public.add(address.chat_id)
        if error is not None:
            raise error
        receipt = await self.send(address, part)
        self.confided[receipt] = person
        return receipt

    def seen(self) -> list[tuple[str, str]]:
        """By whom (EVERYBODY of the chat), and the first words."""
        return [
            (self.confided.get(message.id, EVERYBODY), message.text.split(":")[0].split(".")[0])
            for message in self.sent
        ]


async def say(
    bot: FakeGateway,
    text: str,
    sender: str = OWNER,
    *,
    addressed: bool = True,
    unseen: bool = False,
) -> None:
    await bot.channel.push(
        text, chat=GROUP, sender=sender, group=True, addressed=addressed, unseen=unseen
    )
    await bot.settle()


async def test_a_refused_command_concerns_nobody_else() -> None:
    platform = DiscreetPlatform()
    async with gateway(channel=platform) as bot:
        await say(bot, "/outbox list", MEMBER)
        await say(bot, "/hlep", MEMBER)
        await say(bot, "/approve 77")
        await say(bot, "/help")
        await say(bot, "/help", unseen=True)
        await say(bot, "hello")
    whom = [person for person, _ in platform.seen()]
    assert whom == [MEMBER, MEMBER, OWNER, EVERYBODY, OWNER, EVERYBODY]


async def test_a_failure_is_told_to_who_asked_and_an_answer_to_all() -> None:
    platform = DiscreetPlatform()
    model = ScriptedProvider(ModelError("the key is refused"), "well")
    async with gateway(model, platform) as bot:
        await say(bot, "hello", MEMBER)
        await say(bot, "again", MEMBER)
    assert [person for person, _ in platform.seen()] == [MEMBER, EVERYBODY]


def risky() -> list[AnyTool]:
    return [msgspec.structs.replace(Recorder().tool("act"), risk="high")]


async def test_who_asked_for_a_call_is_asked_alone_and_sees_what_was_decided() -> None:
    platform = DiscreetPlatform()
    model = ScriptedProvider("hi", asks_for("act", text="now"), "It is done.")
    async with gateway(model, platform, tools=risky()) as bot:
        await bot.channel.push("hello", chat="9")
        await say(bot, "act", MEMBER)
        people = [person for person, _ in platform.seen()]
        assert sorted(people) == [EVERYBODY, EVERYBODY, MEMBER]
        asked = platform.sent[people.index(MEMBER)]
        owners = [each for each in platform.sent[1:] if each is not asked]
        assert [each.address.chat_id for each in owners] == ["9"]
        await bot.channel.push("/approve 1", chat="9")
        await bot.settle()
        asked = next(each for each in platform.sent if each.id == asked.id)
        assert asked.text.endswith("Approved by name of 1001")
        assert platform.seen()[-1] == (EVERYBODY, "It is done")


async def test_a_platform_that_refuses_is_asked_once_and_all_see_it() -> None:
    platform = DiscreetPlatform()
    platform.troubles.append(Refused("ephemeral messages are not for this group"))
    async with gateway(channel=platform) as bot:
        for _ in range(3):
            await say(bot, "/outbox list", MEMBER)
        assert [person for person, _ in platform.seen()] == [EVERYBODY] * 3
        assert not platform.troubles


@pytest.mark.parametrize("reconciles", [True, False])
async def test_what_was_perhaps_shown_says_that_it_may_be_a_repeat(reconciles: bool) -> None:
    platform = DiscreetPlatform(Capabilities(reconciles=reconciles))
    platform.troubles += [NotSent("busy"), OutcomeUnknown("no answer")]
    async with gateway(channel=platform) as bot:
        await say(bot, "/outbox list", MEMBER)
        (confided,) = platform.sent
        assert confided.text.endswith(REPEAT_LINE)
        assert platform.confided == {confided.id: MEMBER}
        assert platform.lookups_made == []


async def test_what_a_killed_process_was_about_to_confide_is_marked_by_the_next() -> None:
    home = MemoryHome()
    platform = DiscreetPlatform(Capabilities(reconciles=True))
    platform.fail(OutcomeUnknown("killed"), chat=GROUP, applied=True)
    async with gateway(channel=platform, home=home) as bot:
        await bot.channel.push("/outbox list", chat=GROUP, sender=MEMBER, group=True)
        await platform.until(lambda: bool(platform.sent))
    after = DiscreetPlatform(Capabilities(reconciles=True))
    async with gateway(channel=after, home=home) as bot:
        await bot.settle()
    assert [message.text.endswith(REPEAT_LINE) for message in after.sent] == [True]


async def test_where_it_is_refused_a_stranger_in_a_group_is_told_nothing() -> None:
    platform = DiscreetPlatform()
    platform.troubles.append(Refused("not here"))
    async with gateway(channel=platform) as bot:
        for _ in range(2):
            await say(bot, "bot, let me in", STRANGER)
        assert platform.sent == []
        await say(bot, "hello")
        assert [person for person, _ in platform.seen()] == [EVERYBODY]
