"""Where a platform has drafts, a chat sees in one how far its answer is: no message, no row."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest

from nanobot.channels.host import Hosting
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import NotSent, Refused
from nanobot.messages import Address
from nanobot.plugins.progress.drafts import DRAFT_KEPT
from nanobot.plugins.progress.previews import CURSOR, PREVIEW_AFTER
from nanobot.ports import Capabilities, OutboundPart
from nanobot.session.inbox import Busy
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import FakePlatform
from tests.agent.tooling import Gate, Recorder
from tests.channels.seeing import seen, standing
from tests.plugins.progress.test_previews import asked, pass_seconds, settled
from tests.stored import log_of

THINKING = ""


class DraftingPlatform(FakePlatform):
    """Shows drafts. `refusals` are how the next ones end; Refused ends them in that chat for good.
    `held` keeps them waiting until it is set."""

    def __init__(self, capabilities: Capabilities = Capabilities()) -> None:  # noqa: B008 - frozen
        super().__init__(capabilities=capabilities)
        self.drafted: list[str] = []
        self.refusals: deque[Exception] = deque()
        self.held: asyncio.Event | None = None
        self._without: set[str] = set()

    def drafts(self, address: Address) -> bool:
        return address.chat_id not in self._without

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        if self.held is not None:
            await self.held.wait()
        if self.refusals:
            error = self.refusals.popleft()
            if isinstance(error, Refused):
                self._without.add(address.chat_id)
            raise error
        self.drafted.append(part.payload.decode() if part.payload else part.text)


@pytest.fixture
def platform() -> DraftingPlatform:
    return DraftingPlatform(Capabilities(typing=True))


async def test_an_answer_in_the_making_is_a_draft_and_then_one_message(
    platform: DraftingPlatform,
) -> None:
    held = Held("I think")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 3)
        assert platform.drafted == ["I think"]
        assert (seen(bot), platform.edits, platform.typed) == ([], [], [])
        await settled(bot, held)
        assert "preview" not in bot.process.verbs
        await pass_seconds(bot, 60)
        assert platform.drafted == ["I think"]


async def test_what_is_answered_within_a_second_costs_no_draft(platform: DraftingPlatform) -> None:
    held = Held("I think")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, PREVIEW_AFTER - 0.1)
        await settled(bot, held)
        await pass_seconds(bot, 3)
        assert (len(seen(bot)), platform.drafted, platform.typed) == (1, [], [])


async def test_before_there_is_a_word_and_while_a_tool_works_the_draft_says_so(
    platform: DraftingPlatform,
) -> None:
    gate, thinking = Gate(), Held()
    tool = Recorder().tool(then=gate)
    provider = ScriptedProvider(thinking, "Done.")
    async with standing() as home, gateway(provider, platform, tools=[tool], home=home) as bot:
        await asked(bot, thinking, 3)
        assert platform.drafted == [THINKING]
        thinking.answer(asks_for(tool.name, text="the sea"))
        await gate.reached.wait()
        await pass_seconds(bot, 2)
        assert platform.drafted[-1].endswith(f"`{tool.name}: the sea`")
        gate.open.set()
        await bot.settle()
        assert seen(bot)[-1] == "Done."


async def test_a_draft_that_does_not_change_is_shown_again_before_it_goes_away(
    platform: DraftingPlatform,
) -> None:
    held = Held("I think")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 3 * DRAFT_KEPT)
        assert platform.drafted == ["I think"] * 3
        held.answer("At last.")
        await bot.settle()


async def test_where_drafts_are_refused_previews_take_their_place_after_one_try(
    platform: DraftingPlatform,
) -> None:
    first, second = Held("I think"), Held("I know")
    platform.refusals.append(Refused("the method is unknown"))
    provider = ScriptedProvider(first, second)
    async with standing() as home, gateway(provider, platform, home=home) as bot:
        await asked(bot, first, 3)
        assert seen(bot) == [f"I think {CURSOR}"]
        first.answer("I think so.")
        await bot.settle()
        await asked(bot, second, 3)
        assert seen(bot) == ["I think so.", f"I know {CURSOR}"]
        second.answer("I know it.")
        await bot.settle()
        assert seen(bot) == ["I think so.", "I know it."]
        assert platform.drafted == []


async def test_drafts_pause_while_the_platform_complains_and_never_hold_an_answer_up(
    platform: DraftingPlatform,
) -> None:
    held = Held("I think")
    platform.refusals.extend([NotSent("429", retry_after=30)] * 5)
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 20)
        assert (len(platform.refusals), platform.drafted) == (4, [])
        held.answer("I think so.")
        await pass_seconds(bot, 20)
        assert seen(bot) == ["I think so."]


async def test_an_answer_waits_for_a_draft_that_hangs_for_seconds_only_and_comes_after_it(
    platform: DraftingPlatform,
) -> None:
    held = Held("I think")
    platform.held = asyncio.Event()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 3)
        held.answer("I think so.")
        await bot.settle()
        assert seen(bot) == []
        platform.held.set()
        await bot.settle()
        assert seen(bot) == ["I think so."]
        await pass_seconds(bot, 5)
        assert platform.drafted == ["I think"]


async def test_who_stops_keeps_what_stood_in_the_draft(platform: DraftingPlatform) -> None:
    held = Held("I think that the sea")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 3)
        await bot.channel.push("/stop")
        await pass_seconds(bot, 2)
        assert seen(bot) == ["I think that the sea\n\n[stopped]"]
        await bot.channel.push("/stop")
        await pass_seconds(bot, 2)
        assert len(seen(bot)) == 2
        assert "[stopped]" not in seen(bot)[1]


@pytest.mark.parametrize("text", ["something else", "/new"])
async def test_who_interrupts_keeps_what_stood_in_the_draft(
    platform: DraftingPlatform, text: str
) -> None:
    held = Held("I think that the sea")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        bot.bus.busy = Busy(mode="interrupt")
        await asked(bot, held, 3)
        await bot.channel.push(text)
        await pass_seconds(bot, 2)
        assert seen(bot)[0] == "I think that the sea\n\n[stopped]"
        assert len(seen(bot)) == 2
        entries = await log_of(bot.records).entries("fake:1", after=0, limit=100)
        said = [entry.body["text"] for entry in entries if entry.kind == "reply" and entry.body]
        assert said[0] == "I think that the sea"


async def test_without_previews_there_are_no_drafts(platform: DraftingPlatform) -> None:
    held, options = (
        Held("I think"),
        Options(hosting=Hosting(settings=ChannelSettings(type="fake", preview=False))),
    )
    async with (
        standing() as home,
        gateway(ScriptedProvider(held), platform, home=home, options=options) as bot,
    ):
        await asked(bot, held, 3)
        assert platform.drafted == []
        assert platform.typed
        held.answer("I think so.")
        await bot.settle()


async def test_who_presses_stop_just_after_the_answer_does_not_get_it_again(
    platform: DraftingPlatform,
) -> None:
    held = Held("I think")
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held)
        assert platform.drafted == ["I think"]
        held.answer("I think so.")
        await bot.settle()
        await bot.channel.push("/stop")
        await bot.settle()
        assert seen(bot) == ["I think so.", "Nothing was running here."]
