"""The rules for unrequested messages, and the digest of held-back messages.

Pure: the store counts messages, and asks here for the limits and for the text of a digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from nanobot.plugins.common.times.daily_hours import zone_given
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.common.views.digests import begun
from nanobot.plugins.quiet.daily import Hours, hours_of
from nanobot.plugins.quiet.settings import QuietLimitSettings, QuietSettings
from nanobot.text import Sentence, Spans

HOUR, DAY = 3_600.0, 86_400.0
MOST_LISTED = 25
"""Maximum messages listed in a digest; with LINE_CHARS, the digest fits into one message on every
platform.
"""


class NotificationLimit(msgspec.Struct, frozen=True):
    """At most `most` messages within `seconds`."""

    most: int
    seconds: float


class HeldBack(msgspec.Struct, frozen=True):
    """A message that was held back, and when it was created."""

    text: str
    at: float


class QuietHours:
    """The limits in `[quiet]`. Raises ConfigError for invalid hours and zones."""

    def __init__(self, settings: QuietSettings, machine: str = "UTC") -> None:
        self._machine = machine
        self.configure(settings)

    def configure(self, settings: QuietSettings) -> None:
        """Change the limits from now on. Raises ConfigError, and then nothing is changed."""
        zone = zone_given(settings.zone, self._machine, "quiet")
        hours = hours_of(settings.quiet_from, settings.quiet_until, zone, "quiet")
        self.zone = zone
        self._hours: Hours | None = hours
        self._settings = settings

    def asleep(self, now: float) -> bool:
        """Whether it is currently a quiet hour."""
        return self._hours is not None and self._hours.until(now) is not None

    def chat(self, name: str) -> list[NotificationLimit]:
        """The limits of a chat (CHANNEL:ID)."""
        return self._limits(self._settings.chats.get(name))

    def person(self, name: str) -> list[NotificationLimit]:
        """The limits of a person (CHANNEL:ID), across all their private chats."""
        return self._limits(self._settings.people.get(name))

    def _limits(self, own: QuietLimitSettings | None) -> list[NotificationLimit]:
        settings = own or QuietLimitSettings()
        hour, day = settings.max_per_hour, settings.max_per_day
        limits = (
            NotificationLimit(self._settings.max_per_hour if hour is None else hour, HOUR),
            NotificationLimit(self._settings.max_per_day if day is None else day, DAY),
        )
        return [limit for limit in limits if limit.most]


def digest(held: Sequence[HeldBack], session_key: str, zone: str) -> tuple[str, Spans]:
    """One message that lists the held-back messages, oldest first, and which parts of it are
    nanobot's own."""
    clock, listed = zone_of(zone), held[-MOST_LISTED:]
    one_day = len({datetime.fromtimestamp(message.at, clock).date() for message in held}) == 1
    shown = "%H:%M" if one_day else "%a %H:%M"
    times = (datetime.fromtimestamp(message.at, clock).strftime(shown) for message in listed)
    text, end = _around(len(held), len(held) - len(listed), session_key)
    own = [(0, len(text))]
    for time, each in zip(times, listed, strict=True):
        text += f"- {time} "
        begins = begun(each.text)
        if not begins:
            begins = _only_a_file()
            own.append((len(text), len(text) + len(begins)))
        text += f"{begins}\n"
    own.append((len(text), len(text) + len(end)))
    return text + end, tuple(own)


def _only_a_file() -> Sentence:
    return "(a file)"


def _around(count: int, earlier: int, session_key: str) -> tuple[Sentence, Sentence]:
    """What a digest says before and after the list of messages."""
    head = f"{count} messages were held back, so as not to disturb:\n\n"
    if count == 1:
        head = "1 message was held back, so as not to disturb:\n\n"
    if earlier:
        head += f"- {earlier} earlier ones\n"
    return head, f"\nYou can ask me for the full texts, or run `sessions show {session_key}`."
