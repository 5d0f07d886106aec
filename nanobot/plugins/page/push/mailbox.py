"""The pending notifications of one browser, and the task that pushes them: a slow or broken push
service delays only its own browser.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import StoreError
from nanobot.plugins.page.push.message import encoded
from nanobot.plugins.page.push.sender import Outcome, PushSender, Sent
from nanobot.plugins.page.store import PushSubscription, SqlPushSubscriptions
from nanobot.ports import Clock

PAUSES = (2.0, 8.0, 30.0, 120.0, 600.0, 1_800.0)
"""Seconds before each retry; after the last one a message is discarded."""
_LONGEST_WAIT = 3_600.0
_MOST_ANSWERS = 20
_TOPIC_BYTES = 15

Payload = Mapping[str, Any]


class Mailbox:
    """One per subscription. `told`: the number of the last approval that is done here."""

    def __init__(
        self,
        subscription: PushSubscription,
        sender: PushSender,
        store: SqlPushSubscriptions,
        clock: Clock,
    ) -> None:
        self.subscription = subscription
        self.told = subscription.told
        self._sender = sender
        self._store = store
        self._clock = clock
        self._approvals: dict[int, Payload] = {}
        self._answers: dict[str, Payload] = {}
        self._upto = self.told
        self._task: asyncio.Task[None] | None = None

    def owe(self, approvals: Mapping[int, Payload], upto: int, answers: Iterable[str]) -> None:
        """The approvals to push, replacing the previous ones: others have been decided meanwhile.
        Those up to `upto` are then done. `answers` are sessions, to push in addition.
        """
        self._approvals = dict(approvals)
        self._upto = max(upto, self._upto)
        for session in answers:
            self._answers.pop(session, None)
            self._answers[session] = {"kind": "answer", "session": session}
            if len(self._answers) > _MOST_ANSWERS:
                del self._answers[next(iter(self._answers))]

    def open(self, start: Callable[[Awaitable[None]], asyncio.Task[None]]) -> None:
        """Push the pending notifications, unless that is in progress already."""
        idle = self._task is None or self._task.done()
        if idle and (self._approvals or self._answers or self._upto > self.told):
            self._task = start(self._pushing())

    def close(self) -> None:
        """Stop pushing."""
        if self._task is not None:
            self._task.cancel()

    async def _pushing(self) -> None:
        with boundary("pushing notifications"):
            try:
                await self._push()
            except StoreError as error:
                logger.warning("a notification waits for the store: {}", error)

    async def _push(self) -> None:
        tries = 0
        while self._approvals or self._answers:
            sent = await self._first()
            if sent.outcome is Outcome.GONE:
                await self._store.drop(self.subscription.endpoint)
                return
            if sent.outcome is not Outcome.LATER:
                tries = 0
            elif tries < len(PAUSES):
                await self._clock.sleep(min(max(PAUSES[tries], sent.wait), _LONGEST_WAIT))
                tries += 1
            else:
                logger.warning("a push service takes nothing: its notifications are given up")
                self._approvals.clear()
                self._answers.clear()
        await self._done(self._upto)

    async def _first(self) -> Sent:
        """Push the first notification; it stays pending if the push service may accept it later."""
        if self._approvals:
            number = min(self._approvals)
            payload = self._approvals[number]
            sent = await self._sender.send(self.subscription, payload, f"approval-{number}")
            if sent.outcome in (Outcome.TAKEN, Outcome.REFUSED):
                self._approvals.pop(number, None)
                await self._done(number)
            return sent
        session = next(iter(self._answers))
        payload = self._answers.pop(session)
        sent = await self._sender.send(self.subscription, payload, _topic(session))
        if sent.outcome is Outcome.LATER:
            self._answers.setdefault(session, payload)
        return sent

    async def _done(self, number: int) -> None:
        if number > self.told:
            self.told = number
            await self._store.told(self.subscription.endpoint, number)


def _topic(session: str) -> str:
    """One per conversation; the conversation's name cannot be read from it. At most 32
    characters.
    """
    return f"answer-{encoded(hashlib.sha256(session.encode()).digest()[:_TOPIC_BYTES])}"
