"""How much may be said unasked, and the one message that becomes of what was held back.

Pure: the store counts what was said, and asks here what is allowed and what a digest reads like.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from nanobot.plugins.quiet.settings import QuietLimitSettings, QuietSettings
from nanobot.store.digests import begun
from nanobot.triggers.cron.hours import Hours, hours_of, zone_given
from nanobot.triggers.cron.schedule import zone_of

HOUR, DAY = 3_600.0, 86_400.0
MOST_LISTED = 25
"""Messages that a digest lists; with LINE_CHARS it fits into one message everywhere."""


class NotificationLimit(msgspec.Struct, frozen=True):
    """At most `most` messages within `seconds`."""

    most: int
    seconds: float


class HeldBack(msgspec.Struct, frozen=True):
    """Something that was held back, and when it was said."""

    text: str
    at: float


class QuietHours:
    """What `[quiet]` allows. Raises ConfigError for hours and zones that cannot be."""

    def __init__(self, settings: QuietSettings, machine: str = "UTC") -> None:
        self._machine = machine
        self.configure(settings)

    def configure(self, settings: QuietSettings) -> None:
        """Allow something else from now on. Raises ConfigError, and then nothing is changed."""
        zone = zone_given(settings.zone, self._machine, "quiet")
        hours = hours_of(settings.quiet_from, settings.quiet_until, zone, "quiet")
        self.zone = zone
        self._hours: Hours | None = hours
        self._settings = settings

    def asleep(self, now: float) -> bool:
        """Whether nothing is said unasked now."""
        return self._hours is not None and self._hours.until(now) is not None

    def chat(self, name: str) -> list[NotificationLimit]:
        """What a chat (CHANNEL:ID) may hear."""
        return self._limits(self._settings.chats.get(name))

    def person(self, name: str) -> list[NotificationLimit]:
        """What a person (CHANNEL:ID) may hear, in all chats that are theirs alone."""
        return self._limits(self._settings.people.get(name))

    def _limits(self, own: QuietLimitSettings | None) -> list[NotificationLimit]:
        settings = own or QuietLimitSettings()
        hour, day = settings.max_per_hour, settings.max_per_day
        limits = (
            NotificationLimit(self._settings.max_per_hour if hour is None else hour, HOUR),
            NotificationLimit(self._settings.max_per_day if day is None else day, DAY),
        )
        return [limit for limit in limits if limit.most]


def digest(held: Sequence[HeldBack], session_key: str, zone: str) -> str:
    """One message that tells of them, the oldest first."""
    clock, listed = zone_of(zone), held[-MOST_LISTED:]
    one_day = len({datetime.fromtimestamp(message.at, clock).date() for message in held}) == 1
    shown = "%H:%M" if one_day else "%a %H:%M"
    times = (datetime.fromtimestamp(message.at, clock).strftime(shown) for message in listed)
    lines = [
        f"- {time} {begun(message.text) or '(a file)'}"
        for time, message in zip(times, listed, strict=True)
    ]
    if len(held) > len(listed):
        lines.insert(0, f"- {len(held) - len(listed)} earlier ones")
    return "\n".join(
        [
            f"{len(held)} messages were held back, so as not to disturb:",
            "",
            *lines,
            "",
            f"They stand here in full for whoever asks me, and in `sessions show {session_key}`.",
        ]
    )
