"""The stages before a run acts, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.stages.recall import AskingRecall, AutoRecall

if TYPE_CHECKING:
    from nanobot.agent.stages.triage import Triage


class Stages:
    """Runs before acting, see Runner. A stage that is None is off."""

    def __init__(
        self,
        triage: Triage | None = None,
        auto: AutoRecall | None = None,
        asking_recall: AskingRecall | None = None,
    ) -> None:
        self._triage = triage
        self._auto = auto
        self._asking_recall = asking_recall

    async def __call__(self, active: ActiveRun) -> None:
        """Triage, then recall if the run will act. Raises StoreError."""
        if self._triage is not None:
            await self._triage.decide(active)
        if active.answer is not None:
            return
        if self._auto is not None:
            await self._auto.add(active)
        if self._asking_recall is not None:
            await self._asking_recall.attend(active)
