"""Removes conversations, entries and files permanently: each removal is noted first, then done in
slices.

SQLite overwrites what it removes (`secure_delete`), but not the bytes of rows that it moved between
pages earlier. `nanobot db vacuum` removes those.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from typing import NoReturn

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import PluginBroken, StoreError, UsageError
from nanobot.forgetting import forget, forgettable
from nanobot.plugins.common.store import erasures, full_text
from nanobot.plugins.common.store.erasures import InArchive, InPlugin
from nanobot.plugins.common.store.named_files import Place as BlobPlace
from nanobot.plugins.erasure.archives import Archives
from nanobot.plugins.erasure.passes import Pass
from nanobot.plugins.erasure.store import blob_references as references
from nanobot.plugins.erasure.store import erasing, notes, one_shots, session_removal, words
from nanobot.plugins.erasure.store.writing_back import write_back
from nanobot.store.database.database import Database
from nanobot.store.hooks import ContainedHooks
from nanobot.store.journal import log
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, verb
from nanobot.supervision import Work, side_by_side
from nanobot.workspace.blobs import Blobs

AGAIN_SECONDS = 60.0
CACHED_SECONDS = 600.0
"""How long another process may cache what was erased."""
_DAY = 86_400.0
forgettable(log.decode_short)
_SHOWN = 80


class SqlEraser(SqlStore):
    """See nanobot.session.erasing.Eraser: one per store. `blobs` are the files that its rows name;
    `archives` those that old entries were moved to, if this process is the only one that has them.

    A failed removal is reported, stays noted and is retried; everything else is removed. So is one
    that waits for a run.
    """

    _erase = verb(erasing.erase, "erase")
    _begin_removal = verb(session_removal.begin_session, "delete")
    _resume_removal = verb(session_removal.resume_session, "delete")
    _remove_slice = verb(session_removal.session_slice, "delete")
    _end_removal = verb(session_removal.end_session, "delete")
    _erase_in_plugin = verb(session_removal.erase_in_plugin)
    _noted = verb(notes.noted)
    _forgettable = verb(one_shots.forgettable)
    _done = verb(erasures.done)
    _checkpointed = verb(erasures.done, "checkpointed")
    _blobs_removed = verb(erasures.done, "blobs_removed")
    _erase_quotes = verb(erasing.erase_quotes)
    _search = verb(references.search)

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
        self._stuck: Collection[str] = ()
        self._waits = False

    async def delete(self, key: str) -> int:
        count = await self._remove(key)
        plugins = [hook.plugin for hook in self.writer.erases if isinstance(hook, ContainedHooks)]
        await self._finish([_in_plugin(plugin, key) for plugin in plugins])
        return count

    async def _remove(self, key: str) -> int:
        with self.writer.held.taking() as hold:
            count = await self._begin_removal(hold, key)
            try:
                failed = await self.remove_rows()
            finally:
                hold.release()
        if (error := failed.get(_conversation(key))) is not None:
            raise _not_yet(_conversation(key), error)
        return count

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        await self._erase(session_key, seq, by)
        await self.finish()

    async def remove_rows(self) -> dict[str, Exception]:
        """Remove the noted rows, one session at a time, in slices. Returns what could not be
        removed.
        """
        now = Pass()
        async with self._removing:
            self._waits = False
            for key in await self._noted(erasures.SESSION):
                with now.each(_conversation(key)):
                    await self._remove_session(key)
            left: set[str] = set()
            while quotes := set(await self._noted(erasures.QUOTES)) - left:
                for name in sorted(quotes):
                    left.add(name)
                    with now.each(f"erasing quotes ({name[:_SHOWN]})"):
                        await self._erase_quotes([name])
        return now.failed

    async def _remove_session(self, key: str) -> None:
        with self.writer.held.taking() as hold:
            lane = await self._resume_removal(hold, key)
            if lane is None:
                self._waits = True
                return
            try:
                place: session_removal.Place | None = session_removal.Place()
                while place is not None:
                    place = await self._remove_slice(key, place)
                if not await self._end_removal(lane):
                    self._waits = True
            finally:
                hold.release()

    async def finish(self) -> None:
        """Remove everything noted. Raises StoreError if a newly noted item cannot be removed; `run`
        retries it.
        """
        await self._finish()

    async def _finish(self, own: Collection[str] = ()) -> None:
        """As `finish`; it also raises for what of `own` was tried before."""
        failed = await self._attempted()
        fresh = [what for what in failed if what in own or what not in self._stuck]
        self._stuck = frozenset(failed)
        if failed or self._waits:
            self._due.set()
        if fresh:
            raise _not_yet(fresh[0], failed[fresh[0]])

    async def _attempted(self) -> dict[str, Exception]:
        """Try to remove everything noted, and what this process has cached of it; returns what
        could not be removed.
        """
        now = Pass()
        with now.each("erasing conversations"):
            now.failed |= await self.remove_rows()
        with now.each("erasing what plugins keep"):
            now.failed |= await self._erased_in_plugins()
        with now.each("erasing files"):
            async with self._removing:
                now.failed |= await self._remove_blobs()
        if self._archives is not None:
            with now.each("erasing from archives"):
                now.failed |= await self._erased_archived(self._archives)
        with now.each("erasing the index of memories"):
            await self._forget_words(erasures.WORDS, full_text.MEMORIES)
        with now.each("erasing the index of conversations"):
            await self._forget_words(erasures.LOG_WORDS, full_text.LOGS)
        with now.each("writing the log of the database back"):
            logged = await self._noted(erasures.LOGGED)
            if logged:
                await write_back(self.database)
                await self._checkpointed(erasures.LOGGED, logged)
        forget()
        return now.failed

    async def _erased_in_plugins(self) -> dict[str, Exception]:
        now = Pass()
        for name in await self._noted(erasures.PLUGIN):
            with now.each(f"erasing in a plugin ({name[:_SHOWN]})"):
                place = msgspec.json.decode(name, type=InPlugin)
                with now.each(_in_plugin(place.plugin, place.session_key)):
                    try:
                        await self._erase_in_plugin(place, name)
                    except StoreError as error:  # of a statement of the plugin
                        raise PluginBroken(str(error)) from error
        return now.failed

    async def _forget_words(self, kind: str, index: full_text.FullText) -> None:
        rows = await self._noted(kind)
        if rows:
            await words.purge(self.database, index)
            await self._done(kind, rows)

    async def erase_archived(self, archives: Archives) -> None:
        """Remove the noted ones among these. Raises StoreError for the first that failed; the rest
        stays noted.
        """
        for what, error in (await self._erased_archived(archives)).items():
            raise _not_yet(what, error)

    async def _erased_archived(self, archives: Archives) -> dict[str, Exception]:
        now, by_session = Pass(), defaultdict[str, dict[str, int]](dict)
        for name in await self._noted(erasures.ARCHIVED):
            with now.each(f"erasing from an archive ({name[:_SHOWN]})"):
                place = msgspec.json.decode(name, type=InArchive)
                by_session[place.session_key][name] = place.seq
        for key, names in by_session.items():
            with now.each(f"erasing from the archive of {key}"):
                if 0 in names.values():
                    await archives.remove(key)
                else:
                    await archives.erase(key, frozenset(names.values()))
                await self._done(erasures.ARCHIVED, list(names))
        return now.failed

    def soon(self) -> None:
        """Wake `run`: an item was noted that it should finish."""
        self._due.set()

    async def run(self) -> None:
        """Runs as long as the gateway: finish removals that an earlier process left and those noted
        `soon`, and delete old single-message conversations from the shell every day.
        """
        works: dict[str, Work] = {
            "erasing: noted erasures": self._finishing,
            "erasing: one-shot conversations": self._forgetting,
            "erasing: caches": self._forgetting_cached,
        }
        await side_by_side(works, self.writer.clock)

    async def _forgetting(self) -> NoReturn:
        while True:
            try:
                await self.forget()
            except StoreError as error:
                logger.warning("old one-shot conversations stay until tomorrow: {}", error)
            await self.writer.clock.sleep(_DAY)

    async def _forgetting_cached(self) -> NoReturn:
        """Other processes do not say when they erase something."""
        while True:
            await self.writer.clock.sleep(CACHED_SECONDS)
            forget()

    async def forget(self) -> None:
        """Delete old single-message conversations from the shell; see one_shots."""
        gone = -1
        while gone:
            gone = 0
            for key in await self._forgettable(self.writer.clock.now()):
                with boundary(f"forgetting {key}"), suppress(UsageError):  # a run has started in it
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
                logger.warning("erasing continues in {:g} s: {}", AGAIN_SECONDS, error)
                await self.writer.clock.sleep(AGAIN_SECONDS)
            else:
                if self._stuck or self._waits:
                    await self.writer.clock.sleep(AGAIN_SECONDS)
                await self._due.wait()

    async def _remove_blobs(self) -> dict[str, Exception]:
        now, digests = Pass(), await self._noted(erasures.BLOB)
        place, held = (BlobPlace() if digests else None), set[str]()
        while place is not None:
            named, place = await self._search(place)
            held |= named
        removed = held.intersection(digests)
        for digest in sorted(set(digests) - held):
            with now.each(f"erasing the file {digest[:_SHOWN]}"):
                if self._blobs is not None:
                    await self._blobs.remove([digest])
                removed.add(digest)
        if removed:
            await self._blobs_removed(erasures.BLOB, sorted(removed))
        return now.failed


def _conversation(key: str) -> str:
    return f"erasing the conversation {key}"


def _in_plugin(plugin: str, key: str) -> str:
    return f"erasing what the plugin {plugin} keeps of {key}"


def _not_yet(what: str, error: Exception) -> StoreError:
    """The error for the person who requested the removal."""
    if isinstance(error, StoreError):
        return error
    why = " ".join(str(error).split())[:200] or type(error).__name__
    return StoreError(f"{what} failed ({why}); it is tried again every minute")
