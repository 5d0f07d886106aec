"""Invitations and joins, read receipts, and notices about encrypted rooms."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec
from loguru import logger

from nanobot_channels.common.shapes import string, table
from nanobot_channels.matrix.api import FAILED, Api, ApiRefusal, NoAnswer, Request, path
from nanobot_channels.matrix.sync import invitation

_TRIES = 20
_NOTICE = (
    "This room is encrypted, and I cannot read it. Please create a room without encryption (you "
    "can only choose this when you create it), and invite me there."
)


class Invites(msgspec.Struct, frozen=True):
    """Whose invitations are accepted: those of `known` people everywhere; those of others to chats
    of two (`strangers`), where they can receive a pairing code; or those of `anyone`.
    """

    known: frozenset[str] = frozenset()
    strangers: bool = True
    anyone: bool = False


class RoomAccess:
    """Joins, declines and receipts of one account. A failure is logged and stops nothing."""

    def __init__(self, name: str, api: Api, user_id: str, invites: Invites) -> None:
        self.user_id = user_id
        self.declined: list[str] = []
        """Rooms whose invitations will be declined."""
        self._name = name
        self._api = api
        self._invites = invites
        self._failed: dict[str, int] = {}

    def welcomes(self, room_id: str, value: object) -> bool:
        """Whether an invitation is accepted."""
        who, direct = invitation(value, self.user_id)
        allowed = self._invites
        if allowed.anyone or who in allowed.known or (direct and allowed.strangers):
            return True
        logger.info(
            "{}: the invitation of {} to {} is declined: people in channels.{}.owners, members or "
            "guests may invite the bot",
            self._name,
            who or "somebody",
            room_id,
            self._name,
        )
        return False

    async def join(self, room_id: str, via: str = "") -> bool:
        """Join a room. Returns whether that is settled: joined, or permanently refused."""
        query = f"?{urlencode({'via': via, 'server_name': via}, errors='replace')}" if via else ""
        error = await self._post(f"{path('join', room_id)}{query}", "join")
        if error is None:
            self._failed.pop(room_id, None)
            logger.info("{}: in the room {}", self._name, room_id)
            return True
        tries = self._failed[room_id] = self._failed.get(room_id, 0) + 1
        final = isinstance(error, ApiRefusal) and not error.passing
        if final or tries >= _TRIES:
            self._failed.pop(room_id, None)
            logger.warning(
                "{}: cannot join {}: {}. Invite the bot there again", self._name, room_id, error
            )
            return True
        return False

    async def decline(self) -> None:
        """Decline the invitations in `declined`."""
        while self.declined:
            room_id = self.declined.pop()
            error = await self._post(path("rooms", room_id, "leave"), "leave")
            if error is not None:
                logger.debug("{}: {} is not declined: {}", self._name, room_id, error)

    async def follow(self, old: str, new: str, via: str) -> bool | None:
        """Join the room that replaces an upgraded one. Returns whether it does; None if only a
        later try can tell. It must say so itself, because anyone can name any room as the successor
        of a room of their own: one that does not is left again, unless the bot was there before.
        """
        known = await self._predecessor(new)
        if isinstance(known, str) and known != old:
            return False
        if not await self.join(new, via):
            return None
        found = await self._predecessor(new)
        if isinstance(found, NoAnswer) or (isinstance(found, ApiRefusal) and found.passing):
            return None
        if found == old:
            return True
        self.declined.append(new)
        return False

    async def _predecessor(self, room_id: str) -> str | ApiRefusal | NoAnswer:
        """The room that this one replaces, "" for none; or why that cannot be read, as in most
        rooms that the bot is not in."""
        try:
            created = await self._api.call(
                "create", ("GET", path("rooms", room_id, "state", "m.room.create"))
            )
        except FAILED as error:
            return error
        return string(table(created.get("predecessor")).get("room_id"))

    async def read(self, room_id: str, thread: str, event_id: str) -> None:
        """Send a read receipt up to this event."""
        place = path("rooms", room_id, "receipt", "m.read", event_id)
        error = await self._post(place, "receipt", {"thread_id": thread or "main"})
        if error is not None:
            logger.debug("{}: no receipt: {}", self._name, error)

    async def cannot_read(self, room_id: str) -> bool:
        """Tell the room that it is encrypted. Returns whether that is settled."""
        content = {"msgtype": "m.notice", "body": _NOTICE, "m.mentions": {}}
        place = path("rooms", room_id, "send", "m.room.message", "nanobot-encrypted")
        logger.warning("{}: {} is encrypted and cannot be read", self._name, room_id)
        error = await self._request(("PUT", place, msgspec.json.encode(content).decode()), "notice")
        return error is None or (isinstance(error, ApiRefusal) and not error.passing)

    async def _post(
        self, place: str, what: str, content: dict[str, str] | None = None
    ) -> ApiRefusal | NoAnswer | None:
        return await self._request(
            ("POST", place, msgspec.json.encode(content or {}).decode()), what
        )

    async def _request(self, request: Request, what: str) -> ApiRefusal | NoAnswer | None:
        """The error, None if the request succeeded."""
        try:
            await self._api.call(what, request)
        except FAILED as error:
            return error
        return None
