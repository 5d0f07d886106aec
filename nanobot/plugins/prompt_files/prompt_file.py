"""A file of the prompt, as people are shown it."""

from __future__ import annotations

import msgspec


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that people and the assistant write for its prompt. `digest` names exactly this
    content; `text` is there where one file is shown. `size` in bytes; None: there is none yet."""

    name: str
    size: int | None
    changed_at: float | None
    digest: str = ""
    text: str = ""
