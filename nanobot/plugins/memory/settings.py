"""Memory beyond a conversation, and how it is searched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.config.settings.base import Settings, about


class MemorySettings(Settings, frozen=True, kw_only=True):
    """`[memory]`: memory beyond a conversation, and its search."""

    enabled: Annotated[
        bool, about("Whether the assistant remembers things beyond a conversation.")
    ] = True
    accept: Annotated[
        Literal["auto", "ask"],
        about("Whether new memories are kept at once or wait for your approval."),
    ] = "auto"
    embedding_model: Annotated[
        str,
        about(
            "Model that finds memories by meaning. Empty: words alone; `local`: a "
            "small one on this machine. A provider's model is sent every memory."
        ),
    ] = ""
    min_similarity: Annotated[
        float,
        Meta(ge=0, le=1),
        about("How similar a memory must be to be found. 0: the model's usual value."),
    ] = 0.0
    max_file_chars: Annotated[
        int,
        Meta(ge=500, le=200_000),
        about("Longest memory file that is part of a prompt.", unit="characters"),
    ] = 8_000
