"""A homeserver on loopback that behaves as the client-server API says: its double at the wire.

    async with MatrixServer() as matrix:
        ... run a bot against matrix.root_url with matrix.token, or ME and matrix.password ...
        matrix.say(matrix.dm, "hi")

Not modelled: federation, power levels, encryption, and rooms' states before a limited timeline.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.matrix_rooms import ANN, ME, Entry, Json, Rooms, chosen, oversized
from tests.doubles.platform_server import Fault, PlatformServer

_CLIENT = "/_matrix/client/v3"
_MEDIA = "/_matrix/client/v1/media/download"


class Refused(Exception):
    """The homeserver says no."""

    def __init__(self, status: int, errcode: str, error: str = "no", **more: Any) -> None:
        self.status = status
        self.answer = {"errcode": errcode, "error": error, **more}


@dataclass(kw_only=True)
class MatrixFault(Fault):
    """What goes wrong with the calls in whose path `what` stands, the next one unless told
    otherwise."""

    times: int | None = 1
    answer: Json = field(default_factory=dict)

    def fits(self, what: str) -> bool:
        return self.what is None or self.what in what


class MatrixServer(PlatformServer[MatrixFault]):
    """One homeserver, with a bot ME and a person ANN in a room of their own."""

    fault_type = MatrixFault

    def __init__(self) -> None:
        super().__init__()
        self.token = "syt_loopback"
        self.password = "long enough"
        self.rooms = Rooms()
        self.date: float | None = None
        """The homeserver's own clock in Unix seconds; None: that of the events."""
        self.sessions: dict[str, str] = {self.token: "TOKEN"}
        """Devices by access token."""
        self.calls: list[tuple[str, str, Json]] = []
        self.media: dict[str, tuple[str, bytes]] = {}
        self.typing: list[str] = []
        self.receipts: dict[str, list[str]] = {}
        self.since = 0
        """What the bot said that it has."""
        self.forgotten = 0
        """Tokens of /sync from before are not known any more."""
        self.upload_limit = 50_000_000
        self.old_media = False
        self._sent: dict[tuple[str, str], str] = {}
        self._numbers = itertools.count(1)
        self.dm = self.room("!dm:loopback", ANN)

    def routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/{path:.*}", self._answer)

    def clock(self) -> float:
        return self.rooms.now / 1000 if self.date is None else self.date

    async def news(self) -> None:
        await self.rooms.changed.wait()

    # What people do.

    def room(self, room: str, *people: str) -> str:
        """A room that the bot and these people are in."""
        self.rooms.add(room, "m.room.create", {}, sender=people[0], state_key="")
        for user in (*people, ME):
            self.rooms.member(room, user, "join")
        return room

    def say(self, room: str, text: str, *, sender: str = ANN, **content: Any) -> Json:
        """Somebody writes; returns the event."""
        body = {"msgtype": "m.text", "body": text, **content}
        return self.rooms.add(room, "m.room.message", body, sender=sender)

    def edit(self, room: str, event_id: str, text: str, *, sender: str = ANN) -> Json:
        """Somebody replaces a message."""
        relates = {"rel_type": "m.replace", "event_id": event_id}
        new = {"msgtype": "m.text", "body": text}
        return self.say(
            room, f"* {text}", sender=sender, **{"m.new_content": new, "m.relates_to": relates}
        )

    def invite(self, room: str, by: str = ANN, *, direct: bool = False) -> None:
        """Somebody makes a room and asks the bot in."""
        self.rooms.add(room, "m.room.create", {}, sender=by, state_key="")
        self.rooms.member(room, by, "join")
        self.rooms.member(room, ME, "invite", by=by, is_direct=direct)

    def file(self, content: bytes, mime: str = "text/plain") -> str:
        """Somebody uploads; returns the mxc:// address."""
        uri = f"mxc://loopback/media{next(self._numbers)}"
        self.media[uri] = (mime, content)
        return uri

    # What can be seen.

    def mine(self, room: str) -> list[Json]:
        """The contents of the bot's messages as clients show them, edits applied."""
        contents: dict[str, Json] = {}
        for entry in self.rooms.of(room):
            event, content = entry.event, entry.event["content"]
            if event["type"] != "m.room.message" or event["sender"] != ME or not content:
                continue
            relates = content.get("m.relates_to", {})
            if relates.get("rel_type") == "m.replace":
                if relates["event_id"] in contents:
                    contents[relates["event_id"]] = content["m.new_content"]
            else:
                contents[event["event_id"]] = content
        return list(contents.values())

    def texts(self, room: str) -> list[str]:
        return [content["body"] for content in self.mine(room)]

    def acknowledged(self) -> int:
        """How many messages of people the bot said to have."""
        return sum(
            entry.event["type"] == "m.room.message" and entry.event["sender"] != ME
            for entry in self.rooms.stream
            if entry.at <= self.since
        )

    def called(self, what: str) -> list[tuple[str, str, Json]]:
        """Method, path and body of the calls in whose path this stands."""
        return [call for call in self.calls if what in call[1]]

    def failure(self, fault: MatrixFault) -> web.Response:
        if not fault.answer and fault.drop:
            return web.Response(status=fault.status)
        return web.json_response(fault.answer, status=fault.status)

    # The wire.

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        body: Json = {}
        data = await request.read()
        if request.content_type == "application/json" and data:
            body = json.loads(data)
        self.calls.append((request.method, path, body))

        async def perform() -> web.StreamResponse:
            try:
                answer = await self._served(request, path, body, data)
            except Refused as refused:
                return web.json_response(refused.answer, status=refused.status)
            finally:
                self.rooms.wake()
            return answer if isinstance(answer, web.Response) else web.json_response(answer)

        return await self.spoiled(request, self.fault(lambda it: it.fits(path)), perform)

    def wake(self) -> None:
        self.rooms.wake()

    async def _served(
        self, request: web.Request, path: str, body: Json, data: bytes
    ) -> Json | web.Response:
        if path == f"{_CLIENT}/login":
            return self._login(body)
        device = self._device(request)
        if path == f"{_CLIENT}/sync":
            return await self._sync(request)
        if "/download/" in path:
            return self._download(path)
        what, *rest = path.strip("/").split("/")[3:]
        if what == "rooms":
            return self._room(request, device, rest[0], rest[1:], body)
        return self._account(request, what, rest, data)

    def _account(self, request: web.Request, what: str, rest: list[str], data: bytes) -> Json:
        """What is about the account, not about a room."""
        if what == "account":
            return {"user_id": ME}
        if what == "logout":
            del self.sessions[request.headers["Authorization"].removeprefix("Bearer ")]
            return {}
        if what == "upload":
            return self._upload(request, data)
        if what == "join":
            return self._join(rest[0])
        if what == "user" and self.rooms.direct:
            return dict(self.rooms.direct)
        raise Refused(404, "M_NOT_FOUND")

    def _login(self, body: Json) -> Json:
        identifier = body.get("identifier", {})
        right = identifier.get("user") in {ME, "nano"} and body.get("password") == self.password
        if body.get("type") != "m.login.password" or not right:
            raise Refused(403, "M_FORBIDDEN", "Invalid username or password")
        device = body.get("device_id") or f"RANDOM{next(self._numbers)}"
        # A device has one token: signing in with it ends the one before.
        self.sessions = {token: name for token, name in self.sessions.items() if name != device}
        token = f"syt_{next(self._numbers)}"
        self.sessions[token] = device
        return {"user_id": ME, "access_token": token, "device_id": device}

    def _device(self, request: web.Request) -> str:
        if "access_token" in request.query:
            raise Refused(401, "M_UNKNOWN_TOKEN", "a token in an address")
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            raise Refused(401, "M_MISSING_TOKEN", "Missing access token")
        if token not in self.sessions:
            raise Refused(401, "M_UNKNOWN_TOKEN", "Invalid access token", soft_logout=False)
        return self.sessions[token]

    async def _sync(self, request: web.Request) -> Json:
        position = request.query.get("since", "")
        if position and (not position.startswith("s") or int(position[1:]) < self.forgotten):
            raise Refused(400, "M_UNKNOWN", "Invalid stream token")
        since = int(position[1:]) if position else 0
        self.since = max(self.since, since)
        self.rooms.wake()
        only = json.loads(request.query.get("filter", "{}")).get("room", {}).get("timeline", {})
        with suppress(TimeoutError):
            async with asyncio.timeout(int(request.query.get("timeout", "0")) / 1000):
                while position and not self._news(since, only):
                    await self.rooms.changed.wait()
        # What is told and how far it goes are of the same moment.
        return {"next_batch": f"s{self.rooms.position}", "rooms": self._news(since, only)}

    def _news(self, since: int, only: Json) -> Json:
        rooms: Json = {}
        for room in self.rooms.ids():
            new = [entry for entry in self.rooms.of(room) if entry.at > since]
            if not new:
                continue
            membership = self.rooms.membership(room, ME)
            if membership == "join":
                joined = self._joined(room, since, new, only)
                if joined:
                    rooms.setdefault("join", {})[room] = joined
            elif membership == "invite":
                invite = self.rooms.state(room, "m.room.member", ME)
                rooms.setdefault("invite", {})[room] = {"invite_state": {"events": [invite]}}
            elif self.rooms.membership(room, ME, since) == "join":
                rooms.setdefault("leave", {})[room] = {"timeline": {"events": []}}
        return rooms

    def _joined(self, room: str, since: int, new: list[Entry], only: Json) -> Json:
        if since and self.rooms.membership(room, ME, since) != "join":
            new = self.rooms.of(room)  # one that is new to the bot
        passing = [entry for entry in new if chosen(only)(entry)]
        limit = only.get("limit", 10)
        latest = passing[-limit:]
        if not latest:
            return {}
        timeline = {
            "events": [entry.event for entry in latest],
            "limited": len(passing) > limit,
            "prev_batch": f"s{latest[0].at - 1}",
        }
        return {"timeline": timeline, "state": {"events": []}}

    def _room(
        self, request: web.Request, device: str, room: str, rest: list[str], body: Json
    ) -> Json:
        what = rest[0]
        if what == "leave":
            self.rooms.member(room, ME, "leave")
            return {}
        if self.rooms.membership(room, ME) != "join":
            raise Refused(403, "M_FORBIDDEN", f"User {ME} not in room {room}")
        if what == "messages":
            return self._messages(request, room)
        if what == "joined_members":
            names = self.rooms.names
            people = self.rooms.joined(room)
            return {"joined": {user: {"display_name": names.get(user)} for user in people}}
        if what == "event":
            entry = self.rooms.event(rest[1])
            if entry is None or entry.room != room:
                raise Refused(404, "M_NOT_FOUND")
            return entry.event
        if what == "send":
            return self._send(device, room, rest[1], rest[2], body)
        return self._little(room, rest, body)

    def _little(self, room: str, rest: list[str], body: Json) -> Json:
        """Requests with small effects: typing, receipts, redactions, relations; state."""
        if rest[0] == "state":
            state = self.rooms.state(room, rest[1], "")
            return dict(state["content"]) if state else {}
        if rest[0] == "typing":
            self.typing.append(room)
            return {}
        if rest[0] == "receipt":
            self.receipts.setdefault(room, []).append(rest[2])
            return {}
        if rest[0] == "redact":
            if self.rooms.event(rest[1]) is None:
                raise Refused(404, "M_NOT_FOUND")
            self.rooms.redact(rest[1], ME)
            return {"event_id": "$redaction"}
        if rest[0] == "relations":
            chunk = [
                entry.event
                for entry in self.rooms.of(room)
                if entry.event["type"] == rest[3]
                and entry.event["content"].get("m.relates_to", {}).get("event_id") == rest[1]
            ]
            return {"chunk": chunk}
        raise Refused(404, "M_UNRECOGNIZED")

    def _messages(self, request: web.Request, room: str) -> Json:
        query = request.query
        start = int(query["from"][1:]) if "from" in query else self.rooms.position
        stop = int(query["to"][1:]) if "to" in query else 0
        passes = chosen(json.loads(query.get("filter", "{}")))
        all_ = [
            entry for entry in self.rooms.of(room) if stop < entry.at <= start and passes(entry)
        ]
        page = all_[::-1][: int(query.get("limit", "10"))]
        answer: Json = {"start": f"s{start}", "chunk": [entry.event for entry in page]}
        if len(page) < len(all_):
            answer["end"] = f"s{page[-1].at - 1}"
        return answer

    def _send(self, device: str, room: str, kind: str, txn: str, body: Json) -> Json:
        existing = self._sent.get((device, f"{room} {kind} {txn}"))
        if existing:
            return {"event_id": existing}
        if oversized({"content": body, "room_id": room, "sender": ME}):
            raise Refused(413, "M_TOO_LARGE", "event too large")
        event = self.rooms.add(room, kind, body, sender=ME)
        self._sent[device, f"{room} {kind} {txn}"] = event["event_id"]
        return {"event_id": event["event_id"]}

    def _join(self, room: str) -> Json:
        if self.rooms.membership(room, ME) not in {"invite", "join"}:
            raise Refused(403, "M_FORBIDDEN", "You are not invited to this room.")
        if self.rooms.membership(room, ME) == "invite":
            self.rooms.member(room, ME, "join")
        return {"room_id": room}

    def _upload(self, request: web.Request, data: bytes) -> Json:
        if len(data) > self.upload_limit:
            raise Refused(413, "M_TOO_LARGE")
        return {"content_uri": self.file(data, request.content_type)}

    def _download(self, path: str) -> web.Response:
        if self.old_media is path.startswith(_MEDIA):
            raise Refused(404, "M_UNRECOGNIZED")
        file = self.media.get("mxc://" + path.partition("/download/")[2])
        if file is None:
            raise Refused(404, "M_NOT_FOUND")
        return web.Response(body=file[1], content_type=file[0])
