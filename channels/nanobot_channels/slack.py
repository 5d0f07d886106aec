"""Slack over Socket Mode: bolt for what comes in, the Web API for what goes out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from loguru import logger

from nanobot.errors import ConfigError, OutcomeUnknown, Refused, Uncertain
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Capabilities, Checked, Clock, Intake, OutboundPart, Rate, Reaction
from nanobot.system import SystemClock
from nanobot_channels import _slack_files, _slack_parts
from nanobot_channels._slack_api import (
    FAILED,
    ApiRefusal,
    NoAnswer,
    WebApi,
    delivery_error,
    is_passing,
    receiving_error,
)
from nanobot_channels._slack_backfill import Bounds
from nanobot_channels._slack_events import BotUser, is_ts
from nanobot_channels._slack_receiving import Policy, Receiver
from nanobot_channels._slack_setup import SETUP as SETUP
from nanobot_channels._slack_socket import PING_SECONDS, Handler, SocketClient

DEFAULT_API_ROOT = "https://slack.com/api/"
SCOPES = frozenset(
    {
        "app_mentions:read",
        "channels:history",
        "chat:write",
        "files:read",
        "files:write",
        "groups:history",
        "im:history",
        "mpim:history",
        "reactions:read",
        "reactions:write",
        "users:read",
    }
)
"""What docs/channels/slack.md's manifest asks for, besides `commands`."""
_FIND_PAGES = 10
_FIND_PAGE = 200
_FIND_MARGIN = 3600.0
"""Seconds by which a message may seem older than its send; its key tells it from others."""
_EMOJI = {Reaction.RECEIVED: "eyes", Reaction.DONE: "white_check_mark", Reaction.FAILED: "x"}


