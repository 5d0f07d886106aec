"""What the plugin offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.agent.summarizers import Summaries
from nanobot.plugins.summaries.compaction import Summarizers
from nanobot.ports import Clock


def objects(clock: Clock) -> Mapping[Any, Any]:
    """What makes summaries, for runs."""
    return {Summaries: Summarizers(clock)}
