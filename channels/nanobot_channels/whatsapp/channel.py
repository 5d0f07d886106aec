"""WhatsApp as a channel: webhooks for inbound, the Graph API for outbound messages."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence

import msgspec
from loguru import logger

from nanobot.errors import NobodyThere, NotSent, OutcomeUnknown, Uncertain
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import (
    Capabilities,
    Checked,
    Clock,
    Intake,
    MenuCommand,
    OutboundPart,
    PlatformReply,
    PlatformRequest,
    Rate,
    Reaction,
)
from nanobot.system import SystemClock
from nanobot_channels.common.json_api import FAILED, ApiRefusal, Json
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.settings import Table
from nanobot_channels.common.shapes import string, table, tables
from nanobot_channels.common.text import clipped, one_line
from nanobot_channels.whatsapp import files, parts
from nanobot_channels.whatsapp.api import WINDOW_CLOSED, GraphApi, delivery_error, receiving_error
from nanobot_channels.whatsapp.events import Moved, Status, events
from nanobot_channels.whatsapp.settings import SETUP as SETUP
from nanobot_channels.whatsapp.settings import Settings, settings_of
from nanobot_channels.whatsapp.window import Heard, Windows

LOOK_SECONDS = 300.0
"""Delay between checks of the number: without messages there are no requests."""
TYPING_SECONDS = 20.0
"""WhatsApp shows the indicator for 25 seconds."""
DOUBT_SECONDS = 60.0
"""How long a part with an unknown outcome waits for WhatsApp's report with its mark."""
_MOST = 2_000
_EMOJI = {Reaction.RECEIVED: "👀", Reaction.DONE: "✅", Reaction.FAILED: "❌"}
_MOST_COMMANDS = 30
_ANSWERED = PlatformReply(body=b"ok")
_UNSIGNED = PlatformReply(status=401, body=b"The signature is missing or wrong.")
_WRONG_TOKEN = PlatformReply(status=403, body=b"The verify token is wrong.")
_NOT_ALLOWED = PlatformReply(status=405, body=b"WhatsApp asks with GET and POST, without a path.")


