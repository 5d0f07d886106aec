"""A corpus of logs with the digests of their requests, as the version that kept them made them.

`python -m tests.agent.corpus "REASON"` renews the digests after a change on purpose, takes in the
sessions of revisions that are not in it, and adds the reason to `recordings/changes.md`. The other
logs stay; `--new` makes the lives anew.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger

from nanobot.plugins.replay.replaying import prompts_of, replayed
from nanobot.session.entries import Entry, decode
from nanobot.session.runs import PromptSnapshot
from nanobot.testing.gateway import Process
from tests.agent.test_simulation import Life
from tests.store.filling import REVISIONS

FOLDER = Path(__file__).parent / "recordings"
CORPUS = FOLDER / "corpus.json.gz"
CHANGES = FOLDER / "changes.md"
LIVES = 28
NOTHING = b"null"
"""The payload of an entry that was erased."""


class Kept(msgspec.Struct, kw_only=True):
    """One session: its log, the prompts it used, and the digest of each request by entry."""

    name: str
    entries: list[tuple[int, str, float, msgspec.Raw]]
    prompts: dict[str, PromptSnapshot]
    requests: dict[int, str]

    def log(self) -> list[Entry]:
        return [
            Entry(seq, run, at, None if bytes(body) == NOTHING else decode(bytes(body)))
            for seq, run, at, body in self.entries
        ]


def kept(name: str, log: list[Entry], prompts: dict[str, PromptSnapshot]) -> Kept:
    entries = [
        (
            e.seq,
            e.run_id,
            e.at,
            msgspec.Raw(msgspec.json.encode(e.body)),
        )
        for e in log
    ]
    requests = replayed(log, prompts).requests
    return Kept(name=name, entries=entries, prompts=prompts, requests=requests)


def load(path: Path = CORPUS) -> list[Kept]:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=list[Kept])


def fingerprint(sessions: list[Kept]) -> str:
    """What the last line of `changes.md` names."""
    content = [(session.name, sorted(session.requests.items())) for session in sessions]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


async def of_lives() -> list[Kept]:
    """The sessions of lives full of failures, crashes, steering and orders."""
    sessions = []
    for seed in range(LIVES):
        life = Life(seed)
        await life.whole()
        life.judge()
        journal = Process(life.home).journal
        for key, log in life.logs.items():
            found = {name: await journal.snapshot(name) for name in prompts_of(log)}
            prompts = {name: prompt for name, prompt in found.items() if prompt is not None}
            sessions.append(kept(f"life {seed} {key}", log, prompts))
        await life.home.close()
    return sessions


def of_revisions() -> list[Kept]:
    """The sessions in the database that each revision of the tables has left."""
    sessions = []
    for packed in sorted(REVISIONS.glob("*.db.gz")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "old.db"
            path.write_bytes(gzip.decompress(packed.read_bytes()))
            database = sqlite3.connect(path)
            sessions += _sessions(packed.name.split(".")[0], database)
            database.close()
    return sessions


def _sessions(revision: str, database: sqlite3.Connection) -> list[Kept]:
    query = "select session_key, seq, run_id, at, payload from entries order by session_key, seq"
    logs: dict[str, list[Entry]] = {}
    for key, seq, run, at, payload in database.execute(query):
        body = None if payload is None else decode(payload)
        logs.setdefault(key, []).append(Entry(seq, run, at, body))
    prompts: dict[str, Any] = dict(database.execute("select digest, body from prompts"))
    sessions = []
    for key, log in logs.items():
        used = [name for name in prompts_of(log) if name in prompts]
        found = {n: msgspec.json.decode(prompts[n], type=PromptSnapshot) for n in used}
        sessions.append(kept(f"revision {revision} {key}", log, found))
    return sessions


async def main(reason: str, *, anew: bool) -> None:
    logger.disable("nanobot")
    if anew:
        sessions = [*of_revisions(), *await of_lives()]
    else:
        sessions = [kept(each.name, each.log(), each.prompts) for each in load()]
        known = {each.name for each in sessions}
        sessions += [each for each in of_revisions() if each.name not in known]
    FOLDER.mkdir(exist_ok=True)
    CORPUS.write_bytes(gzip.compress(msgspec.json.encode(sessions), mtime=0))
    with CHANGES.open("a", encoding="utf-8") as changes:
        changes.write(f"- {fingerprint(sessions)}: {reason}\n")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--new"]
    if len(words) != 1 or not words[0].strip():
        sys.exit('give the reason: python -m tests.agent.corpus "REASON"')
    asyncio.run(main(words[0].strip(), anew="--new" in sys.argv))
