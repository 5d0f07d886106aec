"""Operations on webhooks."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.config.loader import Config
from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.views import WebhookTest, WebhookView
from nanobot.seam.http import Http
from nanobot.text import Sentence

_TRY_SECONDS = 30.0
_EXAMPLE = {
    "repository": {"full_name": "example/project"},
    "issue": {"number": 1, "title": "An example", "body": "Sent by `nanobot hooks test`."},
}


@operation("hooks list", reads=True, empty="docs/webhooks.md explains how to add one.")
async def list_webhooks(context: OperationContext, _: Caller) -> list[WebhookView]:
    """List webhooks and their URLs."""
    config, http = context.of(Config), context.of(Http)
    return [
        WebhookView(
            name=name,
            enabled=hook.enabled,
            url=f"{config.of(WebSettings).public_url.rstrip('/') or http.url}/hooks/{name}",
            style=hook.style,
            to=hook.to,
            session=hook.session,
            role=hook.role,
            events=hook.events,
        )
        for name, hook in _hooks(context).items()
    ]


def _delivered(test: WebhookTest, _: Now) -> Sentence:
    return f"{test.url} answered {test.status}: {test.answer}"


@operation("hooks test", text=_delivered, example="ci")
async def deliver_example(
    context: OperationContext,
    _: Caller,
    name: Annotated[Positional, Meta(description="The hook's name in the configuration.")],
    text: Annotated[Positional, Meta(description="The JSON to deliver; empty: an example.")] = "",
    event: Annotated[str, Meta(description="The kind of event, as in issues.opened.")] = "",
) -> WebhookTest:
    """Deliver a signed example to a webhook, which handles it like a real one.

    It goes to the running gateway over HTTP, and the answer to the hook's chat. Exits with 1 if the
    gateway refuses it.
    """
    hook = _hooks(context).get(name)
    if hook is None or not hook.enabled:
        names = ", ".join(_hooks(context)) or "none"
        raise UnknownId(f"there is no hook {name[:60]!r} that is on; there are: {names}")
    http = context.of(Http)
    if not http.url:
        raise UsageError("nothing is served here: start `nanobot gateway` first")
    content, headers = _example(hook, text, event, context.engine.now())
    test = await _deliver(name, http.address, content, headers)
    if test.status >= 300:
        raise NanobotError(f"{test.url} answered {test.status}: {test.answer[:500]}")
    return test


def operations() -> list[Operation]:
    """All operations."""
    return [list_webhooks, deliver_example]


def _hooks(context: OperationContext) -> Mapping[str, HookSettings]:
    hooks: Mapping[str, HookSettings] = context.of(Config).tables.get("hooks", {})
    return hooks


async def _deliver(name: str, url: str, content: bytes, headers: Mapping[str, str]) -> WebhookTest:
    """Send a signed delivery to this gateway's own endpoint."""
    import aiohttp  # noqa: PLC0415 - a try is the only one to need it

    patience = aiohttp.ClientTimeout(total=_TRY_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=patience) as session,
            session.post(f"{url}/hooks/{name}", data=content, headers=headers) as response,
        ):
            text = await response.text(errors="replace")
            return WebhookTest(
                name=name, url=str(response.url), status=response.status, answer=text
            )
    except (aiohttp.ClientError, TimeoutError) as error:
        raise NanobotError(f"{url} does not answer: {error}") from None


def _example(
    hook: HookSettings, body: str, event: str, now: float
) -> tuple[bytes, Mapping[str, str]]:
    """The bytes and headers of an example delivery, as its sender would send them."""
    key = f"test-{secrets.token_hex(8)}"
    whole = event or next((kind for kind in hook.events if "*" not in kind), "issues.opened")
    kind, _, action = whole.partition(".")
    content = body.encode("utf-8", "replace")
    if not body:
        example = {**_EXAMPLE, "id": key, "action": action or "opened"}
        if hook.style in {"stripe", "standard"}:
            example["type"] = whole
        content = msgspec.json.encode(example)
    from nanobot.plugins.hooks.signatures import sign  # noqa: PLC0415 - see above

    headers = sign(hook, content, at=now, key=key)
    return content, {**headers, "Content-Type": "application/json", "X-GitHub-Event": kind}
