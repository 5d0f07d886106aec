"""Telegram over the Bot API: python-telegram-bot's Bot, and polling that acknowledges late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from nanobot.errors import BadCredentials, ChannelDown, Refused
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import (
    Capabilities,
    Clock,
    Intake,
    MenuCommand,
    OutboundPart,
    Rate,
    Reaction,
    Setup,
    SetupField,
)
from nanobot.system import SystemClock
from nanobot_channels.common.settings import Table
from nanobot_channels.common.text import utf16_units
from nanobot_channels.telegram import files, parts
from nanobot_channels.telegram.albums import TelegramAlbums
from nanobot_channels.telegram.api import MALFORMED, BotApi
from nanobot_channels.telegram.http import ApiRefusal
from nanobot_channels.telegram.library import TelegramError
from nanobot_channels.telegram.menu import menus
from nanobot_channels.telegram.messages import TelegramMessages, as_json, target_of
from nanobot_channels.telegram.personal import PersonalMessages, is_personal
from nanobot_channels.telegram.polling import Polling, refused_token
from nanobot_channels.telegram.types import DIRECT

DEFAULT_API_ROOT = "https://api.telegram.org"
POLL_SECONDS = 30
_CHECK_SECONDS = 10.0
# Of the emoji that every bot may react with (Bot API, ReactionTypeEmoji).
_REACTIONS = {
    Reaction.RECEIVED: "\N{EYES}",
    Reaction.DONE: "\N{THUMBS UP SIGN}",
    Reaction.FAILED: "\N{THUMBS DOWN SIGN}",
}


SETUP = Setup(
    title="Telegram",
    steps="On Telegram, send /newbot to @BotFather: it gives you a token.",
    docs="docs/channels/telegram.md",
    fields=(
        SetupField(
            key="token",
            asks="Token",
            secret=True,
            variables=("TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN"),
        ),
    ),
    person="Your numeric id",
    pattern=r"-?\d+",
    knock="Write something to {bot} on Telegram",
    keeps=True,
    id_is_chat=True,
)


class TelegramChannel:
    """One bot. `poll_seconds`, at least 1, is how long the server holds a poll without news."""

    # Telegram cannot be asked whether a message was sent, so nothing can be reconciled. Its rates
    # (core.telegram.org/bots/faq): one message a second in a chat, but 20 a minute in a group, and
    # 30 a second in all. A chat that has reported a limit is most likely a group.
    capabilities = Capabilities(
        typing=True,
        reconciles=False,
        buttons=True,
        chat_rate=Rate(20, 60.0),
        bot_rate=Rate(30, 1.0),
        shared=True,
    )

    def __init__(
        self,
        name: str,
        token: str,
        api_root: str = DEFAULT_API_ROOT,
        *,
        poll_seconds: int = POLL_SECONDS,
        link_previews: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._api = BotApi(token, api_root)
        self._bot_id = token.partition(":")[0]  # a token begins like this
        self._clock = clock or SystemClock()
        self._poll_seconds = poll_seconds
        self._messages = TelegramMessages(self._api, name, link_previews=link_previews)
        self._personal = PersonalMessages(self._messages, name, self._clock)
        self._albums = TelegramAlbums(self._api)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. An update is acknowledged by the poll after its commit.

        The channel waits for the end of outages, conflicts with another poller and flood control,
        with warnings in the log. Raises BadCredentials if the token is refused, and what the intake
        raises.
        """
        await intake.account(self._bot_id)
        personal, seconds = self._personal, self._poll_seconds
        await Polling(self._api, self._name, intake, self._clock, personal, seconds).run()

    async def check(self) -> str:
        """The bot's @name; see ports.SelfChecking. Raises BadCredentials or ChannelDown."""
        try:
            me = await self._api.call("get_Me", {}, read_seconds=_CHECK_SECONDS)
            return f"@{me['username']}"
        except ApiRefusal as error:
            if error.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
                raise refused_token(self._name, error.status) from error
            raise ChannelDown(f"Telegram: {error.message} ({error.status})") from error
        except (TelegramError, *MALFORMED) as error:
            raise ChannelDown(f"no usable answer from Telegram: {error}") from error

    async def probe(self) -> None:
        """Call getMe; see ports.Probing. Raises ChannelDown."""
        with suppress(BadCredentials):
            await self.check()

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: rich messages, or at most 4096 UTF-16 units and 100 entities each, at least
        one, none empty. A chat that has refused rich messages gets none.
        """
        rich = self._messages.takes_rich(message.address.chat_id)
        return parts.render(message, rich=rich)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns the message_id.

        Raises NotSent, Refused, ChatGone, or OutcomeUnknown if the request was sent and no usable
        response arrived.
        """
        return await self._messages.send(address, part, plain=plain)

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace an earlier message, and its buttons by the part's, if it has any.

        An unchanged text is not an error. Raises as `send`: Refused if it no longer exists or is of
        a kind that cannot be edited.
        """
        if is_personal(message_id):
            await self._personal.edit(address, message_id, part)
        else:
            await self._messages.edit(address, message_id, part, plain=plain)

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message sent within the last 48 hours. Raises as `send`."""
        if is_personal(message_id):
            raise Refused("what one person was shown is not deleted")
        params = {"chat_id": address.chat_id, "message_id": message_id}
        await self._messages.call("delete_Message", params)

    def confides(self, address: Address, person: str) -> bool:
        """Whether a person in a group can be shown an ephemeral message; see ports.Confiding."""
        return self._personal.confides(address, person)

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        return await self._personal.confide(address, person, part)

    def drafts(self, address: Address) -> bool:
        return self._messages.drafts(address)

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        await self._messages.draft(address, key, part)

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        return await files.fetch(self._api, attachment, limit)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send a file as a photo, an animation, a voice message, music or a video if Telegram
        displays it as such, otherwise as a document; returns the message_id. Raises as `send`.

        A caption beyond Telegram's 1024 UTF-16 units is sent before the file, as separate messages;
        if the file then fails, they are sent again with it.
        """
        if part.file is None:
            raise Refused("there is no file in this part")
        params = target_of(address, part)
        if utf16_units(part.text) > files.CAPTION_LIMIT:
            words = OutboundPart(text=part.text, payload=part.payload)
            await self._messages.send(address, words, plain=True)
        elif part.text.strip():
            params["caption"] = part.text
        return await files.upload(self._api, part.file, content, params)

    def together(self, files: Sequence[Attachment]) -> int:
        """How many of these files make one album; see ports.Albums."""
        return self._albums.together(files)

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send files as one album; returns the message_id of the first. Raises as `send`: Refused,
        with nothing sent, also if the caption is too long.
        """
        return await self._albums.send(address, part, contents)

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Set the bot's reaction on a message. Raises as `send`: Refused if reactions are not
        allowed.
        """
        params = {
            "chat_id": address.chat_id,
            "message_id": message_id,
            "reaction": as_json([{"type": "emoji", "emoji": _REACTIONS[mark]}]),
        }
        await self._messages.call("set_Message_Reaction", params)

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        """Set the menu to these commands, as far as Telegram accepts them, in each language. Raises
        as `send`.
        """
        await self._set_menu(commands, {"type": "default"})

    async def register_in_groups(self, commands: Sequence[MenuCommand]) -> None:
        """The same for all groups."""
        await self._set_menu(commands, {"type": "all_group_chats"})

    async def register_in(self, chat_id: str, commands: Sequence[MenuCommand]) -> None:
        """The same for one chat; without commands it has the default menu."""
        await self._set_menu(commands, {"type": "chat", "chat_id": chat_id})

    async def _set_menu(self, commands: Sequence[MenuCommand], scope: Mapping[str, str]) -> None:
        for language, entries in menus(commands).items():
            params = {"scope": as_json(scope), "language_code": language}
            if entries:
                await self._messages.call(
                    "set_My_Commands", params | {"commands": as_json(entries)}
                )
            else:
                await self._messages.call("delete_My_Commands", params)

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """Telegram numbers the messages of a chat; ephemeral messages have separate numbers."""
        if not (message.message_id.isdecimal() and receipt.isdecimal()):
            return None
        return int(message.message_id) > int(receipt)

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """Always None: the Bot API cannot look messages up."""
        del address, part
        return None

    async def typing(self, address: Address) -> None:
        """Show "typing" for about five seconds. Raises as `send`."""
        params: dict[str, Any] = {"chat_id": address.chat_id, "action": "typing"}
        if address.thread_id and not address.thread_id.startswith(DIRECT):
            params["message_thread_id"] = address.thread_id
        await self._messages.call("send_Chat_Action", params)

    async def close(self) -> None:
        await self._api.close()


def open_channel(name: str, settings: Mapping[str, object]) -> TelegramChannel:
    """The channel of one `[channels.NAME]` table: `token`, `api_root` for another server, and
    `link_previews`.

    Raises ConfigError for invalid settings; it does not connect yet.
    """
    table = Table(name, settings)
    token = table.token(
        "token",
        r"[^\s/?#%{}]+",
        "talk to @BotFather on Telegram, send /newbot, and put the token it gives you there.",
    )
    previews = table.flag("link_previews", usual=False)
    root = table.url("api_root", DEFAULT_API_ROOT)
    return TelegramChannel(name, token, root, link_previews=previews)
