"""Known facts, and a starter of runs that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from nanobot.agent.runner import Stage
from nanobot.errors import ToolError
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.runs.background_runs import TaskRequest
from nanobot.plugins.triage.settings import DecisionSettings
from nanobot.plugins.triage.triage import Triage, TriageContext
from nanobot.session.lasting import Provenance
from nanobot.session.store_write import StoreWrite
from nanobot.testing.gateway import FakeGateway
from tests.stored import runs_of


class FakeFacts:
    """See LastingFacts: what is known of everybody."""

    def __init__(self, facts: str) -> None:
        self._facts = facts

    async def keep(
        self, scope: str, facts: Sequence[str], origin: Provenance
    ) -> tuple[StoreWrite, ...]:
        return ()

    async def filed(self, scope: str) -> None:
        pass

    async def known(self, scope: str) -> str:
        return self._facts


class FakeStarter:
    """See TaskStarter: the same key is the same run."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.started: dict[str, TaskRequest] = {}
        self.calls = 0

    @property
    def types(self) -> tuple[str, ...]:
        return ("sleep", "agent")

    async def start(self, wanted: TaskRequest) -> str:
        self.calls += 1
        if self.refuses:
            raise ToolError(self.refuses)
        self.started.setdefault(wanted.key, wanted)
        return f"task-{wanted.key}"

    async def prepare(self, wanted: TaskRequest) -> tuple[str, StoreWrite]:
        raise ToolError("nothing is started with anything else here")


def triage(
    starter: FakeStarter, lasting: FakeFacts | None = None, **settings: object
) -> Callable[[FakeGateway], list[Stage]]:
    """A gateway's triage."""
    wanted = msgspec.convert(settings, DecisionSettings)

    def before(bot: FakeGateway) -> list[Stage]:
        async def recent(session_key: str, limit: int) -> list[str]:
            runs = await runs_of(bot.records).listed(session=session_key, state="", limit=limit)
            return [f"{run.id}: {run.state}" for run in runs]

        helpers, clock = AuxiliaryModels(bot.provider), bot.home.clock
        view = TriageContext(lasting, recent)
        return [Triage(helpers, starter, clock, wanted, view)]

    return before
