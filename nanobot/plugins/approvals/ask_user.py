"""The tool that asks the person a question: the run waits for the answer as a row in the store."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nanobot.errors import ToolDenied
from nanobot.tools.base import AnyTool, CallContext, Effect, Question, Tool

MAX_CHOICES = 8


class AskUser(msgspec.Struct, frozen=True):
    """Arguments of ask_user."""

    question: Annotated[
        str, msgspec.Meta(min_length=1, max_length=3_000, description="What to ask")
    ]
    choices: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=200)], ...],
        msgspec.Meta(max_length=MAX_CHOICES, description="Answers to choose from, if any"),
    ] = ()


async def _nobody(_: AskUser, __: CallContext) -> str:
    """Reached only if a program's policy lets calls through without judging them."""
    raise ToolDenied("nobody can be asked here")


def ask_tool() -> Tool[AskUser]:
    """ask_user. The result is the person's next message, or the choice they press."""
    return Tool(
        name="ask_user",
        description=(
            "Ask the person you work for and wait for the answer, however long it takes. "
            "Only for what you cannot find out and must not guess."
        ),
        args=AskUser,
        run=_nobody,
        effect=Effect.STORE,
        taints=False,
        question=lambda args: Question(args.question, args.choices),
    )


def tools() -> list[AnyTool]:
    """The tools of the plugin."""
    return [ask_tool()]
