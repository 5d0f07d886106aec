"""What is owed aloud is spoken, kept and owed; whatever fails, nothing else does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from nanobot.bus.core import Bus
from nanobot.errors import ModelUnreachable, OverBudget, StoreUnwritable
from nanobot.messages import TERMINAL, Address, OutboundMessage
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.voice.speaking import TOO_LATE_SECONDS, Speaking, VoiceAnswer
from nanobot.providers.base import ModelProfile
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.store_write import StoreWrite
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.opening import in_memory_database
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received
from tests.doubles.sounds import opus

CHAT = Address("telegram", "7")
ANSWER = VoiceAnswer(
    run_id="r",
    answer=OutboundMessage(address=CHAT, text="It is **noon**.", key="r:0", tainted=True),
    at=0.0,
    attempts=0,
)


class Owed:
    """Answers that are to be spoken, and what became of them."""

    def __init__(self, *answers: VoiceAnswer) -> None:
        self.waiting = list(answers)
        self.sent: list[OutboundMessage] = []
        self.given_up: list[str] = []
        self.calls: list[AuxiliaryCall] = []
        self.poor = False
        self.lost = 0
        self.settled = asyncio.Event()

    async def recover(self) -> None:
        """There was none before."""

    async def take(self) -> VoiceAnswer | None:
        return self.waiting.pop(0) if self.waiting else None

    async def reserve(self, owed: VoiceAnswer, call: AuxiliaryCall) -> Reservation:
        self.calls.append(call)
        if self.poor:
            raise OverBudget("the day's budget is used up", "limit_budget", of_model=False)
        return NoReservation(call.max_tokens)

    async def made(self, owed: VoiceAnswer, message: OutboundMessage, call: StoreWrite) -> None:
        if self.lost:
            self.lost -= 1
            raise StoreUnwritable("the disk is full")
        self.sent.append(message)
        self.settled.set()

    async def failed(
        self, owed: VoiceAnswer, notice: OutboundMessage | None, call: StoreWrite | None
    ) -> bool:
        self.given_up.append("" if notice is None else notice.text)
        self.settled.set()
        return notice is not None


class Voice:
    """A voice that says the same in different lengths."""

    max_characters = 20

    def __init__(self, *, hoarse: bool = False) -> None:
        self.spoken: list[str] = []
        self._hoarse = hoarse

    async def profile(self) -> ModelProfile:
        return ModelProfile(provider="test", name="tts")

    async def speak(self, text: str) -> bytes:
        self.spoken.append(text)
        if self._hoarse:
            raise ModelUnreachable("nobody there: set agent.model")
        return opus([20, 30])


async def speak(owed: Owed, voice: Voice, home: Path, *, files: bool = True) -> None:
    """Have everything settled."""
    clock = ManualClock(1_000.0, instant=False)
    journal = SqlJournal(in_memory_database(), StoreContext(clock, CountingIds(), "me"))
    received = Received(Blobs(home / "blobs"), PlacedFiles(ConfinedFiles(home / "workspace")))
    (home / "workspace").mkdir(exist_ok=True)
    speaking = Speaking(owed, voice, received, Bus(journal, 50), clock, lambda _: files)
    running = asyncio.create_task(speaking.run())
    async with asyncio.timeout(10):
        while not owed.settled.is_set():
            clock.advance(1.0)
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])


async def test_a_voice_message_follows_the_answer_where_it_went(tmp_path: Path) -> None:
    owed, voice = Owed(ANSWER), Voice()
    await speak(owed, voice, tmp_path)
    assert voice.spoken == ["It is noon."]
    (message,) = owed.sent
    assert (message.address, message.key, message.text) == (CHAT, "r:0:voice", "")
    assert message.tainted
    (file,) = message.attachments
    assert (file.kind, file.mime, file.path) == ("voice", "audio/ogg", "")
    assert await Blobs(tmp_path / "blobs").read(file.blob) == opus([20, 30])
    (call,) = owed.calls
    assert (call.estimate, call.max_tokens, call.apart) == (11, 0, True)


async def test_at_the_terminal_it_is_a_file_in_the_workspace(tmp_path: Path) -> None:
    at_terminal = msgspec.structs.replace(ANSWER.answer, address=Address(TERMINAL, "direct"))
    owed = Owed(msgspec.structs.replace(ANSWER, answer=at_terminal))
    await speak(owed, Voice(), tmp_path, files=False)
    (file,) = owed.sent[0].attachments
    assert file.path.startswith("spoken/")
    assert (tmp_path / "workspace" / file.path).read_bytes() == opus([20, 30])


async def test_what_failed_is_said_with_what_to_change(tmp_path: Path) -> None:
    owed = Owed(ANSWER)
    await speak(owed, Voice(hoarse=True), tmp_path)
    assert "nobody there: set voice.model" in owed.given_up[0]
    assert owed.sent == []


async def test_what_no_budget_has_room_for_is_not_spoken(tmp_path: Path) -> None:
    owed, voice = Owed(ANSWER), Voice()
    owed.poor = True
    await speak(owed, voice, tmp_path)
    assert voice.spoken == []
    assert "budget" in owed.given_up[0]


async def test_after_three_attempts_that_a_crash_ended_there_is_no_fourth(tmp_path: Path) -> None:
    owed, voice = Owed(msgspec.structs.replace(ANSWER, attempts=3)), Voice()
    await speak(owed, voice, tmp_path)
    assert voice.spoken == []
    assert "three times" in owed.given_up[0]


async def test_what_nobody_waits_for_or_can_hear_is_given_up_without_a_word(
    tmp_path: Path,
) -> None:
    late = msgspec.structs.replace(ANSWER, at=1_000.0 - TOO_LATE_SECONDS - 1)
    code = msgspec.structs.replace(ANSWER.answer, text="```\nls\n```")
    long = msgspec.structs.replace(ANSWER.answer, text="word " * 10)
    for answer in (
        late,
        msgspec.structs.replace(ANSWER, answer=code),
        msgspec.structs.replace(ANSWER, answer=long),
    ):
        owed, voice = Owed(answer), Voice()
        await speak(owed, voice, tmp_path)
        assert (owed.given_up, voice.spoken) == ([""], [])
    owed = Owed(ANSWER)
    await speak(owed, Voice(), tmp_path, files=False)
    assert owed.given_up == [""]


async def test_a_store_that_fails_loses_no_sound(tmp_path: Path) -> None:
    owed, voice = Owed(ANSWER), Voice()
    owed.lost = 2
    await speak(owed, voice, tmp_path)
    assert len(voice.spoken) == len(owed.sent) == 1
