"""Things that are not what they should be."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.triggers.base import Publisher


class Nothing(msgspec.Struct, frozen=True):
    """No arguments."""


async def _exit(args: Nothing, context: CallContext) -> str:
    sys.exit("enough")


NUMBER = 7
RUDE = Tool(name="rude", description="Leaves.", args=Nothing, run=_exit, effect=Effect.NONE)
POSING = msgspec.structs.replace(RUDE, name="exec")
TAKEN = msgspec.structs.replace(RUDE, name="chirp")


def falling(name: str, settings: Mapping[str, object]) -> NoReturn:
    """Cannot be opened."""
    raise ZeroDivisionError("down we go")


class Storm:
    """A trigger that fails whenever it runs."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None: ...

    async def run(self, publisher: Publisher) -> None:
        """Fail."""
        raise OSError("lightning")
