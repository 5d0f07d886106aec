"""A Mattermost on loopback, REST API v4 and websocket, that behaves as documented: its double.

    async with MattermostServer() as server:
        ... run a bot with server.settings, and server.deliveries.url at its door ...
        await server.say(server.dm, "hi")

Not modelled: teams, permissions beyond membership, and clusters.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from tests.doubles.platform_server import Fault, PlatformServer
from tests.doubles.webhooks import Deliveries, Delivery

Json = dict[str, Any]
START = 1_800_000_000.0
_LIMIT = 16_383
_PENDING_SECONDS = 30


def number(name: str) -> str:
    """An id that tells what it is of."""
    return f"{name:x<26}"[:26].lower()


ANN, EVE, ME = number("ann"), number("eve"), number("bot")


@dataclass(kw_only=True)
class MattermostFault(Fault):
    """What goes wrong with the calls of a path, `POST /posts`. `id`: Mattermost's name for it."""

    id: str = ""

    @property
    def refuses(self) -> bool:
        return bool(self.status)


class Refusal(Exception):
    """The API says no."""

    def __init__(self, status: int, id: str) -> None:
        super().__init__(id)
        self.status = status
        self.id = id


class MattermostServer(PlatformServer[MattermostFault]):
    """One server with a bot in a direct channel and in a public one."""

    fault_type = MattermostFault

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.token = "t0ken" + "a" * 21
        self.now = START
        self.dm, self.town = number("dm"), number("town")
        self.channels: dict[str, Json] = {
            self.dm: {"id": self.dm, "type": "D", "name": f"{ANN}__{ME}"},
            self.town: {"id": self.town, "type": "O", "name": "town-square"},
        }
        self.posts: dict[str, Json] = {}
        self.files: dict[str, Json] = {}
        self.reactions: list[Json] = []
        self.typed: list[Json] = []
        self.calls: list[str] = []
        self.deliveries = Deliveries()
        self.limit = 0
        """Requests that are answered before 429 begins; 0: all."""
        self._pending: dict[str, tuple[str, float]] = {}
        self._ids = itertools.count(1)
        self._sockets: list[web.WebSocketResponse] = []

    @property
    def settings(self) -> Json:
        return {"url": self.root_url, "token": self.token}

    def clock(self) -> float:
        return self.now

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/api/v4/websocket", self._websocket)
        app.router.add_route("*", "/api/v4/{path:.+}", self._answer)

    # What people do.

    async def say(
        self, channel: str, text: str, *, user: str = ANN, quiet: bool = False, **fields: Any
    ) -> Json:
        """Somebody posts. `quiet`: while nobody listens."""
        post = self.store(channel, user, message=text, **fields)
        if not quiet:
            kind = self.channels[channel]["type"]
            data = {"channel_type": kind, "post": json.dumps(post), "sender_name": f"@{user[:3]}"}
            await self.event("posted", data, channel)
        return post

    async def edit(self, post: Json, text: str, *, quiet: bool = False) -> None:
        self.now += 1
        moment = int(self.now * 1000)
        post |= {"message": text, "edit_at": moment, "update_at": moment}
        if not quiet:
            await self.event("post_edited", {"post": json.dumps(post)}, post["channel_id"])

    async def take_back(self, post: Json, *, quiet: bool = False) -> None:
        """Somebody deletes a post. The event has it as it was before."""
        self.now += 1
        before = json.dumps(post)
        post |= {"delete_at": int(self.now * 1000), "update_at": int(self.now * 1000)}
        if not quiet:
            await self.event("post_deleted", {"post": before}, post["channel_id"])

    async def react(self, post_id: str, emoji: str, user: str = ANN) -> None:
        self.now += 1
        about: Json = {"user_id": user, "post_id": post_id, "emoji_name": emoji}
        about |= {"create_at": int(self.now * 1000)}
        self.reactions.append(about)
        channel = self.posts[post_id]["channel_id"]
        await self.event("reaction_added", {"reaction": json.dumps(about)}, channel)

    async def press(self, post: Json, name: str, user: str = ANN) -> Delivery:
        """Somebody presses a button: the server asks the integration's address."""
        actions = post["props"]["attachments"][0]["actions"]
        integration = next(a for a in actions if a["name"] == name)["integration"]
        path = integration["url"].partition("/channels/")[2].partition("/")[2]
        body = {"user_id": user, "user_name": user[:3], "channel_id": post["channel_id"]}
        body |= {"post_id": post["id"], "trigger_id": f"t{next(self._ids)}", "type": "button"}
        body |= {"context": integration["context"]}
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        return await self.deliveries.deliver(data, headers, f"/{path}")

    def store(self, channel: str, user: str, **fields: Any) -> Json:
        self.now += 1
        moment = int(self.now * 1000)
        post: Json = {"id": number(f"p{next(self._ids)}"), "user_id": user, "channel_id": channel}
        post |= {"root_id": "", "type": "", "props": {}, "edit_at": 0, "delete_at": 0}
        post |= {"create_at": moment, "update_at": moment, "message": "", **fields}
        self.posts[post["id"]] = post
        self.channels[channel]["last_post_at"] = moment
        return post

    async def event(self, kind: str, data: Json, channel: str = "") -> None:
        told = {"event": kind, "data": data, "broadcast": {"channel_id": channel}, "seq": 2}
        await self.raw(json.dumps(told))

    async def raw(self, frame: str) -> None:
        for socket in list(self._sockets):
            with suppress(ConnectionError):  # whose process was killed
                if not socket.closed:
                    await socket.send_str(frame)

    async def hang_up(self) -> None:
        for socket in list(self._sockets):
            await socket.close()

    @property
    def connections(self) -> int:
        return sum(not socket.closed for socket in self._sockets)

    def mine(self, channel: str) -> list[Json]:
        """The bot's posts there."""
        every = self.posts.values()
        return [
            p
            for p in every
            if p["user_id"] == ME and p["channel_id"] == channel and not p["delete_at"]
        ]

    def texts(self, channel: str) -> list[str]:
        return [post["message"] for post in self.mine(channel)]

    # The websocket.

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        first = await socket.receive()
        shown = json.loads(first.data) if first.type is WSMsgType.TEXT else {}
        if shown.get("data", {}).get("token") != self.token:
            await socket.close()
            return socket
        self._sockets.append(socket)
        await socket.send_str(json.dumps({"status": "OK", "seq_reply": shown["seq"]}))
        await socket.send_str(json.dumps({"event": "hello", "data": {}, "seq": 0}))
        self.wake()
        async for _ in socket:
            pass
        self._sockets.remove(socket)
        self.wake()
        return socket

    # The REST API.

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        parts = request.match_info["path"].split("/")
        what = f"{request.method} /{parts[0]}"
        self.calls.append(f"{request.method} /{request.match_info['path']}")

        async def perform() -> web.StreamResponse:
            if self.limit and len(self.calls) > self.limit:
                headers = {"X-RateLimit-Reset": "2"}
                return web.Response(status=429, text="limit exceeded\n", headers=headers)
            if request.headers.get("Authorization") != f"Bearer {self.token}":
                return _refused(401, "api.context.session_expired.app_error")
            try:
                result = await self._result(request, parts)
            except Refusal as refusal:
                return _refused(refusal.status, refusal.id)
            if isinstance(result, bytes):
                return web.Response(body=result)
            return web.json_response(result, status=201 if request.method == "POST" else 200)

        response = await self.spoiled(request, self.fault(lambda it: it.fits(what)), perform)
        self.wake()
        return response

    async def _result(self, request: web.Request, parts: list[str]) -> Any:  # noqa: PLR0911 - one each
        match request.method, parts:
            case "GET", ["users", "me"]:
                return {"id": ME, "username": "nanobot", "is_bot": True}
            case "GET", ["users", who, "channels"] if who == ME:
                return list(self.channels.values())
            case "POST", ["users", "me", "typing"]:
                self.typed.append(await request.json())
                return {"status": "OK"}
            case "GET", ["channels", channel]:
                return self._channel(channel)
            case "GET", ["channels", channel, "posts"]:
                self._channel(channel)
                since = int(request.query.get("since", "0"))
                return self._listed(channel_id=channel, since=since)
            case "GET", ["posts", root, "thread"]:
                thread = self._listed(root_id=root)["posts"]
                return {"posts": thread | {root: self._post(root)}}
            case _:
                return await self._written(request, parts)

    async def _written(self, request: web.Request, parts: list[str]) -> Any:  # noqa: PLR0911 - see above
        match request.method, parts:
            case "POST", ["posts"]:
                return self._create(await request.json())
            case "PUT", ["posts", post_id, "patch"]:
                return self._patch(self._own(post_id), await request.json())
            case "DELETE", ["posts", post_id]:
                self._own(post_id)["delete_at"] = int(self.now * 1000)
                return {"status": "OK"}
            case "POST", ["files"]:
                return await self._upload(request)
            case "GET", ["files", file_id] if file_id in self.files:
                return self.files[file_id]["content"]
            case "POST", ["reactions"]:
                about = await request.json()
                self._post(about["post_id"])
                self.reactions.append(about)
                return about
            case "GET", ["posts", post_id, "reactions"]:
                return [each for each in self.reactions if each["post_id"] == post_id] or None
            case "DELETE", ["users", who, "posts", post_id, "reactions", emoji]:
                gone = {"user_id": who, "post_id": post_id, "emoji_name": emoji}
                kept = [r for r in self.reactions if not gone.items() <= r.items()]
                if len(kept) == len(self.reactions):
                    raise Refusal(404, "app.reaction.get.app_error")
                self.reactions = kept
                return {"status": "OK"}
            case _:
                raise Refusal(404, "api.context.404.app_error")

    def _create(self, post: Json) -> Json:
        pending = post.pop("pending_post_id", "")
        before, at = self._pending.get(pending, ("", 0.0))
        if before and self.now - at < _PENDING_SECONDS:
            return self.posts[before]
        channel = self._channel(post["channel_id"])
        if channel.get("delete_at"):
            raise Refusal(400, "api.post.create_post.can_not_post_to_deleted.error")
        root = post.get("root_id")
        if root and (root not in self.posts or self.posts[root]["delete_at"]):
            raise Refusal(400, "api.post.create_post.root_id.app_error")
        self._check(post)
        stored = self.store(post.pop("channel_id"), ME, **post)
        infos = [self.files[each]["info"] for each in post.get("file_ids") or []]
        stored["metadata"] = {"files": infos}
        self._pending[pending] = (stored["id"], self.now)
        return stored

    def _check(self, post: Json) -> None:
        if len(post.get("message", "")) > _LIMIT:
            raise Refusal(400, "model.post.is_valid.message_length.app_error")
        if not post.get("message") and not post.get("file_ids"):
            raise Refusal(400, "api.post.create_post.empty.app_error")
        if len(post.get("file_ids") or []) > 10:
            raise Refusal(400, "model.post.is_valid.file_ids.app_error")
        for attachment in post.get("props", {}).get("attachments", ()):
            for action in attachment.get("actions", ()):
                if not action["id"].isalnum() or not action["name"]:
                    raise Refusal(400, "model.post.is_valid.actions.app_error")

    def _patch(self, post: Json, patch: Json) -> Json:
        self._check({"message": patch["message"], "props": patch["props"], "file_ids": ["x"]})
        self.now += 1
        moment = int(self.now * 1000)
        post |= patch | {"edit_at": moment, "update_at": moment}
        return post

    async def _upload(self, request: web.Request) -> Json:
        form = await request.post()
        file = form["files"]
        assert isinstance(file, web.FileField)
        self._channel(str(form["channel_id"]))
        content, file_id = file.file.read(), number(f"f{next(self._ids)}")
        info = {"id": file_id, "name": file.filename, "size": len(content)}
        info["mime_type"] = file.content_type
        self.files[file_id] = {"info": info, "content": content}
        return {"file_infos": [info], "client_ids": []}

    def file(self, name: str, content: bytes, mime: str) -> Json:
        """A file of a person's, for the metadata of a post."""
        file_id = number(f"f{next(self._ids)}")
        info = {"id": file_id, "name": name, "size": len(content), "mime_type": mime}
        self.files[file_id] = {"info": info, "content": content}
        return info

    def _listed(self, since: int = 0, **fields: str) -> Json:
        found = {
            number: post
            for number, post in self.posts.items()
            if post["update_at"] > since and all(post[key] == fields[key] for key in fields)
        }
        return {"order": list(found), "posts": found}

    def _channel(self, channel: str) -> Json:
        if channel not in self.channels:
            raise Refusal(404, "app.channel.get.existing.app_error")
        return self.channels[channel]

    def _post(self, post_id: str) -> Json:
        if post_id not in self.posts or self.posts[post_id]["delete_at"]:
            raise Refusal(404, "app.post.get.app_error")
        return self.posts[post_id]

    def _own(self, post_id: str) -> Json:
        post = self._post(post_id)
        if post["user_id"] != ME:
            raise Refusal(403, "api.context.permissions.app_error")
        return post

    def failure(self, fault: MattermostFault) -> web.Response:
        if fault.id:
            return _refused(fault.status, fault.id)
        return web.Response(status=fault.status, body=b"<html>")

    async def settled(self) -> None:
        await asyncio.sleep(0)


def _refused(status: int, code: str) -> web.Response:
    body = {"id": code, "message": code.replace(".", " "), "status_code": status}
    return web.json_response(body, status=status)
