"""The tool that starts a subagent, whose row is committed together with the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from nanobot.plugins.common.runs.background_runs import Parent, TaskRequest, TaskStarter
from nanobot.plugins.common.typed import Said, by_words
from nanobot.plugins.tasks.port import AGENT, MAX_TITLE
from nanobot.session.store_write import StoreWrite
from nanobot.text import pattern
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput

_BACKGROUND = pattern(
    r"\b(background|meanwhile|in parallel|at the same time|hintergrund|arrière-plan"
    r"|segundo plano)|后台|後台|バックグラウンド",
    re.IGNORECASE,
)


class Spawn(msgspec.Struct, frozen=True):
    """Arguments of spawn."""

    task: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=50_000,
            description="What to do, with all that is needed to know: it does not see this chat",
        ),
    ]
    label: Annotated[
        str, msgspec.Meta(max_length=MAX_TITLE, description="A few words to call it by")
    ] = ""


def spawn_tool(starter: TaskStarter) -> Tool[Spawn]:
    """spawn, for owners and members. The run and the result are one transaction, so that a crash
    neither loses the run nor starts it twice.
    """

    async def run(args: Spawn, context: CallContext) -> ToolOutput:
        request = TaskRequest(
            type=AGENT,
            title=args.label.strip() or args.task.strip()[:60],
            input={"task": args.task},
            key=f"spawn:{context.key}",
            parent=_parent(context),
        )
        if context.logged:
            run_id, write = await starter.prepare(request)
            writes: tuple[StoreWrite, ...] = (write,)
        else:  # no transaction of a result exists that could start it
            run_id, writes = await starter.start(request), ()
        text = f"Started #{run_id} in the background. Its report will come as a message here."
        return ToolOutput(text, writes=writes)

    return Tool(
        name="spawn",
        description=(
            "Have a task done in the background by a copy of yourself while you go on; its report "
            "comes later, as a message. For long work, or several things side by side."
        ),
        args=Spawn,
        run=run,
        effect=Effect.STORE,
        taints=False,
        typed=by_words(is_typed),
    )


def is_typed(_: Mapping[str, Any], said: Said) -> bool:
    """Whether the message asks for background work."""
    return said.means(_BACKGROUND)


def _parent(context: CallContext) -> Parent:
    """The calling run."""
    return Parent(
        session_key=context.session_key,
        run_id=context.run_id,
        address=context.address,
        sender_id=context.sender_id,
        role=context.role,
        tainted=context.tainted,
        label=context.label.encoded(),
        private=context.private,
    )
