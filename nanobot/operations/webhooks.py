"""Operations on webhooks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.triggers.webhooks.views import WebhookTest, WebhookView


@operation("hooks list", reads=True, empty="docs/webhooks.md explains how to add one.")
async def list_webhooks(context: OperationContext, _: Caller) -> list[WebhookView]:
    """List webhooks and their URLs."""
    return context.engine.webhooks.views()


def _delivered(test: WebhookTest, _: Now) -> str:
    return f"{test.url} answered {test.status}: {test.answer}"


@operation("hooks test", text=_delivered, example="ci")
async def deliver_example(
    context: OperationContext,
    _: Caller,
    name: Annotated[Positional, Meta(description="The hook's name in the configuration.")],
    text: Annotated[Positional, Meta(description="The JSON to deliver; empty: an example.")] = "",
    event: Annotated[str, Meta(description="The kind of event, as in issues.opened.")] = "",
) -> WebhookTest:
    """Deliver a signed example to a webhook, which handles it like a real one."""
    test = await context.engine.webhooks.deliver(name, text, event)
    if test.status >= 300:
        raise NanobotError(f"{test.url} answered {test.status}: {test.answer[:500]}")
    return test
