"""How much of what is remembered is found."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.notes import NOTES, QUESTIONS
from benchmarks.stage import Stage, Subject
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.memory.embed import LocalEmbedder, missing
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.search import Search, merged
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER
from nanobot.store.database import migrate
from nanobot.store.database.database import Database
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.unit import StoreContext
from nanobot.system import RandomIds, SystemClock

TOP = 5
Asking = Callable[[str], Awaitable[Sequence[int]]]


async def recall(_: Stage, __: Subject) -> Sample:
    """50 questions about 36 notes in English and Chinese: the share whose note is among the first
    five results, by words, by meaning with the small local model, and by both.

    The questions are of two kinds, with words of the note and without; see benchmarks/notes.py.
    """
    database = SqliteDatabase(None)
    database.run_now(migrate.prepare)
    embedder = None if missing() else LocalEmbedder()
    try:
        return await measured(database, embedder)
    finally:
        await database.close()


async def measured(database: Database, embedder: Embedder | None) -> dict[str, float]:
    """The shares, for a database with nothing in it."""
    writer = StoreContext(SystemClock(), RandomIds(), "benchmark")
    store = SqlMemoryStore(database, writer, SqlEraser(database, writer))
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(MemoryFiles(Path(folder)), store, SystemClock(), embedder)
        ids = {note: (await memory.save(OWNER, note, Provenance())).id for note in NOTES}
        await memory.embed_all()
        search = Search(store, embedder)

        async def words(question: str) -> Sequence[int]:
            return await search.by_words(OWNER, question)

        near: dict[str, Sequence[int]] = {}

        async def meaning(question: str) -> Sequence[int]:
            if question not in near:
                near[question] = await search.by_meaning(OWNER, question)
            return near[question]

        async def both(question: str) -> Sequence[int]:
            return [i for i, _ in merged([await words(question), await meaning(question)])]

        shares = {"words": await _share(words, ids)}
        if embedder is not None:
            shares |= {"meaning": await _share(meaning, ids), "both": await _share(both, ids)}
    return shares


async def _share(asking: Asking, ids: dict[str, int]) -> float:
    found = [ids[note] in (await asking(question))[:TOP] for question, note in QUESTIONS]
    return 100 * sum(found) / len(found)


RECALL = Scenario(
    "recall",
    [
        Measure("words", f"recall@{TOP} by words", "%"),
        Measure("meaning", f"recall@{TOP} by meaning", "%"),
        Measure("both", f"recall@{TOP} of both", "%"),
    ],
    recall,
    (Subject.NANOBOT,),
    once=True,
)
