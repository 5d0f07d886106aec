"""What lasts: the facts that go from conversations to memory by themselves, and the curated facts
that prompts begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loguru import logger

from nanobot.errors import NanobotError, StoreError
from nanobot.memory.index import Memory
from nanobot.memory.port import OWNER, Provenance, State, scope_of
from nanobot.messages import Origin
from nanobot.session.entries import UserEntry
from nanobot.session.store_write import StoreWrite

_PEOPLE = frozenset({Origin.USER, Origin.API, Origin.LIFECYCLE})


class LastingFacts:
    """Keeps facts with the transactions of others, and shows a scope what it holds. `ask`: what is
    kept is only proposed."""

    def __init__(self, memory: Memory, *, ask: bool = False) -> None:
        self._memory = memory
        self._ask = ask

    async def keep(
        self, scope: str, facts: Sequence[str], origin: Provenance
    ) -> tuple[StoreWrite, ...]:
        """What writes those of the facts that are new there; a person's earlier no counts. What has
        a part of content from outside is proposed. Memory that fails keeps nothing. Raises
        StoreError."""
        state: State = "proposed" if self._ask or origin.tainted else "active"
        writes = []
        try:
            for fact in facts:
                write = await self._memory.saving(scope, fact, origin, state=state, kind="fact")
                writes += [] if write is None else [write]
        except StoreError:
            raise
        except NanobotError as error:
            logger.warning("the facts of run {} are not kept: {}", origin.run_id, error)
        return tuple(writes)

    async def filed(self, scope: str) -> None:
        """Have what was committed stand in the scope's files; what cannot be written now is with
        the next look at them. Raises StoreError."""
        try:
            await self._memory.filed(scope)
        except StoreError:
            raise
        except NanobotError as error:
            logger.warning("what was learnt is in no file yet: {}", error)

    async def shown(self, scope: str) -> str:
        """The curated facts as a prompt of that scope holds them; "" for the owners', which are a
        file of the workspace like others, and for what cannot be read. Raises StoreError."""
        await self.filed(scope)
        if scope == OWNER:
            return ""
        try:
            return await self._memory.curated(scope)
        except StoreError:
            raise
        except NanobotError as error:
            logger.warning("a prompt holds nothing of its memory: {}", error)
            return ""


def whose(entries: Iterable[UserEntry], *, private: bool) -> set[str]:
    """The scopes that these people's words belong to."""
    return {
        scope_of(entry.address, entry.sender_id, entry.role, private=private)
        for entry in entries
        if entry.origin in _PEOPLE
    }
