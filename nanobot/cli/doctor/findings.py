"""What was found by looking at something, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `mend` does what `--fix` may do about it."""

    about: str
    level: Literal["ok", "warning", "broken"]
    text: str
    remedy: str = ""


class Mendable(msgspec.Struct, frozen=True):
    """A finding that goes away when `mend` is called."""

    finding: Finding
    mend: Callable[[], None]