class WhatsAppChannel:
    """One business phone number. A chat is a person: their number, or their business-scoped id."""

    # 80 messages a second for a number, one in 6 seconds to a person (throughput, pair rate).
    capabilities = Capabilities(
        typing=True,
        reconciles=True,
        buttons=True,
        chat_rate=Rate(count=1, seconds=6.0),
        bot_rate=Rate(count=80, seconds=1.0),
        heartbeat=LOOK_SECONDS,
    )

    def __init__(self, name: str, settings: Settings, *, clock: Clock | None = None) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock or SystemClock()
        self._api = GraphApi(settings, self._clock)
        self._windows = Windows(self._clock.now())
        self._intake: Intake | None = None
        self._reported: Recent[str, str] = Recent(_MOST)
        self._typed: Recent[str, tuple[str, float]] = Recent(_MOST)
        self._url = ""

    # Receiving

    async def run(self, intake: Intake) -> None:
        """Check every few minutes whether the number still works; messages arrive through
        `receive`.

        Raises BadCredentials or ChannelDown.
        """
        await self._number()
        await intake.account(self._settings.phone_number_id)
        self._windows.load(await intake.cursor())
        self._intake = intake
        while True:
            intake.alive()
            await self._clock.sleep(LOOK_SECONDS)
            await self._number()

    def reached_at(self, url: str) -> None:
        self._url = url

    async def receive(self, request: PlatformRequest, intake: Intake) -> PlatformReply:
        """Meta's verification request for this URL, and its signed notifications."""
        if request.path not in {"", "/"} or request.method not in {"GET", "HEAD", "POST"}:
            return _NOT_ALLOWED
        if request.method != "POST":
            return self._verified(request.query)
        if not self._signed(request):
            return _UNSIGNED
        try:
            body = msgspec.json.decode(request.body)
        except (msgspec.DecodeError, RecursionError):
            logger.warning("{}: a signed request is not JSON", self._name)
            return _ANSWERED  # a repeat would have the same result
        messages = []
        for event in events(body, self._settings.phone_number_id, self._name):
            if isinstance(event, InboundMessage):
                heard = Heard(event.sent_at, event.message_id)
                self._windows.heard(event.address.chat_id, heard)
                if event.text or event.attachments or event.deleted:
                    messages.append(event)
            elif isinstance(event, Moved):
                await intake.moved(event.old, event.new)
            else:
                self._report(event)
        if messages:
            # Another process may have received others in the meantime.
            self._windows.load(await intake.cursor())
            await intake.admit(messages, self._windows.cursor(self._now()))
        return _ANSWERED

    def _verified(self, query: Mapping[str, str]) -> PlatformReply:
        shown = query.get("hub.verify_token", "").encode()
        right = hmac.compare_digest(shown, self._settings.verify_token.encode())
        if query.get("hub.mode") != "subscribe" or not right:
            return _WRONG_TOKEN
        challenge = query.get("hub.challenge", "")
        return PlatformReply(body=challenge.encode() if challenge.isalnum() else b"")

    def _signed(self, request: PlatformRequest) -> bool:
        shown = request.headers.get("x-hub-signature-256", "").encode()
        secret = self._settings.app_secret.encode()
        digest = hmac.new(secret, request.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(shown, f"sha256={digest}".encode())

    def _report(self, status: Status) -> None:
        """WhatsApp accepts most messages first and reports their outcome later."""
        if status.status != "failed":
            self._reported[status.mark] = status.id
            return
        for error in status.errors[:1] or [{}]:
            code = error.get("code")
            if isinstance(code, int) and code in WINDOW_CLOSED:
                self._windows.refused(status.chat)
            details = string(table(error.get("error_data")).get("details"))
            why = clipped(one_line(details or string(error.get("title"))), 300)
            place = f"{self._name}:{status.chat}"
            logger.error("{}: WhatsApp did not deliver a message: {} ({})", place, why, code)

    # Sending

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: at most 4,096 characters each, 1,024 above buttons; none is empty."""
        return parts.render(message)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns its id. Raises NobodyThere if the person's 24 hours are over: the
        message waits until they write.
        """
        previews = self._settings.link_previews
        return await self._post(
            address, part, parts.content_of(part, plain=plain, previews=previews)
        )

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        await self._check_window(address.chat_id)
        file = part.file or Attachment(kind="document")
        return await self._post(
            address, part, await files.uploaded(self._api, file, content, part.text)
        )

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The id of a part that WhatsApp has reported on. WhatsApp cannot be asked for its
        messages, so this waits up to a minute for a report. Raises NotSent, then Uncertain.
        """
        found = self._reported.get(parts.mark_of(part))
        if found:
            return found
        if 0 <= self._clock.now() - since < DOUBT_SECONDS:
            raise NotSent("WhatsApp has not reported on it yet", 2.0)
        raise Uncertain("WhatsApp has not reported on it, and cannot be asked")

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        return await files.download(self._api, attachment, limit)

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Set our reaction to a message, replacing the previous one."""
        reaction = {"message_id": message_id, "emoji": _EMOJI[mark]}
        await self._call(address, {"type": "reaction", "reaction": reaction})

    async def typing(self, address: Address) -> None:
        """Mark the person's last message as read and show the indicator below it."""
        last, now = self._windows.last(address.chat_id), self._clock.monotonic()
        before, at = self._typed.get(address.chat_id, ("", 0.0))
        if not self._settings.receipts or not last:
            return
        if before == last and now - at < TYPING_SECONDS:
            return
        self._typed[address.chat_id] = (last, now)
        read: Json = {"messaging_product": "whatsapp", "status": "read", "message_id": last}
        await self._raised(address.chat_id, read | {"typing_indicator": {"type": "text"}})

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        """The commands that people see when they type a /."""
        menu = [
            {"command_name": command.name[:32], "command_description": command.help[:256]}
            for command in commands[:_MOST_COMMANDS]
        ]
        try:
            body = {"enable_welcome_message": False, "commands": menu}
            await self._api.edge("conversational_automation", body)
        except FAILED as error:
            raise delivery_error(error) from error

    async def check(self) -> Checked:
        """The number and its name, and whether Meta sends its messages here. Raises BadCredentials
        or ChannelDown."""
        number = await self._number()
        who = f"+{string(number.get('display_phone_number')).lstrip('+')}"
        who += f", {string(number.get('verified_name'))}" if number.get("verified_name") else ""
        lacking, todo = await self._unfinished()
        return Checked(who, lacking, todo)

    async def close(self) -> None:
        await self._api.close()

    # Shared code

    def _now(self) -> float:
        return self._api.time.now()

    async def _number(self) -> Json:
        try:
            return await self._api.edge("", fields="id,display_phone_number,verified_name")
        except FAILED as error:
            raise receiving_error(self._name, error) from error

    async def _unfinished(self) -> tuple[str, str]:
        """The obstacles to receiving messages: the current problem, and the steps that require a
        running gateway. Both are "" if Meta reports none.
        """
        if not self._url.startswith("https://"):
            wrong = (
                "Meta delivers messages to an https address: set web.public_url to the one that "
                f"people use for this gateway; the webhook is then at /channels/{self._name}"
            )
            return wrong, ""
        try:
            wanted = await self._is_subscribed()
        except FAILED as error:
            refused = isinstance(error, ApiRefusal) and error.code in {1, 101, 190}
            key = f"channels.{self._name}.app_secret"
            return (f"{key} is not that of the app: {error}" if refused else ""), ""
        todo = (
            "Meta does not send messages here yet. Once the gateway runs, open "
            "developers.facebook.com/apps, your app, WhatsApp, Configuration, set the callback "
            f"URL {self._url} with your verify token, and subscribe to messages"
        )
        return "", "" if wanted else todo

    async def _is_subscribed(self) -> bool:
        """Whether Meta sends messages to this URL; True if it does not say to which app the token
        belongs. Raises as GraphApi.
        """
        mine = {"input_token": self._settings.access_token}
        about = table(table(await self._api.call("token", "/debug_token", query=mine)).get("data"))
        app = string(about.get("app_id"))
        if not app.isalnum():
            return True
        token = f"{app}|{self._settings.app_secret}"
        answer = table(await self._api.call("webhook", f"/{app}/subscriptions", token=token))
        return any(
            hook.get("object") == "whatsapp_business_account"
            and hook.get("callback_url") == self._url
            and hook.get("active") is True
            and any(field.get("name") == "messages" for field in tables(hook.get("fields")))
            for hook in tables(answer.get("data"))
        )

    async def _check_window(self, chat: str) -> None:
        """Raises NobodyThere if a person's 24 hours are over, after asking them to write."""
        if not self._windows.is_closed(chat, self._now()):
            return
        if self._intake is not None:
            self._windows.load(await self._intake.cursor())
            if not self._windows.is_closed(chat, self._now()):
                return
        await self._ask_to_write(chat)
        raise NobodyThere(
            f"WhatsApp takes messages to {chat} only within 24 hours after they wrote; this one "
            "waits until they write again"
        )

    async def _ask_to_write(self, chat: str) -> None:
        settings = self._settings
        if not settings.template or not self._windows.ask(chat, self._now()):
            return
        language = {"code": settings.template_language}
        template = {"name": settings.template, "language": language}
        body = {**_to(chat), "type": "template", "template": template}
        try:
            await self._api.edge("messages", body)
        except FAILED as error:
            logger.error("{}:{}: the template was not sent: {}", self._name, chat, error)
            self._windows.not_asked(chat)
            return
        if self._intake is not None:
            await self._intake.admit([], self._windows.cursor(self._now()))

    async def _post(self, address: Address, part: OutboundPart, content: Json) -> str:
        await self._check_window(address.chat_id)
        mark = {"biz_opaque_callback_data": parts.mark_of(part)} if part.key else {}
        answer = await self._call(address, content | mark)
        sent = tables(answer.get("messages"))
        number = string(sent[0].get("id")) if sent else ""
        if not number:
            raise OutcomeUnknown("WhatsApp took the message and gave it no id")
        return number

    async def _call(self, address: Address, content: Json) -> Json:
        return await self._raised(address.chat_id, _to(address.chat_id) | content)

    async def _raised(self, chat: str, body: Json) -> Json:
        try:
            return await self._api.edge("messages", body)
        except FAILED as error:
            if isinstance(error, ApiRefusal) and error.code in WINDOW_CLOSED:
                self._windows.refused(chat)
                await self._check_window(chat)
            raise delivery_error(error) from error


def _to(chat: str) -> Json:
    """A person without a known number is addressed by their business-scoped id."""
    to = {"to": chat} if chat.isdigit() else {"recipient": chat}
    return {"messaging_product": "whatsapp", "recipient_type": "individual"} | to


def open_channel(name: str, settings: Mapping[str, object]) -> WhatsAppChannel:
    """The channel of one `[channels.NAME]` table; docs/channels/whatsapp.md has the keys.

    Raises ConfigError for invalid settings; it does not connect yet.
    """
    return WhatsAppChannel(name, settings_of(Table(name, settings)))
