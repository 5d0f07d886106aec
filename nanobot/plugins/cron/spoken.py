"""The schedule phrase that a text begins with, in any supported language."""

from __future__ import annotations

from datetime import datetime

from nanobot.plugins.cron.phrases import Phrase, reach
from nanobot.text import pattern

_HAN = pattern(r"[\u4e00-\u9fff]")
_MOST = 200
"""Maximum characters of a phrase."""

EXAMPLES = (
    "`every weekday at 9`, `tomorrow at 18:00`, `first monday of the month at 9`, `in 20 minutes`, "
    "`每个工作日9点`, `明天18:00`"
)


def chinese_text(text: str) -> bool:
    """Whether any of the text is in Chinese."""
    return _HAN.search(text) is not None


def phrase_at(text: str, now: datetime) -> Phrase | None:
    """The longest schedule in words that a text begins with; `now` is local time (naive)."""
    # Most gateways and commands never parse a phrase.
    from nanobot.plugins.cron import english  # noqa: PLC0415

    head, readers = text[:_MOST], [english.read]
    if chinese_text(head):
        from nanobot.plugins.cron import chinese  # noqa: PLC0415

        readers.append(chinese.read)
    found = [phrase for read in readers if (phrase := read(head, now)) is not None]
    return max(found, key=reach, default=None)
