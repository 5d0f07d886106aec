"""Operations on memory."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Find, Limit, Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.memory.port import MemoryHit, MemoryPort, MemoryView
from nanobot.session.scopes import OWNER, scope_of
from nanobot.text import Sentence

_Scope: TypeAlias = Annotated[
    str, Meta(description="The owner of the memories: a folder below memory/, or `owner`.")
]
_Number: TypeAlias = Annotated[int, Meta(description="The number of the memory.")]


def _memory(context: OperationContext) -> MemoryPort:
    return context.of(MemoryPort)  # type: ignore[type-abstract]


def _own(caller: Caller) -> str | None:
    """The only scope that a caller may see; None: any scope, for owners in a private chat."""
    if caller.role is Role.OWNER and caller.private:
        return None
    if caller.address is None:
        raise UsageError("memories belong to a person: use this from a chat")
    return scope_of(caller.address, caller.by, caller.role, private=caller.private)


def _allowed(caller: Caller, scope: str) -> str | None:
    own = _own(caller)
    if own is not None and scope not in ("", own):
        raise UsageError("Only owners can see the memories of others, and only in a private chat.")
    return scope or own


def _corrected(view: MemoryView, _: Now) -> Sentence:
    return f"Corrected: {view.text}"


def _remembered(view: MemoryView, _: Now) -> Sentence:
    return f"Remembered: {view.text}"


def _rejected(view: MemoryView, _: Now) -> Sentence:
    return f"Rejected: {view.text}"


def _forgotten(view: MemoryView, _: Now) -> Sentence:
    return f"Forgotten: {view.text}"


@operation(
    "memory list",
    reads=True,
    role=Role.MEMBER,
    example="state=proposed",
    empty="Tell the assistant to remember something, or write into MEMORY.md.",
    shows=("memories",),
)
async def list_memories(
    context: OperationContext,
    caller: Caller,
    state: Annotated[
        Literal["", "proposed", "active", "retracted"],
        Meta(description="Filter by state."),
    ] = "",
    scope: _Scope = "",
    find: Find = "",
    limit: Limit = 50,
) -> list[MemoryView]:
    """List memories, newest first.

    In a chat, members see their own memories, a group its own, and an owner in a private chat all
    of them.
    """
    own = _allowed(caller, scope)
    scopes = None if own is None else [own]
    return await _memory(context).listed(scopes=scopes, state=state, limit=limit, find=find)


@operation("memory search", reads=True, role=Role.MEMBER, example="Anna's birthday")
async def search_memories(
    context: OperationContext,
    caller: Caller,
    text: Annotated[Positional, Meta(description="What to look for.")],
    scope: _Scope = "",
    limit: Limit = 10,
) -> list[MemoryHit]:
    """Search the memories.

    Without `scope`, it searches the owners' memory.
    """
    return await _memory(context).search(_allowed(caller, scope) or OWNER, text, limit)


@operation("memory show", reads=True, role=Role.MEMBER, example="12")
async def show_memory(context: OperationContext, caller: Caller, id: _Number) -> MemoryView:
    """Show a memory and where it comes from."""
    return await _memory(context).show(id, _own(caller))


@operation("memory correct", role=Role.MEMBER, text=_corrected, example="12 I like tea.")
async def correct_memory(
    context: OperationContext,
    caller: Caller,
    id: _Number,
    text: Annotated[Positional, Meta(description="The new text.")],
) -> MemoryView:
    """Change the text of a memory.

    Its line in the file changes, the old text leaves the store, and the memory gets another number.
    A proposed memory is accepted with the new text.
    """
    return await _memory(context).correct(id, text, _own(caller))


@operation("memory accept", role=Role.MEMBER, text=_remembered, example="12")
async def accept_memory(context: OperationContext, caller: Caller, id: _Number) -> MemoryView:
    """Accept a proposed memory.

    It becomes a line of a file and can be found.
    """
    return await _memory(context).accept(id, _own(caller))


@operation("memory reject", role=Role.MEMBER, text=_rejected, example="12")
async def reject_memory(context: OperationContext, caller: Caller, id: _Number) -> MemoryView:
    """Reject a proposed memory permanently.

    It is not proposed again.
    """
    return await _memory(context).reject(id, _own(caller))


@operation(
    "memory forget",
    role=Role.MEMBER,
    text=_forgotten,
    confirm="This permanently removes it, also from its file. Continue?",
    example="12",
)
async def forget_memory(context: OperationContext, caller: Caller, id: _Number) -> MemoryView:
    """Remove a memory permanently.

    Its line, row and index are removed. The conversation that it came from is not changed.
    """
    return await _memory(context).forget(id, _own(caller))


def operations() -> list[Operation]:
    """The operations of memory."""
    return [
        *(list_memories, search_memories, show_memory, correct_memory),
        *(accept_memory, reject_memory, forget_memory),
    ]
