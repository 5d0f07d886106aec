"""Runs the function of a tool within its time, and says how private its output is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from nanobot import labels
from nanobot.errors import ToolError, ToolTimeout
from nanobot.labels import Label, Privacy
from nanobot.session.labelling import PUBLIC_TOOLS
from nanobot.text import clean
from nanobot.tools.base import AnyTool, CallContext, ToolExecutor, ToolOutput
from nanobot.tools.judge import Judge

_SECRET = Label(privacy=Privacy.SECRET)


async def ran(
    tool: AnyTool, args: Any, context: CallContext, executor: ToolExecutor | None
) -> ToolOutput:
    """The output of a tool. Raises ToolError, and any error of the tool's own."""
    limit = asyncio.timeout(tool.timeout)
    try:
        async with limit:
            if executor is None:
                result = await tool.run(args, context)
            else:
                result = await executor.execute(tool, args, context)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # The call itself was not cancelled: something that the tool waits for was.
        raise RuntimeError(f"{tool.name} was cancelled from within") from error
    except TimeoutError as error:
        # A TimeoutError raised by the tool (by a socket, say) is the tool's fault, not this limit.
        if not limit.expired():
            raise
        raise ToolTimeout(f"{tool.name} took over {tool.timeout:g} s and was stopped") from error
    return result if isinstance(result, ToolOutput) else ToolOutput(result)


def failure(error: ToolError) -> ToolOutput:
    """An error that the model can correct, as an output, which can be filtered."""
    label = labels.read(error.label)
    return ToolOutput(str(error), tainted=label.tainted, label=label, failed=True)


def note_secrets(error: ToolError, redact: Callable[[str], str], judge: Judge) -> None:
    """Label an error as secret if its text repeats a secret that the call found."""
    text = clean(str(error))
    if redact(text) != text or judge.reveals(text):
        error.label = labels.read(error.label).join(_SECRET).encoded()


def as_shown(
    name: str, args: Any, output: ToolOutput, redact: Callable[[str], str], judge: Judge
) -> ToolOutput:
    """The output as it may be shown, without known secrets. It is labelled as secret if one was
    removed, or if `judge` says that it may hold one. Pages of the web are public whatever they
    contain.
    """
    whole = clean(output.text)
    output = msgspec.structs.replace(output, text=redact(whole))
    if name in PUBLIC_TOOLS:
        return output
    removed = output.text != whole
    if not (removed or judge.reveals(whole, args)):
        return output
    return msgspec.structs.replace(output, label=output.label.join(_SECRET))
