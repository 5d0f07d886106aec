"""The port to run types: the work of runs that no model does."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, Unpack

import msgspec

from nanobot.errors import ToolError
from nanobot.labels import NOTHING, Label, Speaker, of
from nanobot.messages import EventKind, RunOptions, RunPayload
from nanobot.session.runs import Run

Report: TypeAlias = Literal["post", "follow_up"]
"""How the end of a background run reaches its parent."""


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run of some type or, with `ask`, what to ask the model. `tainted`: it
    contains content from outside. `label`: whose words it contains besides the request's."""

    text: str
    ask: bool = False
    tainted: bool = False
    label: Label = NOTHING

    @property
    def said(self) -> Label:
        """The label of both."""
        return self.label.join(of(Speaker.OUTSIDE)) if self.tainted else self.label


class TaskExecution(Protocol):
    """A run to perform according to its `options`."""

    run: Run

    @property
    def options(self) -> RunOptions:
        """The request."""

    @property
    def tainted(self) -> bool:
        """Whether the request contains content from outside."""

    @property
    def label(self) -> Label:
        """Who contributed to the request, and how private it is."""

    def emit(self, kind: EventKind, **payload: Unpack[RunPayload]) -> None:
        """Report progress to watchers."""


class RunTypes(Protocol):
    """The work of runs that no model does."""

    async def perform(self, job: TaskExecution) -> TaskResult:
        """Do the work of type `options.type`. After a crash it starts over. Raises ToolError."""


class _NoTypes:
    async def perform(self, job: TaskExecution) -> TaskResult:
        raise ToolError(f"there is no run type {job.options.type} here")


NO_TYPES: RunTypes = _NoTypes()
"""No such types: every run is a model's work."""
