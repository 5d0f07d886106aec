"""Operations of a running nanobot, for commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanobot.operations.operation import Caller
from nanobot.operations.unreadable import Listed
from nanobot.plugins.common.control.client import listing


async def performed(
    home: Path, name: str, arguments: Mapping[str, Any], seconds: float | None, caller: Caller
) -> Listed | None:
    """The result of an operation of the nanobot that serves a home; None if none does. Raises
    refusals."""
    given = await listing(home / "control.sock", name, arguments, seconds, program=caller.program)
    return None if given is None else Listed(result=given.result, unreadable=given.unreadable)
