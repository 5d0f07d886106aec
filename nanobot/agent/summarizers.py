"""The port to what makes summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.agent.prompts import Summarizing
from nanobot.agent.runner import Obey
from nanobot.ports import Clock
from nanobot.seam.installed import Interface
from nanobot.session.lasting import LastingFacts


class Summaries(Protocol):
    """Makes what summarizes; the plugin `summaries` offers it."""

    def keeping(self, lasting: LastingFacts | None) -> Summarizing:
        """What summarizes, and keeps the lasting facts that it finds; None: it looks for none."""


SUMMARIES: Interface[Callable[[Clock], Summaries]] = Interface("summaries")
"""The same, for programs and tests."""
OBEY_SUMMARIES: Interface[Obey] = Interface("obey_summaries")
"""What performs /compact and /compact undo; it is there also while that plugin is off."""
