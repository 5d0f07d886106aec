"""The port to what asks people whether a call may be made: the plugin `approvals`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.step import PendingCall
from nanobot.session.approvals import Approval
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision

NOBODY = "not executed: it needs a person's approval, and nobody can be asked here. {why}"
NOT_ON = (
    "not executed: it needs a person's approval, and the plugin approvals, which asks people, is "
    "off here: `nanobot plugins on approvals` switches it on. {why}"
)

Asker: TypeAlias = Callable[
    [Toolbox, ActiveRun, PendingCall, PolicyDecision, float], Approval | None
]
"""Makes the request for approval of a call, now (unix seconds). None: no person can be asked."""


def refusal(decision: PolicyDecision, asker: Asker | None) -> str:
    """The result for the model if no person can be asked."""
    why = f"It was to be asked because {decision.why}."
    return (NOT_ON if asker is None else NOBODY).format(why=why)
