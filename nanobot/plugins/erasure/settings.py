"""`[retention]`: how long the store keeps messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, about


class RetentionSettings(Settings, frozen=True, kw_only=True):
    """`[retention]`: old entries, with their rows of inbox, outbox and approvals, move from the
    database into archive files of one JSON object per line. The model no longer sees them, and
    searches do not find them. The chain of each log stays valid. Files and memories stay.
    `sessions delete` works in the archive, too. Nothing moves while a conversation has a run, or
    while the plugin `erasure` is off."""

    entries_days: Annotated[
        float,
        Meta(ge=0, le=36_500),
        about(
            "Age at which entries of conversations move into archive files. 0: never.", unit="days"
        ),
    ] = 0.0
    archive: Annotated[str, about("Folder of the archive files.")] = "archive"
