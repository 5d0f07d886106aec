"""The port to what asks people whether a call may be made: the plugin `approvals`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from nanobot.labels import NOTHING, Label
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import Approval
from nanobot.session.entries import UserEntry
from nanobot.session.runs import Run
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision

NOBODY = "not executed: it needs a person's approval, and nobody can be asked here. {why}"
NOT_ON = (
    "not executed: it needs a person's approval, and the plugin approvals, which asks people, is "
    "off here: `nanobot plugins on approvals` switches it on. {why}"
)


class CallSite(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a call: its run, the messages that the run answers, its place in the log."""

    run: Run
    messages: Sequence[UserEntry]
    model_call: int
    index: int
    tainted: bool
    label: Label = NOTHING


Asker: TypeAlias = Callable[[Toolbox, CallSite, ToolCall, PolicyDecision, float], Approval | None]
"""Makes the request for approval of a call, now (unix seconds). None: no person can be asked."""


def refusal(decision: PolicyDecision, asker: Asker | None) -> str:
    """The result for the model if no person can be asked."""
    why = f"It was to be asked because {decision.why}."
    return (NOT_ON if asker is None else NOBODY).format(why=why)
