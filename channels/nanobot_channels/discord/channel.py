"""Discord over its gateway and HTTP API: discord.py's protocol, and a cursor of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import discord
import msgspec

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
    Uncertain,
)
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import Capabilities, Clock, Intake, MenuCommand, OutboundPart, Rate, Reaction
from nanobot.system import SystemClock
from nanobot_channels.common.http import TooMuch
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.settings import Table
from nanobot_channels.common.shapes import BadEvent, listed
from nanobot_channels.discord.files import FILE_LIMIT as FILE_LIMIT
from nanobot_channels.discord.files import together, uploads
from nanobot_channels.discord.gateway import Gateway
from nanobot_channels.discord.http import (
    DiscordHttp,
    Refusal,
    delivery_error,
    receiving_error,
)
from nanobot_channels.discord.interactions import menu
from nanobot_channels.discord.messages import (
    Message,
    is_snowflake,
    parse,
    sent_at,
    url_of,
)
from nanobot_channels.discord.private import PrivateReplies
from nanobot_channels.discord.receiving import Limits, Receiver
from nanobot_channels.discord.sending import Outgoing, sending, snowflake, target
from nanobot_channels.discord.sent import CLOCK_MARGIN
from nanobot_channels.discord.settings import DEFAULT_API_ROOT as DEFAULT_API_ROOT
from nanobot_channels.discord.settings import Server as Server
from nanobot_channels.discord.settings import limits_of, server_of, token_of
from nanobot_channels.discord.setup import SETUP as SETUP

_MARKS = {Reaction.RECEIVED: "👀", Reaction.DONE: "✅", Reaction.FAILED: "❌"}
_MOST_MARKED = 1000
_FIND_PAGES = 5
_FIND_PAGE = 100
# Flags of an application whose bot may read messages (Message Content Intent).
_CONTENT_FLAGS = (1 << 18) | (1 << 19)


class _User(msgspec.Struct):
    id: str
    username: str = ""


class _Application(msgspec.Struct):
    id: str
    flags: int = 0


class _Self(msgspec.Struct, frozen=True):
    user: _User
    application: _Application


class DiscordChannel:
    """One bot on one server of Discord's API. Other channels in the same process may use another
    server.
    """

    capabilities = Capabilities(
        typing=True,
        reconciles=True,
        buttons=True,
        # https://discord.com/developers/docs/topics/rate-limits says 50 requests a second for a
        # bot; the headers of the responses give the limit for messages in a channel.
        chat_rate=Rate(5, 5.0),
        bot_rate=Rate(50, 1.0),
        # Discord wants a heartbeat every 41.25 s and answers it.
        heartbeat=60.0,
    )

    def __init__(
        self,
        name: str,
        token: str,
        server: Server | None = None,
        limits: Limits | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        server, limits = server or Server(), limits or Limits()
        self._name = name
        self._limits = limits
        self._clock = clock or SystemClock()
        self._http = DiscordHttp(token, server.api_root, self._clock)
        intents = discord.Intents(
            guilds=True,
            guild_messages=True,
            dm_messages=True,
            message_content=limits.content,
            guild_reactions=True,
            dm_reactions=True,
        )
        self.gateway = Gateway(name, self._http, self._clock, server.gateway_url, intents)
        self._private = PrivateReplies(self._http, self._clock)
        self._receiver = Receiver(
            name, self._http, self.gateway, self._clock, limits, self._private
        )
        self._outgoing = Outgoing(
            self._http,
            lambda address: not self._receiver.is_direct(address),
            previews=server.link_previews,
        )
        self._self: _Self | None = None
        self._marked: Recent[str, str] = Recent(_MOST_MARKED)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Only buttons and commands are acknowledged to Discord, after
        their commit; messages that a dead process missed are looked up in the history.

        Raises BadCredentials, ChannelDown, and what the intake raises.
        """
        await self._receiver.run(intake)

    async def check(self) -> str:
        """The bot's name; see ports.SelfChecking. Raises BadCredentials or ChannelDown."""
        try:
            account = await self._who()
        except (Refusal, DeliveryError) as error:
            raise receiving_error(self._name, error) from error
        if self._limits.content and not account.application.flags & _CONTENT_FLAGS:
            raise BadCredentials(
                f"the bot {account.user.username} may not read messages: on "
                "discord.com/developers/applications choose the application, Bot, and switch on "
                f"Message Content Intent; or set channels.{self._name}.message_content = false to "
                "hear only direct messages and mentions."
            )
        return account.user.username

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: at most 2000 characters, or 4000 in components, and 25 buttons each, at least
        one, none empty."""
        return self._outgoing.render(message)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns the message id. Its nonce keeps Discord from accepting it twice
        within some minutes.

        Raises NotSent, Refused, FormRefused, ChatGone, or OutcomeUnknown if the request was sent
        and no usable response arrived.
        """
        return await self._outgoing.send(address, part, plain=plain)

    def confides(self, address: Address, person: str) -> bool:
        """Whether the person used a slash command whose answer can be shown to them alone."""
        return not self._receiver.is_direct(address) and self._private.waiting(person)

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        return await self._private.replace(part, person)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send `part.file` with its caption, as a voice message if Discord accepts it as one;
        returns the message id. Raises as `send`.
        """
        return await self._outgoing.send_files(address, part, uploads(part, [content]))

    def together(self, files: Sequence[Attachment]) -> int:
        return together(files)

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send the part's files as attachments of one message; see ports.Albums."""
        return await self._outgoing.send_files(address, part, uploads(part, contents))

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace an earlier message; an unchanged text is not an error. Raises as `send`."""
        await self._outgoing.edit(address, message_id, part, plain=plain)

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete one of the bot's own messages. Raises as `send`: Refused if it no longer
        exists.
        """
        number = snowflake(message_id)
        await sending(address, self._http.delete_message(target(address), number))

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """An id begins with the time at which Discord made it."""
        if not (is_snowflake(message.message_id) and is_snowflake(receipt)):
            return None
        return int(message.message_id) > int(receipt)

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The message that this part became, from gateway events or the chat's history; None if it
        certainly does not exist. Raises Uncertain, and as `send`.
        """
        message_id = self._receiver.sent.id_of(part)
        if message_id is not None:
            return message_id
        who = await sending(address, self._who())
        began = await sending(address, self._http.at(since)) if since else 0.0
        history, whole = await sending(address, self._history(address, began - CLOCK_MARGIN))
        message_id = self._receiver.sent.among(history, part, who.user.id, began)
        if message_id is None and not whole:
            raise Uncertain("the chat's history does not reach back to the send")
        return message_id

    async def _history(self, address: Address, since: float) -> tuple[list[Message], bool]:
        """The latest messages of a chat, and whether they include all since that time. Without the
        permission to read it, a history is empty.
        """
        messages: list[Message] = []
        before: int | None = None
        for _ in range(_FIND_PAGES):
            answer: Any = await self._http.logs_from(target(address), _FIND_PAGE, before=before)
            raw = listed(answer)
            messages += [message for message in map(_parsed, raw) if message is not None]
            if not messages:
                return [], False
            before = min(message.number for message in messages)
            if len(raw) < _FIND_PAGE or sent_at(before) < since:
                return messages, True
        return messages, False

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """The content of a file; see ports.Fetching. Its URL expires, so a fresh one is
        requested.
        """
        if attachment.size > limit:
            raise Refused(_too_large(attachment, limit))
        match = re.fullmatch(r"(\d+)/(\d+)/(\d+)", attachment.ref)
        if not match:
            raise Refused("the file's handle is not one of Discord's")
        channel_id, message_id, file_id = match.groups()
        try:
            answer = await self._http.get_message(int(channel_id), snowflake(message_id))
            url = url_of(parse(answer), file_id)
            if url is None:
                raise Refused("the file was taken out of its message")
            return await self._http.download(url, limit)
        except TooMuch as error:
            raise Refused(_too_large(attachment, limit)) from error
        except Refusal as refusal:
            if refusal.status in {403, 404, 410}:
                raise Refused("the file is not there any more, or may not be read") from refusal
            raise ChannelDown(f"Discord: {refusal}", retry_after=refusal.retry_after) from refusal
        except (NotSent, OutcomeUnknown) as error:
            raise ChannelDown(str(error)) from error
        except BadEvent as error:
            raise Refused(f"Discord's message with the file cannot be read: {error}") from error

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Add the reaction, then remove the bot's earlier one. Raises as `send`."""
        chat, number = target(address), int(message_id)
        before = self._marked.get(message_id, _MARKS[Reaction.RECEIVED])
        await sending(address, self._http.add_reaction(chat, number, _MARKS[mark]))
        self._marked[message_id] = _MARKS[mark]
        if before == _MARKS[mark]:
            return
        try:
            await self._http.remove_own_reaction(chat, number, before)
        except Refusal as refusal:
            if refusal.status != 404:
                raise delivery_error(refusal, in_thread=bool(address.thread_id)) from refusal

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """Who reacted to a message of ours; see ports.Recalling. Raises as `send`."""
        try:
            return await sending(address, self._receiver.reactions(address, message_id))
        except BadEvent as error:
            raise OutcomeUnknown(f"Discord's reactions cannot be read: {error}") from error

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        """Make the menu of slash commands these, everywhere. Raises ChannelError."""
        try:
            who = await self._who()
            entries: Any = menu(commands)
            await self._http.bulk_upsert_global_commands(int(who.application.id), entries)
        except (Refusal, DeliveryError) as error:
            raise receiving_error(self._name, error) from error

    async def typing(self, address: Address) -> None:
        """Show "typing" for about ten seconds. Raises as `send`."""
        await sending(address, self._http.send_typing(target(address)))

    async def close(self) -> None:
        await self._http.shutdown()

    async def _who(self) -> _Self:
        """Raises Refusal or DeliveryError."""
        if self._self is None:
            user = await self._http.who_am_i()
            application = await self._http.application_info()
            try:
                self._self = _Self(
                    msgspec.convert(user, _User, strict=False),
                    msgspec.convert(application, _Application, strict=False),
                )
            except msgspec.ValidationError as error:
                raise OutcomeUnknown(f"Discord does not tell who the bot is: {error}") from error
        return self._self


def _parsed(data: object) -> Message | None:
    try:
        return parse(data)
    except BadEvent:
        return None


def _too_large(file: Attachment, limit: int) -> str:
    return f"{file.name or 'the file'} is larger than the {limit / 1024 / 1024:.0f} MB I take"


def open_channel(name: str, settings: Mapping[str, object]) -> DiscordChannel:
    """The channel of one `[channels.NAME]` table.

    `token`; `api_root` and `gateway_url` for another server; `message_content`, `backfill_messages`
    and `backfill_hours`. Raises ConfigError for invalid settings; it does not connect yet.
    """
    table = Table(name, settings)
    return DiscordChannel(name, token_of(table), server_of(table), limits_of(table))
