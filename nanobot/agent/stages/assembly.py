"""Builds the stages that the configuration enables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from loguru import logger

from nanobot.agent.stages.helpers import AuxiliaryModels
from nanobot.agent.stages.recall import AskingRecall, AutoRecall, Recall
from nanobot.agent.stages.remember import Remembering, RememberRecords
from nanobot.agent.stages.stages import Stages
from nanobot.config.settings.agent import AgentSettings
from nanobot.memory.port import MemoryPort
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.session.states import as_people_see
from nanobot.session.tasks import TaskStarter
from nanobot.session.views import Records
from nanobot.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nanobot.bus.core import Bus


class StageDependencies(NamedTuple):
    """The dependencies of the stages. Without a memory nothing is recalled or remembered.
    `propose`: a person approves new memories first. `zone`: the time zone of dates."""

    records: Records
    remembered: RememberRecords
    models: Models
    clock: Clock
    starter: TaskStarter
    memory: MemoryPort | None = None
    propose: bool = False
    zone: str = "UTC"


class AssembledStages(NamedTuple):
    """The stages before a run acts, and the service that remembers afterwards (None: off)."""

    before: Stages
    remembering: Remembering | None = None

    async def remember(self, bus: Bus) -> None:
        """Remember until cancelled; return at once if this is off."""
        if self.remembering is not None:
            await self.remembering.run(bus)


def stages_of(
    settings: AgentSettings, dependencies: StageDependencies, tools: ToolRegistry
) -> AssembledStages:
    """The stages of a gateway. Tools that they bring for the model are added to `tools`."""
    clock, memory = dependencies.clock, dependencies.memory
    helpers = AuxiliaryModels(dependencies.models)
    triage = auto = asking_recall = remembering = None
    if settings.triage == "decision":
        from nanobot.agent.stages.triage import Triage, TriageContext  # noqa: PLC0415 - it is off

        strange = set(settings.decision.allowed_run_types) - set(dependencies.starter.types)
        if strange:
            logger.warning(
                "agent.decision.allowed_run_types: there is no type {}; there are {}",
                *(", ".join(sorted(strange)), ", ".join(dependencies.starter.types)),
            )
        view = TriageContext(memory, _Recent(dependencies.records))
        triage = Triage(helpers, dependencies.starter, clock, settings.decision, view)
    if memory is not None:
        recall = Recall(memory, settings.recall_top_k, dependencies.zone)
        if settings.recall == "auto":
            auto = AutoRecall(recall, helpers, clock)
        if settings.recall == "ask":
            asking_recall = AskingRecall(recall, helpers, settings.max_cognition_rounds)
            tools.register(asking_recall.tool())
        if settings.remember == "summary":
            remembering = Remembering(
                dependencies.remembered, memory, helpers, clock, ask=dependencies.propose
            )
    return AssembledStages(Stages(triage, auto, asking_recall), remembering)


class _Recent:
    """See RecentRuns."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def __call__(self, session_key: str, limit: int) -> list[str]:
        runs = await self._records.runs(session=session_key, state="", limit=limit)
        return [
            f"{run.id} {run.title or f'({run.origin})'}: {as_people_see(run.state)}" for run in runs
        ]
