"""A Discord on loopback that behaves as its documentation says: its double at the wire.

    async with DiscordServer() as discord:
        ... run a bot with discord.token, discord.api_root ...
        await discord.say(DM, "hi")
        answer = await discord.reply_in(DM)

It has one guild with a text channel and a thread, and one direct chat. It outlives the bot. As on
Discord (observed), the history has no nonces. Not modelled: permissions one by one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.doubles.discord_files import FileLinks
from tests.doubles.discord_gateway import MESSAGE_CONTENT, GatewayServer, Session
from tests.doubles.discord_rules import BUTTON, Refusal, check_message, nested, snowflake
from tests.doubles.discord_rules import IS_COMPONENTS_V2 as V2
from tests.doubles.discord_wire import (
    Call,
    ChannelLimits,
    DiscordFault,
    as_json,
    failure,
    read_call,
)

ME, APPLICATION, PERSON = "42", "43", "7"
GUILD, CHANNEL, THREAD, DM = "500", "501", "502", "601"
MY_ROLE, OTHER_ROLE = "510", "511"


class DiscordServer(GatewayServer):
    """One application's Discord: chats, a gateway, and the faults between."""

    fault_type = DiscordFault

    def __init__(self, token: str = "loopback.token") -> None:
        super().__init__(token)
        self.now = 1_800_000_000.0
        self.me = {"id": ME, "username": "nano", "bot": True, "discriminator": "0"}
        self.calls: list[Call] = []
        self.commands: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        """What interactions were answered with, and what followed."""
        self.followed: list[dict[str, Any]] = []
        self.reactions: dict[str, list[str]] = {}
        """The bot's own, by message; `reacted`: people's, by message and emoji."""
        self.reacted: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self.preferred_locale = "en-US"
        self.channels: dict[str, dict[str, Any]] = {
            CHANNEL: {"id": CHANNEL, "type": 0, "guild_id": GUILD, "name": "general"},
            THREAD: {"id": THREAD, "type": 11, "guild_id": GUILD, "parent_id": CHANNEL},
            DM: {"id": DM, "type": 1},
        }
        self.history: dict[str, list[dict[str, Any]]] = {}
        self.sessions_left = 1000
        self.history_has_nonces = False
        self.native = True
        self.without: set[str] = set()
        """Whether it knows components and their flag; `without`: not in these chats."""
        self.components_left: int | None = None
        """After so many messages of them it is replaced by one that does not know them."""
        self.limits = ChannelLimits()
        self._numbers = itertools.count(1)
        self._files = FileLinks()

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/gateway", self.accept)
        app.router.add_get("/cdn/{link}/{file}", self._files.serve)
        message = "/channels/{channel}/messages/{message}"
        for method, path, handler in (
            ("GET", "/users/@me", lambda _: self.me),
            ("GET", "/oauth2/applications/@me", self._get_application),
            ("GET", "/gateway/bot", self._get_gateway),
            ("GET", "/channels/{channel}", self._channel),
            ("GET", "/channels/{channel}/messages", self._get_messages),
            ("POST", "/channels/{channel}/messages", self._post_message),
            ("POST", "/channels/{channel}/typing", self._post_typing),
            ("GET", message, lambda call: self._shown(self._message(call))),
            ("PATCH", message, self._patch_message),
            ("DELETE", message, self._delete_message),
            ("GET", message + "/reactions/{emoji}", self._get_reaction),
            ("PUT", message + "/reactions/{emoji}/@me", self._put_reaction),
            ("DELETE", message + "/reactions/{emoji}/@me", self._delete_reaction),
            ("PUT", "/applications/{application}/commands", self._put_commands),
            ("POST", "/interactions/{number}/{token}/callback", self._answer_interaction),
            ("PATCH", "/webhooks/{application}/{token}/messages/@original", self._patch_answer),
            ("POST", "/webhooks/{application}/{token}", self._post_answer),
        ):
            app.router.add_route(
                method, "/api/v10" + path, self._routed(f"{method} {path}", handler)
            )

    def clock(self) -> float:
        return self.now

    async def __aexit__(self, *_: object) -> None:
        for connection in self.connections:
            await connection.socket.close(code=1001)
        await super().__aexit__()

    @property
    def api_root(self) -> str:
        """What goes into a bot's api_root."""
        return f"{self.root_url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """Where the gateway is."""
        return self.root_url.replace("http", "ws", 1) + "/gateway"

    # What people do.

    async def say(
        self, channel: str, text: str = "", *, sender: str = PERSON, **fields: Any
    ) -> dict[str, Any]:
        """Somebody writes in a chat; returns the message."""
        message = self.add_message(channel, text, sender=sender, **fields)
        await self.announce("MESSAGE_CREATE", message)
        return message

    def add_message(
        self, channel: str, text: str = "", *, sender: str = PERSON, **fields: Any
    ) -> dict[str, Any]:
        """Add a message to the history without telling the bot."""
        author = {"id": sender, "username": f"person{sender}", "global_name": f"Person {sender}"}
        message = {"author": author, "content": text} | fields
        return self._keep(channel, message)

    async def edit(self, message: dict[str, Any], text: str) -> None:
        """Somebody edits a message of theirs."""
        self.now += 1
        message |= {"content": text, "edited_timestamp": f"2027-01-15T08:00:{int(self.now) % 60}"}
        await self.announce("MESSAGE_UPDATE", message)

    async def take_back(self, message: dict[str, Any], *others: dict[str, Any]) -> None:
        """Somebody deletes a message of theirs, or a moderator several."""
        place = {"channel_id": message["channel_id"]}
        about = self.channels.get(message["channel_id"], {})
        place |= {key: about[key] for key in ("guild_id",) if key in about}
        numbers = [each["id"] for each in (message, *others)]
        if others:
            await self.dispatch("MESSAGE_DELETE_BULK", {"ids": numbers} | place)
        else:
            await self.dispatch("MESSAGE_DELETE", {"id": numbers[0]} | place)

    async def press(self, message: dict[str, Any], label: str) -> str:
        """Somebody presses the button of that label; returns the interaction's id."""
        buttons = (
            component for component in nested(message["components"]) if component["type"] == BUTTON
        )
        target = next(button for button in buttons if button["label"] == label)
        data = {"custom_id": target["custom_id"], "component_type": 2}
        return await self._interact(message["channel_id"], 3, data, message=message)

    async def use(self, channel: str, name: str, argument: str | None = None) -> str:
        """Somebody uses a slash command; returns the interaction's id."""
        options = [{"name": "argument", "type": 3, "value": argument}] if argument else []
        return await self._interact(channel, 2, {"id": "9", "name": name, "options": options})

    async def ask_about(self, message: dict[str, Any]) -> str:
        """Somebody chooses the bot's command in a message's menu; returns the interaction's id."""
        kept = ("id", "content", "author", "attachments", "components")
        target = {key: message[key] for key in kept if key in message}
        data = {"id": "10", "name": "Ask about this", "type": 3, "target_id": message["id"]}
        data |= {"resolved": {"messages": {message["id"]: target}}}
        return await self._interact(message["channel_id"], 2, data)

    async def _interact(self, channel: str, kind: int, data: Any, **fields: Any) -> str:
        number = self._number()
        who = {"id": PERSON, "username": "person7", "global_name": "Person 7"}
        about = self.channels[channel]
        interaction = {"id": number, "token": f"t{number}", "type": kind, "version": 1}
        interaction |= {"application_id": APPLICATION}
        interaction |= {"channel_id": channel, "channel": about, "data": data} | fields
        interaction |= (
            {"guild_id": about["guild_id"], "member": {"user": who, "nick": None}}
            if "guild_id" in about
            else {"user": who}
        )
        await self.dispatch("INTERACTION_CREATE", interaction)
        return number

    def attach(self, content: bytes, **fields: Any) -> dict[str, Any]:
        """An attachment for a message; its address is good until the message is asked for."""
        number = self._number()
        self._files.keep(number, content)
        return {"id": number, "filename": "file", "size": len(content)} | fields

    async def announce(self, event: str, message: dict[str, Any]) -> None:
        """Tell the bot of a message, as far as its intents go."""
        payload = dict(self._shown(message), mentions=message.get("mentions", []))
        about = self.channels.get(message["channel_id"], {})
        if "guild_id" in about:
            payload |= {"guild_id": about["guild_id"], "member": {"nick": None}}
        if message.get("nonce") and message["author"]["id"] == ME:
            payload["nonce"] = message["nonce"]
        for session in list(self.sessions.values()):
            mine = f"<@{ME}>" in message["content"] or message["author"]["id"] == ME
            withheld = "guild_id" in payload and not session.intents & MESSAGE_CONTENT and not mine
            await self.deliver(session, event, payload | ({"content": ""} if withheld else {}))

    # What goes wrong.

    def forget_nonces(self) -> None:
        """Some minutes have passed: a message with a nonce of before is a new one."""
        for messages in self.history.values():
            for message in messages:
                message.pop("nonce", None)

    # What the test asks.

    def calls_of(self, route: str) -> list[Call]:
        """The requests of one route."""
        return [call for call in self.calls if call.route == route]

    def mine(self, channel: str) -> list[dict[str, Any]]:
        """The bot's messages in a chat."""
        return [m for m in self.history.get(channel, []) if m["author"]["id"] == ME]

    async def reply_in(self, channel: str) -> dict[str, Any]:
        """The bot's latest message in a chat, once there is one."""
        await self.until(lambda: bool(self.mine(channel)))
        return self.mine(channel)[-1]

    # Discord's side.

    def ready(self, session: Session) -> list[tuple[str, dict[str, Any]]]:
        """READY, and the guild a moment later."""
        roles = [
            {"id": MY_ROLE, "name": "nano", "managed": True, "tags": {"bot_id": ME}},
            {"id": OTHER_ROLE, "name": "people"},
        ]
        inside = [channel for channel in self.channels.values() if channel.get("guild_id") == GUILD]
        channels = [{k: v for k, v in channel.items() if k != "guild_id"} for channel in inside]
        ready = {
            "v": 10,
            "user": self.me,
            "guilds": [{"id": GUILD, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.gateway_url,
            "application": {"id": APPLICATION, "flags": self.flags},
            "private_channels": [],
        }
        guild = {
            "id": GUILD,
            "name": "Test",
            "preferred_locale": self.preferred_locale,
            "roles": roles,
            "channels": [channel for channel in channels if channel["type"] == 0],
            "threads": [channel for channel in channels if channel["type"] == 11],
        }
        return [("READY", ready), ("GUILD_CREATE", guild)]

    def _number(self) -> str:
        return snowflake(self.clock(), next(self._numbers))

    def _keep(self, channel: str, message: dict[str, Any]) -> dict[str, Any]:
        number = self._number()
        whole = {"id": number, "channel_id": channel, "type": 0, "edited_timestamp": None}
        whole |= {"timestamp": "2027-01-15T08:00:00+00:00", "attachments": [], "mentions": []}
        whole |= message
        self.history.setdefault(channel, []).append(whole)
        return whole

    def _shown(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message as Discord gives it out: with fresh addresses, without the nonce."""
        shown = {k: v for k, v in message.items() if k != "nonce" or self.history_has_nonces}
        counts = {emoji: len(users) for emoji, users in self.reacted.get(message["id"], {}).items()}
        if counts:
            shown["reactions"] = [
                {"count": count, "me": False, "emoji": {"id": None, "name": emoji}}
                for emoji, count in counts.items()
            ]
        shown["attachments"] = self._files.fresh(self.root_url, message["attachments"])
        return shown

    def _routed(self, route: str, handler: Callable[[Call], Any]) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            call = await read_call(route, request)
            self.calls.append(call)
            if request.headers.get("Authorization") != f"Bot {self.token}":
                return as_json(401, {"message": "401: Unauthorized", "code": 0})

            async def perform() -> web.StreamResponse:
                if complaint := self.limits.complaint(call):
                    return complaint
                try:
                    answer = handler(call)
                    if asyncio.iscoroutine(answer):
                        answer = await answer
                except Refusal as refusal:
                    return as_json(refusal.status, {"message": str(refusal), "code": refusal.code})
                finally:
                    self.wake()
                left = self.limits.headers(call)
                if answer is None:
                    return web.Response(status=204, headers=left)
                return as_json(200, answer, **left)

            return await self.spoiled(request, self.fault(lambda it: it.fits(route)), perform)

        return handle

    def failure(self, fault: DiscordFault) -> web.Response:
        return failure(fault)

    def _get_application(self, call: Call) -> Any:
        return {"id": APPLICATION, "name": "nano", "flags": self.flags}

    def _get_gateway(self, call: Call) -> Any:
        limit = {"total": 1000, "remaining": self.sessions_left, "reset_after": 5_000}
        return {"url": self.gateway_url, "shards": 1, "session_start_limit": limit}

    def _native(self, call: Call) -> bool:
        return self.native and call.parts["channel"] not in self.without

    def _ages(self, call: Call) -> None:
        """One of the messages of components that it takes is used up."""
        if self.components_left is not None and call.json.get("flags", 0) & V2:
            self.native = self.components_left > 0
            self.components_left -= 1

    def _channel(self, call: Call) -> dict[str, Any]:
        if call.parts["channel"] not in self.channels:
            raise Refusal(404, 10003, "Unknown Channel")
        return self.channels[call.parts["channel"]]

    def _get_messages(self, call: Call) -> Any:
        self._channel(call)
        limit = int(call.parts.get("limit", "50"))
        if not 1 <= limit <= 100:
            raise Refusal(400, 50035, "Invalid Form Body")
        history = self.history.get(call.parts["channel"], [])
        if "after" in call.parts:
            page = [m for m in history if int(m["id"]) > int(call.parts["after"])][:limit]
        elif "before" in call.parts:
            page = [m for m in history if int(m["id"]) < int(call.parts["before"])][-limit:]
        else:
            page = history[-limit:]
        return [self._shown(message) for message in reversed(page)]

    def _message(self, call: Call) -> dict[str, Any]:
        self._channel(call)
        for message in self.history.get(call.parts["channel"], []):
            if message["id"] == call.parts["message"]:
                return message
        raise Refusal(404, 10008, "Unknown Message")

    async def _post_message(self, call: Call) -> Any:
        self._channel(call)
        self._ages(call)
        check_message(call.json, len(call.files), native=self._native(call))
        nonce = call.json.get("nonce")
        mine = self.mine(call.parts["channel"])
        same = [m for m in mine if nonce and m.get("nonce") == nonce]
        if same and call.json.get("enforce_nonce"):
            return same[0] | {"nonce": nonce}
        fields = {
            key: call.json[key]
            for key in ("content", "components", "nonce", "flags")
            if key in call.json
        }
        fields["content"] = fields.get("content") or ""
        fields["author"] = self.me
        described = {file["filename"]: file for file in call.json.get("attachments", [])}
        fields["attachments"] = [
            described.get(name, {}) | self.attach(content, filename=name)
            for name, content in call.files
        ]
        if "message_reference" in call.json:
            fields |= {"message_reference": call.json["message_reference"], "type": 19}
        message = self._keep(call.parts["channel"], fields)
        await self.announce("MESSAGE_CREATE", message)
        return message

    def _patch_message(self, call: Call) -> Any:
        message = self._message(call)
        if message["author"]["id"] != ME:
            raise Refusal(403, 50005, "Cannot edit a message authored by another user")
        flags = message.get("flags", 0)
        files = len(message["attachments"])
        check_message(message | call.json, files, native=self._native(call), before=flags)
        message |= {k: call.json[k] for k in ("content", "components") if k in call.json}
        message["content"] = message["content"] or ""
        message["flags"] = call.json.get("flags", flags) | (flags & V2)
        return message

    def _delete_message(self, call: Call) -> Any:
        message = self._message(call)
        if message["author"]["id"] != ME:
            raise Refusal(403, 50013, "Missing Permissions")
        self.history[call.parts["channel"]].remove(message)

    def _post_typing(self, call: Call) -> Any:
        self._channel(call)

    def _get_reaction(self, call: Call) -> Any:
        reacted = self.reacted.get(self._message(call)["id"], {})
        return reacted.get(call.parts["emoji"], [])[: int(call.parts.get("limit", "25"))]

    def _put_reaction(self, call: Call) -> Any:
        self.reactions.setdefault(self._message(call)["id"], []).append(call.parts["emoji"])

    def _delete_reaction(self, call: Call) -> Any:
        reactions = self.reactions.get(self._message(call)["id"], [])
        if call.parts["emoji"] not in reactions:
            raise Refusal(404, 10014, "Unknown Emoji")
        reactions.remove(call.parts["emoji"])

    def _put_commands(self, call: Call) -> Any:
        if call.parts["application"] != APPLICATION:
            raise Refusal(403, 20012, "You are not authorized to perform this action")
        self.commands = call.json
        return call.json

    def _answer_interaction(self, call: Call) -> Any:
        if call.parts["number"] in self.answers:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        self.answers[call.parts["number"]] = call.json

    def _post_answer(self, call: Call) -> Any:
        """A message after the first answer."""
        if call.parts["token"].removeprefix("t") not in self.answers:
            raise Refusal(404, 10015, "Unknown Webhook")
        check_message(call.json | {"flags": call.json["flags"] & ~(1 << 6)}, 0)
        self.followed.append(call.json)
        return {"id": self._number(), **call.json}

    def _patch_answer(self, call: Call) -> Any:
        """The first answer to an interaction, by its token (here t and its number)."""
        answer = self.answers.get(call.parts["token"].removeprefix("t"))
        if call.parts["application"] != APPLICATION or answer is None:
            raise Refusal(404, 10015, "Unknown Webhook")
        if "data" not in answer:
            raise Refusal(404, 10008, "Unknown Message")
        check_message(call.json, 0, native=self.native)
        flags = answer["data"]["flags"] | call.json.get("flags", 0)
        answer["data"] |= call.json | {"flags": flags}
        return {"id": self._number(), **answer["data"]}
