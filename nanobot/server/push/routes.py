"""How a browser subscribes to notifications, and unsubscribes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from aiohttp import web
from msgspec import Meta

from nanobot.errors import NotAllowed, ToolError, UsageError
from nanobot.server.access import Principal
from nanobot.server.admission import principal_of
from nanobot.server.application import Route
from nanobot.server.operation_routes import caller_of, sent
from nanobot.server.push.message import PushKeys, check_keys, encoded, point_of
from nanobot.server.push.sender import checked
from nanobot.server.push.service import PushService
from nanobot.server.session_routes import refusing
from nanobot.server.wire import answer
from nanobot.store.repositories.push_subscriptions import PushSubscription

_LIMIT = 8_192


class PushKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this gateway, with which a browser subscribes (applicationServerKey)."""

    key: str


class NewSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription as a browser's PushSubscription has it: where its push service takes messages,
    and the keys to encrypt them."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]
    keys: PushKeys


class EndedSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """Which subscription ends."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]


class PushRoutes:
    """GET /api/push, POST /api/push/subscribe, POST /api/push/unsubscribe."""

    def __init__(self, service: PushService) -> None:
        self._subscriptions = service.subscriptions
        self._key = service.key
        self._notifier = service.notifier
        self._tokens = service.tokens
        self._addresses = service.addresses

    def routes(self) -> list[Route]:
        return [
            Route(method="GET", path="/api/push", handler=refusing(self._show_key)),
            Route(method="POST", path="/api/push/subscribe", handler=refusing(self._subscribe)),
            Route(method="POST", path="/api/push/unsubscribe", handler=refusing(self._end)),
        ]

    async def _show_key(self, _: web.Request) -> web.StreamResponse:
        key = await self._key.get()
        return answer(200, PushKey(key=encoded(point_of(key))))

    async def _subscribe(self, request: web.Request) -> web.StreamResponse:
        """A logged-in browser receives what its person may decide, until it logs out."""
        principal = principal_of(request)
        new = _read(await sent(request, _LIMIT), NewSubscription)
        login = await self._login(principal)
        try:
            checked(new.endpoint, self._addresses)
            await asyncio.to_thread(check_keys, new.keys)
        except (ToolError, ValueError) as error:
            raise UsageError(f"this subscription cannot be used: {error}") from None
        subscription = PushSubscription(
            login=login,
            endpoint=new.endpoint,
            p256dh=new.keys.p256dh,
            auth=new.keys.auth,
            by=principal.by,
            session_key=caller_of(principal).session_key,
            told=await self._notifier.last_approval(),
        )
        await self._subscriptions.keep(subscription)
        return answer(200, {"ok": True})

    async def _end(self, request: web.Request) -> web.StreamResponse:
        endpoint = _read(await sent(request, _LIMIT), EndedSubscription).endpoint
        await self._subscriptions.drop(endpoint, principal_of(request).by)
        return answer(200, {"ok": True})

    async def _login(self, principal: Principal) -> str:
        """The digest of the browser's cookie. Raises NotAllowed for a program's token."""
        for token in await self._tokens.listed():
            if principal.kind == "browser" and token.name == principal.name:
                return token.digest
        raise NotAllowed("Only a browser that is logged in can be notified.")


def _read(values: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(dict(values), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"this is not a subscription: {error}") from None
