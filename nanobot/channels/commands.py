"""Commands of one channel that take longer than a moment. Its other chats do not wait for them.

The message of such a command is admitted as `performing`, and settled with its answer. After a
crash it is not performed again: whether it had an effect is unknown, and its person is told so.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.operations.at_once import AtOnce
from nanobot.ports import Clock
from nanobot.retries import until_stored
from nanobot.session import keys
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.said import Perform, Said, notice
from nanobot.text import Sentence, first_sentence

SOON_SECONDS = 1.0
"""How long the other chats wait for a command that may end soon: half of it for each other command
that the same person has in progress."""
LONGEST_SECONDS = 600.0
MOST_OF_ONE_PERSON = 4
_ADMISSION_SECONDS = 600.0
"""How long an answer waits for the admission of its message, which the platform may bring again."""
_STORING_SECONDS = 3.0
_KNOWN = -1
"""In place of its number: the message was in the journal already."""


class _Begun:
    """A command that is performed, until its message is admitted with its answer or before it: if
    the admission fails, the platform brings it again, and it must not be performed again.
    `inbound`: the number of its message in the journal; 0 if its answer came with it."""

    def __init__(self, said: Said, task: asyncio.Task[Admission]) -> None:
        self.said = said
        self.task = task
        self.inbound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.following: asyncio.Task[None] | None = None

    def admitted(self, inbound_id: int) -> None:
        if not self.inbound.done():
            self.inbound.set_result(inbound_id)

    def result(self) -> Admission:
        """The message with its answer, after the task has ended, also if an order stopped it."""
        if self.task.cancelled():
            return self.said.answered(_stopped(self.said.message))
        return self.task.result()


class CommandsInProgress:
    """See said.Waiting; of one channel. While `run` does not run, the intake waits for each
    command."""

    def __init__(self, name: str, bus: Bus, clock: Clock) -> None:
        self._name = name
        self._bus = bus
        self._clock = clock
        self._tasks: asyncio.TaskGroup | None = None
        self._begun: dict[str, _Begun] = {}

    async def run(self) -> None:
        """Perform commands until cancelled. First tells those whose commands an earlier process did
        not end."""
        journal = self._bus.journal
        what = f"{self._name}: commands"
        for left in await until_stored(
            lambda: journal.begun_commands(self._name), self._clock, what
        ):
            answer = notice(left.message, _interrupted(left.message))
            await self._settle(left.inbound_id, answer)
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await asyncio.get_running_loop().create_future()  # until cancelled
        finally:
            self._tasks = None
            self._begun.clear()

    async def command(self, said: Said, perform: Perform) -> Admission:
        key = _key(said.message)
        begun = self._begun.get(key)
        if begun is None:
            if self._tasks is None:
                return await AtOnce().command(said, perform)
            others = sum(
                each.said.person == said.person and not each.task.done()
                for each in self._begun.values()
            )
            if others >= MOST_OF_ONE_PERSON:
                return said.answered(_too_many(others), refused=True)
            begun = self._begin(self._tasks, key, said, perform)
            await asyncio.wait({begun.task}, timeout=SOON_SECONDS / 2**others)
        if begun.task.done():
            return begun.result()
        return Admission(
            message=said.message, session_key=said.session_key, role=said.role, performing=True
        )

    def _begin(self, tasks: asyncio.TaskGroup, key: str, said: Said, perform: Perform) -> _Begun:
        task = tasks.create_task(_answered(said, perform), name=f"{self._name}: a command")
        begun = self._begun[key] = _Begun(said, task)
        begun.following = tasks.create_task(
            self._follow(key, begun), name=f"{self._name}: the answer to a command"
        )
        return begun

    async def rest(self, seconds: float) -> None:
        """Wait at most so long for the commands in progress, and then for their answers to be
        stored: whether one that is cut off had an effect is unknown."""
        going = [begun for begun in self._begun.values() if not begun.task.done()]
        if going:
            await asyncio.wait([begun.task for begun in going], timeout=seconds)
        answers = [begun.following for begun in going if begun.task.done() and begun.following]
        if answers:
            await asyncio.wait(answers, timeout=_STORING_SECONDS)

    def stop(self, said: Said, *, everyone: bool) -> bool:
        here = [
            begun
            for begun in self._begun.values()
            if begun.said.session_key == said.session_key
            and (everyone or begun.said.person == said.person)
        ]
        return any([begun.task.cancel() for begun in here])  # noqa: C419 - each is cancelled

    def admitted(self, message: InboundMessage, outcome: Admitted) -> bool:
        """A message is in the journal. True: it is a command in progress. Of one that was settled
        before, nothing more is done; an earlier admission that was reported as failed counts."""
        begun = self._begun.get(_key(message))
        if begun is None:
            return False
        answered = outcome.owes is not None
        begun.admitted((0 if answered else outcome.inbound_id) if outcome.fresh else _KNOWN)
        return not answered

    async def _follow(self, key: str, begun: _Begun) -> None:
        """Settle the command's message when it has ended."""
        with boundary(f"{self._name}: the answer to a command"):
            try:
                inbound_id = _KNOWN  # perhaps: after that time, it is looked for
                with suppress(TimeoutError):
                    async with asyncio.timeout(_ADMISSION_SECONDS):
                        inbound_id = await begun.inbound
                if inbound_id == _KNOWN:
                    inbound_id = await self._number(key)
                if inbound_id:
                    await asyncio.wait({begun.task})
                    await self._settle(inbound_id, begun.result().answer)
            finally:
                begun.task.cancel()
                if self._begun.get(key) is begun:
                    del self._begun[key]

    async def _number(self, key: str) -> int:
        """The number of a message that is in the journal as `performing`; 0 if it is not."""
        journal, what = self._bus.journal, f"{self._name}: a command"
        begun = await until_stored(lambda: journal.begun_commands(self._name), self._clock, what)
        return next((each.inbound_id for each in begun if _key(each.message) == key), 0)

    async def _settle(self, inbound_id: int, answer: OutboundMessage | None) -> None:
        journal, what = self._bus.journal, f"{self._name}: the answer to a command"
        settled = await until_stored(
            lambda: journal.performed(inbound_id, answer), self._clock, what
        )
        if settled and answer is not None:
            self._bus.owed(answer.address)


async def _answered(said: Said, perform: Perform) -> Admission:
    """What it gives; a failure is answered, too."""
    with boundary("a command") as caught:
        return await perform(LONGEST_SECONDS)
    return said.answered(f"The command failed: {caught.error}", refused=True)


def _shown(message: InboundMessage) -> str:
    return first_sentence(message.text, 60)


def _key(message: InboundMessage) -> str:
    return keys.message(message.address, message.dedupe_key)


def _interrupted(message: InboundMessage) -> Sentence:
    return (
        f"{_shown(message)} was interrupted by a restart. Whether it had an effect is unknown: "
        "look before you send it again."
    )


def _stopped(message: InboundMessage) -> Sentence:
    return f"{_shown(message)} was stopped."


def _too_many(others: int) -> Sentence:
    return (
        f"{others} commands of yours are still being performed. "
        "Please send this one again when they have been answered."
    )
