"""Thousands of messages in many chats at once through one gateway, while everything breaks.

Every message has a name: "c7n12" is the twelfth of chat 7. The model answers with the names that
are new to it, so an answer shows what it was an answer to. A message may wish for more: "long" and
"slow" answers have words numbered behind the name ("c7n12x0 c7n12x1 ..."), "tool" calls a tool.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from random import Random

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.session.entries import UserEntry
from tests.doubles.openai_server import Answer, Body, Fault, error_status
from tests.process.harness import Nanobot, World
from tests.process.platforms import Platform, Trouble, told_once
from tests.process.unasked import Clockwork

STUCK_SECONDS = 240.0
"""A message that is not answered for so long is lost."""

_BURSTS = (1, 1, 1, 2, 3)
_WISHES = ("",) * 90 + ("tool",) * 5 + ("long",) * 3 + ("slow",) * 2
_MORE = {"long": 450, "slow": 12}
_SLOW_SECONDS = 2.5
_SUMMING = "You keep the memory of a conversation"
_NAME = re.compile(r"\bc(\d+)n(\d+)(?::(\w+))?\b")
_WORD = re.compile(r"\bc\d+n\d+(?:x\d+)?\b")


def script(body: Body) -> Answer:
    """What the model says: the names since its last answer, and what was wished for."""
    if str(body["messages"][0]["content"]).startswith(_SUMMING):
        return Answer("They talked.")
    new: list[str] = []
    called = False
    for message in body["messages"]:
        called = called or message["role"] == "tool"
        if message["role"] == "user":
            new.append(str(message["content"]))
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            new, called = [], False
    matches = list(_NAME.finditer("\n".join(new)))
    if not called and any(match[3] == "tool" for match in matches):
        return Answer(tool_calls=[("list_dir", '{"path": "."}')])
    names = [_named(match) for match in matches]
    more = [word for match in matches for word in _words(_named(match), match[3] or "")]
    slow = any(match[3] == "slow" for match in matches)
    pace = _SLOW_SECONDS / (len(names) + len(more)) if slow else 0.0
    return Answer(" ".join([*names, *more]) or "It is time.", pace=pace)


def _named(match: re.Match[str]) -> str:
    return f"c{match[1]}n{match[2]}"


def _words(name: str, wish: str) -> list[str]:
    return [f"{name}x{number}" for number in range(_MORE.get(wish, 0))]


class Talk:
    """One chat: who speaks there has a plan, and says so many things."""

    def __init__(
        self, platform: Platform, chat: str, number: int, rng: Random, *, most: int
    ) -> None:
        self.platform = platform
        self.chat = chat
        self.said = 0
        self.heard = 0
        """So much of it was answered for certain."""
        self.most = most
        self._number = number
        self._rng = rng
        self._wishes: list[str] = []

    async def burst(self, most: int = 3) -> None:
        """Say one or several things at once."""
        for _ in range(min(self._rng.choice(_BURSTS), most, self.most - self.said)):
            wish = self._rng.choice(_WISHES)
            self._wishes.append(wish)
            self.said += 1
            name = f"c{self._number}n{self.said}"
            await self.platform.say(self.chat, f"{name}:{wish}" if wish else name)

    async def answered(self) -> None:
        """Wait until the last of it is."""
        name = re.compile(rf"\bc{self._number}n{self.said}\b")

        def there() -> bool:
            return any(name.search(text) for text in self.platform.recent(self.chat))

        number = self.said
        await self.platform.until(there, STUCK_SECONDS)
        self.heard = number

    def patiently(self) -> bool:
        """Now and then people do not wait for an answer."""
        return self._rng.random() < 0.7

    def complaint(self) -> str:
        """What is wrong with what was shown in this chat; empty if nothing is."""
        shown = self.platform.shown(self.chat)
        if self.platform.certain and any(REPEAT_LINE in text for text in shown):
            return f"{self} has a repeat, where answers can be looked up"
        words = _WORD.findall("\n".join(told_once(shown)))
        names = [word for word in words if "x" not in word]
        more = [word for word in words if "x" in word]
        wanted = [f"c{self._number}n{number}" for number in range(1, self.said + 1)]
        wanted_more = [
            word
            for name, wish in zip(wanted, self._wishes, strict=True)
            for word in _words(name, wish)
        ]
        for what, arrived, right in (("", names, wanted), ("words of ", more, wanted_more)):
            if arrived != right:
                lost = [word for word in right if word not in arrived]
                doubled = [word for word, count in Counter(arrived).items() if count > 1]
                return (
                    f"{self}: {what}answers lost {lost}, doubled {doubled}, order {arrived[-20:]}"
                )
        return ""

    def is_right(self) -> bool:
        return not self.complaint()

    def __str__(self) -> str:
        return f"{self.platform.name}:{self.chat} (c{self._number})"


class Soak:
    """All of it. `each`: messages in a chat, less where a platform's `share` says so; `once`: jobs
    that are done once, beside some that are done again and again."""

    def __init__(
        self, world: World, platforms: list[Platform], seed: int, *, each: int, once: int
    ) -> None:
        self.happened: Counter[str] = Counter()
        self.clockwork = Clockwork(world, once)
        self._world = world
        self._platforms = platforms
        self._rng = Random(f"{seed} troubles")
        self._talks = [
            Talk(
                platform,
                chat,
                number,
                Random(f"{seed} {number}"),
                most=max(round(each * platform.share), 2),
            )
            for number, (platform, chat) in enumerate(
                (platform, chat) for platform in platforms for chat in platform.chats
            )
        ]
        self._gateway: Nanobot
        self._moved = asyncio.Event()
        self._quiet = asyncio.Lock()
        """Held while a connection breaks, or the gateway is dead."""

    def _model(self) -> list[Trouble]:
        async def refuses() -> None:
            if not self._world.model.faults:
                self._world.model.fail_with(error_status(500))

        async def breaks() -> None:
            if not self._world.model.faults:
                self._world.model.fail_with(Fault(cut_after=2))

        return [Trouble("model: refuses", refuses), Trouble("model: breaks", breaks)]

    async def run(self, kills: int, small: int, large: int) -> None:
        """Talk everywhere to the end, with so many kills; on each platform with a small trouble
        every so many messages, and a broken connection every so many."""
        await self._start()
        for platform in self._platforms:
            self._rng.shuffle(platform.troubles)
            self._rng.shuffle(platform.breaks)
        self._world.model.script = self._script
        await self.clockwork.begin()
        for talk in self._talks:  # who never spoke is not looked for
            await talk.burst(1)
        for talk in self._talks:
            await self._answered(talk)
        async with asyncio.TaskGroup() as tasks:
            troubles = [tasks.create_task(self._kill(kills))]
            for platform in self._platforms:
                deck = platform.troubles + (self._model() if platform.certain else [])
                troubles.append(tasks.create_task(self._spoil(platform, deck, small)))
                troubles.append(tasks.create_task(self._break(platform, platform.breaks, large)))
            async with asyncio.TaskGroup() as people:
                for talk in self._talks:
                    people.create_task(self._talk(talk))
            async with self._quiet:
                for task in troubles:
                    task.cancel()
        await self._end()

    @property
    def messages(self) -> int:
        """How many there will be."""
        return sum(talk.most for talk in self._talks)

    async def _start(self) -> None:
        self._gateway = await self._world.launch()
        line = await self._gateway.ready()
        for platform in self._platforms:
            platform.started(line)
        for platform in self._platforms:
            await platform.connected()

    def _script(self, body: Body) -> Answer:
        for kept in (self._world.model.requests, self._world.model.raw_requests):
            kept.clear()
        self._world.model.headers.clear()
        return script(body)

    def _said(self, *platforms: Platform) -> int:
        return sum(talk.said for talk in self._talks if talk.platform in platforms)

    async def _reach(self, count: int, *platforms: Platform) -> None:
        """Wait until so many things were said there."""
        while self._said(*platforms) < count:
            await self._moved.wait()

    async def _talk(self, talk: Talk) -> None:
        while talk.said < talk.most:
            await talk.burst()
            self._move()
            if talk.patiently():
                await self._answered(talk)
                self._move()
        await self._answered(talk)
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _answered(self, talk: Talk) -> None:
        try:
            await talk.answered()
        except TimeoutError:
            raise AssertionError(
                f"{talk}: n{talk.said} was not answered: {talk.platform.recent(talk.chat)[-3:]}"
            ) from None

    async def _spoil(self, platform: Platform, deck: list[Trouble], every: int) -> None:
        """One call after the other goes wrong."""
        due = len(platform.chats)
        for turn in itertools.count():
            due += every
            await self._reach(due, platform)
            await self._next(deck, turn)

    async def _break(self, platform: Platform, deck: list[Trouble], every: int) -> None:
        """One connection after the other breaks, where there are any."""
        if not deck:
            return
        due = len(platform.chats)
        for turn in itertools.count():
            due += every
            await self._reach(due, platform)
            async with self._quiet:
                await self._next(deck, turn)

    async def _next(self, deck: list[Trouble], turn: int) -> None:
        if turn % len(deck) == 0:
            self._rng.shuffle(deck)
        trouble = deck[turn % len(deck)]
        self.happened[trouble.name] += 1
        await trouble.act()

    async def _kill(self, times: int) -> None:
        """The gateway is killed, again and again. A run that is cut off three times is given up,
        so nothing is cut off by more than two kills, however slow the machine."""
        marks: list[tuple[Talk, int]] = []
        for number in range(times):
            await self._reach(self.messages * (number + 1) // (times + 1), *self._platforms)
            if number % 2 == 0:
                while any(talk.heard < mark for talk, mark in marks):
                    await self._moved.wait()
            async with self._quiet:
                marks = [(talk, talk.said) for talk in self._talks]
                self.happened["kill -9"] += 1
                await self._gateway.kill()
                for platform in self._platforms:
                    await platform.left()
                await self._start()

    async def _end(self) -> None:
        """Everything is answered, nothing waits, and the log has every message once, in order."""
        for platform in self._platforms:
            platform.calm()
        for talk in self._talks:
            try:
                await talk.platform.until(talk.is_right, STUCK_SECONDS)
            except TimeoutError:
                raise AssertionError(talk.complaint()) from None
        await self.clockwork.end()
        assert await self._gateway.stop() == 0
        self._world.verify()
        self.clockwork.check()
        for talk in self._talks:
            assert not talk.complaint()
        self._check_log()

    def _check_log(self) -> None:
        """Each session has one chat's messages, or none of anybody's."""
        numbers: dict[int, list[int]] = {}
        for (session,) in self._world.rows("SELECT key FROM sessions"):
            entries = self._world.entries(session)
            texts = [entry.text for entry in entries if isinstance(entry, UserEntry)]
            names = [match for text in texts for match in _NAME.finditer(text)]
            for match in names:
                assert match[1] == names[0][1], session
            if names:
                assert int(names[0][1]) not in numbers, session
                numbers[int(names[0][1])] = [int(match[2]) for match in names]
        wanted = {number: list(range(1, talk.most + 1)) for number, talk in enumerate(self._talks)}
        assert numbers == wanted
