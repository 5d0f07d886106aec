"""Which content is kept out of conversations, and which model reads it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, about


class ReaderSettings(Settings, frozen=True, kw_only=True):
    """`[reader]`: long content from outside does not enter conversations. A model without tools
    reads it."""

    enabled: Annotated[
        bool, about("Long content from outside is read by a model call without tools.")
    ] = False
    model: Annotated[
        str, about("Model that reads it. Empty: the default model.", is_model=True)
    ] = ""
    longer_than: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        about("Longest result with content from outside that is shown.", unit="characters"),
    ] = 1_000
