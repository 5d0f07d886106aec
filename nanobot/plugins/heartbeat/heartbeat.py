"""The heartbeat: at an interval the model looks after what `HEARTBEAT.md` says.

Its times are those of the wall clock (every half hour: at :00 and :30), in whatever process, so
that each is done once, and one that passed while no process ran is skipped. Where there is nothing
to look after, no chat to write to, or no model, nothing is asked and nothing spent. Every heartbeat
begins anew: it sees the file and what was said in the chat lately, and no heartbeat before it.
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

from nanobot.messages import Address
from nanobot.ports import Clock
from nanobot.session.keys import GREETINGS
from nanobot.triggers.base import Publisher
from nanobot.triggers.cron.hours import Hours
from nanobot.triggers.cron.jobs import SILENT
from nanobot.triggers.cron.schedule import zone_of
from nanobot.workspace.folder import clipped

NAME = "heartbeat"
"""Of the job, of its session, and of whoever asks there."""
FILE = "HEARTBEAT.md"
FILE_LIMIT = 8_000
"""Characters of it that are read."""
LOOK_SECONDS = 30.0
"""The clock is looked at so often at least: it may be set, and machines sleep."""
LATE_SECONDS = 45.0
"""A heartbeat that is noticed later is skipped."""
LAST_GREETING_SECONDS = 60 * 86_400.0
"""Nobody is greeted who was silent for longer: what was greeted is known for a while only."""
MOST_SAID = 8
SAID_CHARS = 300

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_EMPTY = re.compile(r"#{1,6}(?:\s.*)?|[-*_=\s]*|[-*+]\s*(?:\[[ xX]?\])?")


class RecentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the assistant said, and when."""

    text: str
    at: float


class ChatSituation(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand in a chat, whose history is in `session_key`. `person` spoke there last
    (CHANNEL:ID), `spoke_at` then; `active` is when a run was last at work there. `said` are the
    assistant's own words, the oldest first, some of them with content from outside (`tainted`).
    `gone`: why nothing reaches the chat."""

    session_key: str
    person: str = ""
    spoke_at: float | None = None
    active: float | None = None
    said: tuple[RecentMessage, ...] = ()
    tainted: bool = False
    gone: str = ""


class ChatHistory(Protocol):
    """What the store knows of chats; each verb is one transaction."""

    async def home(self) -> Address | None:
        """The chat that an owner spoke in last, of those that nobody else reads."""
        ...

    async def around(self, address: Address, most: int) -> ChatSituation:
        """How things stand in a chat, with at most so many words of the assistant."""
        ...

    async def greeted(self, person: str) -> float | None:
        """When that person was greeted last."""
        ...

    async def busy(self, session_key: str) -> bool:
        """Whether something runs or waits in that session."""
        ...


class HeartbeatSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """When there are heartbeats; see settings.HeartbeatSettings. `to` None: where an owner spoke
    last."""

    interval: float
    to: Address | None = None
    hours: Hours | None = None
    zone: str = "UTC"
    active: float = 0.0
    greet_after: float = 0.0


class Heartbeat:
    """See triggers.base.Trigger. `into` gives who takes what is for a chat as things stand there;
    `able` says whether there is a model that is up to it."""

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
        """Do each heartbeat on time until cancelled. One that fails is not repeated."""
        interval, seen = self._schedule.interval, self._clock.now()
        while True:
            now = self._clock.now()
            at = math.floor(now / interval) * interval
            # When a clock was set back, a moment comes again; what was done is known by its key.
            if seen < at and now - at < LATE_SECONDS:
                self._log(await self.beat(at))
            seen = now
            left = at + interval - self._clock.now()
            await self._clock.sleep(min(max(left, 0.0), LOOK_SECONDS))

    async def beat(self, at: float) -> str:
        """The heartbeat of that moment; returns why there was none ("": there was). Raises
        StoreError."""
        now, tasks = self._clock.now(), to_do(self._workspace)
        reason = self._resting(now, tasks)
        if reason:
            return reason
        chat = self._schedule.to or await self._chats.home()
        if chat is None:
            return "no owner has spoken in a chat of their own yet"
        around = await self._chats.around(chat, MOST_SAID)
        reason = await self._hindered(chat, around, now)
        if reason:
            return reason
        greeting = await self._greeting(around, now)
        if not (tasks or greeting):
            return f"{FILE} asks for nothing, and there is nobody to greet"
        zone = self._schedule.zone
        text = greeting_prompt(around, zone, now) if greeting else prompt(tasks, around, zone)
        await self._into(chat, around).publish(text, key=greeting or f"{at:.0f}")
        return ""

    def _resting(self, now: float, tasks: str) -> str:
        """Why nothing is to be done now, whatever chat it would be for."""
        hours = self._schedule.hours
        if hours is not None and hours.until(now) is not None:
            return "these are quiet hours"
        if not tasks and not self._schedule.greet_after:
            return trouble(self._workspace) or f"{FILE} asks for nothing"
        return ""

    async def _hindered(self, chat: Address, around: ChatSituation, now: float) -> str:
        """Why nothing can be done now."""
        if around.gone:
            return f"{chat} cannot be reached ({around.gone})"
        if self._active(around, now) or await self._chats.busy(NAME):
            return f"{chat} is busy"
        return "" if await self._able() else "there is no model that is up to it"

    def _active(self, around: ChatSituation, now: float) -> bool:
        """Whether something goes on there, or did a moment ago. What lies ahead of a clock that was
        set back says nothing."""
        latest = max(around.spoke_at or 0.0, around.active or 0.0)
        return self._schedule.active > 0 and 0 <= now - latest < self._schedule.active

    async def _greeting(self, around: ChatSituation, now: float) -> str:
        """The key of the greeting that is due: once for each silence, and once a day."""
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
        """Log why there are no heartbeats, once for each reason."""
        if reason != self._last_reason:
            logger.info("no heartbeat: {}" if reason else "the heartbeat goes on{}", reason)
        self._last_reason = reason


def to_do(workspace: Path) -> str:
    """What `HEARTBEAT.md` asks for; "" if it is not there, or holds only headings, comments and
    empty points."""
    text = _COMMENT.sub("", clipped(workspace, FILE, FILE_LIMIT).lstrip("\ufeff")).strip()
    lines = (line.strip() for line in text.splitlines())
    return "" if all(_EMPTY.fullmatch(line) for line in lines) else text


def trouble(workspace: Path) -> str:
    """Why `HEARTBEAT.md` cannot be read as it was meant; "": it can, or is not there."""
    path = workspace / FILE
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return f"{path} is no file: write what is to be looked after into a file of that name"
        with path.open("rb") as file:
            # What is cut off at the end is no mistake of its writer.
            codecs.getincrementaldecoder("utf-8")().decode(file.read(4 * FILE_LIMIT))
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        return f"{path} is not UTF-8: what is not will be read as \N{REPLACEMENT CHARACTER}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return ""


def prompt(tasks: str, around: ChatSituation, zone: str) -> str:
    """What a heartbeat asks of the model."""
    return (
        f"This is a heartbeat: nobody has just spoken. {FILE} says what to look after:\n\n"
        f"{tasks}\n\n{_lately(around, zone)}"
        "What you answer is sent to that chat as it is. If there is nothing that its reader "
        f"should know now, answer only {SILENT}."
    )


def greeting_prompt(around: ChatSituation, zone: str, now: float) -> str:
    """What a greeting asks of the model."""
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
