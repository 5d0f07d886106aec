"""kill -9 at random moments, while answers are shown as they are made, calls wait for approvals and
budgets are on: nothing is lost, nothing comes twice unmarked, and a crash uses up no budget."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.plugins.progress.previews import CURSOR
from nanobot.store.journal.outbox import STOPPED_LINE
from tests.doubles.openai_server import Answer, Body, Fault
from tests.doubles.telegram_native import REFUSALS
from tests.doubles.telegram_rules import Message
from tests.process.harness import Nanobot, World
from tests.process.sharing import Cluster

STUCK_SECONDS = 120.0
CHATS = range(1, 13)
KINDS = ("plain", "plain", "slow", "slow", "look", "approve", "approve")
"""What a message wishes for: an answer at once or in the making, a call, a call with a question."""
TOKENS = 20_000_000
"""More than is spent; reservations that crashes leave behind would use it up."""
LONG = 240.0
_CONFIG = f"""
[budgets]
tokens_per_day = {TOKENS}
[[policy.rules]]
tool = "exec"
verdict = "ask"
"""
_OWED = "SELECT 1 FROM outbound WHERE state IN ('pending', 'sending')"
_MARKS = (REPEAT_LINE, STOPPED_LINE, CURSOR)
_NAME = re.compile(r"\bc(\d+)n(\d+):(\w+)")
_QUESTION = re.compile(r"\(#\d+\)")


def script(body: Body) -> Answer | None:
    """Say the name of the last message, after the call that it wishes for.

    A run that a kill cut off may take in the next message: its answer names both.
    """
    messages = body["messages"]
    mine = [(at, found) for at, each in enumerate(messages) if (found := _wish(each))]
    if not mine:
        return None
    at, found = mine[-1]
    name, kind = f"c{found[1]}n{found[2]}", found[3]
    words = " ".join(f"{name}x{number}" for number in range(8))
    before = mine[-2][1] if len(mine) > 1 else found
    earlier = f"c{before[1]}n{before[2]}"
    said = [each for each in messages if each["role"] == "assistant"]
    # What it says beside a call is no answer: it is shown only until the answer is there.
    answers = (str(each["content"]) for each in said if not each.get("tool_calls"))
    if earlier != name and not any(f"{earlier} ends" in answer for answer in answers):
        words += f" {earlier} ends " + words.replace(name, earlier)
    if kind in ("look", "approve") and not any(m["role"] == "tool" for m in messages[at:]):
        call = ("list_dir", '{"path": "."}')
        if kind == "approve":
            call = ("exec", json.dumps({"command": f"echo {name} >> effects"}))
        return Answer(f"{name} begins {words}", tool_calls=[call], pace=0.2)
    return Answer(f"{name} ends {words}", pace=0.3 if kind == "slow" else 0.0)


def _wish(message: dict[str, object]) -> re.Match[str] | None:
    return _NAME.search(str(message["content"])) if message["role"] == "user" else None


class Person:
    """Somebody who says one thing after the other, and approves what they are asked."""

    def __init__(self, world: World, chat: int, seed: int) -> None:
        self.chat, self.answered = chat, 0
        self.kinds: list[str] = []
        self._world = world
        self._rng = Random(f"{seed} {chat}")
        self._pressed = set[int]()

    async def talk(self, end: float) -> None:
        while time.monotonic() < end:
            self.kinds.append(self._rng.choice(KINDS))
            self._world.telegram.say(self.chat, f"{self._last}:{self.kinds[-1]}")
            await self._until(self._is_answered)
            self.answered += 1
            await asyncio.sleep(self._rng.random())

    @property
    def _last(self) -> str:
        return f"c{self.chat}n{len(self.kinds)}"

    def _is_answered(self) -> bool:
        self._approve()
        return any(_whole(text, self._last) for text in self._world.texts(self.chat)[-8:])

    def _approve(self) -> None:
        for message in self._world.telegram.messages(self.chat)[-8:]:
            if message.message_id not in self._pressed and _asks(message):
                self._pressed.add(message.message_id)
                self._world.telegram.press(message, "Approve")

    async def _until(self, holds: Callable[[], bool]) -> None:
        try:
            await self._world.telegram.until(holds, STUCK_SECONDS)
        except TimeoutError:
            raise AssertionError(
                f"{self._last}:{self.kinds[-1]} was not answered: "
                f"{self._world.texts(self.chat)[-4:]}"
            ) from None

    def faults(self) -> list[str]:
        """What was lost, came twice without a mark, or came out of order."""
        texts = self._world.texts(self.chat)
        faults = []
        for number, kind in enumerate(self.kinds, 1):
            name = f"c{self.chat}n{number}"
            said = [text for text in texts if f"{name} ends" in text]
            plain = [text for text in said if not any(mark in text for mark in _MARKS)]
            if not any(_whole(text, name) for text in said):
                faults.append(f"{name}:{kind} was lost: {said}")
            if len(plain) > 1:
                faults.append(f"{name}:{kind} came twice: {plain}")
            begun = [text for text in texts if f"{name} begins" in text]
            unmarked = [text for text in begun if not any(mark in text for mark in _MARKS)]
            if len(unmarked) > 1:
                faults.append(f"{name}:{kind} began twice: {unmarked}")
        # One answer to two messages names the later one first; see `script`.
        named = (re.findall(rf"c{self.chat}n(\d+) ends", text) for text in texts)
        ends = [number for numbers in named for number in sorted(map(int, numbers))]
        firsts = list(dict.fromkeys(ends))
        if firsts != sorted(firsts):
            faults.append(f"chat {self.chat} is out of order: {firsts}")
        return faults


def _whole(text: str, name: str) -> bool:
    return f"{name} ends" in text and f"{name}x7" in text


def _asks(message: Message) -> bool:
    return bool(_QUESTION.search(message.text)) and "Approve" in str(
        message.params.get("reply_markup", "")
    )


class Kills:
    """A world whose gateways are killed at random; `begin` starts one."""

    def __init__(
        self, world: World, begin: Callable[[], Awaitable[Nanobot]], seed: int, several: int = 1
    ) -> None:
        self.people = [Person(world, chat, seed) for chat in CHATS]
        self.members: list[Nanobot] = []
        self.count = self._broken = 0
        self._world, self._begin, self._several = world, begin, several
        self._rng = Random(seed)

    async def run(self, seconds: float) -> None:
        world = self._world
        for chat in CHATS[::2]:  # they have previews instead of drafts
            world.telegram.native.without[chat] = REFUSALS[chat % len(REFUSALS)]
        world.model.script = script
        self.members = [await self._begin() for _ in range(self._several)]
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as tasks:
            for person in self.people:
                tasks.create_task(person.talk(end))
            tasks.create_task(self._kill(end))
        await world.telegram.until(lambda: not world.telegram.pending, STUCK_SECONDS)
        async with asyncio.timeout(STUCK_SECONDS):
            while world.rows(_OWED):  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.1)

    async def _kill(self, end: float) -> None:
        """A run that is cut off three times is given up: people get an answer between kills."""
        while True:
            before = [person.answered for person in self.people]
            await asyncio.sleep(0.5 + 4 * self._rng.random())
            if self._rng.random() < 0.5:
                self._world.model.faults.append(Fault(cut_after=self._rng.randrange(1, 8)))
                self._broken += 1
            await self._answered_since(before, end)
            if time.monotonic() >= end:
                return
            await asyncio.sleep(self._rng.random())
            victim = self.members.pop(self._rng.randrange(len(self.members)))
            await victim.kill()
            self.count += 1
            self.members.append(await self._begin())

    async def _answered_since(self, before: list[int], end: float) -> None:
        """Wait until everybody has got another answer."""
        while time.monotonic() < end:
            now = [person.answered for person in self.people]
            if all(new > old for new, old in zip(now, before, strict=True)):
                return
            await asyncio.sleep(0.05)

    def check(self) -> None:
        """Nothing lost, doubled or out of order, no effect twice; and what was spent is true."""
        world = self._world
        faults = [fault for person in self.people for fault in person.faults()]
        effects = Counter((world.workspace / "effects").read_text("utf-8").split())
        faults += [f"the effect of {name} came {n} times" for name, n in effects.items() if n > 1]
        texts = [text for chat in CHATS for text in world.texts(chat)]
        faults += [text for text in texts if "I cannot answer now" in text]
        ((tokens, calls, still_open),) = world.rows(
            "SELECT sum(tokens_in + tokens_out), sum(requests),"
            " sum(CASE state WHEN 'open' THEN 1 ELSE 0 END) FROM model_call_costs"
        )
        marks = {mark: sum(mark in text for text in texts) for mark in _MARKS}
        kinds = Counter(kind for person in self.people for kind in person.kinds)
        print(f"{kinds.total()} messages {dict(kinds)}, {self.count} kills, {self._broken} broken")
        print(f"{len(effects)} effects, marked {marks}, {len(world.model.requests)} requests")
        true = sum(len(raw) // 4 for raw in world.model.raw_requests)
        print(
            f"{true} tokens went to the model; counted: {tokens} tokens, {calls} requests,"
            f" {still_open} of them open"
        )
        if not 0 < tokens < 1.1 * true:
            faults.append(f"{tokens} tokens were counted where {true} were spent")
        if calls > len(world.model.requests) + self.count * len(CHATS):
            faults.append(f"{calls} requests were counted of {len(world.model.requests)}")
        assert faults == []
        world.verify()


async def killed(kills: Kills, seconds: float) -> None:
    await kills.run(seconds)
    for member in kills.members:
        assert await member.stop() == 0
    kills.check()


@pytest.mark.timeout(240)
async def test_a_gateway_killed_at_random_loses_and_doubles_nothing(world: World) -> None:
    """A short part of the long ones below."""
    world.configure(more=_CONFIG)
    kills = Kills(world, world.start, seed=1)
    await killed(kills, 12)
    assert kills.count > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_nor_does_it_over_sqlite_for_long(world: World) -> None:
    world.configure(more=_CONFIG)
    kills = Kills(world, world.start, seed=_seed())
    await killed(kills, LONG)
    assert kills.count > 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("several", [1, 2])
async def test_nor_does_it_over_postgresql_for_long(cluster: Cluster, several: int) -> None:
    """`several` gateways share the bot, and one of them is killed at a time."""
    cluster.configure(more=_CONFIG)
    kills = Kills(cluster.world, cluster.start, seed=_seed(), several=several)
    await killed(kills, LONG)
    assert kills.count > 5


def _seed() -> int:
    seed = Random().randrange(1_000_000)
    print(f"seed {seed}")
    return seed
