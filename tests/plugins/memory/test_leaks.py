"""Nothing of one scope is ever found, shown or changed from another, whatever is done."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import NanobotError
from nanobot.messages import Address, Role
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER, scope_of
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from tests.plugins.memory.remembering import WordEmbedder
from tests.sampling import examples
from tests.store.conftest import sqlite

names = st.sampled_from(["666", "7", "A", "a", "..", "", "a/b", "*", "%", "MEMORY.md", "owner"])
senders = st.tuples(st.sampled_from(["telegram", "T"]), names)
scopes = st.one_of(
    st.just(OWNER),
    senders.map(lambda s: scope_of(Address(s[0], "1"), s[1], Role.MEMBER, private=True)),
    senders.map(lambda s: scope_of(Address(*s), "1", Role.OWNER, private=False)),
)
words = st.sampled_from(["tea", "code 7731", "绿茶", "- tea", "# tea", "memory"])
steps = st.lists(
    st.tuples(st.sampled_from(["save", "propose", "forget", "embed", "restart"]), scopes, words),
    min_size=2,
    max_size=12,
)


@pytest.mark.process
@settings(max_examples=15)
@given(steps)
def test_no_scope_sees_or_changes_another(plan: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_follow(plan, Path(folder)))


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(steps)
def test_no_scope_sees_or_changes_another_whatever_they_do(
    plan: list[tuple[str, str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_follow(plan, Path(folder)))


async def _follow(plan: list[tuple[str, str, str]], workspace: Path) -> None:
    database = sqlite(None)
    writer = StoreContext(ManualClock(), CountingIds(), "us")
    store = SqlMemoryStore(database, writer, SqlEraser(database, writer))
    # Every text is the scope's own, so that whatever is found says whose it is.
    wanted: dict[str, set[str]] = {scope: set() for _, scope, _ in plan}
    memory = _memory(store, workspace)
    for verb, scope, word in plan:
        text = f"{word} of {scope}"
        if verb == "restart":
            memory = _memory(store, workspace)
        elif verb == "embed":
            await memory.embed_all()
        elif verb == "forget":
            for entry in await memory.search(scope, word, 50):
                wanted[scope].discard(entry.text)
                for other in wanted.keys() - {scope}:
                    with pytest.raises(NanobotError):
                        await memory.forget(entry.id, other)
                await memory.forget(entry.id, scope)
        elif verb == "save":
            await memory.save(scope, text, Provenance())
            wanted[scope].add(text)
        else:
            await memory.save(scope, text, Provenance(), state="proposed")
        for mine, texts in wanted.items():
            texts_found = {
                entry.text for entry in await memory.search(mine, "tea code 7731 绿茶 memory", 50)
            }
            assert texts_found == texts
            listed = await memory.listed(scopes=[mine], state="active")
            assert {entry.text for entry in listed} == texts
    await database.close()


def _memory(store: SqlMemoryStore, workspace: Path) -> Memory:
    return Memory(MemoryFiles(workspace), store, ManualClock(), WordEmbedder())
