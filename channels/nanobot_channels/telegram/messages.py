"""Sends to Telegram: each message in the best form that the server and the chat accept."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import ChatGone, DeliveryError, FormRefused, OutcomeUnknown, Refused
from nanobot.messages import Address
from nanobot.ports import OutboundPart
from nanobot.text import pattern
from nanobot_channels.telegram.api import MALFORMED, BotApi, delivery_error, lacks_method
from nanobot_channels.telegram.http import ApiRefusal
from nanobot_channels.telegram.library import TelegramError
from nanobot_channels.telegram.parts import Payload, Piece, payload_of, plain_pieces
from nanobot_channels.telegram.types import DIRECT


class _Unsupported(Refused):
    """The server does not support the method."""


class TelegramMessages:
    """Sends, edits and drafts. Forms that a chat refuses are tried there only once: rich messages
    and drafts, which older servers do not support; plain messages and edits replace them.
    """

    def __init__(self, api: BotApi, name: str, *, link_previews: bool = False) -> None:
        self._api = api
        self._name = name
        # Small, and of the first link; without these parameters it would be a large picture.
        small = {"prefer_small_media": True}
        self._previews = {"link_preview_options": small if link_previews else {"is_disabled": True}}
        self._without_rich: set[str] = set()
        self._without_drafts: set[str] = set()
        self._drafts: dict[str, int] = {}

    # Messages

    async def send(
        self,
        address: Address,
        part: OutboundPart,
        *,
        plain: bool,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """Send one part with `extra` parameters; returns the message_id, of its last message if it
        takes several; for an ephemeral message its own number, with the prefix e.
        """
        self._drafts[address.chat_id] = 0
        payload = payload_of(part)
        target = _target(address, payload, alone=bool(extra)) | dict(extra)
        if payload.html and not plain:
            try:
                return await self._send_rich(address, target, payload)
            except Refused as refused:
                if len(payload.pieces) > 1 and not extra:
                    raise _in_pieces(payload, str(refused)) from refused
        return await self._send_pieces(target, payload, _pieces(part, payload, plain=plain))

    async def _send_rich(
        self, address: Address, target: Mapping[str, Any], payload: Payload
    ) -> str:
        if not self.takes_rich(address.chat_id):
            raise Refused("rich messages were refused there before")
        try:
            params = {**target, **_rich(payload), **_buttons(payload)}
            return await self.post("send_Rich_Message", params)
        except Refused as refused:
            self._refused(self._without_rich, address, "no rich message", refused)
            raise

    async def _send_pieces(
        self, target: Mapping[str, Any], payload: Payload, pieces: Sequence[Piece]
    ) -> str:
        message_id = ""
        for number, piece in enumerate(pieces):
            params = {**target, **_content(piece), **self._previews}
            if number == len(pieces) - 1:
                params |= _buttons(payload)
            try:
                message_id = await self.post("send_Message", params)
            except DeliveryError as error:
                if not message_id:
                    raise
                # Messages already sent would be sent again, without any notice.
                raise OutcomeUnknown(f"only {number} of {len(pieces)} pieces: {error}") from error
        return message_id

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool
    ) -> None:
        """Replace a message; an unchanged text is not an error. Raises Refused if the part takes
        several messages.
        """
        payload = payload_of(part)
        where = {"message_id": message_id} | _buttons(payload)
        await self._edit("edit_Message_Text", address, where, part, plain=plain)

    async def edit_ephemeral(
        self, address: Address, where: Mapping[str, int], part: OutboundPart
    ) -> None:
        """The same for an ephemeral message."""
        buttons = {"reply_markup": as_json({"inline_keyboard": payload_of(part).buttons})}
        about = {**where, **buttons}
        await self._edit("edit_Ephemeral_Message_Text", address, about, part, plain=False)

    async def _edit(
        self,
        method: str,
        address: Address,
        where: Mapping[str, Any],
        part: OutboundPart,
        *,
        plain: bool,
    ) -> None:
        payload = payload_of(part)
        params = {"chat_id": address.chat_id, **where}
        if not plain and self._richly(address, payload):
            try:
                await self._replace(method, params | _rich(payload))
            except Refused as refused:
                self._refused(self._without_rich, address, "no rich message", refused)
            else:
                return
        pieces = _pieces(part, payload, plain=plain)
        if len(pieces) != 1:
            is_html = payload.html and not self.takes_rich(address.chat_id)
            kind = FormRefused if is_html and not plain else Refused
            raise kind("without a rich message it takes more than one")
        await self._replace(method, params | _content(pieces[0]) | self._previews)

    async def _replace(self, method: str, params: Mapping[str, Any]) -> None:
        try:
            await self.call(method, params)
        except Refused as refused:
            if "message is not modified" not in str(refused).lower():
                raise

    async def post(self, method: str, params: Mapping[str, Any]) -> str:
        """Call a method that sends a message; returns the message_id."""
        result = await self.call(method, params, expects="message_id")
        number = result.get("ephemeral_message_id")
        return f"e{number}" if number else str(result["message_id"])

    async def knows(self, method: str) -> bool:
        """Whether the server supports a method that does nothing without parameters. Raises a
        DeliveryError if it cannot be asked.
        """
        try:
            await self.call(method, {})
        except (Refused, ChatGone) as refused:
            return not isinstance(refused, _Unsupported)
        return True

    async def call(self, method: str, params: Mapping[str, Any], expects: str = "") -> Any:
        """The result of a method. Raises a DeliveryError."""
        try:
            result = await self._api.call(method, params)
            if expects and expects not in result:
                raise KeyError(expects)
        except ApiRefusal as error:
            if method != _INDISPENSABLE and lacks_method(error):
                raise _Unsupported(f"Telegram's server has no {method.replace('_', '')}") from error
            raise delivery_error(error) from error
        except (TelegramError, *MALFORMED) as error:
            raise delivery_error(error) from error
        return result

    # Drafts

    def drafts(self, address: Address) -> bool:
        """Whether drafts are shown in a chat: in private ones, until one is refused."""
        chat = address.chat_id
        return chat.isdecimal() and chat not in self._without_drafts

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        """Show a part as a draft with a stop button; without text it is "Thinking...". Raises
        Refused if drafts are unavailable, and as `send`.
        """
        payload, draft_id = payload_of(part), draft_id_of(key)
        self._drafts[address.chat_id] = draft_id
        params = _target(address, Payload()) | {"draft_id": draft_id, "can_stop": True}
        if self._richly(address, payload):
            try:
                await self.call("send_Rich_Message_Draft", params | _rich(payload))
            except Refused as refused:
                self._refused(self._without_rich, address, "no rich draft", refused)
            else:
                return
        piece = _pieces(part, payload, plain=False)[-1]
        content = _content(piece)
        try:
            await self.call("send_Message_Draft", params | content)
        except Refused as refused:
            if not await self._drafts_at_all(params, refused):
                self._without_drafts.add(address.chat_id)
            logger.info("{}: no draft in {}: {}", self._name, address.chat_id, refused)
            raise

    async def _drafts_at_all(self, params: Mapping[str, Any], refused: Refused) -> bool:
        """Whether only that text was refused, and not drafts in general."""
        if isinstance(refused, _Unsupported):
            return False
        try:
            await self.call("send_Message_Draft", {**params, "text": ""})
        except Refused:
            return False
        return True

    def drafted(self, chat_id: str, draft_id: int) -> bool:
        """Whether the chat may still show that draft: nothing has been sent there since."""
        return self._drafts.get(chat_id, draft_id) == draft_id

    def _richly(self, address: Address, payload: Payload) -> bool:
        return bool(payload.html) and self.takes_rich(address.chat_id)

    def takes_rich(self, chat: str) -> bool:
        """Whether a chat may accept rich messages: until one is refused."""
        return chat not in self._without_rich

    def _refused(self, where: set[str], address: Address, what: str, refused: Refused) -> None:
        """One attempt is enough if the server does not support the method; another text may
        succeed.
        """
        logger.info("{}: {} in {}: {}", self._name, what, address.chat_id, refused)
        if isinstance(refused, _Unsupported) or _IGNORED.search(str(refused)):
            where.add(address.chat_id)


# Without it there is no alternative form: a chat that refuses it is asked again.
_INDISPENSABLE = "send_Message"
# For an older server, which looks for the text of an edit and finds none.
_IGNORED = pattern("text is empty|text must be non-empty", re.IGNORECASE)


def draft_id_of(key: str) -> int:
    """The number of an answer's draft: not zero, and within 31 bits."""
    return zlib.crc32(key.encode()) & 0x7FFF_FFFF or 1


