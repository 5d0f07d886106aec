"""A Slack on loopback, Web API and Socket Mode, that behaves as Slack documents: its double.

    async with SlackServer() as slack:
        ... run a bot against slack.api_root with slack.bot_token and slack.app_token ...
        slack.say("C1", "hi")
        answer = await slack.reply_in("C1")

The double outlives the bot: an envelope that was not acknowledged is delivered again, on the next
connection or by `redeliver`, until `give_up`. An event goes to one of several connections. Not
modelled: membership lists, workspaces, OAuth, and which scopes a token has (see `fail`).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections import deque
from contextlib import suppress
from typing import Any

from aiohttp import WSMsgType, web

from tests.doubles.platform_server import PlatformServer
from tests.doubles.slack_methods import START, SlackMethods
from tests.doubles.slack_rules import (
    Call,
    Envelope,
    Params,
    Refusal,
    SlackFault,
    read_params,
)


class SlackServer(SlackMethods, PlatformServer[SlackFault]):
    """One workspace with one bot in it, and the faults between."""

    fault_type = SlackFault

    def __init__(self, port: int = 0, *, start: int = START) -> None:
        PlatformServer.__init__(self, port)
        SlackMethods.__init__(self, start)
        self.bot_token = "xoxb-1-loopback"
        self.app_token = "xapp-1-loopback"
        self.calls: list[Call] = []
        self.envelopes: dict[str, Envelope] = {}
        self.opened = 0
        """How many websockets were ever opened."""
        self.answers_pings = True
        self.says_hello = True
        self.deaf = 0
        """So many acknowledgements get lost on their way here."""
        self.limits: dict[str, int] = {}
        """How many calls of a method the workspace may make in a minute; the next ones get 429."""
        self.scopes = ""
        """What the header x-oauth-scopes says."""
        self._numbers = itertools.count(1)
        self._sockets: list[web.WebSocketResponse] = []
        self._turn = 0
        self._taken: dict[str, deque[float]] = {}

    def routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._answer)
        app.router.add_post("/upload/{id}", self._upload)
        app.router.add_get("/files/{id}", self._download)
        app.router.add_get("/link", self._websocket)

    def clock(self) -> float:
        return self.now

    @property
    def api_root(self) -> str:
        """What goes into a bot's api_root."""
        return f"{self.root_url}/api/"

    # What people do.

    def say(
        self, chat: str, text: str = "", *, user: str = "U1", quiet: bool = False, **fields: Any
    ) -> Params:
        """Somebody writes; returns the message. `quiet`: while nobody is there to be told."""
        message = self.store(chat, {"user": user, "text": text} | fields)
        if not quiet:
            kind = {"D": "im", "G": "group"}.get(chat[0], "channel")
            event = message | {"channel": chat, "channel_type": kind}
            if f"<@{self.me['user_id']}>" in text and not chat.startswith("D"):
                self.event(message | {"channel": chat, "type": "app_mention"})
            self.event(event)
        return message

    def edit(self, chat: str, message: Params, text: str) -> None:
        """A person edits a message of theirs."""
        before = dict(message)
        message |= {"text": text, "edited": {"user": message["user"], "ts": self.timestamp()}}
        self.changed(chat, message, before)

    def take_back(self, chat: str, message: Params) -> None:
        """A person deletes a message of theirs. Of a message with replies a tombstone is left."""
        if "reply_count" in message:
            before = dict(message)
            message |= {"subtype": "tombstone", "text": "This message was deleted."}
            self.changed(chat, message, before)
            return
        event = {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": chat}
        event |= {"deleted_ts": message["ts"], "previous_message": message}
        self.event(event | {"ts": self.timestamp()})

    def changed(self, chat: str, message: Params, before: Params) -> None:
        """Tell of a message that is not as before."""
        event = {"type": "message", "subtype": "message_changed", "hidden": True, "channel": chat}
        event |= {"message": dict(message), "previous_message": before, "ts": self.timestamp()}
        self.event(event)

    def press(self, chat: str, message: Params, label: str, user: str = "U1") -> Envelope:
        """A person presses the button of that label."""
        buttons = [
            b for block in message["blocks"] for b in block.get("elements", []) if "value" in b
        ]
        button = next(b for b in buttons if b.get("text", {}).get("text") == label)
        return self._press(chat, message, button, user)

    def judge(self, chat: str, message: Params, verdict: str, user: str = "U1") -> Envelope:
        """A person presses a thumb, "positive" or "negative"."""
        (element,) = next(
            block["elements"] for block in message["blocks"] if block["type"] == "context_actions"
        )
        button = {"type": "feedback_buttons", "action_id": element["action_id"]}
        return self._press(chat, message, button | element[f"{verdict}_button"], user)

    def _press(self, chat: str, message: Params, button: Params, user: str) -> Envelope:
        body: Params = {"type": "block_actions", "user": {"id": user, "username": "ann"}}
        body |= {"channel": {"id": chat}, "message": message, "trigger_id": "1.2.abc"}
        body["container"] = {
            "type": "message",
            "message_ts": message["ts"],
            "channel_id": chat,
        }
        body["actions"] = [button | {"action_ts": self.timestamp(), "block_id": "b"}]
        return self.push("interactive", body)

    def command(self, text: str, chat: str = "D1", name: str = "/nanobot") -> Envelope:
        """A person uses a slash command."""
        body = {"command": name, "text": text, "channel_id": chat, "user_id": "U1"}
        body |= {"user_name": "ann", "trigger_id": f"1.{next(self._numbers)}.abc"}
        return self.push("slash_commands", body | {"team_id": "T1"})

    def event(self, event: Params) -> Envelope:
        """Deliver an event."""
        body = {"type": "event_callback", "team_id": "T1", "event": event}
        return self.push("events_api", body | {"event_id": f"Ev{next(self._numbers)}"})

    def push(self, type_: str, payload: Any, *, without_payload: bool = False) -> Envelope:
        """Deliver an envelope of any kind."""
        envelope = Envelope(f"e{next(self._numbers)}", type_, payload)
        envelope.without_payload = without_payload
        self.envelopes[envelope.id] = envelope
        self._deliver(envelope)
        return envelope

    # What Slack does.

    def redeliver(self) -> None:
        """Deliver again what was not acknowledged."""
        for envelope in self.pending:
            self._deliver(envelope)

    def give_up(self) -> None:
        """Forget what was not acknowledged, as Slack does after three tries."""
        for envelope in self.pending:
            del self.envelopes[envelope.id]

    async def disconnect(self, reason: str = "refresh_requested", *, close: bool = True) -> None:
        """Ask the bot to connect anew; `close` this connection soon after, as Slack does."""
        socket = self._sockets[-1]
        await socket.send_str(json.dumps({"type": "disconnect", "reason": reason}))
        if close:
            before = self.opened
            await self.until(lambda: self.opened > before)
            await socket.close()

    async def send_raw(self, text: str) -> None:
        """Send a frame as it is."""
        await self._sockets[-1].send_str(text)

    def cut(self) -> None:
        """Break every websocket without a word."""
        for socket in self._sockets:
            transport = socket._req.transport if socket._req else None
            if transport is not None:
                transport.abort()

    # What a test looks at.

    @property
    def pending(self) -> list[Envelope]:
        """What was not acknowledged."""
        return [envelope for envelope in self.envelopes.values() if not envelope.acknowledged]

    @property
    def connections(self) -> int:
        """How many websockets are open."""
        return len(self._sockets)

    def calls_of(self, method: str) -> list[Call]:
        """The calls of one method so far."""
        return [call for call in self.calls if call.method == method]

    async def connected(self) -> None:
        """Wait for a websocket."""
        await self.until(lambda: bool(self._sockets))

    async def settled(self) -> None:
        """Wait until everything is acknowledged."""
        await self.until(lambda: not self.pending)

    async def reply_in(self, chat: str) -> Params:
        """The bot's last message in a chat, once there is one."""
        await self.until(lambda: bool(self.sent(chat)))
        return self.sent(chat)[-1]

    # The wire.

    def stored(self, chat: str, message: Params) -> None:
        """Slack tells a bot of its own messages too."""
        self.event(message | {"channel": chat, "channel_type": "channel"})
        self.wake()

    def _deliver(self, envelope: Envelope) -> None:
        if not self._sockets:
            return
        self._turn += 1
        envelope.deliveries += 1
        socket = self._sockets[self._turn % len(self._sockets)]
        asyncio.get_running_loop().create_task(_send(socket, envelope.frame()))

    async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=False, timeout=0.2)
        await socket.prepare(request)
        self.opened += 1
        if self.says_hello:
            await socket.send_str(json.dumps({"type": "hello", "num_connections": 1}))
            self._sockets.append(socket)
            self.redeliver()
        self.wake()
        try:
            async for frame in socket:
                if frame.type is WSMsgType.PING and self.answers_pings:
                    await socket.pong(frame.data)
                elif frame.type is WSMsgType.TEXT:
                    self._acknowledge(json.loads(frame.data))
        finally:
            if socket in self._sockets:
                self._sockets.remove(socket)
            self.redeliver()  # what this one took along unacknowledged
            self.wake()
        return socket

    def _acknowledge(self, frame: Params) -> None:
        envelope = self.envelopes.get(frame["envelope_id"])
        if self.deaf:
            self.deaf -= 1
        elif envelope:
            envelope.acknowledged = True
        self.wake()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        call = Call(method, await read_params(request, method))
        self.calls.append(call)

        async def perform() -> web.StreamResponse:
            wait = self._too_fast(call)
            if wait:
                call.status = 429
                return self.failure(SlackFault(error="ratelimited", status=429, retry_after=wait))
            body = self._result(request, call)
            call.status = 200
            return web.json_response(body, headers={"X-OAuth-Scopes": self.scopes})

        response = await self.spoiled(request, self.fault(lambda it: it.fits(method)), perform)
        self.wake()
        return response

    def failure(self, fault: SlackFault) -> web.Response:
        wait = fault.retry_after
        headers = {} if wait is None else {"Retry-After": f"{wait:g}"}
        status = fault.status or 200
        if fault.body is not None:
            return web.Response(
                status=status, body=fault.body, content_type=fault.content_type, headers=headers
            )
        body = {"ok": False, "error": fault.error}
        if fault.needed:
            body |= {"needed": fault.needed, "provided": "chat:write"}
        return web.json_response(body, status=status, headers=headers)

    def _too_fast(self, call: Call) -> int:
        """Seconds until this call may be made, 0 if it may be now."""
        limit = self.limits.get(call.method)
        if limit is None:
            return 0
        now, taken = time.monotonic(), self._taken.setdefault(call.method, deque())
        while taken and taken[0] <= now - 60:
            taken.popleft()
        if len(taken) >= limit:
            return math.ceil(taken[0] + 60 - now)
        taken.append(now)
        return 0

    def _result(self, request: web.Request, call: Call) -> Params:
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = self.app_token if call.method == "apps.connections.open" else self.bot_token
        try:
            _check_token(bearer, token)
            return {"ok": True} | self.perform(call.method, call.params)
        except Refusal as refusal:
            return {"ok": False, "error": refusal.error} | refusal.more

    async def _upload(self, request: web.Request) -> web.Response:
        file = self.files[request.match_info["id"]]
        file.content = await request.read()
        return web.Response(text=f"OK - {len(file.content)}")

    async def _download(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.bot_token}" or self.sign_in:
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.content, content_type=file.mime)


def _check_token(presented: str, token: str) -> None:
    if not presented:
        raise Refusal("not_authed")
    if presented != token:
        wrong_kind = presented[:5] != token[:5]
        raise Refusal("not_allowed_token_type" if wrong_kind else "invalid_auth")


async def _send(socket: web.WebSocketResponse, frame: str) -> None:
    with suppress(ConnectionError):  # the bot was killed a moment ago
        if not socket.closed:
            await socket.send_str(frame)
