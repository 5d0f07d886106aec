"""The names of nanobot's own types of background runs."""

from __future__ import annotations

from typing import Literal, TypeAlias

RunType: TypeAlias = Literal["agent", "sleep", "summarize_conversation", "fetch_web", "index_repo"]
