"""Mattermost as a channel: a websocket for posts, the REST API for outbound messages, and requests
from Mattermost for pressed buttons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import msgspec

from nanobot.errors import NotSent, OutcomeUnknown, Refused, Uncertain
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import (
    Capabilities,
    Checked,
    Clock,
    Intake,
    OutboundPart,
    PlatformReply,
    PlatformRequest,
    Rate,
    Reaction,
)
from nanobot.system import SystemClock
from nanobot_channels.common.json_api import FAILED, ApiRefusal, Json
from nanobot_channels.common.settings import Table
from nanobot_channels.common.shapes import BadEvent, listed, string, table, tables
from nanobot_channels.common.uploads import upload_mime, upload_name
from nanobot_channels.mattermost import parts
from nanobot_channels.mattermost.api import RestApi, delivery_error, receiving_error
from nanobot_channels.mattermost.events import Bot, post_of, pressed, reaction
from nanobot_channels.mattermost.receiving import PING_SECONDS, Receiver
from nanobot_channels.mattermost.settings import SETUP as SETUP
from nanobot_channels.mattermost.settings import Settings, settings_of

MOST_FILES = 10
"""The most files of one post."""
_MARGIN_SECONDS = 60.0
_MOST_POSTS = 1_000
"""The most posts since a given time that Mattermost lists."""
_EMOJI = {
    Reaction.RECEIVED: "eyes",
    Reaction.DONE: "white_check_mark",
    Reaction.FAILED: "x",
}
# The default rate of servers that limit requests.
_ABLE = Capabilities(
    typing=True,
    reconciles=True,
    bot_rate=Rate(count=10, seconds=1.0),
    heartbeat=2 * PING_SECONDS,
)
_NOT_OURS = PlatformReply(status=401, body=b"This is not a button of this assistant.")


class MattermostChannel:
    """One bot account. A chat is a channel; in a channel with several people each answer is a
    thread.
    """

    def __init__(self, name: str, settings: Settings, *, clock: Clock | None = None) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock or SystemClock()
        self._api = RestApi(settings, self._clock)
        self._receiver = Receiver(name, settings, self._api)
        self._bot: Bot | None = None
        self._url = ""
        self.capabilities = _ABLE

    # Receiving

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises BadCredentials, ChannelDown and what intake raises."""
        bot = await self._me()
        await intake.account(f"{self._settings.url} {bot.id}")
        try:
            await self._api.watch.during(self._receiver.run(intake, bot))
        except ApiRefusal as error:
            raise receiving_error(self._name, error) from error

    def reached_at(self, url: str) -> None:
        """The URL for pressed buttons; without a URL that Mattermost can reach there are no
        buttons.
        """
        self._url = self._settings.callback_url or url
        self.capabilities = msgspec.structs.replace(_ABLE, buttons=bool(self._url))

    async def receive(self, request: PlatformRequest, intake: Intake) -> PlatformReply:
        """A pressed button. A key authenticates its context."""
        if request.method != "POST" or request.path != "/press":
            return PlatformReply(status=404, body=b"There is nothing here.")
        try:
            message = pressed(request.body, self._name, self._settings.token, self._api.time.now())
        except BadEvent as error:
            return PlatformReply(status=400, body=str(error)[:200].encode())
        if message is None:
            return _NOT_OURS
        await intake.admit([message])
        return PlatformReply(body=b"{}", content_type="application/json")

    # Sending

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: at most 16,383 characters of Markdown each, none empty."""
        return parts.render(message, buttons=bool(self._url))

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns its post's id. Raises as ports.Channel says."""
        return await self._post(address, part, parts.plain(part.text) if plain else part.text, [])

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        return await self.send_album(address, part, [content])

    def together(self, files: Sequence[Attachment]) -> int:
        return min(len(files), MOST_FILES)

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send the part's files as one post; see ports.Albums."""
        files = [file for file in (part.file, *part.others) if file is not None]
        pairs = zip(files, contents, strict=True)
        numbers = [await self._upload(address, file, content) for file, content in pairs]
        return await self._post(address, part, part.text, numbers)

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace one of the bot's own posts. Raises as `send`: Refused if it no longer exists."""
        text = parts.plain(part.text) if plain else part.text
        patch = {"message": text, "props": await self._properties(address, part)}
        await self._ours(f"/posts/{message_id}/patch", patch, "PUT")

    async def delete(self, address: Address, message_id: str) -> None:
        await self._ours(f"/posts/{message_id}", None, "DELETE")

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The post of a part, identified by its mark, among the posts of its channel since then.
        Raises Uncertain if there are more posts than Mattermost lists.
        """
        if not self._api.time.is_set:
            await self._call("me", "/users/me")
        began = self._api.time.at(since) - _MARGIN_SECONDS
        query = {"since": f"{max(began, 0.0) * 1000:.0f}"}
        answer = table(await self._call("posts", f"/channels/{address.chat_id}/posts", query=query))
        mark, shown = parts.mark_of(part), table(answer.get("posts"))
        for number, post in shown.items():
            if table(table(post).get("props")).get(parts.MARK) == mark:
                return number
        if len(shown) >= _MOST_POSTS:
            raise Uncertain("more was said there since the send than Mattermost lists")
        return None

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """A file's content; see ports.Fetching. Raises Refused or ChannelDown."""
        return await self._api.download(f"{self._api.root}/files/{attachment.ref}", limit)

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Replace the bot's earlier reaction. Raises as `send`."""
        bot = await self._known()
        emoji = {"user_id": bot.id, "post_id": message_id, "emoji_name": _EMOJI[mark]}
        await self._call("reactions", "/reactions", emoji)
        for other in _EMOJI.values() if mark is not Reaction.RECEIVED else ():
            if other != _EMOJI[mark]:
                path = f"/users/{bot.id}/posts/{message_id}/reactions/{other}"
                await self._missing(path)

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """Who reacted to a post of ours; see ports.Recalling. Raises as `send`."""
        bot = await self._known()
        answer = await self._call("reactions", f"/posts/{message_id}/reactions")
        direct = await self._receiver.is_direct(address.chat_id)
        place = (self._name, address.chat_id)
        try:
            read = [reaction(item, place, bot, direct=direct) for item in listed(answer)]
        except BadEvent as error:
            raise OutcomeUnknown(f"Mattermost's reactions cannot be read: {error}") from error
        return [message for message in read if message is not None]

    async def typing(self, address: Address) -> None:
        body = {"channel_id": address.chat_id, "parent_id": address.thread_id or ""}
        await self._call("typing", "/users/me/typing", body)

    async def check(self) -> Checked:
        """The bot and its server. Raises BadCredentials or ChannelDown."""
        bot = await self._me()
        lacking = (
            "Buttons are written out as commands: set web.public_url, or "
            f"channels.{self._name}.callback_url, to an address that Mattermost reaches"
        )
        return Checked(f"@{bot.username} on {self._settings.url}", "" if self._url else lacking)

    async def close(self) -> None:
        await self._api.close()

    # Shared code

    async def _me(self) -> Bot:
        try:
            me = table(await self._api.call("me", "/users/me"))
        except FAILED as error:
            raise receiving_error(self._name, error) from error
        self._bot = Bot(string(me.get("id")), string(me.get("username")))
        return self._bot

    async def _known(self) -> Bot:
        if self._bot is None:
            me = table(await self._call("me", "/users/me"))
            self._bot = Bot(string(me.get("id")), string(me.get("username")))
        return self._bot

    async def _post(self, address: Address, part: OutboundPart, text: str, files: list[str]) -> str:
        post: Json = {"channel_id": address.chat_id, "message": text, "file_ids": files}
        post |= {"root_id": address.thread_id or "", "props": await self._properties(address, part)}
        if part.key:  # a repeat within half a minute does not create a second post
            post["pending_post_id"] = parts.mark_of(part)
        try:
            sent = post_of(await self._call("posts", "/posts", post))
        except BadEvent as error:
            raise OutcomeUnknown(f"Mattermost answered without a post: {error}") from error
        self._receiver.joined(sent.root_id)
        return sent.id

    async def _properties(self, address: Address, part: OutboundPart) -> Json:
        direct = bool(part.payload) and await self._receiver.is_direct(address.chat_id)
        return parts.properties(part, address, (self._url, self._settings.token, direct))

    async def _upload(self, address: Address, file: Attachment, content: bytes) -> str:
        # Names as they are: Mattermost does not decode what aiohttp would make of umlauts.
        form = aiohttp.FormData({"channel_id": address.chat_id}, quote_fields=False)
        name, mime = upload_name(file), upload_mime(file)
        form.add_field("files", content, filename=name, content_type=mime)
        try:
            infos = tables(table(await self._call("files", "/files", form)).get("file_infos"))
        except OutcomeUnknown as error:
            raise NotSent(str(error)) from error  # no post shows it
        number = string(infos[0].get("id")) if infos else ""
        if not number:
            raise NotSent("Mattermost took the upload and gave it no id")
        return number

    async def _ours(self, path: str, body: Json | None, method: str) -> None:
        """Change one of the bot's own posts; Refused if it can no longer be changed."""
        try:
            await self._api.call("posts", path, body, method=method)
        except FAILED as error:
            if isinstance(error, ApiRefusal) and error.code and error.status in {400, 403, 404}:
                raise Refused(str(error)) from error
            raise delivery_error(error) from error

    async def _missing(self, path: str) -> None:
        """Remove a reaction, which may not exist."""
        try:
            await self._api.call("reactions", path, method="DELETE")
        except FAILED as error:
            if not isinstance(error, ApiRefusal) or error.status not in {400, 403, 404}:
                raise delivery_error(error) from error

    async def _call(
        self, what: str, path: str, body: object = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        try:
            return await self._api.call(what, path, body, query=query)
        except FAILED as error:
            raise delivery_error(error) from error


def open_channel(name: str, settings: Mapping[str, object]) -> MattermostChannel:
    """The channel of one `[channels.NAME]` table; docs/channels/mattermost.md has the keys.

    Raises ConfigError for invalid settings; it does not connect yet.
    """
    return MattermostChannel(name, settings_of(Table(name, settings)))
