"""The port of background runs: how one is asked for, and what a type of them does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, Unpack

import msgspec

from nanobot.errors import ToolError
from nanobot.messages import Address, EventKind, Role, RunOptions, RunPayload
from nanobot.session.runs import Ending, Run
from nanobot.session.store_write import StoreWrite

AGENT = "agent"
"""The type of run that is the model's own work: a subagent."""
MAX_DEPTH = 2
"""Runs of people start runs, and those may too; the third generation may not."""
MAX_OF_SESSION = 8
"""Background runs of one conversation that wait or work at the same time."""
MAX_IN_ALL = 200
MAX_TITLE = 120

Report: TypeAlias = Literal["post", "follow_up"]


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """Who starts a run, and where its end is told: the run acts as `sender_id` with that role, and
    with that one's memory if it is `private` there.
    `again`: a person has an ended run tried again, whose parent may have ended too."""

    session_key: str
    run_id: str
    address: Address
    sender_id: str
    role: Role
    tainted: bool = False
    label: str = ""
    private: bool = False
    again: bool = False


class TaskRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A background run as it is asked for. `key` is the same whenever the same is asked for again,
    and then nothing is started twice. `input` is what its type takes. Without `parent` it is an
    owner's and ends in a conversation of its own. `report` None: as is usual for its type."""

    type: str
    title: str
    input: Mapping[str, Any]
    key: str
    parent: Parent | None = None
    report: Report | None = None


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A background run as it is kept: checked, with the first message of its log."""

    request: TaskRequest
    text: str
    options: RunOptions
    report: Report
    delay: float = 0.0
    seconds: float | None = None


class TaskStarter(Protocol):
    """Starts background runs."""

    @property
    def types(self) -> tuple[str, ...]:
        """The names of their types."""
        ...

    async def start(self, request: TaskRequest) -> str:
        """Start it in a transaction of its own; returns its id (the known one for a known key).
        Raises ToolError, in words for the model, for a type that is not allowed or not known, for
        input that does not fit, and when there are too many or too deep."""
        ...

    async def prepare(self, request: TaskRequest) -> tuple[str, StoreWrite]:
        """As `start`, but the run begins to exist with the transaction that is given the Write.
        Whoever commits calls its `written`."""
        ...


class TaskEnds(Protocol):
    """The two ends of background runs, within transactions of the store."""

    def waits(self, connection: Any, run: Run) -> float:
        """Seconds until a queued run may begin."""
        ...

    def stop_below(self, connection: Any, session_key: str, sender_id: str | None, by: str) -> None:
        """End the live runs started from a session (by that sender), and all that these started."""
        ...

    def report(self, connection: Any, run: Run, ending: Ending) -> None:
        """The run ends like this, now: tell whoever started it."""
        ...


class TaskRecords(Protocol):
    """What is kept of background runs; every verb is one transaction."""

    async def create(self, task: NewTask) -> str:
        """Keep it, once by its key; returns the id. Raises ToolError when there are too many."""
        ...

    def creation(self, task: NewTask) -> tuple[str, Callable[[Any], None]]:
        """The id it will have, and what writes it within another transaction."""
        ...

    async def room(self, parent: Parent | None) -> None:
        """Raises ToolError when no more may be started there."""
        ...

    async def again(self, run_id: str) -> TaskRequest | None:
        """What an ended background run was asked for by; None if it is not one."""
        ...

    async def children(self, session_key: str, sender_id: str | None) -> list[str]:
        """The live runs started from a session (by that sender), and those that these started."""
        ...

    async def overdue(self) -> tuple[list[str], float | None]:
        """The live runs that are past their deadline, and when the next one will be."""
        ...


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of some type came to: its result or, with `ask`, what the model is to be asked.
    `tainted`: there is content from outside in it."""

    text: str
    ask: bool = False
    tainted: bool = False


class TaskExecution(Protocol):
    """A run to be performed after its `options`, as its driver has it."""

    run: Run

    @property
    def options(self) -> RunOptions:
        """What was asked for."""
        ...

    @property
    def tainted(self) -> bool:
        """Whether what it was told comes from outside."""
        ...

    def emit(self, kind: EventKind, **payload: Unpack[RunPayload]) -> None:
        """Show whoever watches what is going on."""
        ...


class RunTypes(Protocol):
    """What runs do that are not the model's own work."""

    async def perform(self, job: TaskExecution) -> TaskResult:
        """Do what `options.type` says. It is done again from the start after a crash. Raises
        ToolError."""
        ...


class _NoTypes:
    async def perform(self, job: TaskExecution) -> TaskResult:
        raise ToolError(f"there is no run type {job.options.type} here")


NO_TYPES: RunTypes = _NoTypes()
"""Where all runs are the model's work."""
