"""Slack over Socket Mode: bolt for inbound, the Web API for outbound messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nanobot.errors import NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage, Step
from nanobot.ports import (
    Capabilities,
    Checked,
    Clock,
    Intake,
    OutboundPart,
    Rate,
    Reaction,
)
from nanobot.system import SystemClock
from nanobot_channels.common.settings import Table
from nanobot_channels.common.shapes import BadEvent, string
from nanobot_channels.slack import files as slack_files
from nanobot_channels.slack import parts
from nanobot_channels.slack.api import (
    FAILED,
    ApiRefusal,
    StillStreaming,
    WebApi,
    delivery_error,
    receiving_error,
)
from nanobot_channels.slack.assistant import Assistant
from nanobot_channels.slack.events import BotUser, is_direct, is_ts, order
from nanobot_channels.slack.receiving import Policy, Receiver
from nanobot_channels.slack.sending import Outgoing
from nanobot_channels.slack.settings import DEFAULT_API_ROOT as DEFAULT_API_ROOT
from nanobot_channels.slack.settings import api_root_of, policy_of, tokens_of
from nanobot_channels.slack.setup import SETUP as SETUP
from nanobot_channels.slack.socket import PING_SECONDS, Handler, SocketClient
from nanobot_channels.slack.streams import Streams

SCOPES = frozenset(
    {
        "app_mentions:read",
        "assistant:write",
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
"""The scopes in docs/channels/slack.md's manifest, except `commands`."""
_EMOJI = {Reaction.RECEIVED: "eyes", Reaction.DONE: "white_check_mark", Reaction.FAILED: "x"}


