"""Builds the stages that the configuration enables."""

from __future__ import annotations

from typing import NamedTuple

from loguru import logger

from nanobot.agent.stages.helpers import AuxiliaryModels
from nanobot.agent.stages.stages import Stages
from nanobot.config.settings.agent import AgentSettings
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.session.lasting import LastingFacts
from nanobot.session.states import as_people_see
from nanobot.session.tasks import TaskStarter
from nanobot.session.views import Records


class StageDependencies(NamedTuple):
    """The dependencies of the stages. `lasting`: triage sees what it knows."""

    records: Records
    models: Models
    clock: Clock
    starter: TaskStarter
    lasting: LastingFacts | None = None


def stages_of(settings: AgentSettings, dependencies: StageDependencies) -> Stages:
    """The stages of a gateway before those of plugins."""
    if settings.triage != "decision":
        return Stages()
    from nanobot.agent.stages.triage import Triage, TriageContext  # noqa: PLC0415 - it is off

    starter = dependencies.starter
    strange = set(settings.decision.allowed_run_types) - set(starter.types)
    if strange:
        logger.warning(
            "agent.decision.allowed_run_types: there is no type {}; there are {}",
            *(", ".join(sorted(strange)), ", ".join(starter.types)),
        )
    helpers = AuxiliaryModels(dependencies.models)
    view = TriageContext(dependencies.lasting, _Recent(dependencies.records))
    triage = Triage(helpers, starter, dependencies.clock, settings.decision, view)
    return Stages(triage.decide)


class _Recent:
    """See RecentRuns."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def __call__(self, session_key: str, limit: int) -> list[str]:
        runs = await self._records.runs(session=session_key, state="", limit=limit)
        return [
            f"{run.id} {run.title or f'({run.origin})'}: {as_people_see(run.state)}" for run in runs
        ]
