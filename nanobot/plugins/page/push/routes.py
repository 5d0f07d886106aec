"""How a browser subscribes to notifications, and unsubscribes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from nanobot.errors import NotAllowed, ToolError, UsageError
from nanobot.plugins.common.http.access import Principal
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import caller_of, sent
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import answer
from nanobot.plugins.page.descriptions import DESCRIPTIONS
from nanobot.plugins.page.push.message import check_keys, encoded, point_of
from nanobot.plugins.page.push.schemas import EndedSubscription, NewSubscription, PushKey
from nanobot.plugins.page.push.sender import checked
from nanobot.plugins.page.push.service import PushService
from nanobot.plugins.page.store import PushSubscription

_LIMIT = 8_192


class PushRoutes:
    """GET /api/push, POST /api/push/subscribe, POST /api/push/unsubscribe."""

    def __init__(self, service: PushService) -> None:
        self._subscriptions = service.subscriptions
        self._service = service
        self._notifier = service.notifier
        self._addresses = service.addresses

    def routes(self) -> list[Route]:
        handlers = {
            "push_key": self._show_key,
            "push_subscribe": self._subscribe,
            "push_unsubscribe": self._end,
        }
        return [
            Route(
                method=described.method.upper(),
                path=described.path,
                handler=refusing(handlers[described.name]),
                everyone=True,
                whole=True,
                described=described,
            )
            for described in DESCRIPTIONS
        ]

    async def _show_key(self, _: web.Request) -> web.StreamResponse:
        await self._service.bring_over()
        key = await self._service.key.get()
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
        login = None
        if principal.kind == "browser":
            login = await self._subscriptions.login(principal.name)
        if login is None:
            raise NotAllowed("Only a browser that is logged in can be notified.")
        return login


def _read(values: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(dict(values), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"this is not a subscription: {error}") from None
