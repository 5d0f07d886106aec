"""Operations on the files that the prompt is made of."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import PromptFile
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.text import Sentence

_File = Annotated[Positional, Meta(description="The file, as in AGENTS.md or memory/anna.md.")]


@operation("prompts list", reads=True)
async def list_prompt_files(context: OperationContext, caller: Caller) -> list[PromptFile]:
    """List the files of the prompt."""
    caller.at_this_machine("Showing the prompt")
    return await context.engine.home.prompt_files()


def _page(file: PromptFile, _: Now) -> Sentence:
    return file.text


@operation("prompts show", reads=True, text=_page, example="AGENTS.md")
async def show_prompt_file(context: OperationContext, caller: Caller, name: _File) -> PromptFile:
    """Show a file of the prompt."""
    caller.at_this_machine("Showing the prompt")
    return await context.engine.home.prompt_file(name)


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
    return await context.engine.home.write_prompt_file(name, text, digest)
