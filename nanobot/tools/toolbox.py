"""The tools as a run uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.messages import Role
from nanobot.providers.base import ToolCall, ToolSpec
from nanobot.tools.base import AnyTool, CallContext, ToolOutput
from nanobot.tools.verdict import PolicyDecision


class Toolbox(Protocol):
    """Tools by name; ToolRegistry is one. Calls carry the model's own text as arguments."""

    @property
    def asking(self) -> object:
        """The current table `[policy]`, with what plugins add to it."""

    @property
    def redact(self) -> Callable[[str], str]:
        """Replaces known secrets in a text."""

    def offered(self, role: Role, may: Callable[[str], bool]) -> list[ToolSpec]:
        """The tools listed in a prompt for this role, among those that `may` accepts; without tools
        that an owner has to accept, and without lazy ones if there are more than MAX_LISTED."""

    def resolved(self, call: ToolCall) -> ToolCall:
        """The call that a call stands for (`Tool.stands_for`), so that policy, approvals and log
        refer to the tool itself; any other call unchanged."""

    def acts(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether a call affects the world. One that the stand-in answers does not."""

    def taints(self, name: str, arguments: str, context: CallContext) -> bool:
        """Whether the result of such a call may be untrusted content."""

    def tool(self, name: str) -> AnyTool | None:
        """The tool itself; None if it does not exist."""

    async def judge(self, name: str, arguments: str, context: CallContext) -> PolicyDecision:
        """The policy's verdict on a call. Calls that `perform` would refuse anyway are not put to a
        person."""

    async def perform(self, name: str, arguments: str, context: CallContext) -> ToolOutput:
        """Run one call. Errors that the model can correct or must accept are raised as ToolError;
        any other exception is a fault of the tool."""