class SlackChannel:
    """One app in one workspace, as a channel."""

    # "No more than one message per second per channel", with short bursts (rate limits,
    # chat.postMessage); Slack names no figure for the whole workspace.
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
        self._streams = Streams(name, self._api, self._clock)
        self._outgoing = Outgoing(
            name, self._api, self._streams, link_previews=self._policy.link_previews
        )
        self._assistant = Assistant(name, self._api, self._policy.prompts)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. An envelope is acknowledged after its commit.

        Raises BadCredentials if a token is refused, ChannelDown if Slack cannot be reached, and
        what the intake raises.
        """
        me = await self._me()
        receiving = Receiver(self._name, self._api, intake, me, self._policy, self._assistant)
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
        receiving.is_shared = line.is_shared
        handler = Handler(self._api, self._app_token, me, receiving.take)
        try:
            await self._api.watch.during(self._receive(line, handler, receiving))
        except ApiRefusal as error:
            raise receiving_error(self._name, error, "bot_token") from error

    async def _receive(self, line: SocketClient, handler: Handler, receiving: Receiver) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(line.serve(handler, tasks))
            tasks.create_task(receiving.live())
            tasks.create_task(receiving.backfill())
            tasks.create_task(self._assistant.run())

    async def check(self) -> Checked:
        """The bot's @name, its workspace and the missing scopes; tests both tokens. Raises
        BadCredentials or ChannelDown.
        """
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
        """The parts: at most 12,000 characters of Markdown each, at least one, none empty."""
        return parts.render(message, feedback=self._policy.feedback)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns its ts.

        Raises NotSent, Refused, ChatGone, or OutcomeUnknown if the request was sent and no usable
        response arrived.
        """
        place = {"channel": address.chat_id, "thread_ts": address.thread_id}
        answer = await self._outgoing.write("chat.postMessage", place, part, plain=plain)
        ts = string(answer.get("ts"))
        if not is_ts(ts):
            raise OutcomeUnknown("Slack's chat.postMessage answered without a ts")
        self._joined(address)
        return ts

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace an earlier message; an unchanged text is not an error. A stream is stopped with
        the rest of its text, or stopped and then replaced. Raises as `send`.
        """
        if not is_ts(message_id):
            raise Refused("what one person was shown cannot be edited")
        if not plain and await self._streams.finish(address, message_id, part):
            return
        place = {"channel": address.chat_id, "ts": message_id}
        try:
            await self._outgoing.write("chat.update", place, part, plain=plain)
        except StillStreaming:
            await self._streams.stop(address, message_id)
            await self._outgoing.write("chat.update", place, part, plain=plain)

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete one of the bot's own messages; a stream is stopped first. Raises as `send`:
        Refused if it no longer exists, or may not be deleted.
        """
        if not is_ts(message_id):
            raise Refused("what one person was shown is not deleted")
        if self._streams.is_open(message_id):
            await self._streams.stop(address, message_id)
        place = {"channel": address.chat_id, "ts": message_id}
        await self._outgoing.call("chat.delete", place)

    def confides(self, address: Address, person: str) -> bool:
        """Whether a person in a channel can be sent something that the others do not see."""
        return self._outgoing.confides(address, person)

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        """Send it; see ports.Confiding. In a thread without replies Slack would not show it, so it
        goes to the channel.
        """
        root, threads = address.thread_id or "", self._receiving and self._receiving.threads
        if root and not (threads and threads.knows(address.chat_id, root)):
            root = ""
        return await self._outgoing.confide(address, person, part, root)

    def streams(self, address: Address) -> bool:
        """See ports.Streaming: in threads, unless Slack refused it there."""
        return self._receiving is not None and self._streams.possible(address)

    async def start(
        self, address: Address, part: OutboundPart, steps: Sequence[Step], reply_to: str | None
    ) -> str:
        """Begin a stream; see ports.Streaming. In a channel it is for the author of `reply_to`: the
        others see it only when complete.
        """
        recipient = self._receiving and self._receiving.writers.of(address.chat_id, reply_to)
        if not recipient and not is_direct(address.chat_id):
            raise Refused("its recipient is unknown")
        ts = await self._streams.start(address, steps, recipient or {})
        self._joined(address)
        return ts

    async def grow(self, address: Address, message_id: str, steps: Sequence[Step]) -> None:
        await self._streams.grow(address, message_id, steps)

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """The id of a message is the time at which Slack accepted it."""
        if not (is_ts(message.message_id) and is_ts(receipt)):
            return None
        return order(message.message_id) > order(receipt)

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The ts of a part; see ports.Channel and Outgoing."""
        return await self._outgoing.find(address, part, since)

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """A file's content; see ports.Fetching. Raises Refused or ChannelDown."""
        return await slack_files.download(self._api, attachment, limit)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        return await self.send_album(address, part, [content])

    def together(self, files: Sequence[Attachment]) -> int:
        return slack_files.together(files)

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send the part's files as one message; see ports.Albums."""
        message_id = await slack_files.upload(self._api, address, part, contents)
        self._joined(address)
        return message_id

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Replace the bot's earlier reaction. Does nothing for a slash command, which has no
        message to react to. Raises as `send`.
        """
        if not is_ts(message_id):
            return
        place = {"channel": address.chat_id, "timestamp": message_id}
        await self._react("reactions.add", place | {"name": _EMOJI[mark]}, "already_reacted")
        if mark is not Reaction.RECEIVED:
            for other in _EMOJI.values():
                if other != _EMOJI[mark]:
                    await self._react("reactions.remove", place | {"name": other}, "no_reaction")

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """The people who reacted to one of our messages; see ports.Recalling. Raises as `send`."""
        if self._receiving is None:
            raise NotSent("Slack does not know yet who the bot is")
        try:
            return await self._receiving.reactions(address, message_id)
        except FAILED as error:
            raise delivery_error(error) from error
        except BadEvent as error:
            raise OutcomeUnknown(f"Slack's reactions cannot be read: {error}") from error

    async def typing(self, address: Address) -> None:
        """Show a status in a thread, until the answer arrives; elsewhere Slack has no equivalent.

        If the app may not do that, it is tried only once. Raises as `send`.
        """
        await self._assistant.status(address)

    async def tell(self, address: Address, doing: str) -> None:
        """Show the current activity in the status of a thread; see `typing`."""
        await self._assistant.status(address, doing)

    async def close(self) -> None:
        await self._api.close()

    async def _me(self) -> BotUser:
        try:
            answer = await self._api.call("auth.test", {}, form=True)
        except FAILED as error:
            raise receiving_error(self._name, error, "bot_token") from error
        keys = ("user_id", "bot_id", "user", "team", "team_id")
        fields = {key: str(answer.get(key) or "") for key in keys}
        return BotUser(**fields)

    async def _react(self, method: str, params: Mapping[str, Any], fine: str) -> None:
        try:
            await self._api.call(method, params)
        except FAILED as error:
            if not isinstance(error, ApiRefusal) or error.code != fine:
                raise delivery_error(error) from error

    def _joined(self, address: Address) -> None:
        if self._receiving is not None and address.thread_id:
            self._receiving.threads.join(address.chat_id, address.thread_id)


def open_channel(name: str, settings: Mapping[str, object]) -> SlackChannel:
    """The channel of one `[channels.NAME]` table; docs/channels/slack.md has the keys.

    Raises ConfigError for invalid settings; it does not connect yet.
    """
    table = Table(name, settings)
    return SlackChannel(name, tokens_of(table), api_root_of(table), policy=policy_of(table))
