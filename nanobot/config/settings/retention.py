"""`[retention]`: how long the store keeps messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, about


class RetentionSettings(Settings, frozen=True, kw_only=True):
    """`[retention]`: entries that are older go into files of the folder `archive`; 0: none do."""

    entries_days: Annotated[
        float,
        Meta(ge=0, le=36_500),
        about(
            "Age at which entries of conversations move into archive files. 0: never.", unit="days"
        ),
    ] = 0.0
    archive: Annotated[str, about("Folder of the archive files.")] = "archive"
