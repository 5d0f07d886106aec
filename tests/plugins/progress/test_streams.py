"""Where messages can grow, a preview grows into the answer; once it cannot, it is edited."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from nanobot.errors import NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Step
from nanobot.plugins.progress.previews import CURSOR
from nanobot.ports import OutboundPart
from nanobot.providers.base import Completion, ToolCall
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import FakePlatform
from tests.agent.tooling import Recorder
from tests.channels.seeing import seen, states
from tests.plugins.progress.test_previews import asked, pass_seconds, settled


class Growing(FakePlatform):
    """A platform whose messages grow. `start_failures` and `grow_failures` are how the next calls
    end."""

    def __init__(self) -> None:
        super().__init__()
        self.grown: list[list[Step]] = []
        self.starts: list[tuple[str, str | None]] = []
        self.start_failures: deque[Exception] = deque()
        self.grow_failures: deque[Exception] = deque()
        self.capabilities = msgspec.structs.replace(self.capabilities, typing=True)

    def streams(self, _address: Address) -> bool:
        return True

    async def start(
        self, address: Address, part: OutboundPart, steps: Sequence[Step], reply_to: str | None
    ) -> str:
        await asyncio.sleep(0)
        if self.start_failures:
            raise self.start_failures.popleft()
        self.grown.append(list(steps))
        self.starts.append((part.key, reply_to))
        return await self.send(address, part)

    async def grow(self, _address: Address, _message_id: str, steps: Sequence[Step]) -> None:
        await asyncio.sleep(0)
        if self.grow_failures:
            raise self.grow_failures.popleft()
        self.grown.append(list(steps))


@asynccontextmanager
async def working(*script: Held | Completion) -> AsyncIterator[tuple[FakeGateway, Growing]]:
    platform = Growing()
    async with (
        MemoryHome(ManualClock(instant=False)) as home,
        gateway(
            ScriptedProvider(*script), platform, tools=[Recorder().tool("record")], home=home
        ) as bot,
    ):
        yield bot, platform


async def test_a_message_grows_and_its_end_is_the_answer() -> None:
    held = Held("I think")
    async with working(held) as (bot, platform):
        await asked(bot, held)
        held.say(" so")
        await pass_seconds(bot, 3)
        assert platform.grown == [[Step("I think")], [Step("I think so")]]
        assert seen(bot) == ["I think"], "no cursor"
        ((key, reply_to),) = platform.starts
        assert key.endswith(":0:p")
        assert reply_to
        typed = len(platform.typed)
        await pass_seconds(bot, 10)
        assert len(platform.typed) == typed, "it is seen at work"
        await settled(bot, held)
        assert len(platform.edits) == 1
        assert states(bot) == ["sent"]


async def test_tools_stand_where_they_were_called() -> None:
    look = Completion(text="I look.", tool_calls=(ToolCall("a", "record", '{"text": "x"}'),))
    held = Held("There")
    async with working(look, held) as (bot, platform):
        await asked(bot, held)
        (steps,) = platform.grown
        assert steps == [Step("I look."), Step(tool=steps[1].tool, done=True), Step("There")]
        assert steps[1].tool == "record: x"
        held.answer("There it is.")
        await bot.settle()
        assert seen(bot) == ["There it is."]


async def test_before_there_are_words_nothing_grows_and_a_status_is_shown(held: Held) -> None:
    async with working(held) as (bot, platform):
        await asked(bot, held, 6)
        assert platform.grown == []
        assert platform.typed
        held.answer("So.")
        await bot.settle()
        assert seen(bot) == ["So."]


async def test_where_none_can_be_begun_the_same_preview_is_edited() -> None:
    held = Held("I think")
    async with working(held) as (bot, platform):
        platform.start_failures.append(Refused("not here"))
        await asked(bot, held)
        assert seen(bot) == ["I think"]
        held.say(" so")
        await pass_seconds(bot, 3)
        assert seen(bot) == [f"I think so {CURSOR}"]
        await settled(bot, held)
        assert states(bot) == ["sent"]


async def test_what_can_grow_no_more_is_edited_from_then_on() -> None:
    held = Held("I think")
    async with working(held) as (bot, platform):
        await asked(bot, held)
        platform.grow_failures += [NotSent("too fast"), Refused("it is over")]
        held.say(" so")
        await pass_seconds(bot, 6)
        assert platform.grow_failures == deque()
        assert seen(bot) == [f"I think so {CURSOR}"]
        await settled(bot, held)


@pytest.mark.process
@pytest.mark.parametrize("error", [NotSent("503"), OutcomeUnknown("cut")])
async def test_a_start_that_failed_or_may_have_leaves_one_answer(error: Exception) -> None:
    held = Held("I think")
    async with working(held) as (bot, platform):
        platform.start_failures.append(error)
        await asked(bot, held)
        held.answer("I think so.")
        await pass_seconds(bot, 200)
        (answer,) = seen(bot)
        assert answer.startswith("I think so.")
        assert states(bot) == ["sent"]


async def test_the_next_process_edits_what_this_one_let_grow() -> None:
    held, again = Held("I think"), Held("I think")
    platform = Growing()
    async with MemoryHome(ManualClock(instant=False)) as home:
        async with gateway(ScriptedProvider(held), platform, home=home) as bot:
            await asked(bot, held)
            bot.crash()
        async with gateway(ScriptedProvider(again), platform, home=home) as bot:
            await again.reached.wait()
            await pass_seconds(bot, 3)
            assert len(platform.starts) == 1
            assert seen(bot) == [f"I think {CURSOR}"]
            again.answer("I think so.")
            await bot.settle()
            assert seen(bot) == ["I think so."]
            assert states(bot) == ["sent"]
