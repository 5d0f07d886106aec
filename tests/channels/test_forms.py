"""What a chat does not take in its newer form comes in the older one, once."""

from __future__ import annotations

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import FormRefused, NotSent, OutcomeUnknown
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.ports import Capabilities, OutboundPart
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.platform import FakePlatform
from tests.channels.seeing import seen, states

SHORT, LONG = 10, 1_000
TEXT = "one two three four five"
PIECES = [TEXT[at : at + SHORT] for at in range(0, len(TEXT), SHORT)]


class Particular(FakePlatform):
    """Takes long messages in chats that begin with n, and learns where it does not."""

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__()
        self.refused: list[str] = []
        self._older: set[str] = set()
        self._stubborn = stubborn

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        size = SHORT if message.address.chat_id in self._older else LONG
        pieces = [message.text[at : at + size] for at in range(0, len(message.text), size)]
        return [OutboundPart(text=piece, payload=piece.encode()) for piece in pieces]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        self._check(address, part)
        return await super().send(address, part, plain=plain)

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        self._check(address, part)
        await super().edit(address, message_id, part, plain=plain)

    def _check(self, address: Address, part: OutboundPart) -> None:
        if len(part.payload) > SHORT and not address.chat_id.startswith("n"):
            self.refused.append(address.chat_id)
            if not self._stubborn:
                self._older.add(address.chat_id)
            raise FormRefused("too long here")


async def owe(bot: FakeGateway, chat: str = "1", key: str = "a", replaces: str = "") -> None:
    address = Address("fake", chat)
    message = OutboundMessage(
        address=address, text=TEXT, key=key, kind=OutboundKind.NOTICE, replaces=replaces
    )
    await bot.journal.post(f"fake:{chat}", message)
    bot.bus.owed(address)
    await bot.settle()


async def test_a_refused_form_costs_one_try_a_chat() -> None:
    platform = Particular()
    async with gateway(channel=platform) as bot:
        await owe(bot)
        await owe(bot, key="b")
        await owe(bot, "n", key="c")
        assert seen(bot) == [*PIECES, *PIECES, TEXT]
        assert platform.refused == ["1"]
        assert states(bot) == ["sent"] * 3


async def test_each_part_of_the_older_form_has_a_key_of_its_own() -> None:
    async with gateway(channel=Particular()) as bot:
        await owe(bot)
        assert len({message.key for message in bot.channel.sent}) == len(PIECES)


@pytest.mark.parametrize("error", [NotSent("503"), OutcomeUnknown("cut")])
async def test_trouble_after_it_is_trouble_as_ever(error: Exception) -> None:
    platform = Particular()
    async with gateway(channel=platform) as bot:
        platform.fail(error)
        await owe(bot)
        await bot.channel.until(lambda: states(bot) == ["sent"])
        pieces = [text for text in seen(bot) if text != REPEAT_LINE]
        assert pieces == PIECES


async def test_an_adapter_that_learns_nothing_does_not_go_round_for_ever() -> None:
    platform = Particular(stubborn=True)
    async with gateway(channel=platform) as bot:
        await owe(bot)
        assert states(bot) == ["dead"]
        assert len(platform.refused) == 1


async def test_what_cannot_take_an_earlier_ones_place_in_one_piece_is_left_out() -> None:
    platform = Particular()
    async with gateway(channel=platform) as bot:
        await bot.journal.post(
            "fake:1",
            OutboundMessage(address=Address("fake", "1"), text="question", key="q"),
        )
        await owe(bot, key="decided", replaces="q")
        assert seen(bot) == ["question"]
        assert states(bot) == ["sent", "sent"]


class Ageing(FakePlatform):
    """Takes so many messages in capitals, and only small letters afterwards."""

    def __init__(self, takes: int) -> None:
        super().__init__(capabilities=Capabilities(reconciles=True))
        self.takes = takes
        self.refused = 0

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        words = message.text.upper().split()
        return [OutboundPart(text=word.lower(), payload=word.encode()) for word in words]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        if part.payload.isupper():
            if self.takes <= 0:
                self.refused += 1
                refusal = FormRefused("no capitals")
                halves = part.text[:2], part.text[2:]
                refusal.instead = [
                    OutboundPart(text=half, payload=half.encode()) for half in halves
                ]
                raise refusal
            self.takes -= 1
        return await super().send(address, part, plain=plain)


@pytest.mark.parametrize("takes", [0, 1, 3, 4, 5])
async def test_what_a_later_part_is_refused_in_changes_from_there_on(takes: int) -> None:
    platform = Ageing(takes)
    words = TEXT.split()
    older = [half for word in words[takes:] for half in (word[:2], word[2:])]
    async with gateway(channel=platform) as bot:
        await owe(bot)
        assert seen(bot) == [*(word.upper() for word in words[:takes]), *older]
        assert states(bot) == ["sent"]
        assert len({message.key for message in bot.channel.sent}) == len(seen(bot))


@pytest.mark.parametrize("verb", ["begin_send", "receipt"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 11))
async def test_a_crash_anywhere_on_that_way_repeats_nothing(verb: str, when: str, nth: int) -> None:
    platform, reached = Ageing(2), 0
    async with MemoryHome() as home:
        async with gateway(channel=platform, home=home) as bot:

            def crash(name: str) -> None:
                nonlocal reached
                reached += name == verb
                if name == verb and reached == nth:
                    bot.crash()

            setattr(bot.process, when, crash)
            await owe(bot)
        async with gateway(channel=platform, home=home) as bot:
            await bot.channel.until(lambda: states(bot) == ["sent"])
            assert seen(bot) == ["ONE", "TWO", "th", "ree", "fo", "ur", "fi", "ve"]


async def test_an_adapter_that_always_has_another_form_of_nothing_ends() -> None:
    """It names the refused part itself."""

    class Silly(FakePlatform):
        async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
            refusal = FormRefused("not this")
            refusal.instead = [part]
            raise refusal

    async with gateway(channel=Silly()) as bot:
        await owe(bot)
        assert states(bot) == ["dead"]


async def test_what_says_that_it_may_be_a_repeat_says_so_in_the_older_form_too() -> None:
    class Loud(FakePlatform):
        """Takes one message in capitals, of which nobody hears."""

        def render(self, message: OutboundMessage) -> list[OutboundPart]:
            return [OutboundPart(text=message.text, payload=message.text.upper().encode())]

        async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
            if self.sent and part.payload.isupper():
                refusal = FormRefused("no capitals")
                refusal.instead = [OutboundPart(text=part.text, payload=part.text.encode())]
                raise refusal
            return await super().send(address, part, plain=plain)

    platform = Loud()
    async with gateway(channel=platform) as bot:
        platform.fail(OutcomeUnknown("cut"), applied=True)
        await owe(bot)
        await bot.channel.until(lambda: states(bot) == ["sent"])
        assert seen(bot) == [TEXT.upper(), f"{TEXT}\n\n{REPEAT_LINE}"]
