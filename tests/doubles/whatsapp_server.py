"""WhatsApp's Cloud API on loopback, that behaves as Meta documents: its double.

    async with WhatsAppServer() as meta:
        ... run a channel with meta.settings, and meta.deliveries.url at its door ...
        await meta.say("4915100000001", "hi")
        meta.sent_to("4915100000001")

Not modelled: templates with variables, groups, flows, payments, and the quality of a number.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.doubles.platform_server import Fault, PlatformServer
from tests.doubles.webhooks import Deliveries, Delivery
from tests.doubles.whatsapp_rules import (
    MIMES,
    Json,
    Refusal,
    check_message,
    shown_text,
)

START = 1_800_000_000.0
ANN = "4915100000001"
_WINDOW = 24 * 3600


@dataclass(kw_only=True)
class WhatsAppFault(Fault):
    """What goes wrong with the calls of an edge. `code` is Meta's number for it."""

    code: int = 0
    message: str = "Something went wrong"

    @property
    def refuses(self) -> bool:
        return bool(self.code or self.status)


class WhatsAppServer(PlatformServer[WhatsAppFault]):
    """One app with one number. `now` is its time; `window`: how it says that 24 hours are over,
    "later" by a report or "at once"."""

    fault_type = WhatsAppFault

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.number, self.app = "106540352242922", "670843887433847"
        self.token, self.secret = "EAA" + "x" * 40, "0123456789abcdef" * 2
        self.verify_token = "a-token-made-up"
        self.now = START
        self.window = "later"
        self.reports = False
        """Whether it says of each message that it was sent, as Meta does."""
        self._reporting: set[asyncio.Task[Delivery]] = set()
        self.deliveries = Deliveries()
        self.messages: list[Json] = []
        self.lost: list[Json] = []
        """Messages that were taken, and of which `report` is to say that they failed."""
        self.calls: list[tuple[str, Json]] = []
        self.read: list[Json] = []
        self.commands: list[Json] = []
        self.templates: set[str] = set()
        self.media: dict[str, tuple[str, bytes]] = {}
        self.hooks: list[Json] = []
        self.file_host = ""
        self._heard: dict[str, float] = {}
        self._ids = itertools.count(1)

    @property
    def settings(self) -> Json:
        """What goes into the table of a channel."""
        return {
            "phone_number_id": self.number,
            "access_token": self.token,
            "app_secret": self.secret,
            "verify_token": self.verify_token,
            "api_root": self.root_url,
        }

    def clock(self) -> float:
        return self.now

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/files/{id}", self._file)
        app.router.add_route("*", "/{version:v\\d+\\.\\d}/{object}", self._answer)
        app.router.add_route("*", "/{version:v\\d+\\.\\d}/{object}/{edge}", self._answer)

    # What people do.

    async def say(self, person: str, words: str = "", /, **more: Any) -> Delivery:
        """Somebody writes; `more` are other fields of the message, such as `type`."""
        content = {} if "type" in more else {"type": "text", "text": {"body": words}}
        return await self.push(messages=[self.message(person, **content, **more)])

    def message(self, person: str, **fields: Any) -> Json:
        self._heard[person] = self.now
        self.now += 1
        who = {"from": person} if person.isdigit() else {"from_user_id": person}
        return {"id": self.new_id(), "timestamp": str(int(self.now)), **who, **fields}

    async def press(self, person: str, message: Json, title: str) -> Delivery:
        """Somebody presses the button, or chooses the row, of that title."""
        action = message["interactive"]["action"]
        rows = [button["reply"] for button in action.get("buttons", ())]
        rows += [row for section in action.get("sections", ()) for row in section["rows"]]
        row = next(row for row in rows if row["title"] == title)
        kind = "button_reply" if "buttons" in action else "list_reply"
        answer: Json = {"type": "interactive", "interactive": {"type": kind, kind: row}}
        context = {"from": "15550783881", "id": message["id"]}
        return await self.say(person, **answer, context=context)

    async def send(
        self, person: str, kind: str, content: bytes, mime: str, **more: Any
    ) -> Delivery:
        """Somebody sends a file."""
        number = f"{next(self._ids)}88"
        self.media[number] = (mime, content)
        fields: Json = {"type": kind, kind: {"id": number, "mime_type": mime} | more}
        return await self.say(person, **fields)

    async def report(self, message: Json, status: str, *codes: int) -> Delivery:
        """What became of a message."""
        about: Json = {"id": message["id"], "status": status, "timestamp": str(int(self.now))}
        about["recipient_id"] = message.get("to", "")
        if message.get("mark"):
            about["biz_opaque_callback_data"] = message["mark"]
        if codes:
            about["errors"] = [{"code": code, "title": "Re-engagement message"} for code in codes]
        return await self.push(statuses=[about])

    async def push(self, **value: Any) -> Delivery:
        """Deliver a notification, signed."""
        said = [m for m in value.get("messages", ()) if isinstance(m, dict)]
        people = {str(m.get("from") or m.get("from_user_id")) for m in said}
        contacts: list[Json] = []
        for number in sorted(people):
            key = "wa_id" if number.isdigit() else "user_id"
            contacts.append({"profile": {"name": f"Ann {number}"}, key: number})
        about = {"display_phone_number": "15550783881", "phone_number_id": self.number}
        value = {"messaging_product": "whatsapp", "metadata": about, "contacts": contacts} | value
        entry = {"id": "102290129340398", "changes": [{"field": "messages", "value": value}]}
        return await self.push_raw({"object": "whatsapp_business_account", "entry": [entry]})

    async def push_raw(self, body: object) -> Delivery:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        digest = hmac.new(self.secret.encode(), data, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}
        return await self.deliveries.deliver(data, headers)

    # What the number says.

    def sent_to(self, person: str) -> list[Json]:
        return [m for m in self.messages if person in {m.get("to"), m.get("recipient")}]

    def texts(self, person: str) -> list[str]:
        return [shown_text(message) for message in self.sent_to(person)]

    def new_id(self) -> str:
        return f"wamid.HBgN{next(self._ids):08}=="

    # The API.

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        edge = request.match_info.get("edge", "") or request.match_info["object"]
        if request.match_info["object"] == self.number and not request.match_info.get("edge"):
            edge = "number"

        async def perform() -> web.StreamResponse:
            try:
                return web.json_response(await self._result(request, edge))
            except Refusal as refusal:
                return self._refused(refusal.status, refusal.code, str(refusal))

        response = await self.spoiled(request, self.fault(lambda it: it.fits(edge)), perform)
        self.wake()
        return response

    async def _result(self, request: web.Request, edge: str) -> Json:  # noqa: PLR0911 - one each
        shown = request.headers.get("Authorization", "")
        if edge == "subscriptions":
            if shown != f"Bearer {self.app}|{self.secret}":
                raise Refusal(190, "Invalid OAuth access token signature.", 400)
            return {"data": self.hooks}
        if shown != f"Bearer {self.token}":
            raise Refusal(190, "Error validating access token", 401)
        match request.method, edge:
            case "GET", "number":
                fields = {"display_phone_number": "+1 555-078-3881", "verified_name": "Bot"}
                return {"id": self.number} | fields
            case "GET", "debug_token":
                return {"data": {"app_id": self.app, "is_valid": True}}
            case "POST", "conversational_automation":
                self.commands = (await request.json())["commands"]
                return {"success": True}
            case "POST", "media":
                return await self._upload(request)
            case "POST", "messages":
                return self._message(await request.json())
            case "GET", number if number in self.media:
                mime, content = self.media[number]
                root = self.file_host or self.root_url
                about = {"url": f"{root}/files/{number}", "mime_type": mime, "id": number}
                return about | {"file_size": str(len(content)), "messaging_product": "whatsapp"}
        raise Refusal(100, f"Unsupported request: {request.method} {edge}", 400)

    def _message(self, body: Json) -> Json:
        self.calls.append(("messages", body))
        if body.get("status") == "read":
            self.read.append(body)
            return {"success": True}
        check_message(body, self.media, self.templates)
        person = body.get("to") or body["recipient"]
        late = self.now - self._heard.get(person, 0.0) >= _WINDOW and body["type"] != "template"
        if late and self.window == "at once":
            raise Refusal(131047, "Re-engagement message", 400)
        message = {**body, "id": self.new_id(), "mark": body.get("biz_opaque_callback_data", "")}
        if not late:
            self.messages.append(message)
            if self.reports:
                task = asyncio.create_task(self.report(message, "sent"))
                self._reporting.add(task)
                task.add_done_callback(self._reporting.discard)
        else:
            self.lost.append(message)
        return {"messaging_product": "whatsapp", "messages": [{"id": message["id"]}]}

    async def _upload(self, request: web.Request) -> Json:
        form = await request.post()
        file = form["file"]
        if not isinstance(file, web.FileField) or form.get("messaging_product") != "whatsapp":
            raise Refusal(100, "(#100) The parameter file is required.", 400)
        content, mime = file.file.read(), str(form.get("type"))
        kind = MIMES.get(mime)
        if kind is None:
            raise Refusal(100, "(#100) Param file must be a file of a supported type", 400)
        number = f"{next(self._ids)}99"
        self.media[number] = (mime, content)
        return {"id": number}

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        _, content = self.media[request.match_info["id"]]
        return web.Response(body=content)

    def failure(self, fault: WhatsAppFault) -> web.Response:
        if fault.body is not None:
            return web.Response(status=fault.status or 200, body=fault.body)
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        if not fault.code:
            return web.Response(status=fault.status, body=b"<html>", headers=headers)
        return self._refused(fault.status or 400, fault.code, fault.message, headers)

    @staticmethod
    def _refused(
        status: int, code: int, message: str, headers: dict[str, str] | None = None
    ) -> web.Response:
        error = {"message": f"(#{code}) {message}", "type": "OAuthException", "code": code}
        error |= {"fbtrace_id": "A1", "error_data": {"details": message}}
        return web.json_response({"error": error}, status=status, headers=headers)
