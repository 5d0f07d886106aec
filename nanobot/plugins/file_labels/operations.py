"""The operations on files with content from outside."""

from __future__ import annotations

from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, Positional
from nanobot.text import Sentence


class UntrustedFiles(Protocol):
    """The labels of files, as these operations use them. (The help of the command line loads this
    module, not all of `TaintedFiles`.)"""

    async def listed(self) -> list[str]:
        """The marked files of the workspace; a folder ends with a slash."""

    async def trust(self, path: str) -> int:
        """Remove the marks of a file, or of all below a folder; returns how many."""


class TaintedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the workspace that holds content from outside; a folder ends with a slash."""

    path: str


@operation("security files", reads=True, shows=("tainted_files",))
async def list_tainted_files(
    context: OperationContext, _: Caller, limit: Limit = 100
) -> list[TaintedFile]:
    """List the files with untrusted content.

    Reading one taints a conversation.
    """
    paths = await context.of(UntrustedFiles).listed()  # type: ignore[type-abstract]
    return [TaintedFile(path=path) for path in paths[:limit]]


@operation("security trust", example="notes.md")
async def trust_files(
    context: OperationContext,
    _: Caller,
    path: Annotated[Positional, Meta(description="A file of the workspace, or a folder.")],
) -> Sentence:
    """Mark a file or folder as trusted.

    Its content counts as yours from now on.
    """
    count = await context.of(UntrustedFiles).trust(path)  # type: ignore[type-abstract]
    if not count:
        raise UnknownId(
            f"{path[:200]} is not marked as untrusted; `security files` lists those that are."
        )
    return f"Removed {count} marks: reading {path[:200]} no longer taints a conversation."


def operations() -> list[Operation]:
    """Those of this plugin."""
    return [list_tainted_files, trust_files]
