"""Ends a channel's run when its platform refuses the token to a send: the connection that events
come over may outlive the token, and then nobody would be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class TokenWatch:
    """Is told by every call; watches during a run."""

    def __init__(self) -> None:
        self._refusal: asyncio.Future[Exception] | None = None

    def refused(self, error: Exception) -> None:
        """A call failed because of the token."""
        if self._refusal is not None and not self._refusal.done():
            self._refusal.set_result(error)

    async def during(self, work: Awaitable[None]) -> None:
        """Do the work until a call fails because of the token, and then raise that call's error.
        Raises what the work raises.
        """
        self._refusal = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(_raised(self._refusal))
                await work
                watching.cancel()
        except ExceptionGroup as group:
            raise _first(group) from group


async def _raised(refusal: asyncio.Future[Exception]) -> None:
    raise await refusal


def _first(group: ExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
