"""The verbs of a port over SQL: each is one function of a connection, run in one transaction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import sqlalchemy as sa

from nanobot.store.database.sqlite import Database
from nanobot.store.unit import StoreContext

P = ParamSpec("P")
T = TypeVar("T")


class SqlStore:
    """What has verbs: an executor, and who writes with it."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self.database = database
        self.writer = writer


Verb: TypeAlias = Callable[Concatenate[SqlStore, P], Coroutine[Any, Any, T]]

_CRASH_POINTS: dict[object, str] = {}


def crash_points(store: type[SqlStore]) -> tuple[str, ...]:
    """The verbs of a store that NANOBOT_CRASH_AT knows."""
    return tuple(_CRASH_POINTS[m] for m in vars(store).values() if m in _CRASH_POINTS)


def verb(
    function: Callable[Concatenate[sa.Connection, StoreContext, P], T], crash_point: str = ""
) -> Verb[P, T]:
    """A method that does nothing but run `function` in one transaction, which NANOBOT_CRASH_AT
    knows by the name `crash_point`. Its parameters are those of the port, by the same names."""

    async def method(store: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        writer = store.writer
        return await store.database.transact(
            lambda connection: function(connection, writer, *args, **kwargs), crash_point
        )

    return _declared(method, function, crash_point)


def bare_verb(
    function: Callable[Concatenate[sa.Connection, P], T], crash_point: str = ""
) -> Verb[P, T]:
    """A `verb` for which it does not matter who writes, nor when."""

    async def method(store: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.database.transact(
            lambda connection: function(connection, *args, **kwargs), crash_point
        )

    return _declared(method, function, crash_point)


def _declared(method: Verb[P, T], function: Callable[..., T], crash_point: str) -> Verb[P, T]:
    if crash_point:
        _CRASH_POINTS[method] = crash_point
    return functools.update_wrapper(method, function)
