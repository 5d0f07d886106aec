"""The routes of notifications, described."""

from __future__ import annotations

from nanobot.plugins.common.http.descriptions import Done
from nanobot.plugins.common.http.route_description import TYPED, RouteDescription, json_of
from nanobot.plugins.page.push.schemas import EndedSubscription, NewSubscription, PushKey

DESCRIPTIONS = (
    RouteDescription(
        method="get",
        path="/api/push",
        name="push_key",
        summary="Shows the key with which a browser subscribes to notifications.",
        answers=json_of(PushKey),
        refusals=(400,),
    ),
    RouteDescription(
        method="post",
        path="/api/push/subscribe",
        name="push_subscribe",
        summary="Notifies the browser of pending approvals and answers, until it logs out.",
        takes=json_of(NewSubscription),
        answers=json_of(Done),
        refusals=TYPED,
    ),
    RouteDescription(
        method="post",
        path="/api/push/unsubscribe",
        name="push_unsubscribe",
        summary="Ends the notifications of a browser.",
        takes=json_of(EndedSubscription),
        answers=json_of(Done),
        refusals=TYPED,
    ),
)
