"""Matrix over a homeserver's client-server API: /sync for inbound, events for outbound messages.

Encrypted rooms cannot be read.
"""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.errors import ChatGone, ConfigError, NotSent, OutcomeUnknown, Refused, Uncertain
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import Capabilities, Clock, Intake, OutboundPart, Reaction
from nanobot.system import SystemClock
from nanobot_channels.common.numbers import moment
from nanobot_channels.common.settings import Table
from nanobot_channels.common.shapes import string, table, tables
from nanobot_channels.matrix import files, parts
from nanobot_channels.matrix.access import Invites, RoomAccess
from nanobot_channels.matrix.api import (
    FAILED,
    Account,
    Api,
    ApiRefusal,
    NoAnswer,
    Request,
    delivery_error,
    path,
    sign_in_error,
)
from nanobot_channels.matrix.receiving import Receiver
from nanobot_channels.matrix.setup import SETUP as SETUP
from nanobot_channels.matrix.sync import messages

BACKFILL = 500
_FIND_PAGES = 10
_FIND_MARGIN = 3600.0
"""Seconds by which a message may appear older than its send; its mark distinguishes it from
others.
"""
_CLOCK_MARGIN = 1.0
_TYPING_MS = 10_000
_EMOJI = {
    Reaction.RECEIVED: "\N{EYES}",
    Reaction.DONE: "\N{WHITE HEAVY CHECK MARK}",
    Reaction.FAILED: "\N{CROSS MARK}",
}


