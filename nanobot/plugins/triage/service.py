"""The stage of triage, as configured in `[agent]`."""

from __future__ import annotations

from loguru import logger

from nanobot.agent.runner import Stage
from nanobot.config.loader import Config
from nanobot.operations.run_states import as_people_see
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.runs.background_runs import TaskStarter
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.triage.settings import TriageKeys
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.session.lasting import LastingFacts
from nanobot.store.opening import Store


def stages(
    config: Config,
    store: Store,
    models: Models,
    clock: Clock,
    starter: TaskStarter,
    lasting: LastingFacts | None = None,
) -> list[Stage]:
    """The decision; triage sees what `lasting` knows."""
    keys = config.of(TriageKeys)
    settings = keys.decision
    if keys.triage != "decision":
        return []
    from nanobot.plugins.triage.triage import Triage, TriageContext  # noqa: PLC0415 - few use it

    strange = set(settings.allowed_run_types) - set(starter.types)
    if strange:
        logger.warning(
            "agent.decision.allowed_run_types: there is no type {}; there are {}",
            *(", ".join(sorted(strange)), ", ".join(starter.types)),
        )
    view = TriageContext(lasting, _Recent(StoredRuns(store.database, store.writer)))
    return [Triage(AuxiliaryModels(models), starter, clock, settings, view)]


class _Recent:
    """See RecentRuns."""

    def __init__(self, runs: StoredRuns) -> None:
        self._runs = runs

    async def __call__(self, session_key: str, limit: int) -> list[str]:
        runs = await self._runs.listed(session=session_key, state="", limit=limit)
        return [
            f"{run.id} {run.title or f'({run.origin})'}: {as_people_see(run.state)}" for run in runs
        ]
