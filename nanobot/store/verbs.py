"""The verbs of a port over SQL: each is one function, run in one transaction."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from nanobot.errors import UsageError
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext, Unit

P = ParamSpec("P")
T = TypeVar("T")


class SqlStore:
    """An object with verbs: it has an executor and a writer."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self.database = database
        self.writer = writer

    @classmethod
    def over(cls, port: object) -> Self:
        """These verbs over the store of another such object. Raises UsageError if it is none."""
        if not isinstance(port, SqlStore):
            raise UsageError("only the journal of a store can do this")
        return cls(port.database, port.writer)


S = TypeVar("S", bound=SqlStore)
Verb: TypeAlias = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]

CRASH_POINTS: dict[Any, str] = {}
"""All verbs, as NANOBOT_CRASH_AT names them; "" for those that a crash cannot tear, because they
write no durable facts."""


def transaction(
    crash_point: str = "",
) -> Callable[[Callable[Concatenate[S, Unit, P], T]], Verb[S, P, T]]:
    """Makes a method one transaction, which NANOBOT_CRASH_AT knows as `crash_point` (or, if two
    verbs share it, by either name of `first+second`): the method's body receives the unit of work,
    and callers await the method without it.
    """

    def decorate(body: Callable[Concatenate[S, Unit, P], T]) -> Verb[S, P, T]:
        @functools.wraps(body)
        async def method(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work(connection: Connection) -> T:
                return body(store, Unit(connection, store.writer), *args, **kwargs)

            try:
                return await store.database.transact(work, crash_point)
            except asyncio.CancelledError:
                if crash_point:  # the store's thread may commit what this caller never receives
                    for call in store.writer.on_abandoned:
                        call()
                raise

        CRASH_POINTS[method] = crash_point
        return method

    return decorate


def verb(
    function: Callable[Concatenate[Unit, P], T], crash_point: str = ""
) -> Verb[SqlStore, P, T]:
    """A `transaction` that only calls `function`. It takes the parameters of the port, by the same
    names.
    """

    @functools.wraps(function)
    def body(_: SqlStore, unit: Unit, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(unit, *args, **kwargs)

    return transaction(crash_point)(body)
