"""How conversations get their titles."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from nanobot.config.settings.base import Settings, about


class TitleKeys(Settings, frozen=True, kw_only=True):
    """The keys of `[agent]` about titles."""

    part_of: ClassVar[str] = "agent"
    titles: Annotated[
        Literal["sentence", "model"],
        about("Title of a conversation: its first sentence, or one that the model writes."),
    ] = "sentence"
