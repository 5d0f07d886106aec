"""Speaking: answers become voice messages in addition to their text.

The text is sent first, without waiting. The request to speak an answer is stored with the answer,
so a crash loses no sound. Finished sound is a file, so sending it again does not generate it twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import ModelUnreachable, NanobotError, StoreError
from nanobot.messages import TERMINAL, EventKind, OutboundKind, OutboundMessage
from nanobot.plugins.common.times.looks import Looks, stirred
from nanobot.plugins.voice.sound import keep_sound
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Usage
from nanobot.retries import until_stored
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.store_write import StoreWrite
from nanobot.supervision import Work, side_by_side
from nanobot.workspace.received import Received

AT_ONCE = 4
"""How many answers are spoken in parallel."""
SPEECH_SECONDS = 120.0
MOST_ATTEMPTS = 3
"""How often an answer is started again if its process dies."""
TOO_LATE_SECONDS = 3_600.0
"""An answer whose text is older than this is not spoken any more."""


class VoiceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to be spoken since `at`; `attempts` were started before."""

    run_id: str
    answer: OutboundMessage
    at: float
    attempts: int


class VoiceAnswers(Protocol):
    """The queue of answers to be spoken."""

    async def recover(self) -> None:
        """Called when this process starts: answers that the previous process had taken are
        released.
        """

    async def take(self) -> VoiceAnswer | None:
        """Take the oldest free answer; for five minutes no other worker can take it."""

    async def reserve(self, owed: VoiceAnswer, call: AuxiliaryCall) -> Reservation:
        """Reserve the budget for speaking it. Raises OverBudget."""

    async def made(self, owed: VoiceAnswer, message: OutboundMessage, call: StoreWrite) -> None:
        """In one transaction, queue the voice message for its chat and settle the call; if the
        answer was deleted in the meantime, no message is queued.
        """

    async def failed(
        self, owed: VoiceAnswer, notice: OutboundMessage | None, call: StoreWrite | None
    ) -> bool:
        """Give the answer up. The notice is queued only if nothing has failed in that chat since
        its last voice message; True if it was queued.
        """


class Speech(Protocol):
    """The voice; texts have at most `max_characters`."""

    max_characters: int

    async def profile(self) -> ModelProfile:
        """The model used, and its price per character. Raises ModelError or ConfigError."""

    async def speak(self, text: str) -> bytes:
        """Convert the text to sound. Raises ModelError or ConfigError."""


class Speaking:
    """Speaks the queued answers while `run` is running. `takes` tells whether a channel accepts
    files.
    """

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
        """Speak until cancelled; an unfinished answer is spoken after the next start."""
        await until_stored(self._answers.recover, self._clock, "speaking")
        works: dict[str, Work] = {
            "speaking: answers": self._watch,
            "speaking: leftovers": self._tick,
            "speaking: due recordings": self._speak,
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
        """A run that ended may have queued an answer to be spoken."""
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
        # Imported late: it needs the Markdown parser, which is slow to load at start.
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
            file = await keep_sound(
                self._files,
                content,
                self._clock.now(),
                in_workspace=answer.address.channel == TERMINAL,
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
        why = why.replace("agent.model", "voice.model")  # the setting that the advice is about
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
