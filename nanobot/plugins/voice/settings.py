"""When answers are spoken."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit, about


class VoiceSettings(Settings, frozen=True, kw_only=True):
    """`[voice]`: answers as voice messages, in addition to their text."""

    answers: Annotated[
        Literal["off", "on", "always"],
        about("Which answers are spoken too: none, those to voice messages, or all."),
    ] = "off"
    model: Annotated[str, about("Model that speaks.")] = ""
    voice: Annotated[
        str, Meta(min_length=1, max_length=200), about("Voice that the model uses.")
    ] = "alloy"
    max_characters: Annotated[
        int, Meta(ge=1, le=4096), about("Longest answer that is spoken.", unit="characters")
    ] = 1_500

    def __post_init__(self) -> None:
        if self.answers != "off" and not self.model:
            raise Unfit("model", 'a model that speaks, like "openai/gpt-4o-mini-tts"')
