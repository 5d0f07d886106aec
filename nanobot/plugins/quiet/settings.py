"""How much is said unasked, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import Settings, about

Messages: TypeAlias = Annotated[int, Meta(ge=0, le=100_000)]


class QuietLimitSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one chat or person. A key that is missing is as in `[quiet]`."""

    max_per_hour: Annotated[
        Messages | None,
        about(
            "Most notifications in an hour. 0: no limit.",
            unit="messages",
            live=True,
        ),
    ] = None
    max_per_day: Annotated[
        Messages | None,
        about("Most notifications in a day. 0: no limit.", unit="messages", live=True),
    ] = None


class QuietSettings(Settings, frozen=True, kw_only=True):
    """`[quiet]`: limits for notifications of each chat, and of each person in all chats of a
    channel. Notifications that are held arrive later as one message."""

    max_per_hour: Annotated[
        Messages,
        about(
            "Most notifications in an hour, in each chat. 0: no limit.",
            unit="messages",
            live=True,
        ),
    ] = 6
    max_per_day: Annotated[
        Messages,
        about(
            "Most notifications in a day, in each chat. 0: no limit.",
            unit="messages",
            live=True,
        ),
    ] = 30
    quiet_from: Annotated[
        str, about("When quiet hours begin, as 22:00. Empty: none.", live=True)
    ] = ""
    quiet_until: Annotated[str, about("When quiet hours end, as 08:00.", live=True)] = ""
    zone: Annotated[str, about("Time zone of the quiet hours. Empty: `agent.zone`.", live=True)] = (
        ""
    )
    chats: Annotated[
        Mapping[str, QuietLimitSettings], about("Limits of single chats.", live=True)
    ] = {}
    people: Annotated[
        Mapping[str, QuietLimitSettings], about("Limits of single people.", live=True)
    ] = {}
