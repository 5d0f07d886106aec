"""Operations on the files of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.files.views import FileText, FileView
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.files.shared_files import SharedFiles

_WHAT = "Reading the workspace"


def _files(context: OperationContext) -> SharedFiles:
    # Imported late: every command imports this module, and few need the workspace.
    from nanobot.plugins.files.shared_files import SharedFiles  # noqa: PLC0415

    return context.of(SharedFiles)


def _text(file: FileText, _: Now) -> Sentence:
    if not file.is_text:
        return f"{file.path} is not a text file ({file.size:,} bytes)."
    return f"{file.text}\n[... cut here]" if file.cut else file.text


@operation("files list", reads=True, example="notes", empty="The assistant saves its files there.")
async def list_files(
    context: OperationContext,
    caller: Caller,
    folder: Annotated[Positional, Meta(description="A folder; empty: the workspace.")] = "",
) -> list[FileView]:
    """List a folder of the workspace.

    Files that tools cannot see are left out.
    """
    caller.at_this_machine(_WHAT)
    return await _files(context).listed(folder)


@operation("files show", reads=True, text=_text, example="notes/lisbon.md")
async def show_file(
    context: OperationContext,
    caller: Caller,
    path: Annotated[Positional, Meta(description="A file, by its path in the workspace.")],
) -> FileText:
    """Show a text file of the workspace.

    Files that the policy hides from `read_file` are not shown.
    """
    caller.at_this_machine(_WHAT)
    return await _files(context).shown(path)


def operations() -> list[Operation]:
    """All operations, in the order of the help."""
    return [list_files, show_file]
