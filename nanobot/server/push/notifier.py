"""Pushes what waits for a person: approvals that they may decide, and answers on the page.

An approval is pushed once to each browser, across restarts too: the store knows what waits, and
each subscription how far it was told. An answer is pushed when its run ends; a restart may miss
it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from nanobot.addresses import MEMBERS_CHAT
from nanobot.boundary import boundary
from nanobot.bus.core import Bus, Subscription
from nanobot.errors import StoreError
from nanobot.messages import WEB, EventKind, Role, RunEvent
from nanobot.ports import Clock
from nanobot.server.push.sender import PushSender
from nanobot.server.push.subscriptions import Subscriber
from nanobot.session.approvals import Approval, Approver, may_answer, shown_call
from nanobot.session.views import Records
from nanobot.store.repositories.access_tokens import SqlAccessTokens

_LOOK_SECONDS = 15.0
_MOST = 100
_MOST_CHARS = 500


class _Events(Subscription):
    """Notes that something may wait, and which answers came."""

    def __init__(self) -> None:
        super().__init__(None, frozenset({EventKind.APPROVAL, EventKind.END}))
        self.some = asyncio.Event()
        self.answered: set[str] = set()

    def offer(self, event: RunEvent) -> None:
        if event.kind is EventKind.END:
            if not event.session_key.startswith(f"{WEB}:") or len(self.answered) >= _MOST:
                return
            self.answered.add(event.session_key)
        elif event.kind is not EventKind.APPROVAL:
            return
        self.some.set()


class PushNotifier:
    """Pushes to the subscribers of one home. `details`: messages say what is asked."""

    def __init__(
        self,
        sender: PushSender,
        records: Records,
        tokens: SqlAccessTokens,
        clock: Clock,
        *,
        details: bool,
    ) -> None:
        self._sender = sender
        self._subscriptions = sender.subscriptions
        self._records = records
        self._tokens = tokens
        self._clock = clock
        self._details = details

    async def run(self, bus: Bus) -> None:
        """Push until cancelled."""
        events = _Events()
        bus.watch(events)
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await events.some.wait()
                events.some.clear()
                answered, events.answered = events.answered, set()
                with boundary("pushing notifications"), suppress(StoreError):
                    await self._push(answered)
        finally:
            bus.unsubscribe(events)

    async def last_approval(self) -> int:
        """The number of the last approval that waits; 0: none does."""
        return max((each.id for each in await self._waiting()), default=0)

    async def _waiting(self) -> list[Approval]:
        return await self._records.approvals(session="", state="waiting", limit=_MOST)

    async def _push(self, answered: set[str]) -> None:
        subscribers = await self._living()
        if not subscribers:
            return
        waiting = await self._waiting()
        for subscriber in subscribers:
            news = [each for each in waiting if each.id > subscriber.told]
            asked = [each for each in news if _may_decide(subscriber, each)]
            for approval in sorted(asked, key=lambda each: each.id):
                payload, topic = self._of_approval(approval), f"approval-{approval.id}"
                await self._sender.send(subscriber, payload, topic)
            if news:
                told = max(each.id for each in news)
                self._told(subscriber, told)
            for session in sorted(answered):
                if _theirs(subscriber, session):
                    payload = {"kind": "answer", "session": session}
                    await self._sender.send(subscriber, payload, "answer")

    def _told(self, subscriber: Subscriber, number: int) -> None:
        if any(each.endpoint == subscriber.endpoint for each in self._subscriptions.all()):
            self._subscriptions.keep(msgspec.structs.replace(subscriber, told=number))

    async def _living(self) -> list[Subscriber]:
        """Those who may still ask; the others are dropped."""
        every = self._subscriptions.all()
        if not every:
            return []
        now = self._clock.now()
        logins = {
            (token.name, token.made_at)
            for token in await self._tokens.listed()
            if token.expires_at is None or token.expires_at > now
        }
        for each in every:
            if (each.login, each.since) not in logins:
                self._subscriptions.drop(each.endpoint)
        return [each for each in every if (each.login, each.since) in logins]

    def _of_approval(self, approval: Approval) -> dict[str, Any]:
        payload = {"kind": "approval", "id": approval.id, "session": approval.session_key}
        if self._details:
            text = approval.question or shown_call(approval.tool, approval.arguments)
            payload["text"] = text[:_MOST_CHARS]
        return payload


def _may_decide(subscriber: Subscriber, approval: Approval) -> bool:
    owner = subscriber.role is Role.OWNER
    person = Approver(
        role=subscriber.role, channel="" if owner else WEB, id=subscriber.by, name=subscriber.by
    )
    return may_answer(approval, person)


def _theirs(subscriber: Subscriber, session: str) -> bool:
    """Whether a conversation of the page is this person's: an owner's are those of no other."""
    if subscriber.role is Role.OWNER:
        return not session.startswith(f"{WEB}:{MEMBERS_CHAT}")
    return session == subscriber.session
