"""Parts of a gateway that are made by its settings."""

from __future__ import annotations

from loguru import logger

from nanobot.config import Config
from nanobot.memory.embed import LOCAL, Embedder, LocalEmbedder, missing
from nanobot.memory.files import MemoryFiles
from nanobot.memory.index import Memory, MemoryTerms
from nanobot.providers.roster import Indexer, Roster
from nanobot.repositories.memories import SqlMemories
from nanobot.store.opening import Store
from nanobot.tools.roots import Roots


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
