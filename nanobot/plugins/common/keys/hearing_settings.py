"""Which model transcribes recordings."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nanobot.config.settings.base import Settings, about


class HearingKeys(Settings, frozen=True, kw_only=True):
    """The keys of `[agent]` about recordings."""

    part_of: ClassVar[str] = "agent"
    transcription_model: Annotated[
        str, about("Model that transcribes voice messages. Empty: recordings stay files.")
    ] = ""