def _pieces(part: OutboundPart, payload: Payload, *, plain: bool) -> list[Piece]:
    """The messages that replace a rich part."""
    if plain:
        return [Piece(text) for text in plain_pieces(part.text)] or [Piece(part.text)]
    text = part.text if payload.text is None else payload.text
    return payload.pieces or [Piece(text, payload.entities)]


def _in_pieces(payload: Payload, why: str) -> FormRefused:
    """The refusal of a rich message, with the messages that replace it: the first is the reply, the
    last has the buttons.
    """
    refusal = FormRefused(why)
    refusal.instead = [
        OutboundPart(
            text=piece.text,
            payload=msgspec.json.encode(
                Payload(
                    entities=piece.entities,
                    reply_to=payload.reply_to if number == 0 else None,
                    buttons=payload.buttons if number == len(payload.pieces) - 1 else [],
                )
            ),
        )
        for number, piece in enumerate(payload.pieces)
    ]
    return refusal


def _target(address: Address, payload: Payload, *, alone: bool = False) -> dict[str, Any]:
    """The parameters for the chat, the topic and the replied-to message: only the person who sees
    an ephemeral message (`alone`) gets a reply to it.
    """
    params: dict[str, Any] = {"chat_id": address.chat_id}
    if address.thread_id and address.thread_id.startswith(DIRECT):
        params["direct_messages_topic_id"] = address.thread_id.removeprefix(DIRECT)
    elif address.thread_id:
        params["message_thread_id"] = address.thread_id
    kind, number = "message_id", payload.reply_to or ""
    if number.startswith("e") and alone:
        kind, number = "ephemeral_message_id", number[1:]
    if number.isdecimal():
        params["reply_parameters"] = {kind: int(number), "allow_sending_without_reply": True}
    return params


def target_of(address: Address, part: OutboundPart) -> dict[str, Any]:
    """The destination of a part, for methods that send files."""
    return _target(address, payload_of(part))


def _content(piece: Piece) -> dict[str, Any]:
    """The common parameters of messages, their edits and drafts."""
    params: dict[str, Any] = {"text": piece.text}
    if piece.entities:
        params["entities"] = as_json(piece.entities)
    return params


def _rich(payload: Payload) -> dict[str, Any]:
    return {"rich_message": as_json({"html": payload.html})}


def _buttons(payload: Payload) -> dict[str, Any]:
    if not payload.buttons:
        return {}
    return {"reply_markup": as_json({"inline_keyboard": payload.buttons})}


def as_json(value: object) -> str:
    """The Bot API's JSON-serialized values; PTB passes strings on unchanged."""
    return msgspec.json.encode(value).decode()
