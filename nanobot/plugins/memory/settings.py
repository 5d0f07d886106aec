"""Memory beyond a conversation, and how it is searched."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

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


class RecallKeys(Settings, frozen=True, kw_only=True):
    """The keys of `[agent]` about memory."""

    part_of: ClassVar[str] = "agent"
    recall: Annotated[
        Literal["off", "auto", "ask"],
        about("What memory adds to a message: nothing, what fits, or what the model asks for."),
    ] = "auto"
    recall_top_k: Annotated[
        int, Meta(ge=1, le=50), about("Most memories that are added at a time.")
    ] = 5
    max_cognition_rounds: Annotated[
        int, Meta(ge=1, le=100), about("How often the model may ask memory before it answers.")
    ] = 3
    remember: Annotated[
        Literal["off", "summary"], about("Whether a quiet conversation is summarized for memory.")
    ] = "summary"
