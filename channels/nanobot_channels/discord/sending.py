"""Sends to Discord: each message in the best form that its chat accepts."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import discord
import msgspec
from discord.http import MultipartParameters, handle_message_parameters
from loguru import logger

from nanobot.errors import ChatGone, FormRefused, OutcomeUnknown, Refused
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import table
from nanobot_channels.discord import parts, voice
from nanobot_channels.discord.files import Upload
from nanobot_channels.discord.http import (
    MISSING_PERMISSIONS,
    DiscordHttp,
    Refusal,
    delivery_error,
)
from nanobot_channels.discord.messages import is_snowflake
from nanobot_channels.discord.parts import (
    SUPPRESS_EMBEDS,
    body,
    content_of,
    has_components,
    nonce_of,
    payload_of,
    reference,
)

_T = TypeVar("_T")

_MOST = 1000
# For a body that Discord does not understand: fields, components or flags; and an empty message, if
# components are unknown.
_OF_ITS_FORM = {0, 50006, 50035}


class Outgoing:
    """Sends and edits. A chat that refuses components gets content from then on; one that accepted
    some before, after two consecutive refusals. `replies` tells whether messages there can be
    replies; `previews`: links have previews.
    """

    def __init__(
        self, http: DiscordHttp, replies: Callable[[Address], bool], *, previews: bool
    ) -> None:
        self._http = http
        self._replies = replies
        self._previews = previews
        self._taking: set[str] = set()
        self._refusing: set[str] = set()
        # Messages with components can no longer have content.
        self._standing: Recent[str, None] = Recent(_MOST)

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        components = message.address.chat_id not in self._refusing
        return parts.render(message, components=components)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool) -> str:
        if has_components(part) and address.chat_id in self._refusing:
            raise _in_content(part, "components were refused there before")
        payload = body(part, plain=plain, previews=self._previews) | self._once(address, part)
        params = MultipartParameters(payload=payload, multipart=None, files=None)
        try:
            number = id_of(
                await sending(address, self._http.send_message(target(address), params=params))
            )
        except Refused as refused:
            self._learn(address, part, refused)
            raise
        self._took(address, number, components=has_components(part))
        return number

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool
    ) -> None:
        components = has_components(part)
        try:
            await self._put(
                address, message_id, part, plain=plain, components=message_id in self._standing
            )
        except Refused as refused:
            self._learn(address, part, refused)
            if components or address.chat_id in self._refusing or not _is_of_form(refused):
                raise
            # It may be one with components, from before this process.
            await self._put(address, message_id, part, plain=plain, components=True)

    async def _put(
        self,
        address: Address,
        message_id: str,
        part: OutboundPart,
        *,
        plain: bool,
        components: bool,
    ) -> None:
        payload: dict[str, Any] = {"components": []}
        payload |= body(part, plain=plain, previews=self._previews, components=components)
        if "content" not in payload:  # replaces one that may have some
            flags = payload["flags"] | (0 if self._previews else SUPPRESS_EMBEDS)
            payload |= {"content": None, "flags": flags}
            payload |= {"embeds": []} if self._previews else {}
        params = MultipartParameters(payload=payload, multipart=None, files=None)
        await sending(
            address, self._http.edit_message(target(address), snowflake(message_id), params=params)
        )
        self._took(address, message_id, components=payload.get("content") is None)

    async def send_files(
        self, address: Address, part: OutboundPart, files: Sequence[Upload]
    ) -> str:
        """One message with these files. A single recording becomes a voice message if Discord
        accepts it. Raises as `send`.
        """
        as_voice = None
        if len(files) == 1:
            as_voice = voice.form(part, files[0][1], self._once(address, part))
        if as_voice is not None:
            try:
                return id_of(
                    await sending(address, self._http.send_form(target(address), as_voice))
                )
            except Refused as refused:
                logger.info("{}: not taken as a voice message: {}", address, refused)
        about = self._once(address, part)
        with handle_message_parameters(
            content_of(part) if part.text else None,
            files=[discord.File(io.BytesIO(content), filename=name) for name, content in files],
            nonce=about.get("nonce"),
            allowed_mentions=discord.AllowedMentions.none(),
            message_reference=about.get("message_reference", discord.utils.MISSING),
        ) as params:
            try:
                return id_of(await self._http.send_message(target(address), params=params))
            except Refusal as refusal:
                if refusal.code == MISSING_PERMISSIONS:
                    raise Refused(f"Discord: {refusal}: the bot may not attach files") from refusal
                raise delivery_error(refusal, in_thread=bool(address.thread_id)) from refusal

    def _took(self, address: Address, number: str, *, components: bool) -> None:
        if components:
            self._taking.add(address.chat_id)
            self._standing[number] = None

    def _learn(self, address: Address, part: OutboundPart, refused: Refused) -> None:
        """Raises FormRefused if a chat does not accept components, or not these."""
        if not (has_components(part) and _is_of_form(refused)):
            return
        if address.chat_id in self._taking:
            self._taking.remove(address.chat_id)
        else:
            self._refusing.add(address.chat_id)
        raise _in_content(part, str(refused)) from refused

    def _once(self, address: Address, part: OutboundPart) -> dict[str, Any]:
        """The nonce, by which Discord accepts a part only once, and the message it replies to;
        messages in a direct chat are not replies.
        """
        fields: dict[str, Any] = {}
        nonce, question = nonce_of(part), reference(part)
        if nonce:
            fields |= {"nonce": nonce, "enforce_nonce": True}
        if question and self._replies(address):
            fields["message_reference"] = question
        return fields


def target(address: Address) -> int:
    """The channel to write to. A thread is a separate channel. Raises ChatGone."""
    return snowflake(address.thread_id or address.chat_id)


def snowflake(text: str) -> int:
    """An id as a number. Raises ChatGone."""
    if not is_snowflake(text):
        raise ChatGone(f"{text!r} is not an id of Discord's")
    return int(text)


async def sending(address: Address, call: Awaitable[_T]) -> _T:
    """The result of the call. Raises as Channel.send."""
    try:
        return await call
    except Refusal as refusal:
        raise delivery_error(refusal, in_thread=bool(address.thread_id)) from refusal


def id_of(answer: object) -> str:
    """The id of the message in Discord's response. Raises OutcomeUnknown."""
    number = table(answer).get("id")
    if not isinstance(number, str | int):
        raise OutcomeUnknown("Discord's answer has no message in it")
    return str(number)


def _in_content(part: OutboundPart, why: str) -> FormRefused:
    """The refusal of a part, with its messages without components: the first is the reply, the last
    has the buttons.
    """
    payload = payload_of(part)
    text = payload.content or part.text
    message = OutboundMessage(
        address=Address("", ""), text=text, key=part.key, reply_to=payload.reply_to
    )
    older = parts.render(message, components=False)
    last = payload_of(older[-1])
    last.buttons = payload.buttons
    older[-1] = msgspec.structs.replace(older[-1], payload=msgspec.json.encode(last))
    refusal = FormRefused(why)
    refusal.instead = older
    return refusal


def _is_of_form(refused: Refused) -> bool:
    cause = refused.__cause__
    return isinstance(cause, Refusal) and cause.status == 400 and cause.code in _OF_ITS_FORM
