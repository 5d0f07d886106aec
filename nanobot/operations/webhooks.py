"""Operations on webhooks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Nothing,
    Operation,
    OperationContext,
)
from nanobot.triggers.webhooks.views import WebhookTest, WebhookView


class _Test(Arguments, frozen=True, kw_only=True):
    name: Annotated[First, Meta(description="The hook's name in the configuration.")]
    text: Annotated[First, Meta(description="The JSON to deliver; nothing: an example.")] = ""
    event: Annotated[str, Meta(description="The kind of event, as in issues.opened.")] = ""


async def _list(operations: OperationContext, _: Caller, __: Nothing) -> list[WebhookView]:
    return operations.engine.door.views()


async def _test(operations: OperationContext, _: Caller, asked: _Test) -> WebhookTest:
    tried = await operations.engine.door.deliver(asked.name, asked.text, asked.event)
    if tried.status >= 300:
        raise NanobotError(f"{tried.url} answered {tried.status}: {tried.answer[:500]}")
    return tried


def _told(tried: WebhookTest, _: float) -> str:
    return f"{tried.url} answered {tried.status}: {tried.answer}"


HOOKS: tuple[Operation, ...] = (
    Operation(
        name="hooks list",
        help="lists the webhooks, and where their senders deliver",
        run=_list,
        returns=list[WebhookView],
    ),
    Operation(
        name="hooks test",
        help="delivers a signed example to a webhook, which acts upon it",
        run=_test,
        arguments=_Test,
        returns=WebhookTest,
        text=_told,
    ),
)
