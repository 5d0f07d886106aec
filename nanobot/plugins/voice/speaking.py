"""Speaking: answers become voice messages, besides their text.

The text goes out first and waits for nothing. That an answer is to be spoken is owed with it, so a
crash loses no sound; what was made is a file, so nothing is made twice to be sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.bus.pace import stirred
from nanobot.errors import ModelUnreachable, NanobotError, StoreError
from nanobot.messages import TERMINAL, EventKind, OutboundKind, OutboundMessage
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.store_write import StoreWrite
from nanobot.supervision import Looks, Work, side_by_side
from nanobot.system import until_stored
from nanobot.workspace.received import Received

AT_ONCE = 4
"""So many answers are spoken side by side."""
SPEECH_SECONDS = 120.0
MOST_ATTEMPTS = 3
"""So often an answer is begun whose process died over it."""
TOO_LATE_SECONDS = 3_600.0
"""Nobody waits for a voice any more whose text came so long ago."""


class VoiceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is to be spoken since `at`; `attempts` were begun before."""

    run_id: str
    answer: OutboundMessage
    at: float
    attempts: int


class VoiceAnswers(Protocol):
    """Which answers are to be spoken yet."""

    async def recover(self) -> None:
        """This process begins: what the one before was at is free."""
        ...

    async def take(self) -> VoiceAnswer | None:
        """The oldest that nobody is at; for five minutes nobody else takes it."""
        ...

    async def reserve(self, owed: VoiceAnswer, call: AuxiliaryCall) -> Reservation:
        """It is about to be spoken. Raises OverBudget."""
        ...

    async def made(self, owed: VoiceAnswer, message: OutboundMessage, call: StoreWrite) -> None:
        """Owe its chat the voice message and settle the call, as one; nothing is owed if the
        answer was deleted meanwhile."""
        ...

    async def failed(
        self, owed: VoiceAnswer, notice: OutboundMessage | None, call: StoreWrite | None
    ) -> bool:
        """It will not be spoken. The notice is owed only if nothing failed in that chat since the
        last voice message there; True: it is."""
        ...


class Speech(Protocol):
    """Who speaks, texts of at most `max_characters`."""

    max_characters: int

    async def profile(self) -> ModelProfile:
        """With what, and what a character of it costs. Raises ModelError or ConfigError."""
        ...

    async def speak(self, text: str) -> bytes:
        """The text as sound. Raises ModelError or ConfigError."""
        ...


class Speaking:
    """Speaks what is owed, as long as `run` runs. `takes` tells whether a channel takes files."""

    def __init__(
        self,
        answers: VoiceAnswers,
        speech: Speech,
        files: Received,
        bus: Bus,
        clock: Clock,
        takes: Callable[[str], bool],
    ) -> None:
        self._answers = answers
        self._speech = speech
        self._files = files
        self._bus = bus
        self._clock = clock
        self._takes = takes
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Speak until cancelled; what is half made then is made at the next start."""
        await until_stored(self._answers.recover, self._clock, "speaking")
        works: dict[str, Work] = {
            "speaking: answers": self._watch,
            "speaking: leftovers": self._tick,
            "speaking: what is due": self._speak,
        }
        await side_by_side(works, self._clock)

    async def _speak(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            room = asyncio.Semaphore(AT_ONCE)
            while True:
                self._news.clear()
                await room.acquire()
                owed = None
                with boundary("speaking"):
                    owed = await self._answers.take()
                if owed is not None:
                    making = self._in_room(owed, room)
                    tasks.create_task(making, name=f"speaking {owed.answer.key}")
                    continue
                room.release()
                await self._news.wait()

    async def _watch(self) -> None:
        """A run that ended may owe something to be spoken."""
        watching = self._bus.subscribe(None, frozenset({EventKind.END}))
        try:
            async for _ in watching:
                self._news.set()
        finally:
            self._bus.unsubscribe(watching)

    async def _tick(self) -> None:
        looks = Looks(self._clock, often=10.0, rarely=120.0, lasting=900.0)
        with stirred(looks, self._bus, EventKind.END):
            while True:
                self._news.set()
                await looks.due()

    async def _in_room(self, owed: VoiceAnswer, room: asyncio.Semaphore) -> None:
        try:
            with boundary(f"speaking {owed.answer.key}") as caught:
                await self._make(owed)
            if caught.error is not None and not isinstance(caught.error, StoreError):
                with boundary(f"giving up to speak {owed.answer.key}"):
                    await self._answers.failed(owed, None, None)
        finally:
            room.release()

    async def _make(self, owed: VoiceAnswer) -> None:
        address = owed.answer.address
        in_workspace = address.channel == TERMINAL
        # With what reads Markdown, which a start has no time for.
        from nanobot.plugins.voice.spoken_text import spoken  # noqa: PLC0415

        text = await asyncio.to_thread(spoken, owed.answer.text)
        late = self._clock.now() - owed.at > TOO_LATE_SECONDS
        fits = 0 < len(text) <= self._speech.max_characters
        if late or not fits or not (in_workspace or self._takes(address.channel)):
            await self._answers.failed(owed, None, None)
            return
        if owed.attempts >= MOST_ATTEMPTS:
            await self._fail(owed, ModelUnreachable("it was begun three times"), None)
            return
        try:
            reserved = await self._reserve(owed, text)
        except NanobotError as error:
            if isinstance(error, StoreError):
                raise
            await self._fail(owed, error, None)
            return
        try:
            async with asyncio.timeout(SPEECH_SECONDS):
                content = await self._speech.speak(text)
        except (TimeoutError, NanobotError) as error:
            await self._fail(owed, error, reserved.settled(Usage()))
            return
        await self._owe(owed, content, reserved.settled(Usage(len(text), 0)))

    async def _reserve(self, owed: VoiceAnswer, text: str) -> Reservation:
        profile = await self._speech.profile()
        call = AuxiliaryCall(profile=profile, estimate=len(text), max_tokens=0, apart=True)
        return await self._answers.reserve(owed, call)

    async def _owe(self, owed: VoiceAnswer, content: bytes, call: StoreWrite) -> None:
        answer = owed.answer
        try:
            file = await self._files.keep_sound(
                content, self._clock.now(), in_workspace=answer.address.channel == TERMINAL
            )
        except NanobotError as error:
            await self._fail(owed, error, call)
            return
        message = OutboundMessage(
            address=answer.address,
            text="",
            key=_key_of(answer.key),
            attachments=(file,),
            tainted=answer.tainted,
            label=answer.label,
        )
        await until_stored(
            lambda: self._answers.made(owed, message, call), self._clock, f"speaking {answer.key}"
        )
        self._bus.owed(answer.address)

    async def _fail(self, owed: VoiceAnswer, error: BaseException, call: StoreWrite | None) -> None:
        why = "it took too long" if isinstance(error, TimeoutError) else str(error)
        why = why.replace("agent.model", "voice.model")  # what it advises to change
        logger.warning("{} is not spoken: {}", owed.answer.key, why)
        notice = OutboundMessage(
            address=owed.answer.address,
            text=f"(I could not say this aloud, and do not repeat that until I can again: {why})",
            key=_key_of(owed.answer.key),
            kind=OutboundKind.NOTICE,
        )
        if await self._answers.failed(owed, notice, call):
            self._bus.owed(notice.address)


def _key_of(answer_key: str) -> str:
    """The key of an answer's voice message."""
    return f"{answer_key}:voice"
