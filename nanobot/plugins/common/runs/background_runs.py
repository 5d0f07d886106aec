"""The port of background runs: how to start one. The plugin `tasks` does them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from nanobot.messages import Address, Role, RunOptions
from nanobot.seam.installed import Interface
from nanobot.session.run_types import Report as Report
from nanobot.session.run_types import TaskResult as TaskResult  # run types of packages use it
from nanobot.session.store_write import StoreWrite


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """Who starts a run, and where its end is reported. The run acts as `sender_id` with that role,
    and uses that person's memory if the chat is `private`. `again`: a person retries a run that
    ended; its parent may have ended too."""

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
    """A request for a background run."""

    type: str
    title: str
    input: Mapping[str, Any]
    """The arguments of its type."""
    key: str
    """A repeated request has the same key, and starts nothing new."""
    parent: Parent | None = None
    """None: it belongs to an owner, and ends in a new conversation."""
    report: Report | None = None
    """None: the default of its type."""


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A checked background run to store, with the first message of its log. `kept`: as in
    InboundMessage."""

    request: TaskRequest
    text: str
    options: RunOptions
    report: Report
    delay: float = 0.0
    seconds: float | None = None
    kept: str = ""


class TaskStarter(Protocol):
    """Starts background runs."""

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the run types."""

    async def start(self, request: TaskRequest) -> str:
        """Start it in a separate transaction; returns its id (the existing one for a known key).
        Raises ToolError, worded for the model, if the type is not allowed or unknown, the input is
        invalid, or there are too many or too deeply nested runs."""

    async def prepare(self, request: TaskRequest) -> tuple[str, StoreWrite]:
        """Like `start`, but the run is created by the transaction that executes the returned write.
        The caller that commits must call its `written`."""


class TaskRecords(Protocol):
    """Stored background runs; every verb is one transaction."""

    async def create(self, task: NewTask) -> str:
        """Store it, once per key. Returns the id. Raises ToolError when there are too many."""

    def creation(self, task: NewTask) -> tuple[str, Callable[[Any], None]]:
        """Return its future id, and a function that stores it in another transaction."""

    async def room(self, parent: Parent | None) -> None:
        """Raises ToolError when this parent may not start another run."""

    async def again(self, run_id: str) -> TaskRequest | None:
        """The request behind an ended background run; None if it is not one."""

    async def overdue(self) -> tuple[list[str], float | None]:
        """The live runs past their deadline, and the time of the next deadline."""


TASK_STORE: Interface[Callable[..., TaskRecords]] = Interface("task_store")
"""Makes the stored background runs of a store, of its database and its writer."""
UNENDED_TASKS: Interface[Callable[[str], int]] = Interface("unended_tasks")
"""How many background runs have not ended, from the URL of the store."""
