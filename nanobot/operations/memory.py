"""Operations on what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.memory.port import OWNER, MemoryHit, MemoryView, scope_of
from nanobot.messages import Role
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Limit,
    Operation,
    OperationContext,
)

_Scope = Annotated[str, Meta(description="Whose: a folder below memory/, or owner.")]


class _List(Arguments, frozen=True, kw_only=True):
    state: Annotated[
        Literal["", "proposed", "active", "retracted"],
        Meta(
            description="Only in this state: proposed, active, retracted.",
            extra={"positional": True},
        ),
    ] = ""
    scope: _Scope = ""
    limit: Limit = 50


class _Search(Arguments, frozen=True, kw_only=True):
    text: Annotated[First, Meta(description="What to look for.")]
    scope: _Scope = ""
    limit: Limit = 10


class _One(Arguments, frozen=True, kw_only=True):
    id: Annotated[int, Meta(description="The number of the memory.")]


def _own(caller: Caller) -> str | None:
    """The only scope a caller may see; None: any, which owners may where nobody else reads."""
    if caller.role is Role.OWNER and caller.private:
        return None
    if caller.address is None:
        raise UsageError("memory is somebody's: ask from a chat")
    return scope_of(caller.address, caller.by, caller.role, private=caller.private)


def _named(caller: Caller, scope: str) -> str | None:
    own = _own(caller)
    if own is not None and scope not in ("", own):
        raise UsageError("Only owners look into other memories, in a private chat.")
    return scope or own


async def _list(operations: OperationContext, caller: Caller, asked: _List) -> list[MemoryView]:
    scope = _named(caller, asked.scope)
    return await operations.engine.memory.listed(
        scopes=None if scope is None else [scope], state=asked.state, limit=asked.limit
    )


async def _search(operations: OperationContext, caller: Caller, asked: _Search) -> list[MemoryHit]:
    scope = _named(caller, asked.scope) or OWNER
    return await operations.engine.memory.search(scope, asked.text, asked.limit)


async def _show(operations: OperationContext, caller: Caller, asked: _One) -> MemoryView:
    return await operations.engine.memory.show(asked.id, _own(caller))


async def _accept(operations: OperationContext, caller: Caller, asked: _One) -> MemoryView:
    return await operations.engine.memory.accept(asked.id, _own(caller))


async def _reject(operations: OperationContext, caller: Caller, asked: _One) -> MemoryView:
    return await operations.engine.memory.reject(asked.id, _own(caller))


async def _forget(operations: OperationContext, caller: Caller, asked: _One) -> MemoryView:
    return await operations.engine.memory.forget(asked.id, _own(caller))


def _said(word: str) -> Callable[[MemoryView, float], str]:
    return lambda view, _: f"{word}: {view.text}"


MEMORY: tuple[Operation, ...] = (
    Operation(
        name="memory list",
        help="lists what is remembered, the newest first",
        run=_list,
        arguments=_List,
        returns=list[MemoryView],
        role=Role.MEMBER,
    ),
    Operation(
        name="memory search",
        help="searches what is remembered",
        run=_search,
        arguments=_Search,
        returns=list[MemoryHit],
        role=Role.MEMBER,
    ),
    Operation(
        name="memory show",
        help="shows something remembered, and where it comes from",
        run=_show,
        arguments=_One,
        returns=MemoryView,
        role=Role.MEMBER,
    ),
    Operation(
        name="memory accept",
        help="accepts what is proposed to be remembered",
        run=_accept,
        arguments=_One,
        returns=MemoryView,
        text=_said("Remembered"),
        role=Role.MEMBER,
    ),
    Operation(
        name="memory reject",
        help="rejects what is proposed, for good",
        run=_reject,
        arguments=_One,
        returns=MemoryView,
        text=_said("Rejected"),
        role=Role.MEMBER,
    ),
    Operation(
        name="memory forget",
        help="removes something remembered for good",
        run=_forget,
        arguments=_One,
        returns=MemoryView,
        text=_said("Forgotten"),
        role=Role.MEMBER,
        confirm="This removes it for good, from its file too. Go on?",
    ),
)