class SlackChannel:
    """One app in one workspace, as a channel."""

    # "No more than one message per second per channel", with short bursts (rate limits,
    # chat.postMessage); for the whole workspace Slack names no figure.
    capabilities = Capabilities(
        typing=True,
        reconciles=True,
        buttons=True,
        chat_rate=Rate(count=1, seconds=1.0),
        edit_rate=Rate(count=50, seconds=60.0),
        heartbeat=3 * PING_SECONDS,
    )

    def __init__(
        self,
        name: str,
        tokens: tuple[str, str],
        api_root: str = DEFAULT_API_ROOT,
        *,
        policy: Policy | None = None,
        clock: Clock | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._name = name
        self._app_token = tokens[1]
        self._policy = policy or Policy()
        self._clock = clock or SystemClock()
        self._api = WebApi(tokens[0], api_root, self._clock)
        self._ping_seconds = ping_seconds
        self._receiving: Receiver | None = None
        self._statusless: set[str] = set()
        self._without_tables: set[str] = set()

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. An envelope is acknowledged after its commit.

        Raises BadCredentials if a token is refused, ChannelDown if Slack cannot be reached, and
        what the intake raises.
        """
        me = await self._me()
        receiving = Receiver(self._name, self._api, intake, me, self._policy, self._clock)
        await intake.account(me.user_id)
        await receiving.load()
        self._receiving = receiving
        line = SocketClient(
            self._name,
            self._api,
            self._app_token,
            clock=self._clock,
            ping_seconds=self._ping_seconds,
        )
        line.on_alive = intake.alive
        line.on_gap = receiving.look_back
        handler = Handler(self._api, self._app_token, me, receiving.take)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(line.serve(handler, tasks))
                tasks.create_task(receiving.live())
                tasks.create_task(receiving.backfill())
        except ExceptionGroup as group:
            raise _first(group) from group

    async def check(self) -> Checked:
        """The bot's @name, its workspace and the scopes that it lacks; tries both tokens. Raises
        BadCredentials or ChannelDown."""
        me = await self._me()
        missing = sorted(SCOPES - self._api.granted) if self._api.granted else []
        try:
            await self._api.open_socket(self._app_token)
        except FAILED as error:
            raise receiving_error(self._name, error, "app_token") from error
        lacking = (
            f"The app lacks the scopes {', '.join(missing)}: add them on api.slack.com/apps, "
            "your app, OAuth & Permissions, and install it to the workspace again"
        )
        return Checked(f"@{me.user} in {me.team}", lacking if missing else "")

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: at most 3,000 characters of rich text and a table each, at least one, none
        empty."""
        return _slack_parts.render(message)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns its ts.

        Raises NotSent, Refused, ChatGone, or OutcomeUnknown when the request went out and no
        usable answer came.
        """
        place = {"channel": address.chat_id, "thread_ts": address.thread_id}
        answer = await self._write("chat.postMessage", place, part, plain=plain)
        ts = answer.get("ts")
        if not isinstance(ts, str) or not is_ts(ts):
            raise OutcomeUnknown("Slack's chat.postMessage answered without a ts")
        self._joined(address)
        return ts

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace a message sent before; that it already reads so is no error. Raises as `send`."""
        place = {"channel": address.chat_id, "ts": message_id}
        await self._write("chat.update", place, part, plain=plain)

    async def _write(
        self, method: str, place: dict[str, Any], part: OutboundPart, *, plain: bool
    ) -> dict[str, Any]:
        """Post or change a message; a chat where a table is refused gets no more of them."""
        chat = str(place["channel"])
        tabular = chat not in self._without_tables and _slack_parts.has_table(part)
        content = _slack_parts.content(part, plain=plain, with_tables=tabular)
        try:
            return await self._call(method, content | place)
        except Refused as refused:
            if plain or not tabular:
                raise
            logger.info("{}: no tables in {}: {}", self._name, chat, refused)
            self._without_tables.add(chat)
        content = _slack_parts.content(part, plain=plain, with_tables=False)
        return await self._call(method, content | place)

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The ts of a part, by the key in its metadata, or of a file by that in its words.

        Looks at the two thousand messages of the chat or thread around its end since then. Raises
        Uncertain if there are more, NotSent or OutcomeUnknown when Slack does not let it look.
        """
        method = "conversations.replies" if address.thread_id else "conversations.history"
        if not self._api.time.is_set:
            await self._call("auth.test", {}, form=True)
        oldest = max(self._api.time.at(since) - _FIND_MARGIN, 0.0)
        params: dict[str, Any] = {
            "channel": address.chat_id,
            "ts": address.thread_id,
            "limit": _FIND_PAGE,
            "oldest": f"{oldest:.6f}",
            "include_all_metadata": True,
        }
        for _ in range(_FIND_PAGES):
            answer = await self._call(method, params, form=True)
            messages = answer.get("messages")
            for message in messages if isinstance(messages, list) else []:
                if _is_part(message, part):
                    return str(message["ts"])
            data = answer.get("response_metadata")
            cursor = data.get("next_cursor") if isinstance(data, dict) else None
            if not cursor:
                return None
            params["cursor"] = cursor
        raise Uncertain("more was said there since the send than is looked at")

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """A file's content; see ports.Fetching. Raises Refused or ChannelDown."""
        return await _slack_files.download(self._api, attachment, limit)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send a file with its caption; see ports.Filing. Raises as `send`."""
        message_id = await _slack_files.upload(self._api, address, part, content)
        self._joined(address)
        return message_id

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Replace the bot's earlier reaction. A slash command has no message to react to: nothing
        is done then. Raises as `send`."""
        if not is_ts(message_id):
            return
        place = {"channel": address.chat_id, "timestamp": message_id}
        await self._react("reactions.add", place | {"name": _EMOJI[mark]}, "already_reacted")
        if mark is not Reaction.RECEIVED:
            for other in _EMOJI.values():
                if other != _EMOJI[mark]:
                    await self._react("reactions.remove", place | {"name": other}, "no_reaction")

    async def typing(self, address: Address) -> None:
        """Show a status in a thread, until the answer comes; elsewhere Slack has nothing like it.

        Where the app may not do that it is tried once. Raises as `send`.
        """
        await self._status(address, "is thinking...")

    async def tell(self, address: Address, doing: str) -> None:
        """Show in the status of a thread what is being done; see `typing`."""
        await self._status(address, f"is at work: {doing}")

    async def _status(self, address: Address, status: str) -> None:
        if not address.thread_id or address.chat_id in self._statusless:
            return
        params = {
            "channel_id": address.chat_id,
            "thread_ts": address.thread_id,
            "status": status,
        }
        try:
            await self._api.call("assistant.threads.setStatus", params)
        except ApiRefusal as error:
            if not is_passing(error):
                logger.debug("{}: no status is shown: {}", self._name, error)
                self._statusless.add(address.chat_id)
        except NoAnswer as error:
            raise delivery_error(error) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._api.close()

    async def _me(self) -> BotUser:
        try:
            answer = await self._api.call("auth.test", {}, form=True)
        except FAILED as error:
            raise receiving_error(self._name, error, "bot_token") from error
        fields = {key: str(answer.get(key) or "") for key in ("user_id", "bot_id", "user", "team")}
        return BotUser(**fields)

    async def _call(
        self, method: str, params: Mapping[str, Any], *, form: bool = False
    ) -> dict[str, Any]:
        try:
            return await self._api.call(method, params, form=form)
        except FAILED as error:
            raise delivery_error(error) from error

    async def _react(self, method: str, params: Mapping[str, Any], fine: str) -> None:
        try:
            await self._api.call(method, params)
        except FAILED as error:
            if not isinstance(error, ApiRefusal) or error.code != fine:
                raise delivery_error(error) from error

    def _joined(self, address: Address) -> None:
        if self._receiving is not None and address.thread_id:
            self._receiving.threads.join(address.chat_id, address.thread_id)


def _is_part(message: object, part: OutboundPart) -> bool:
    if not isinstance(message, dict) or not is_ts(str(message.get("ts", ""))):
        return False
    mark = _slack_parts.mark_of(part)
    blocks = message.get("blocks")
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, dict) and block.get("block_id") == mark:
            return True
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != _slack_parts.METADATA_TYPE:
        return False
    payload = metadata.get("event_payload")
    return isinstance(payload, dict) and payload.get("key") == part.key


