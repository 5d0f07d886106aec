"""Parts of a gateway that are made by its settings."""

from __future__ import annotations

from collections.abc import Mapping

from loguru import logger

from nanobot.bus.core import Bus
from nanobot.config import Config
from nanobot.cron.service import CronService
from nanobot.memory.embed import LOCAL, Embedder, LocalEmbedder, missing
from nanobot.memory.files import MemoryFiles
from nanobot.memory.index import Memory, MemoryTerms
from nanobot.providers.roster import Indexer, Roster
from nanobot.repositories.jobs import SqlJobs
from nanobot.repositories.memories import SqlMemories
from nanobot.store.opening import Store
from nanobot.tools.roots import Roots
from nanobot.tools.sandbox import Sandbox, find_bwrap


def memory_of(config: Config, zone: str, store: Store, roots: Roots, roster: Roster) -> Memory:
    """The memory in the workspace and in the store; its days begin in `zone`."""
    label = config.memory.embedding_model
    terms = MemoryTerms(max_file_chars=config.memory.max_file_chars, zone=zone)
    files = MemoryFiles(config.workspace, roots.exclusive)
    memories = SqlMemories(store.database, store.writer)
    embedder: Embedder | None = None
    if label and (lacking := missing(label)):
        logger.warning("memory.embedding_model {}; until then words alone decide", lacking)
    elif label:
        embedder = LocalEmbedder() if label == LOCAL else Indexer(roster, label)
    return Memory(files, memories, store.writer.clock, embedder, terms)


def cron_of(store: Store, bus: Bus) -> CronService:
    """What is done by the clock."""
    return CronService(SqlJobs(store.database, store.writer), bus, store.writer.clock)


def sandbox_of(config: Config, environ: Mapping[str, str]) -> Sandbox:
    """Where commands run; the home and the configuration are hidden there."""
    bwrap = None if config.tools.exec.sandbox == "off" else find_bwrap()
    return Sandbox(bwrap, hidden=(config.home, config.file), environment=environ)
