"""The port to what decides on calls of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.seam.installed import Interface, provided
from nanobot.tools.base import AnyTool, CallContext
from nanobot.tools.verdict import PolicyDecision, Verdict

LEFT_TO_EXECUTE = PolicyDecision(
    verdict=Verdict.ALLOW, rule="none", why="such a call cannot be executed anyhow"
)
"""Of a call that is refused when it is made, with a reason for the model."""


class Judge(Protocol):
    """Decides on calls by the rules of the configuration and those that plugins add. The plugin
    `approvals` provides it, on or off."""

    settings: PolicySettings
    added: Sequence[RuleSettings]

    async def judged(
        self, tool: AnyTool, args: Any, context: CallContext, *, foreign: bool
    ) -> PolicyDecision:
        """The verdict on a call. `foreign`: the tool belongs to another program or package. Raises
        StoreError."""

    def reveals(self, text: str, args: Any = None) -> bool:
        """Whether the result of a call with these arguments may hold a secret."""


JUDGE: Interface[Callable[[PolicySettings, Sequence[RuleSettings]], Judge]] = Interface(
    "judge", own=True
)


class _NoJudge:
    """Nothing here knows what a call does: none is allowed, and every result is secret."""

    def __init__(self, settings: PolicySettings, added: Sequence[RuleSettings]) -> None:
        self.settings = settings
        self.added = added

    async def judged(
        self, tool: AnyTool, args: Any, context: CallContext, *, foreign: bool
    ) -> PolicyDecision:
        why = "the plugin approvals decides on calls, and it is not there"
        return PolicyDecision(verdict=Verdict.DENY, rule="none", why=why)

    def reveals(self, text: str, args: Any = None) -> bool:
        return True


def judge_by(settings: PolicySettings, added: Sequence[RuleSettings] = ()) -> Judge:
    """What decides on calls by these rules. Raises ConfigError for an invalid one."""
    return (provided(JUDGE) or _NoJudge)(settings, added)
