"""Past tool calls as people see them; see plugins.common.views.views."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class ToolCallView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of a run. `arguments`: the model's text, unchanged. `message`: the latest request
    to the run before the call."""

    SHOWN: ClassVar[tuple[str, ...]] = ("at", "name", "ok", "arguments", "text")

    run_id: str
    session_key: str
    at: float
    name: str
    arguments: str
    ok: bool
    text: str
    ms: int
    message: str = ""
