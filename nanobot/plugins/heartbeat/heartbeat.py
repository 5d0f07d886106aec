"""The heartbeat: at intervals, the model attends to the tasks in `HEARTBEAT.md`.

The times follow the wall clock (every half hour: at :00 and :30) in every process, so that each
heartbeat runs once. A heartbeat whose time passes while no process runs is skipped. Without tasks,
without a chat to write to or without a model, no request is made and nothing is spent. Every
heartbeat starts fresh: it sees the file and the recent messages of the chat, but no earlier
heartbeat.
"""

from __future__ import annotations

import codecs
import math
import re
import stat
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.labels import NOTHING, Label
from nanobot.messages import Address
from nanobot.plugins.common.jobs.plans import SILENT
from nanobot.plugins.common.jobs.triggers import Publisher
from nanobot.plugins.common.times.daily_hours import DailyHours
from nanobot.plugins.common.times.zones import zone_of
from nanobot.ports import Clock
from nanobot.session.keys import Keys
from nanobot.text import pattern
from nanobot.workspace.folder import clipped

NAME = "heartbeat"
"""The name of the job, of its session, and of the sender there."""
GREETINGS = Keys("greeting")
"""One per person and time of their previous message: a greeting. Never change it: databases contain
it."""
FILE = "HEARTBEAT.md"
FILE_LIMIT = 8_000
"""Maximum characters read from the file."""
LOOK_SECONDS = 30.0
"""The clock is checked at least this often: it may be set, and machines sleep."""
LATE_SECONDS = 45.0
"""A heartbeat noticed later than this is skipped."""
LAST_GREETING_SECONDS = 60 * 86_400.0
"""A person who was silent for longer is not greeted, because greetings are remembered only for a
while.
"""
MOST_SAID = 8
SAID_CHARS = 300

_COMMENT = pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_EMPTY = pattern(r"#{1,6}(?:\s.*)?|[-*_=\s]*|[-*+]\s*(?:\[[ xX]?\])?")


class RecentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the assistant, and when it was sent."""

    text: str
    at: float


class ChatSituation(msgspec.Struct, frozen=True, kw_only=True):
    """The situation in a chat, whose history is in `session_key`."""

    session_key: str
    person: str = ""
    """Who wrote last, as CHANNEL:ID."""
    spoke_at: float | None = None
    """When they did."""
    active: float | None = None
    """When a run last worked there."""
    said: tuple[RecentMessage, ...] = ()
    """The assistant's messages, oldest first."""
    label: Label = NOTHING
    """Of these messages."""
    gone: str = ""
    """Why the chat is unreachable."""


class ChatHistory(Protocol):
    """The stored facts about chats; each method is one transaction."""

    async def home(self) -> Address | None:
        """The chat in which an owner last wrote, among those without other readers."""

    async def around(self, address: Address, most: int) -> ChatSituation:
        """The situation in a chat, with at most `most` messages of the assistant."""

    async def greeted(self, person: str) -> float | None:
        """When that person was last greeted."""

    async def busy(self, session_key: str) -> bool:
        """Whether the session has running or waiting work."""


class HeartbeatSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """When heartbeats run; see settings.HeartbeatSettings. `to` None: the chat in which an owner
    last wrote.
    """

    interval: float
    to: Address | None = None
    hours: DailyHours | None = None
    zone: str = "UTC"
    active: float = 0.0
    greet_after: float = 0.0


