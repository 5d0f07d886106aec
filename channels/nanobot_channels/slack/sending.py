"""Sends messages to Slack in the best form that a chat accepts, and finds them again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import ChatGone, Refused, Uncertain
from nanobot.messages import PREVIEW, Address
from nanobot.ports import OutboundPart
from nanobot_channels.common.shapes import table, tables
from nanobot_channels.slack.api import (
    FAILED,
    ApiRefusal,
    NoAnswer,
    WebApi,
    delivery_error,
    following,
)
from nanobot_channels.slack.events import is_direct, is_ts
from nanobot_channels.slack.parts import (
    METADATA_TYPE,
    OLDEST,
    Json,
    contents,
    mark_of,
    payload_of,
    plain_content,
)
from nanobot_channels.slack.streams import Streams, begins_so, is_nameless

_FIND_PAGES = 10
_FIND_PAGE = 200
_FIND_MARGIN = 3600.0
"""Seconds by which a message may appear older than its send; its key distinguishes it from
others.
"""
_STREAM_MARGIN = 10.0
"""The same for a stream that has no key yet: an older one belongs to another answer."""
_BLOCKS_REFUSED = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
_PERSON = re.compile(r"[UW][A-Z0-9]+")
_ONCE = {"msg_blocks_too_long"}
"""Errors about one message, which say nothing of its chat."""


class Outgoing:
    """Sends through one workspace's API. A form that a chat refused is not tried there again."""

    def __init__(self, name: str, api: WebApi, streams: Streams, *, link_previews: bool) -> None:
        self._name = name
        self._api = api
        self._streams = streams
        self._look: Json = {"unfurl_links": link_previews, "unfurl_media": link_previews}
        self._forms: dict[str, int] = {}
        self._public: set[tuple[str, str]] = set()

    async def write(
        self, method: str, place: Json, part: OutboundPart, *, plain: bool = False
    ) -> dict[str, Any]:
        """Post or change a message. Raises as `Channel.send`."""
        look = {} if method == "chat.update" else self._look
        if plain:
            return await self.call(method, plain_content(part) | look | place)
        chat, forms = str(place["channel"]), list(contents(part))
        accepted = [form for form in forms if form[0] >= self._forms.get(chat, 0)] or forms[-1:]
        for grade, form in accepted[:-1]:
            try:
                return await self._api.call(method, form | look | place)
            except ApiRefusal as error:
                if error.code not in _BLOCKS_REFUSED:
                    raise delivery_error(error) from error
                logger.info("{}: {} gets an older form: {}", self._name, chat, error)
                if error.code not in _ONCE:
                    self._forms[chat] = min(grade + 1, OLDEST)
            except NoAnswer as error:
                raise delivery_error(error) from error
        return await self.call(method, accepted[-1][1] | look | place)

    def confides(self, address: Address, person: str) -> bool:
        may_confide = _PERSON.fullmatch(person) and (address.chat_id, person) not in self._public
        return bool(may_confide) and not is_direct(address.chat_id)

    async def confide(self, address: Address, person: str, part: OutboundPart, root: str) -> str:
        """Show a part to one person, below `root` if there is one. See ports.Confiding.

        Slack does not store such a message: it disappears when the page is reloaded. So a message
        that needs an answer by a button is refused.
        """
        if any(block.get("type") == "actions" for block in payload_of(part).blocks):
            raise Refused("a message that waits for an answer must not disappear")
        place = {"channel": address.chat_id, "user": person, "thread_ts": root or None}
        part = msgspec.structs.replace(part, key="")  # it cannot be found again
        try:
            answer = await self.write("chat.postEphemeral", place, part)
        except (Refused, ChatGone) as error:
            self._public.add((address.chat_id, person))
            raise Refused(str(error)) from error
        return f"ephemeral:{answer.get('message_ts', '')}"

    async def call(
        self, method: str, params: Mapping[str, Any], *, form: bool = False
    ) -> dict[str, Any]:
        """One call. Raises as `Channel.send`."""
        try:
            return await self._api.call(method, params, form=form)
        except FAILED as error:
            raise delivery_error(error) from error

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The ts of a part: found by the key in its metadata; for a file, by the key in its
        caption; or as a stream that was begun and has no key yet. See ports.Channel.

        Looks at the two thousand messages of the chat or thread around its end since then. Raises
        Uncertain if there are more, NotSent or OutcomeUnknown if Slack does not allow the look-up.
        """
        method = "conversations.replies" if address.thread_id else "conversations.history"
        if not self._api.time.is_set:
            await self.call("auth.test", {}, form=True)
        began = self._api.time.at(since)
        oldest = max(began - _FIND_MARGIN, 0.0)
        params: dict[str, Any] = {
            "channel": address.chat_id,
            "ts": address.thread_id,
            "limit": _FIND_PAGE,
            "oldest": f"{oldest:.6f}",
            "include_all_metadata": True,
        }
        nameless: list[Json] = []
        for _ in range(_FIND_PAGES):
            answer = await self.call(method, params, form=True)
            for message in _messages(answer):
                if _is_part(message, part):
                    return str(message["ts"])
                ts = str(message["ts"])
                recent = float(ts) > began - _STREAM_MARGIN
                if recent and is_nameless(message) and not self._streams.is_open(ts):
                    nameless.append(message)
            params["cursor"] = following(answer)
            if not params["cursor"]:
                return _begun(nameless, part)
        raise Uncertain("more was said there since the send than is looked at")


def _messages(answer: Mapping[str, Any]) -> list[Json]:
    return [reply for reply in tables(answer.get("messages")) if is_ts(str(reply.get("ts", "")))]


def _begun(nameless: list[Json], part: OutboundPart) -> str | None:
    """The stream that a preview with an unknown outcome may have begun. Raises Uncertain if several
    match.
    """
    if not part.key.endswith(PREVIEW):
        return None
    if len(nameless) > 1:
        nameless = [message for message in nameless if begins_so(message, part)]
        if len(nameless) != 1:
            raise Uncertain("it cannot be told which stream it is")
    return str(nameless[0]["ts"]) if nameless else None


def _is_part(message: Json, part: OutboundPart) -> bool:
    mark, metadata = mark_of(part), table(message.get("metadata"))
    if any(block.get("block_id") == mark for block in tables(message.get("blocks"))):
        return True
    ours = metadata.get("event_type") == METADATA_TYPE
    return ours and table(metadata.get("event_payload")).get("key") == part.key
