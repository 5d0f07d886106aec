"""A Bot API server on loopback that behaves as Telegram documents: its double at the wire.

    async with TelegramServer() as telegram:
        ... run a bot against telegram.root_url with telegram.token ...
        telegram.say(chat=1, text="hi")
        answer = await telegram.reply_in(1)

The double lives in the test's process and outlives the bot: what a bot did not acknowledge is
delivered to the next one. What is not documented (https://core.telegram.org/bots/api) but known
is marked "observed". Not modelled: allowed_updates (recorded only), parse_mode (refused).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aiohttp import web

from tests.doubles.platform_server import PlatformServer
from tests.doubles.telegram_ephemeral import Ephemeral, EphemeralMessage
from tests.doubles.telegram_extras import Extras
from tests.doubles.telegram_native import Native
from tests.doubles.telegram_rules import (
    Call,
    Message,
    Params,
    Refusal,
    TelegramFault,
    Upload,
    check_text,
    entities_of,
    read_params,
    user,
)


class TelegramServer(PlatformServer[TelegramFault]):
    """One bot's Telegram: its chats, its queue of updates, and the faults between."""

    fault_type = TelegramFault

    def __init__(
        self, token: str = "424242:loopback", username: str = "nano_bot", port: int = 0
    ) -> None:
        super().__init__(port)
        self.token = token
        self.me = {"id": 424242, "is_bot": True, "first_name": "Nano", "username": username}
        self.languages: dict[int, str] = {}
        """The `language_code` of a person's app; "" for everybody else, as if it were not sent."""
        self.calls: list[Call] = []
        self.webhook = False
        self.acknowledged: dict[int, int] = {}
        """By update_id: the offset of the poll that acknowledged it."""
        self.delivered: dict[int, int] = {}
        """By update_id: how many times a poll was answered with it."""
        self.extras = Extras(self._post, self._check_chat)
        """Files, reactions, the menu and topics."""
        self.native = Native(self._post, self._check_chat, self.push)
        """Rich messages and drafts."""
        self.ephemeral = Ephemeral(self.native, self._check_chat)
        """What one person of a group sees alone."""
        self._updates: dict[int, dict[str, Any]] = {}
        self._update_ids = itertools.count(700_000_001)
        self._message_ids: dict[int, Iterator[int]] = {}
        self._first_message = 101
        self._messages: dict[int, list[Message]] = {}
        self._read: dict[int, int] = {}
        self._groups: set[int] = set()
        self._blocked: set[int] = set()
        self._poll = 0

    def routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/bot{token}/{method}", self._answer)
        app.router.add_get("/file/bot{token}/{path:.*}", self._download)

    # What people do.

    def say(
        self, chat: int, text: str = "", *, sender: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Somebody writes in a chat (negative: a supergroup); returns the update."""
        message = self._message(chat, sender, **fields)
        if text:
            message["text"] = text
            message.setdefault("entities", entities_of(text))
        self._keep(Message(chat, message["message_id"], text, from_bot=False))
        return self.push(message=message)

    def album(self, chat: int, files: Sequence[str], caption: str = "") -> list[dict[str, Any]]:
        """Somebody sends photos together, the first with a caption; returns the updates."""
        together: dict[str, Any] = {"media_group_id": str(time.monotonic_ns())}
        messages = [
            together | {"photo": [{"file_id": file, "file_unique_id": file, "width": 90}]}
            for file in files
        ]
        if caption:
            messages[0] |= {"caption": caption, "caption_entities": entities_of(caption)}
        return [self.say(chat, **fields) for fields in messages]

    def edit(self, chat: int, message_id: int, text: str, **fields: Any) -> dict[str, Any]:
        """A person edits a message of theirs; returns the update."""
        message = self._message(chat, None, **fields)
        message |= {"message_id": message_id, "edit_date": message["date"] + 1, "text": text}
        return self.push(edited_message=message)

    def press(
        self, message: Message, button: str, *, old: bool = False, sender: int | None = None
    ) -> dict[str, Any]:
        """A person presses the button of that label below a bot's message; returns the update.

        Of an `old` message Telegram shows only the chat and the number (InaccessibleMessage).
        """
        markup = message.params["reply_markup"]
        data = [b["callback_data"] for row in markup["inline_keyboard"] for b in row]
        labels = [b["text"] for row in markup["inline_keyboard"] for b in row]
        original = self._message(message.chat, None) | {"from": self.me, "reply_markup": markup}
        original |= {"message_id": message.message_id, "text": message.text}
        if isinstance(message, EphemeralMessage):
            original |= {"message_id": 0, "ephemeral_message_id": message.message_id}
        if old:
            original = {key: original[key] for key in ("chat", "message_id")} | {"date": 0}
        presser = sender or abs(message.chat)
        query = {"id": self.ephemeral.pressed(presser), "chat_instance": "1", "message": original}
        query |= {"from": self._person(presser), "data": data[labels.index(button)]}
        return self.push(callback_query=query)

    def push(self, **fields: Any) -> dict[str, Any]:
        """Queue an update of any shape; an update_id is given unless there is one."""
        number = fields.get("update_id", next(self._update_ids))
        update = {"update_id": number, **fields}
        self._updates[number] = update
        self.wake()
        return update

    def begin_at(self, number: int) -> None:
        """Number updates and messages from there on, as after a life of which nothing is known."""
        self._update_ids = itertools.count(700_000_001 + number)
        self._first_message = number

    def know(self, chat: int) -> None:
        """The chat was opened in an earlier life: the bot may write there."""
        self._message_ids.setdefault(chat, itertools.count(self._first_message))

    def withdraw(self, update: dict[str, Any]) -> None:
        """Take an update back, as if it were still on its way."""
        del self._updates[update["update_id"]]

    def block(self, chat: int) -> None:
        """The person blocks the bot: 403 from now on."""
        self._blocked.add(chat)

    def unblock(self, chat: int) -> None:
        """The person lets the bot in again."""
        self._blocked.discard(chat)

    def _message(self, chat: int, sender: int | None, **fields: Any) -> dict[str, Any]:
        self._groups |= {chat} if chat < 0 else set()
        about = (
            {"id": chat, "type": "supergroup", "title": f"Group {-chat}"}
            if chat < 0
            else {"id": chat, "type": "private", "first_name": f"Person {chat}"}
        )
        number = self._next_message_id(chat)
        message = {"message_id": number, "date": int(time.time()), "chat": about}
        return message | {"from": self._person(sender or abs(chat))} | fields

    def _person(self, number: int) -> dict[str, Any]:
        language = self.languages.get(number)
        return user(number) | ({"language_code": language} if language else {})

    def _keep(self, message: Message) -> None:
        self._messages.setdefault(message.chat, []).append(message)

    def _next_message_id(self, chat: int) -> int:
        return next(self._message_ids.setdefault(chat, itertools.count(self._first_message)))

    # What goes wrong.

    def fail(
        self, what: str | None = None, *, seconds: float | None = None, **how: Any
    ) -> TelegramFault:
        """Let calls of a method or all go wrong, for `seconds`; see TelegramFault."""
        until = None if seconds is None else time.monotonic() + seconds
        return super().fail(what, until=until, **how)

    def failure(self, fault: TelegramFault) -> web.Response:
        if fault.body is not None:
            return _json(fault.body, fault.status)
        return _refused(fault.refusal())

    # What can be seen.

    def messages(self, chat: int, *, from_bot: bool = True) -> list[Message]:
        """The messages of a chat in order, by default the bot's."""
        return [m for m in self._messages.get(chat, []) if m.from_bot == from_bot]

    async def reply_in(self, chat: int, timeout: float = 45.0) -> Message:
        """The next message of the bot in a chat that was not returned before."""
        count = self._read.get(chat, 0)
        await self.until(lambda: len(self.messages(chat)) > count, timeout)
        self._read[chat] = count + 1
        return self.messages(chat)[count]

    async def called(self, method: str, times: int = 1, timeout: float = 45.0) -> list[Call]:
        """The calls of a method, once there are so many."""
        await self.until(lambda: len(self.calls_of(method)) >= times, timeout)
        return self.calls_of(method)

    def calls_of(self, method: str) -> list[Call]:
        """The calls of a method so far; a poll is one from its beginning."""
        return [call for call in self.calls if call.method == method]

    @property
    def pending(self) -> list[int]:
        """The ids of updates that no bot acknowledged yet."""
        return sorted(self._updates)

    # The wire.

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        call = Call(method, await read_params(request))
        self.calls.append(call)
        self.wake()
        fault = self._fault(call)

        async def perform() -> web.StreamResponse:
            refusing = self.native.without.get(_chat_of(call))
            if refusing and call.method in self.native.methods:
                return _json(refusing[1], refusing[0])
            try:
                result = await self._method(request.match_info["token"], call)
            except Refusal as refusal:
                call.description = refusal.description
                return _refused(refusal)
            return _json(json.dumps({"ok": True, "result": result}).encode())

        response = await self.spoiled(request, fault, perform)
        cut_off = fault is not None and fault.drop and not fault.status
        call.status = 0 if cut_off else response.status
        self.wake()
        return response

    def _fault(self, call: Call) -> TelegramFault | None:
        chat = _chat_of(call)
        return self.fault(lambda fault: fault.fits(call.method) and fault.chat in {None, chat})

    async def _method(self, token: str, call: Call) -> Any:
        if token != self.token:
            raise Refusal(401, "Unauthorized")
        if call.method == "getUpdates":
            return await self._get_updates(call.params)
        handlers: dict[str, Callable[[Params], Any]] = {
            "getMe": lambda _: self.me,
            "deleteWebhook": self._delete_webhook,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message,
            "deleteMessage": self._delete_message,
            "sendChatAction": lambda params: self._check_chat(params) != 0,
            **self.ephemeral.methods,
            **self.extras.methods,
            **self.native.methods,
        }
        if call.method not in handlers:
            raise Refusal(404, "Not Found")
        return handlers[call.method](call.params)

    def _delete_webhook(self, params: Params) -> bool:
        self.webhook = False
        if params.get("drop_pending_updates") in {True, "true"}:
            self._updates.clear()
        return True

    def _delete_message(self, params: Params) -> bool:
        message = self._own_message(params, "message to delete not found")
        self._messages[message.chat].remove(message)
        return True

    async def _get_updates(self, params: Params) -> list[dict[str, Any]]:
        if self.webhook:
            raise Refusal(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        self._poll = poll = self._poll + 1
        self.wake()
        self._acknowledge(int(params.get("offset") or 0))
        limit = min(max(int(params.get("limit") or 100), 1), 100)
        end = time.monotonic() + float(params.get("timeout") or 0)
        while True:
            if self._poll != poll:
                # Observed: the newer poll wins, the older one is ended.
                raise Refusal(
                    409,
                    "Conflict: terminated by other getUpdates request; "
                    "make sure that only one bot instance is running",
                )
            batch = [self._updates[number] for number in self.pending[:limit]]
            if batch or time.monotonic() >= end:
                for update in batch:
                    number = update["update_id"]
                    self.delivered[number] = self.delivered.get(number, 0) + 1
                return batch
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    await self.news()
            except TimeoutError:
                continue

    def _acknowledge(self, offset: int) -> None:
        """Forget updates below the offset; a negative one keeps that many of the last."""
        if offset < 0:
            offset = self.pending[max(len(self.pending) + offset, 0)] if self.pending else 0
        for number in [number for number in self.pending if number < offset]:
            del self._updates[number]
            self.acknowledged[number] = offset

    def _send_message(self, params: Params) -> dict[str, Any]:
        self._check_chat(params)
        check_text(params)
        return self._post(params, None)

    def _post(self, params: Params, file: Upload | None) -> dict[str, Any]:
        chat = self._check_chat(params)
        self.extras.check_topic(chat, params)
        if "ephemeral_message_parameters" in params and not self.native.off:
            return self.ephemeral.post(params)
        text = params.get("caption" if file else "text") or ""
        self.native.sent(chat)
        number = self._next_message_id(chat)
        message = Message(chat, number, text, from_bot=True, params=params, file=file)
        self._keep(message)
        return self._shown(message)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        call = Call("(download)", {"path": path})
        self.calls.append(call)

        async def perform() -> web.StreamResponse:
            content = self.extras.paths.get(path)
            if request.match_info["token"] != self.token or content is None:
                return _refused(Refusal(404, "Not Found"))
            return web.Response(body=content)

        return await self.spoiled(request, self._fault(call), perform)

    def _edit_message(self, params: Params) -> dict[str, Any]:
        self._check_chat(params)
        message = self._own_message(params, "message to edit not found")
        if "rich_message" in params and not self.native.off:
            self.native.edited(message, params)
            return self._shown(message)
        check_text(params)
        keys = ("text", "entities", "reply_markup")
        if all(message.params.get(key) == params.get(key) for key in keys):
            raise Refusal(
                400,
                "Bad Request: message is not modified: specified new message content and reply "
                "markup are exactly the same as a current content and reply markup of the message",
            )
        message.history.append(message.text)
        message.text, message.params = params["text"], params
        return self._shown(message)

    def _shown(self, message: Message) -> dict[str, Any]:
        about = {"id": message.chat, "type": "supergroup" if message.chat < 0 else "private"}
        shown = {"message_id": message.message_id, "date": int(time.time()), "chat": about}
        return shown | {"from": self.me, "text": message.text}

    def _check_chat(self, params: Params) -> int:
        given = str(params.get("chat_id") or 0)
        chat = int(given) if given.removeprefix("-").isdecimal() else 0
        if chat in self._blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")
        if chat not in self._message_ids:
            raise Refusal(400, "Bad Request: chat not found")
        return chat

    def _own_message(self, params: Params, otherwise: str) -> Message:
        for message in self.messages(int(params["chat_id"])):
            if str(message.message_id) == str(params.get("message_id")):
                return message
        raise Refusal(400, f"Bad Request: {otherwise}")


def _chat_of(call: Call) -> int:
    given = str(call.params.get("chat_id") or 0)
    return int(given) if given.removeprefix("-").isdecimal() else 0


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _refused(refusal: Refusal) -> web.Response:
    answer = {"ok": False, "error_code": refusal.status, "description": refusal.description}
    if refusal.parameters:
        answer["parameters"] = refusal.parameters
    return _json(json.dumps(answer).encode(), refusal.status)