def _first(group: ExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error


def open_channel(name: str, settings: Mapping[str, object]) -> SlackChannel:
    """The channel of one `[channels.NAME]` table; docs/channels/slack.md has the keys.

    Raises ConfigError for settings that cannot work; nothing is connected yet.
    """
    bot = _token(
        name,
        settings,
        "bot_token",
        "xoxb-",
        "the Bot User OAuth Token on api.slack.com/apps, your app, OAuth & Permissions",
    )
    app = _token(
        name,
        settings,
        "app_token",
        "xapp-",
        "an app-level token with the scope connections:write, which api.slack.com/apps, your app, "
        "Basic Information, App-Level Tokens generates",
    )
    root = settings.get("api_root", DEFAULT_API_ROOT)
    if not isinstance(root, str) or not re.match(r"https?://[^\s/{}?#]+[^\s{}?#]*$", root.strip()):
        raise ConfigError(
            f"channels.{name}.api_root is not an http(s) URL: remove it to use {DEFAULT_API_ROOT}"
        )
    threads = settings.get("threads", "auto")
    if threads not in ("auto", "always", "never"):
        raise ConfigError(
            f'channels.{name}.threads is {threads!r}: use "auto" (threads in channels), "always" '
            'or "never"'
        )
    slash = settings.get("slash_command", "")
    if not isinstance(slash, str) or (slash and not re.fullmatch(r"/[^\s/]+", slash)):
        raise ConfigError(
            f"channels.{name}.slash_command is {slash!r}: write it as in the app's settings on "
            'api.slack.com, for example "/nanobot"'
        )
    policy = Policy(str(threads), slash, _bounds(name, settings))
    return SlackChannel(name, (bot, app), root.strip().rstrip("/") + "/", policy=policy)


def _token(name: str, settings: Mapping[str, object], key: str, prefix: str, source: str) -> str:
    token = settings.get(key)
    if not isinstance(token, str) or not re.fullmatch(rf"{prefix}[\w.%-]+", token.strip()):
        what = f"does not begin with {prefix}, or has odd characters" if token else "is missing"
        raise ConfigError(f"channels.{name}.{key} {what}: put {source}, there.")
    return token.strip()


def _bounds(name: str, settings: Mapping[str, object]) -> Bounds:
    messages = settings.get("backfill_messages", 100)
    hours = settings.get("backfill_hours", 24)
    if isinstance(messages, bool) or not isinstance(messages, int) or not 0 <= messages <= 1000:
        raise ConfigError(
            f"channels.{name}.backfill_messages is {messages!r}: use a number from 0 to 1000"
        )
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= 720:
        raise ConfigError(
            f"channels.{name}.backfill_hours is {hours!r}: use a number from 0 to 720"
        )
    return Bounds(messages, float(hours))
