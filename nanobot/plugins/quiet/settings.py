"""How much is said unasked, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import Settings, about

Messages: TypeAlias = Annotated[int, Meta(ge=0, le=100_000)]


class QuietLimitSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much one of them may hear unasked; 0 is no limit, None as all others have it."""

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
    """`[quiet]`: the most notifications of a chat, and of a person in all chats of a channel, in an
    hour and a day (0: no limit); `chats` and `people` have separate limits. In quiet hours there
    are none. Held notifications arrive later as one message."""

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
