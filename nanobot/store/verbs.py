"""The verbs of a port over SQL: each is one function, run in one transaction."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database, Work
from nanobot.store.database.durability import verbs_of
from nanobot.store.unit import StoreContext, Unit

P = ParamSpec("P")
T = TypeVar("T")


class OverDatabase(Protocol):
    """An object with an executor of transactions."""

    @property
    def database(self) -> Database:
        """The executor."""
        ...


S = TypeVar("S", bound=OverDatabase)


class SqlStore:
    """An object with verbs: it has an executor and a writer."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self.database = database
        self.writer = writer


W = TypeVar("W", bound=SqlStore)

Verb: TypeAlias = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]

CRASH_POINTS: dict[Any, str] = {}
"""All verbs; "" for those that a crash cannot tear, because they write no durable facts."""


def crash_points(store: type[SqlStore]) -> tuple[str, ...]:
    """The verbs of a store that NANOBOT_CRASH_AT accepts."""
    named = [name for verb, name in CRASH_POINTS.items() if name and verb in vars(store).values()]
    return tuple(dict.fromkeys(verb for name in named for verb in verbs_of(name)))


def transaction(
    crash_point: str = "",
) -> Callable[[Callable[Concatenate[W, Unit, P], T]], Verb[W, P, T]]:
    """Makes a method one transaction, which NANOBOT_CRASH_AT knows as `crash_point` (or, if two
    verbs share it, by either name of `first+second`): the method's body receives the unit of work,
    and callers await the method without it.
    """

    def decorate(body: Callable[Concatenate[W, Unit, P], T]) -> Verb[W, P, T]:
        @functools.wraps(body)
        async def method(store: W, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work(connection: Connection) -> T:
                return body(store, Unit(connection, store.writer), *args, **kwargs)

            return await _transact(store, work, crash_point)

        CRASH_POINTS[method] = crash_point
        return method

    return decorate


def bare_transaction(
    crash_point: str = "",
) -> Callable[[Callable[Concatenate[S, Connection, P], T]], Verb[S, P, T]]:
    """A `transaction` of an object without a writer: the method's body receives a connection."""

    def decorate(body: Callable[Concatenate[S, Connection, P], T]) -> Verb[S, P, T]:
        @functools.wraps(body)
        async def method(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work(connection: Connection) -> T:
                return body(store, connection, *args, **kwargs)

            return await _transact(store, work, crash_point)

        CRASH_POINTS[method] = crash_point
        return method

    return decorate


async def _transact(store: OverDatabase, work: Work[T], crash_point: str) -> T:
    try:
        return await store.database.transact(work, crash_point)
    except asyncio.CancelledError:
        if crash_point:
            _abandoned(store)
        raise


def _abandoned(store: object) -> None:
    """The store's thread may commit a result that this caller will never receive."""
    if isinstance(store, SqlStore):
        for call in store.writer.on_abandoned:
            call()


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


def bare_verb(
    function: Callable[Concatenate[Connection, P], T], crash_point: str = ""
) -> Verb[OverDatabase, P, T]:
    """A `bare_transaction` that only calls `function`, as `verb` does."""

    @functools.wraps(function)
    def body(_: OverDatabase, at: Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(at, *args, **kwargs)

    return bare_transaction(crash_point)(body)