class MatrixChannel:
    """One account on one homeserver, as a channel."""

    # Each homeserver sets its own rate limits; the specification names none.
    capabilities = Capabilities(typing=True, reconciles=True)

    def __init__(
        self,
        name: str,
        account: Account,
        *,
        invites: Invites | None = None,
        backfill: int = BACKFILL,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._account = account
        self._invites = invites or Invites()
        self._backfill = backfill
        self._clock = clock or SystemClock()
        self._api = Api(account, self._clock)
        self._receiving: Receiver | None = None

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Messages are acknowledged by the next poll, after their commit.

        Raises BadCredentials, ChannelDown, and what the intake raises.
        """
        user_id = await self._sign_in(self._api)
        access = RoomAccess(self._name, self._api, user_id, self._invites)
        self._receiving = Receiver(
            self._name, self._api, intake, access, self._clock, self._backfill
        )
        await self._receiving.run()

    async def check(self) -> str:
        """The account's user id and homeserver; see ports.SelfChecking.

        With a password it signs in as a separate device, and out again: that must not end the
        gateway's session.
        """
        account = self._account
        api = Api(msgspec.structs.replace(account, device=f"{account.device}CHECK"), self._clock)
        try:
            user_id = await self._sign_in(api)
            await api.sign_out()
        except FAILED as error:
            raise sign_in_error(self._name, error, account) from error
        finally:
            await api.close()
        return f"{user_id} on {account.homeserver}"

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: at most 30,000 bytes each in an event, at least one, none empty."""
        return parts.render(message)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns its event id. A repeat with the same key does not create a second
        event.

        Raises NotSent, Refused, ChatGone, or OutcomeUnknown.
        """
        direct = self._receiving is not None and self._receiving.is_direct(address.chat_id)
        content = parts.content(address, part, plain=plain, direct=direct)
        return await self._send(address, content, parts.mark_of(part))

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace a message sent before. Raises as `send`."""
        content = parts.replacement(message_id, part, plain=plain)
        # Each edit is unique: a text may return to an earlier version.
        await self._send(address, content, uuid.uuid4().hex)

    async def delete(self, address: Address, message_id: str) -> None:
        """Redact a message: clients show neither it nor its edits. Raises as `send`: Refused if it
        is unknown, or the room does not allow it.
        """
        await self._user_id()
        try:
            await self._api.call("redact", _redaction(address, message_id))
        except ApiRefusal as error:
            failed = delivery_error(error)
            raise Refused(str(error)) if isinstance(failed, ChatGone) else failed from error
        except NoAnswer as error:
            raise delivery_error(error) from error

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """Compared by the homeserver's clock. A sender's homeserver may have a different clock, so
        an earlier time proves nothing.
        """
        return True if message.sent_at >= self._api.time.at(shown_at) - _CLOCK_MARGIN else None

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The event id of a part, by its mark, among the bot's last thousand messages in the room.

        Raises Uncertain if the bot sent more there since then, and as `send` when the homeserver
        refuses to list them.
        """
        mark, start = parts.mark_of(part), ""
        me = await self._user_id()
        earliest = math.inf
        for _ in range(_FIND_PAGES):
            answer = await self._call("find", messages(address.chat_id, start, sender=me))
            for event in tables(answer.get("chunk")):
                if table(event.get("content")).get(parts.MARK) == mark:
                    return str(event.get("event_id"))
                sent_at = moment(event.get("origin_server_ts"), math.inf, per_second=1000)
                earliest = min(earliest, sent_at)
            following = string(answer.get("end"))
            if not following or following == start:
                return None
            start = following
        if earliest < self._api.time.at(since) - _FIND_MARGIN:
            return None
        raise Uncertain("the bot has said more there since the send than is looked at")

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """A file's content; see ports.Fetching. Raises Refused or ChannelDown."""
        return await files.fetch(self._api, attachment, limit)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        fields = await files.content(self._api, address, part, content)
        return await self._send(address, fields, parts.mark_of(part))

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Replace the bot's earlier reaction. Raises as `send`."""
        emoji = _EMOJI[mark]
        if mark is not Reaction.RECEIVED:
            await self._take_back(address, message_id, emoji)
        relates = {"rel_type": "m.annotation", "event_id": message_id, "key": emoji}
        txn = hashlib.sha256(f"{message_id} {emoji}".encode()).hexdigest()[:40]
        place = path("rooms", address.chat_id, "send", "m.reaction", txn)
        await self._call("reaction", _put(place, {"m.relates_to": relates}))

    async def typing(self, address: Address) -> None:
        """Show the indicator for ten seconds, or until the bot sends a message. Raises as
        `send`.
        """
        place = path("rooms", address.chat_id, "typing", await self._user_id())
        await self._call("typing", _put(place, {"typing": True, "timeout": _TYPING_MS}))

    async def close(self) -> None:
        await self._api.close()

    async def _sign_in(self, api: Api) -> str:
        try:
            return await api.sign_in()
        except FAILED as error:
            raise sign_in_error(self._name, error, self._account) from error

    async def _user_id(self) -> str:
        try:
            return await self._api.sign_in()
        except FAILED as error:
            raise _unsent(error) from error

    async def _send(self, address: Address, content: Mapping[str, object], txn: str) -> str:
        await self._user_id()
        place = path("rooms", address.chat_id, "send", "m.room.message", txn)
        answer = await self._call("send", _put(place, content))
        event_id = string(answer.get("event_id"))
        if not event_id:
            raise OutcomeUnknown("Matrix, send: answered without an event_id")
        if self._receiving is not None and address.thread_id:
            self._receiving.threads.add((address.chat_id, address.thread_id))
        return event_id

    async def _take_back(self, address: Address, message_id: str, current: str) -> None:
        place = path(
            "rooms",
            address.chat_id,
            "relations",
            message_id,
            "m.annotation",
            "m.reaction",
            version="v1",
        )
        answer = await self._call("relations", ("GET", place))
        me, others = await self._user_id(), set(_EMOJI.values()) - {current}
        for event in tables(answer.get("chunk")):
            relates = table(table(event.get("content")).get("m.relates_to"))
            number = string(event.get("event_id"))
            if number and event.get("sender") == me and string(relates.get("key")) in others:
                await self._call("redact", _redaction(address, number))

    async def _call(self, what: str, request: Request) -> dict[str, Any]:
        try:
            return await self._api.call(what, request)
        except FAILED as error:
            raise delivery_error(error) from error


def _unsent(error: Exception) -> NotSent:
    """Signing in failed, so nothing was sent."""
    return NotSent(str(error), getattr(error, "retry_after", None), "bot")


def _redaction(address: Address, event_id: str) -> Request:
    """The same each time: a repeat does not create a second one."""
    return _put(path("rooms", address.chat_id, "redact", event_id, event_id), {})


def _put(place: str, content: Mapping[str, object]) -> Request:
    return ("PUT", place, msgspec.json.encode(content).decode())


def open_channel(name: str, settings: Mapping[str, object]) -> MatrixChannel:
    """The channel of one `[channels.NAME]` table; docs/channels/matrix.md has the keys.

    Raises ConfigError for invalid settings; it does not connect yet.
    """
    account = _account(name, settings)
    table = Table(name, settings)
    others = {"known": "of people named here alone", "all": "of anybody, to any room"}
    invites = table.choice("invites", "direct", others)
    people = frozenset(
        str(person)
        for key in ("owners", "members", "guests")
        for person in _listed(settings.get(key))
    )
    backfill = table.number("backfill_messages", BACKFILL, 10_000)
    access = Invites(
        known=people,
        strangers=invites == "direct" and settings.get("pairing", True) is True,
        anyone=invites == "all" or "*" in people,
    )
    return MatrixChannel(name, account, invites=access, backfill=backfill)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _account(name: str, settings: Mapping[str, object]) -> Account:
    values = {}
    for key in ("homeserver", "user", "password", "access_token"):
        value = settings.get(key, "")
        if not isinstance(value, str):
            raise ConfigError(f"channels.{name}.{key} is {value!r}: write a text in quotes")
        values[key] = value if key == "password" else value.strip()
    root = values["homeserver"].rstrip("/")
    if not re.fullmatch(r"https?://[^\s/{}?#]+[^\s{}?#]*", root):
        raise ConfigError(
            f"channels.{name}.homeserver {'is not an http(s) URL' if root else 'is missing'}: "
            f"put the "
            'homeserver\'s address there, for example "https://matrix.example.org"'
        )
    user, password, token = values["user"], values["password"], values["access_token"]
    if bool(password) == bool(token):
        what = "are both set: remove one of them" if token else "are both missing: set one of them"
        raise ConfigError(f"channels.{name}.password and channels.{name}.access_token {what}")
    if password and not re.fullmatch(r"@?[^\s@:]+(:\S+)?", user):
        what = f"is {user!r}" if user else "is missing"
        raise ConfigError(
            f"channels.{name}.user {what}: put the bot's id there, for example "
            '"@nanobot:example.org"'
        )
    # The same device at every start: otherwise devices would accumulate in the account.
    digest = hashlib.sha256(f"{root} {user} {name}".encode()).hexdigest()
    device = f"NANOBOT{digest[:10].upper()}"
    return Account(root, user, password, token, device)
