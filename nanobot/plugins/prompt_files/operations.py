"""Operations on the files that the prompt is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.views.sessions import lists_of
from nanobot.plugins.prompt_files.prompt_file import PromptFile
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.prompt_files.files import PromptFiles

_File = Annotated[Positional, Meta(description="The file, as in AGENTS.md or memory/anna.md.")]


def _files(context: OperationContext) -> PromptFiles:
    # Imported late: every command imports this module, and few need the workspace.
    from nanobot.plugins.prompt_files.files import PromptFiles  # noqa: PLC0415

    return context.of(PromptFiles)


@operation("prompts list", reads=True)
async def list_prompt_files(context: OperationContext, caller: Caller) -> list[PromptFile]:
    """List the files of the prompt."""
    caller.at_this_machine("Showing the prompt")
    return await _files(context).listed()


def _page(file: PromptFile, _: Now) -> Sentence:
    return file.text


@operation("prompts show", reads=True, text=_page, example="AGENTS.md")
async def show_prompt_file(context: OperationContext, caller: Caller, name: _File) -> PromptFile:
    """Show a file of the prompt."""
    caller.at_this_machine("Showing the prompt")
    return await _files(context).read(name)


def _saved(file: PromptFile, _: Now) -> Sentence:
    return f"Saved {file.name}. New conversations have it in their prompt."


@operation(
    "prompts write",
    text=_saved,
    example="USER.md I live in Lisbon.",
)
async def write_prompt_file(
    context: OperationContext,
    caller: Caller,
    name: _File,
    text: Annotated[Positional, Meta(description="The whole new content.")],
    digest: Annotated[
        str, Meta(description="Write only if the file still has this digest (from `prompts show`).")
    ] = "",
) -> PromptFile:
    """Write a file of the prompt.

    New conversations use it.
    """
    caller.at_this_machine("Showing the prompt")
    return await _files(context).write(name, text, digest)


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """The number of conversations whose prompt is renewed at their next model call."""

    sessions: int


def _reloaded(result: Reloaded, _: Now) -> Sentence:
    return f"Reloaded; {result.sessions} open conversations use it from their next message on."


@operation("reload", text=_reloaded)
async def reload(context: OperationContext, _: Caller) -> Reloaded:
    """Reload the workspace's files and skills in every conversation.

    Current answers keep their prompt.
    """
    from nanobot.agent.prompt import PromptBuilder  # noqa: PLC0415 - as above

    context.of(PromptBuilder).renew()
    return Reloaded(sessions=await lists_of(context).forget_prompts())


def operations() -> list[Operation]:
    """All operations, in the order of the help."""
    return [list_prompt_files, show_prompt_file, write_prompt_file, reload]
