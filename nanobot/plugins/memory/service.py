"""The memory of a gateway, as configured."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from loguru import logger

from nanobot.agent.prompt import MEMORY, PromptAddition
from nanobot.agent.runner import Stage
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.common.optional import lack
from nanobot.plugins.memory.embed import LOCAL, LocalEmbedder, least_of, missing
from nanobot.plugins.memory.facts import KeptFacts
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.index import Memory, MemoryOptions
from nanobot.plugins.memory.port import MemoryPort
from nanobot.plugins.memory.provider_vectors import ProviderEmbedder
from nanobot.plugins.memory.recall import AskingRecall, AutoRecall, Recall
from nanobot.plugins.memory.remember import Remembering
from nanobot.plugins.memory.settings import MemorySettings, RecallKeys
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.plugins.memory.tools import memory_tools
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.works import Works
from nanobot.session.lasting import LastingFacts
from nanobot.store.opening import Store
from nanobot.system import Zone
from nanobot.tools.base import AnyTool

_LOCAL_MODEL = "memory.embedding_model"


def fits(settings: MemorySettings, config: Config) -> list[Finding]:
    """Whether the packages of the local model are missing."""
    if not settings.enabled or settings.embedding_model != LOCAL:
        return []
    needed = [(_LOCAL_MODEL, "memory")]
    return [
        Finding(about="configuration", level="warning", text=f"{config.file}: {key}: {lacking}")
        for key, extra in needed
        if (lacking := lack(extra))
    ]


def objects(  # noqa: PLR0913 - each is asked for by its type
    settings: MemorySettings,
    config: Config,
    zone: Zone,
    store: Store,
    files: ConfinedFiles,
    registry: ProviderRegistry,
    eraser: Eraser | None = None,
) -> Mapping[Any, Any]:
    """The memory in the workspace and in the store; its days begin in `zone`."""
    memory = Memory(
        MemoryFiles(config.workspace, files.exclusive),
        SqlMemoryStore(store.database, store.writer, eraser),
        store.writer.clock,
        _embedder(settings, registry),
        MemoryOptions(max_file_chars=settings.max_file_chars, zone=zone),
    )
    things: dict[Any, Any] = {Memory: memory, MemoryPort: memory}
    if settings.enabled:
        things[LastingFacts] = _facts(settings, memory)
    if memory.embedder is not None:
        things[Embedder] = memory.embedder
    return things


def _embedder(settings: MemorySettings, registry: ProviderRegistry) -> Embedder | None:
    label = settings.embedding_model
    if label != LOCAL:
        least = settings.min_similarity or least_of(label)
        return ProviderEmbedder(registry, label, least) if label else None
    if lacking := missing():
        logger.warning(
            "{}: {} Until then memory is searched by words alone.", _LOCAL_MODEL, lacking
        )
        return None
    return LocalEmbedder()


def _facts(settings: MemorySettings, memory: Memory) -> KeptFacts:
    return KeptFacts(memory, ask=settings.accept == "ask")


def prompt(settings: MemorySettings, memory: Memory) -> PromptAddition:
    """The curated facts of the person or group of a conversation."""
    limits = {MEMORY: settings.max_file_chars}
    if not settings.enabled:
        return PromptAddition(limits=limits)
    return PromptAddition(parts=_facts(settings, memory).parts, limits=limits)


def tools(
    settings: MemorySettings, config: Config, memory: Memory, models: Models, zone: Zone
) -> list[AnyTool]:
    """The tools for memory, and the one that asks it before an answer."""
    tools = memory_tools(memory, settings)
    if settings.enabled and config.of(RecallKeys).recall == "ask":
        tools.append(_asking(config, memory, models, zone).tool())
    return tools


def stages(
    settings: MemorySettings,
    config: Config,
    memory: Memory,
    models: Models,
    clock: Clock,
    zone: Zone,
) -> list[Stage]:
    """What memory adds to a run before it acts."""
    keys = config.of(RecallKeys)
    if not settings.enabled or keys.recall == "off":
        return []
    if keys.recall == "ask":
        return [_asking(config, memory, models, zone).attend]
    recall = Recall(memory, keys.recall_top_k, zone)
    return [AutoRecall(recall, AuxiliaryModels(models), clock).add]


def _asking(config: Config, memory: Memory, models: Models, zone: Zone) -> AskingRecall:
    keys = config.of(RecallKeys)
    recall = Recall(memory, keys.recall_top_k, zone)
    return AskingRecall(recall, AuxiliaryModels(models), keys.max_cognition_rounds)


def around_runs(memory: Memory) -> AbstractAsyncContextManager[None]:
    """Follows the files, and writes what runs saved into them."""
    return memory.serving()


def start(  # noqa: PLR0913 - each is asked for by its type
    settings: MemorySettings,
    config: Config,
    memory: Memory,
    models: Models,
    store: Store,
    clock: Clock,
    bus: Bus,
    works: Works,
) -> None:
    """Remembers conversations when they become quiet."""
    if settings.enabled and config.of(RecallKeys).remember == "summary":
        records = SqlRemembering(store.database, store.writer)
        helpers, ask = AuxiliaryModels(models), settings.accept == "ask"
        remembering = Remembering(records, memory, helpers, clock, ask=ask)
        works.add("remembering", partial(remembering.run, bus))
