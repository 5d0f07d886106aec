"""When answers are spoken."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit


class VoiceSettings(Settings, frozen=True, kw_only=True):
    """`[voice]`: answers as voice messages, besides their text: to voice messages (`on`) or to
    whatever a person says (`always`). `model` speaks, as `voice`, what has at most
    `max_characters`."""

    answers: Literal["off", "on", "always"] = "off"
    model: str = ""
    voice: Annotated[str, Meta(min_length=1, max_length=200)] = "alloy"
    max_characters: Annotated[int, Meta(ge=1, le=4096)] = 1_500

    def __post_init__(self) -> None:
        if self.answers != "off" and not self.model:
            raise Unfit("model", 'a model that speaks, like "openai/gpt-4o-mini-tts"')