class Heartbeat:
    """See triggers.base.Trigger. `into` returns the publisher for a chat in its situation; `able`
    says whether a capable model is available.
    """

    def __init__(
        self,
        workspace: Path,
        schedule: HeartbeatSchedule,
        chats: ChatHistory,
        clock: Clock,
        into: Callable[[Address, ChatSituation], Publisher],
        able: Callable[[], Awaitable[bool]],
    ) -> None:
        self._workspace = workspace
        self._schedule = schedule
        self._chats = chats
        self._clock = clock
        self._into = into
        self._able = able
        self._last_reason = ""

    async def run(self, _: Publisher) -> None:
        """Run each heartbeat on time until cancelled. A heartbeat that fails is not retried."""
        interval, seen = self._schedule.interval, self._clock.now()
        while True:
            now = self._clock.now()
            at = math.floor(now / interval) * interval
            # If the clock was set back, a moment comes again; its key shows that its heartbeat
            # already ran.
            if seen < at and now - at < LATE_SECONDS:
                self._log(await self.beat(at))
            seen = now
            left = at + interval - self._clock.now()
            await self._clock.sleep(min(max(left, 0.0), LOOK_SECONDS))

    async def beat(self, at: float) -> str:
        """The heartbeat of that moment; returns why it was skipped ("": it was not). Raises
        StoreError.
        """
        now, tasks = self._clock.now(), to_do(self._workspace)
        reason = self._resting(now, tasks)
        if reason:
            return reason
        chat = self._schedule.to or await self._chats.home()
        if chat is None:
            return "no owner has written in a private chat yet"
        around = await self._chats.around(chat, MOST_SAID)
        reason = await self._hindered(chat, around, now)
        if reason:
            return reason
        greeting = await self._greeting(around, now)
        if not (tasks or greeting):
            return f"{FILE} has no tasks, and no one is to be greeted"
        zone = self._schedule.zone
        text = greeting_prompt(around, zone, now) if greeting else prompt(tasks, around, zone)
        await self._into(chat, around).publish(text, key=greeting or f"{at:.0f}")
        return ""

    def _resting(self, now: float, tasks: str) -> str:
        """Why no heartbeat runs now, whatever its chat."""
        hours = self._schedule.hours
        if hours is not None and hours.until(now) is not None:
            return "these are quiet hours"
        if not tasks and not self._schedule.greet_after:
            return trouble(self._workspace) or f"{FILE} asks for nothing"
        return ""

    async def _hindered(self, chat: Address, around: ChatSituation, now: float) -> str:
        """Why a heartbeat cannot run now."""
        if around.gone:
            return f"{chat} cannot be reached ({around.gone})"
        if self._active(around, now) or await self._chats.busy(NAME):
            return f"{chat} is busy"
        return "" if await self._able() else "there is no model that is up to it"

    def _active(self, around: ChatSituation, now: float) -> bool:
        """Whether the chat is active, or was a moment ago. Times in the future, from before the
        clock was set back, are ignored.
        """
        latest = max(around.spoke_at or 0.0, around.active or 0.0)
        return self._schedule.active > 0 and 0 <= now - latest < self._schedule.active

    async def _greeting(self, around: ChatSituation, now: float) -> str:
        """The key of the greeting that is due: one per silence, and at most one a day."""
        if not self._schedule.greet_after or around.spoke_at is None:
            return ""
        if not self._schedule.greet_after <= now - around.spoke_at < LAST_GREETING_SECONDS:
            return ""
        last = await self._chats.greeted(around.person)
        if last is not None and (last >= around.spoke_at or self._day(last) >= self._day(now)):
            return ""
        return GREETINGS.of(around.person, f"{around.spoke_at:.3f}")

    def _day(self, at: float) -> str:
        return datetime.fromtimestamp(at, zone_of(self._schedule.zone)).strftime("%Y-%m-%d")

    def _log(self, reason: str) -> None:
        """Log why heartbeats are skipped, once per reason."""
        if reason != self._last_reason:
            logger.info("no heartbeat: {}" if reason else "the heartbeat continues{}", reason)
        self._last_reason = reason


def to_do(workspace: Path) -> str:
    """The tasks in `HEARTBEAT.md`; "" if it does not exist, or contains only headings, comments and
    empty list items.
    """
    text = _COMMENT.sub("", clipped(workspace, FILE, FILE_LIMIT).lstrip("\ufeff")).strip()
    lines = (line.strip() for line in text.splitlines())
    return "" if all(_EMPTY.fullmatch(line) for line in lines) else text


def trouble(workspace: Path) -> str:
    """Why `HEARTBEAT.md` cannot be read as intended; "" if it can, or does not exist."""
    path = workspace / FILE
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return f"{path} is not a file: write the tasks into a file with that name"
        with path.open("rb") as file:
            # A cut at the end is not the writer's mistake.
            codecs.getincrementaldecoder("utf-8")().decode(file.read(4 * FILE_LIMIT))
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        return f"{path} is not UTF-8: invalid bytes are read as \N{REPLACEMENT CHARACTER}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return ""


def prompt(tasks: str, around: ChatSituation, zone: str) -> str:
    """The prompt for a heartbeat."""
    return (
        f"This is a heartbeat: nobody has just spoken. {FILE} says what to look after:\n\n"
        f"{tasks}\n\n{_lately(around, zone)}"
        "What you answer is sent to that chat as it is. If there is nothing that its reader "
        f"should know now, answer only {SILENT}."
    )


def greeting_prompt(around: ChatSituation, zone: str, now: float) -> str:
    """The prompt for a greeting."""
    hours = (now - (around.spoke_at or now)) / 3_600
    return (
        "This is a heartbeat: nobody has just spoken. Whom you talk to in the chat was last heard "
        f"{hours:.0f} hours ago. Greet them in one or two sentences that fit the time of day; if "
        f"what you know of them gives a good reason, ask about it.\n\n{_lately(around, zone)}"
        f"What you answer is sent to that chat as it is. To say nothing, answer only {SILENT}."
    )


def _lately(around: ChatSituation, zone: str) -> str:
    if not around.said:
        return ""
    clock = zone_of(zone)
    lines = [
        f"- {datetime.fromtimestamp(message.at, clock):%Y-%m-%d %H:%M}: {message.text}"
        for message in around.said
    ]
    return "\n".join(["What you said there lately, which needs no repeating:", *lines, "", ""])
