"""Removing conversations, entries and files for good: noted first, then removed in slices.

SQLite overwrites what it removes (`secure_delete`), but not the bytes of rows that it moved from
one page to another earlier. Those are gone after `nanobot db vacuum`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import NoReturn

import msgspec
from loguru import logger

from nanobot.errors import StoreError, UsageError
from nanobot.store.database.sqlite import Database
from nanobot.store.repositories import blob_references as references
from nanobot.store.repositories import erasing, erasures, one_shots, session_removal
from nanobot.store.repositories.archives import Archives
from nanobot.store.repositories.erasures import InArchive
from nanobot.store.search import full_text
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb, verb
from nanobot.workspace.blobs import Blobs

AGAIN_SECONDS = 60.0
_DAY = 86_400.0


class Eraser(SqlStore):
    """One for a store. `blobs` are the files that its rows name; `archives` those that old entries
    went into, where no other process has them."""

    _erase = verb(erasing.erase, "erase")
    _begin_removal = verb(session_removal.begin_session, "delete")
    _remove_slice = bare_verb(session_removal.session_slice, "delete")
    _end_removal = verb(session_removal.end_session, "delete")
    _noted = bare_verb(erasures.noted)
    _forgettable = bare_verb(one_shots.forgettable)
    _done = bare_verb(erasures.done)
    _checkpointed = bare_verb(erasures.done, "checkpointed")
    _blobs_removed = bare_verb(erasures.done, "blobs_removed")
    _erase_quotes = verb(erasing.erase_quotes)
    _search = bare_verb(references.search)

    def __init__(
        self,
        database: Database,
        writer: StoreContext,
        blobs: Blobs | None = None,
        archives: Archives | None = None,
    ) -> None:
        super().__init__(database, writer)
        self._blobs = blobs
        self._archives = archives
        self._removing = asyncio.Lock()
        self._due = asyncio.Event()

    async def delete(self, key: str) -> int:
        count = await self._remove(key)
        await self.finish()
        return count

    async def _remove(self, key: str) -> int:
        with self.writer.held.taking() as hold:
            count = await self._begin_removal(hold, key)
            try:
                await self.remove_rows()
            finally:
                hold.release()
        return count

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        await self._erase(session_key, seq, by)
        await self.finish()

    async def remove_rows(self) -> None:
        """Remove the rows of what is noted, one session at a time, in slices."""
        async with self._removing:
            for key in await self._noted(erasures.SESSION):
                place: session_removal.Place | None = session_removal.Place()
                while place is not None:
                    place = await self._remove_slice(key, place)
                await self._end_removal(key)
            while quotes := await self._noted(erasures.QUOTES):
                await self._erase_quotes(quotes)

    async def finish(self) -> None:
        """Remove all that is noted. Raises StoreError; `run` removes the rest then."""
        try:
            await self.remove_rows()
            async with self._removing:
                await self._remove_blobs()
            if self._archives is not None:
                await self.erase_archived(self._archives)
            await self._forget_words(erasures.WORDS, full_text.MEMORIES)
            await self._forget_words(erasures.LOG_WORDS, full_text.LOGS)
            logged = await self._noted(erasures.LOGGED)
            if logged:
                await self.database.checkpoint()
                await self._checkpointed(erasures.LOGGED, logged)
        except StoreError:
            self._due.set()
            raise

    async def _forget_words(self, kind: str, index: full_text.FullText) -> None:
        words = await self._noted(kind)
        if words:
            await index.forget(self.database)
            await self._done(kind, words)

    async def erase_archived(self, archives: Archives) -> None:
        """Take out of these what is noted. Raises StoreError; what is left stays noted."""
        by_session = defaultdict[str, list[str]](list)
        for name in await self._noted(erasures.ARCHIVED):
            by_session[msgspec.json.decode(name, type=InArchive).session_key].append(name)
        for key, names in by_session.items():
            numbers = {msgspec.json.decode(name, type=InArchive).seq for name in names}
            if 0 in numbers:
                await archives.remove(key)
            else:
                await archives.erase(key, numbers)
            await self._done(erasures.ARCHIVED, names)

    def soon(self) -> None:
        """Something was noted that `run` is to finish."""
        self._due.set()

    async def run(self) -> None:
        """For the life of a gateway: finish what an earlier process left and what is noted `soon`;
        and forget, every day, what was said once from
        the shell and is old."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._finishing(), name="erasing: what is noted")
            tasks.create_task(self._forgetting(), name="erasing: one-shot conversations")

    async def _forgetting(self) -> NoReturn:
        while True:
            try:
                await self.forget()
            except StoreError as error:
                logger.warning("old one-shot conversations stay until tomorrow: {}", error)
            await self.writer.clock.sleep(_DAY)

    async def forget(self) -> None:
        """Remove what was said once from the shell and is old; see one_shots."""
        gone = -1
        while gone:
            gone = 0
            for key in await self._forgettable(self.writer.clock.now()):
                with suppress(UsageError):  # something has begun to run there
                    await self._remove(key)
                    gone += 1
            if gone:
                self.soon()

    async def _finishing(self) -> NoReturn:
        while True:
            self._due.clear()
            try:
                await self.finish()
            except StoreError as error:
                logger.warning("erasing goes on in {:g} s: {}", AGAIN_SECONDS, error)
                await self.writer.clock.sleep(AGAIN_SECONDS)
            else:
                await self._due.wait()

    async def _remove_blobs(self) -> None:
        digests = await self._noted(erasures.BLOB)
        place, held = (references.Place() if digests else None), set[str]()
        while place is not None:
            named, place = await self._search(place)
            held |= named
        if self._blobs is not None:
            await self._blobs.remove(sorted(set(digests) - held))
        if digests:
            await self._blobs_removed(erasures.BLOB, digests)
