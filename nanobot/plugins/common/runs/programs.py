"""The port to runs for programs, which the plugin `library` offers, on or off."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from nanobot.errors import UsageError
from nanobot.labels import NOTHING, Label
from nanobot.messages import Address, RunEvent
from nanobot.plugins.common.runs.run_input import RunInput, RunResult

WHERE = Address("api", "runs")
"""All programs use one address, so that a run's id is unique whatever its session."""


class Programs(Protocol):
    """Runs for programs, in the lanes of one agent."""

    def stream(
        self, request: RunInput, label: Label = NOTHING
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        """The run's events from now on, then its result. `label`: who speaks, if not the owner.
        Raises RunConflict and UsageError."""

    async def abort(self, run_id: str, asked_from: Address = WHERE) -> bool:
        """End a run permanently; False if it had ended. Raises UsageError for an unknown one."""


class _NoPrograms:
    async def stream(
        self, request: RunInput, label: Label = NOTHING
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        raise UsageError("this nanobot runs nothing for programs")
        yield

    async def abort(self, run_id: str, asked_from: Address = WHERE) -> bool:
        raise UsageError("this nanobot runs nothing for programs")


NO_PROGRAMS: Programs = _NoPrograms()
"""Nothing runs for programs."""
