"""Operations on webhooks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import Arguments, Caller, Desk, First, Nothing, Operation
from nanobot.triggers.webhooks.views import HookTried, HookView


class _Test(Arguments, frozen=True, kw_only=True):
    name: Annotated[First, Meta(description="The hook's name in the configuration.")]
    text: Annotated[First, Meta(description="The JSON to deliver; nothing: an example.")] = ""
    event: Annotated[str, Meta(description="The kind of event, as in issues.opened.")] = ""


async def _list(operations: Desk, _: Caller, __: Nothing) -> list[HookView]:
    return operations.engine.door.views()


async def _test(operations: Desk, _: Caller, asked: _Test) -> HookTried:
    tried = await operations.engine.door.deliver(asked.name, asked.text, asked.event)
    if tried.status >= 300:
        raise NanobotError(f"{tried.url} answered {tried.status}: {tried.answer[:500]}")
    return tried


def _told(tried: HookTried, _: float) -> str:
    return f"{tried.url} answered {tried.status}: {tried.answer}"


HOOKS: tuple[Operation, ...] = (
    Operation(
        name="hooks list",
        help="lists the webhooks, and where their senders deliver",
        run=_list,
        returns=list[HookView],
    ),
    Operation(
        name="hooks test",
        help="delivers a signed example to a webhook, which acts upon it",
        run=_test,
        arguments=_Test,
        returns=HookTried,
        text=_told,
    ),
)
