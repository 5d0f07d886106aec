"""A tool."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nanobot.tools.base import CallContext, Effect, Tool


class Chirp(msgspec.Struct, frozen=True):
    """Arguments."""

    bird: Annotated[str, msgspec.Meta(description="Which bird")]


async def _chirp(args: Chirp, context: CallContext) -> str:
    if args.bird == "ostrich":
        raise LookupError("it has left the building")
    return f"the {args.bird} chirps for {context.role}"


CHIRP = Tool(
    name="chirp",
    description="Lets a bird chirp.",
    args=Chirp,
    run=_chirp,
    effect=Effect.NONE,
    taints=False,
)
