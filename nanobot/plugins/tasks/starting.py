"""Starts background runs: a request is checked and stored, and its lane woken."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from nanobot.bus.core import Bus
from nanobot.errors import ToolArgumentsError, ToolDenied
from nanobot.plugins.common.propagation import started
from nanobot.plugins.common.runs.background_runs import NewTask, TaskRecords, TaskRequest
from nanobot.plugins.tasks.port import MAX_TITLE
from nanobot.plugins.tasks.registry import RunTypeRegistry
from nanobot.session.keys import TASKS
from nanobot.session.states import RunKind
from nanobot.session.store_write import StoreWrite
from nanobot.text import clean


class StoredTaskStarter:
    """See TaskStarter."""

    def __init__(self, types: RunTypeRegistry, records: TaskRecords, bus: Bus) -> None:
        self._types = types
        self._records = records
        self._bus = bus

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the types."""
        return self._types.names

    async def start(self, request: TaskRequest, allowed: Collection[str] | None = None) -> str:
        """Start it. `allowed`: the permitted types (None: all)."""
        task = self._checked(request, allowed)
        run_id = await self._records.create(task)
        self._wake(run_id, task.delay)
        return run_id

    async def prepare(
        self, request: TaskRequest, allowed: Collection[str] | None = None
    ) -> tuple[str, StoreWrite]:
        """Start it as part of another transaction."""
        task = self._checked(request, allowed)
        await self._records.room(request.parent)
        run_id, write = self._records.creation(task)
        return run_id, _Creation(write, lambda: self._wake(run_id, task.delay))

    def _wake(self, run_id: str, delay: float) -> None:
        self._bus.wake(TASKS.of(run_id), RunKind.TASK, delay)

    def _checked(self, request: TaskRequest, allowed: Collection[str] | None) -> NewTask:
        kind = self._types.get(request.type)
        if allowed is not None and kind.name not in allowed:
            listed = ", ".join(sorted(allowed)) or "none"
            raise ToolDenied(f"type: {kind.name} is not allowed here; allowed are: {listed}")
        title = " ".join(clean(request.title).split())[:MAX_TITLE]
        if not title:
            raise ToolArgumentsError("title: must say in a few words what the run is about")
        args = kind.parsed(request.input)
        encoded = msgspec.json.encode(args).decode()
        private = request.parent is not None and request.parent.private
        options = kind.options(args)
        options = msgspec.structs.replace(options, direct=True, unattended=True, private=private)
        if kind.perform is not None:
            options = msgspec.structs.replace(options, type=kind.name, input=encoded)
        return NewTask(
            request=msgspec.structs.replace(request, title=title),
            text=kind.text(args),
            options=options,
            report=request.report or kind.report,
            delay=max(kind.delay(args), 0.0),
            seconds=kind.seconds,
            kept=started(),
        )


class _Creation:
    """Writes the rows of a run within another transaction."""

    def __init__(self, write: Callable[[Any], None], wake: Callable[[], None]) -> None:
        self._write = write
        self._wake = wake

    def write(self, connection: Any) -> None:
        self._write(connection)

    def written(self) -> None:
        self._wake()
