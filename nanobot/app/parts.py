"""Parts of a gateway that are made by its settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from loguru import logger

from nanobot.agent.prompt import PRIVATE_FILES, PromptBuilder, PromptParts
from nanobot.agent.stages.assembly import AssembledStages, StageDependencies, stages_of
from nanobot.agent.tool_calls import Retries, ToolExecutor
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate, GroupMode
from nanobot.channels.host import ChannelHost
from nanobot.channels.receipts import Receipts
from nanobot.config.loader import Config
from nanobot.config.settings.agent import AgentSettings
from nanobot.config.settings.channels import ChannelSettings
from nanobot.config.settings.tools import ExecSettings
from nanobot.config.settings.triggers import QuietSettings
from nanobot.errors import NanobotError
from nanobot.memory.embed import LOCAL, Embedder, LocalEmbedder, missing
from nanobot.memory.files import FOLDER, MemoryFiles
from nanobot.memory.index import Memory, MemoryOptions
from nanobot.memory.lasting import LastingFacts
from nanobot.ports import Capabilities
from nanobot.providers.registry import ProviderEmbedder, ProviderRegistry
from nanobot.session.tasks import TaskStarter
from nanobot.store.opening import Store
from nanobot.store.repositories.jobs import SqlJobStore
from nanobot.store.repositories.memories import SqlMemoryStore
from nanobot.store.repositories.quiet import SqlNotificationLimiter
from nanobot.store.repositories.records import SqlRecords
from nanobot.store.repositories.remembering import SqlRemembering
from nanobot.tools.base import AnyTool
from nanobot.tools.files.tools import file_tools
from nanobot.tools.message import OutgoingFiles, message_tool
from nanobot.tools.privacy import kept_apart
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.shell.exec import ExecOptions
from nanobot.tools.shell.sandbox import Sandbox, find_bwrap
from nanobot.triggers.cron.service import CronService
from nanobot.triggers.quiet import QuietHours
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.skills import Skills

_WALLS: Mapping[str, Literal["required", "wanted", "off"]] = {
    "bwrap": "required",
    "auto": "wanted",
    "off": "off",
}


def memory_of(
    config: Config, zone: str, store: Store, roots: ConfinedFiles, roster: ProviderRegistry
) -> Memory:
    """The memory in the workspace and in the store; its days begin in `zone`."""
    label = config.memory.embedding_model
    terms = MemoryOptions(max_file_chars=config.memory.max_file_chars, zone=zone)
    files = MemoryFiles(config.workspace, roots.exclusive)
    memories = SqlMemoryStore(store.database, store.writer)
    embedder: Embedder | None = None
    if label and (lacking := missing(label)):
        logger.warning("memory.embedding_model {}; until then words alone decide", lacking)
    elif label:
        embedder = LocalEmbedder() if label == LOCAL else ProviderEmbedder(roster, label)
    return Memory(files, memories, store.writer.clock, embedder, terms)


def persona_of(config: Config, skills: Skills, memory: Memory) -> PromptBuilder:
    """Who the assistant is, with what memory holds of whoever it talks to."""
    agent, settings = config.agent, config.memory
    briefing = PromptParts(
        config.workspace,
        name=agent.name,
        persona=agent.persona,
        skills=skills,
        memory_chars=settings.max_file_chars,
    )
    lasting = LastingFacts(memory, ask=settings.accept == "ask") if settings.enabled else None
    return PromptBuilder(config.workspace, briefing, lasting)


def caller_of(
    settings: AgentSettings, store: Store, tools: ToolRegistry, hosts: Sequence[ChannelHost]
) -> ToolExecutor:
    """Makes the tool calls of runs. Receipts come from the channels that are served here."""

    def served(channel: str) -> bool:
        return any(host.name == channel and host.state == "up" for host in hosts)

    clock = store.writer.clock
    retries = Retries(count=settings.tool_retries, delay=settings.tool_retry_delay)
    receipt = Receipts(store.journal, clock, served).of
    return ToolExecutor(store.journal, tools, clock, settings.max_run_seconds, retries, receipt)


async def warm_up(roster: ProviderRegistry) -> None:
    """Have the model ready before the first message; what is wrong is told with the message."""
    with boundary("the model"):
        try:
            await roster.warm_up()
        except NanobotError as error:
            logger.warning("no model yet: {}", error)


def cron_of(store: Store, bus: Bus, quiet: QuietSettings, zone: str) -> CronService:
    """What is done by the clock, and held back till then of what is said unasked. Raises
    ConfigError."""
    store.writer.quiet = SqlNotificationLimiter(store.writer, QuietHours(quiet, zone))
    return CronService(SqlJobStore(store.database, store.writer), bus, store.writer.clock)


def sandbox_of(config: Config, environ: Mapping[str, str]) -> Sandbox:
    """Where commands run; the home and the configuration are hidden there, and what is private to
    whoever is not an owner alone."""
    bwrap = None if config.tools.exec.sandbox == "off" else find_bwrap()
    hidden, apart = (config.home, config.file), private_paths(config.workspace)
    return Sandbox(bwrap, hidden=hidden, apart=apart, environment=environ)


def private_paths(workspace: Path) -> tuple[Path, ...]:
    """What in a workspace is for its owners alone, or for one person or group each: memory, and
    what only owners' prompts hold."""
    return (*(workspace / name for name in PRIVATE_FILES), workspace / FOLDER)


def workspace_tools(roots: ConfinedFiles, blobs: Blobs, chats: Collection[str]) -> list[AnyTool]:
    """The tools that reach files of the workspace. Where others than an owner read, they do not
    reach what is private; `chats` are the channels that `message` may write to."""

    def made(roots: ConfinedFiles) -> list[AnyTool]:
        return [*file_tools(roots), message_tool(chats, OutgoingFiles(roots, blobs))]

    return kept_apart(made, roots, private_paths(roots.workspace))


def gate_of(settings: ChannelSettings, able: Capabilities) -> Gate:
    """Who is heard in a channel, as configured, and as what it is wants it."""
    groups = GroupMode(usual=settings.groups, prefix=settings.prefix, chats=settings.chats)
    return Gate(
        settings.owners,
        settings.members,
        settings.guests,
        groups,
        pairing=settings.pairing,
        able=able,
    )


def exec_terms(settings: ExecSettings) -> ExecOptions:
    """How commands run, as configured."""
    return ExecOptions(
        isolation=_WALLS[settings.sandbox], network=settings.network, timeout=settings.timeout
    )


def mind_of(
    config: Config,
    store: Store,
    roster: ProviderRegistry,
    starter: TaskStarter,
    memory: Memory,
    tools: ToolRegistry,
) -> AssembledStages:
    """The stages of runs besides acting; what they bring for the model is among `tools` after."""
    around = StageDependencies(
        journal=store.journal,
        records=SqlRecords(store.database, store.writer),
        remembered=SqlRemembering(store.database, store.writer),
        models=roster,
        clock=store.writer.clock,
        starter=starter,
        memory=memory if config.memory.enabled else None,
        propose=config.memory.accept == "ask",
    )
    return stages_of(config.agent, around, tools)
