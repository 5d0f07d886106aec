"""Operations on the files of the workspace."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import NotAllowed
from nanobot.operations.engine import Engine
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.text import Sentence
from nanobot.tools.verdict import Verdict
from nanobot.workspace.file_views import FileText, FileView

_WHAT = "Reading the workspace"


def check_path(engine: Engine, path: str) -> None:
    """Raises NotAllowed for a file that no one may read by policy, not even an owner. The tool is
    not asked: rules hold for people, too, while models have no file tools."""
    decision = engine.tools.ruled("read_file", {"path": path})
    if decision.verdict is Verdict.DENY:
        raise NotAllowed(f"{path[:200]} is not shown because {decision.why} ({decision.rule}).")


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
    return await context.engine.home.files.listed(folder)


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
    check_path(context.engine, path)
    return await context.engine.home.files.shown(path)
