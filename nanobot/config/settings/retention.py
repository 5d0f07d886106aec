"""`[retention]`: how long the store keeps what was said."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings


class RetentionSettings(Settings, frozen=True, kw_only=True):
    """`[retention]`: entries that are older go into files of the folder `archive`; 0: none do."""

    entries_days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    archive: str = "archive"
