"""The operation that reloads what models are shown."""

from __future__ import annotations

from typing import Protocol

import msgspec

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.text import Sentence


class Prompts(Protocol):
    """What system prompts are made of."""

    def renew(self) -> None:
        """Read all of it again for the next prompts."""
        ...


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """The number of conversations whose prompt is renewed at their next model call."""

    sessions: int


def _reloaded(result: Reloaded, _: Now) -> Sentence:
    return f"Reloaded; {result.sessions} open conversations use it from their next message on."


@operation("reload", text=_reloaded)
async def reload(context: OperationContext, _: Caller) -> Reloaded:
    """Reload the workspace's files and skills in every conversation.

    Current answers keep their prompt.
    """
    context.of(Prompts).renew()  # type: ignore[type-abstract]
    return Reloaded(sessions=await context.engine.records.forget_prompts())
