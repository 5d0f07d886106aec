"""Slack's events, presses and commands as inbound messages (https://docs.slack.dev/reference/events)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.messages import Address, InboundMessage, Sender, deletion
from nanobot_channels.common.numbers import moment
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.common.text import clean
from nanobot_channels.slack.blocks import tables_in, words_of
from nanobot_channels.slack.parts import ACTION_PREFIX
from nanobot_channels.slack.shared import File, Shared, files_of, shared_words
from nanobot_channels.slack.text import mentions, people_in, to_plain, without_mention

_SUBTYPES = {"", "file_share", "thread_broadcast", "me_message"}
_TS = re.compile(r"\d{1,12}\.\d{1,6}")


class BotUser(msgspec.Struct, frozen=True):
    """The bot itself, from auth.test."""

    user_id: str
    bot_id: str = ""
    user: str = ""
    team: str = ""
    team_id: str = ""


class _Edited(msgspec.Struct, frozen=True):
    ts: str = ""


# Only the fields in use, all with defaults where a message can do without them: a field that Slack
# adds or omits must not cost a message.
class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message from an event or the history."""

    ts: str = ""
    channel: str = ""
    user: str = ""
    team: Any = ""
    bot_id: str | None = ""
    subtype: str | None = ""
    text: str | None = ""
    thread_ts: str | None = None
    latest_reply: str | None = None
    reply_users: list[str] = []
    files: list[File | None] = []
    attachments: list[Shared] = []
    blocks: Any = None
    edited: _Edited | None = None
    deleted_ts: str = ""
    message: Message | None = None
    previous_message: Message | None = None

    @property
    def said(self) -> str:
        """A person's text with the messages that they share and the tables that they paste."""
        added = [tables_in(self.blocks), *shared_words(self.attachments)]
        return "\n".join([self.text or "", *filter(None, added)])

    @property
    def shown(self) -> str:
        """All that is written in a message, also of a bot's without a text of its own."""
        words = (item.words for item in self.attachments)
        return "\n".join(filter(None, [self.text or words_of(self.blocks), *words]))


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A person's inbound message. `edits`: its text before the edit that caused this event."""

    chat: str
    message: Message
    edits: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether it is a chat between only the sender and the bot."""
        return is_direct(self.chat)

    @property
    def thread(self) -> str | None:
        """The root of the thread that it is a reply in."""
        root = self.message.thread_ts
        return root if root and root != self.message.ts else None

    def people(self) -> set[str]:
        """The users whose names are needed to render it."""
        return {self.message.user} | people_in(self.message.said)


class ThreadContext(msgspec.Struct, frozen=True):
    """The thread of a message: whether the bot takes part in it, and the root's text, only for its
    first message.
    """

    joined: bool = False
    quote: str = ""
    author: str = ""


def is_direct(chat: str) -> bool:
    """Whether a conversation is between the bot and one person."""
    return chat.startswith("D")


def is_ts(value: str) -> bool:
    """Whether it can be a message's timestamp, which is its id."""
    return bool(_TS.fullmatch(value))


def order(ts: str) -> tuple[int, int]:
    """A sort key for timestamps."""
    whole, _, part = ts.partition(".")
    return (int(whole or 0), int(part or 0))


def convert(value: object) -> Message:
    """One message of an event or a history. Raises BadEvent."""
    return shaped(value, Message)


def user_message(event: object, me: BotUser, chat: str = "") -> UserMessage | None:
    """The person's message in an event, None if there is none for the bot; `chat` if the event does
    not name it. Raises BadEvent.
    """
    message = convert(event)
    chat = message.channel or chat
    if message.subtype == "message_changed":
        return _changed(message, me, chat)
    if (message.subtype or "") not in _SUBTYPES or not _is_from_person(message, me):
        return None
    if not is_ts(message.ts) or not chat:
        raise BadEvent("a message without ts or channel")
    return UserMessage(chat=chat, message=message)


def deleted(event: object, channel: str) -> InboundMessage | None:
    """The deletion in an event, None if there is none. Of a message with replies Slack keeps a
    tombstone. Raises BadEvent.
    """
    message = convert(event)
    old, new = message.previous_message, message.message
    ts = message.deleted_ts if message.subtype == "message_deleted" else ""
    if message.subtype == "message_changed" and new is not None and new.subtype == "tombstone":
        ts = new.ts
    if not is_ts(ts) or not message.channel:
        return None
    root = old.thread_ts if old is not None and old.thread_ts != ts else None
    return deletion(Address(channel, message.channel, root), dedupe_key(message.channel, ts))


def _changed(event: Message, me: BotUser, chat: str) -> UserMessage | None:
    new, old = event.message, event.previous_message
    if new is None or not is_ts(new.ts) or not chat:
        raise BadEvent("message_changed without the message")
    # An unfurled link preview also causes such an event, and so does a new reply below.
    if new.edited is None or (old is not None and old.text == new.text):
        return None
    if (new.subtype or "") not in _SUBTYPES or not _is_from_person(new, me):
        return None
    return UserMessage(chat=chat, message=new, edits=(old and old.text) or "")


def _is_from_person(message: Message, me: BotUser) -> bool:
    return not message.bot_id and message.user not in {"", "USLACKBOT", me.user_id}


def inbound(
    item: UserMessage,
    channel: str,
    me: BotUser,
    names: Mapping[str, str],
    thread: ThreadContext,
    *,
    opens: bool,
) -> InboundMessage | None:
    """The message for nanobot, None if it is empty. `opens`: the answer to a message outside
    threads that addresses the bot goes into a new thread.
    """
    message, chat = item.message, item.chat
    raw = message.text or ""
    mentioned = mentions(raw, me.user_id)
    attachments = tuple(files_of(message.files, message.attachments, message.user))
    known = {**names, me.user_id: me.user or "bot"}
    text = to_plain(without_mention(raw, me.user_id) + message.said[len(raw) :], known).strip()
    if not text and not attachments:
        return None
    root = item.thread
    if root is None and opens:
        # An edit must stay in the message's place, whatever it says now; an edit that adds the
        # mention is the first event for the bot.
        was = item.edits is not None and mentions(item.edits, me.user_id)
        begun = item.edits is not None and message.thread_ts == message.ts
        root = message.ts if item.is_direct or mentioned or was or begun else None
    key = dedupe_key(chat, message.ts)
    others_speak = bool(thread.quote) and thread.author not in {message.user, me.user_id}
    edited = message.edited.ts if message.edited and item.edits is not None else ""
    return InboundMessage(
        address=Address(channel, chat, root),
        message_id=message.ts,
        dedupe_key=f"{key}:edit:{edited}" if edited else key,
        sender=Sender(message.user, names.get(message.user, "")),
        text=text,
        sent_at=moment(message.ts, 0.0),
        attachments=attachments,
        reply_to=item.thread,
        quote=to_plain(thread.quote, names),
        edit_of=key if edited else None,
        group=not item.is_direct,
        addressed=item.is_direct or mentioned or thread.joined,
        tainted=others_speak or any(item.is_message for item in message.attachments),
    )


def dedupe_key(chat: str, ts: str) -> str:
    """The same for all the ways in which Slack delivers a message: as a message, as a mention,
    repeated, and from the history. An event_id is not.
    """
    return f"{chat}:{ts}"


class _Person(msgspec.Struct, frozen=True):
    id: str
    name: str = ""
    username: str = ""


class _Container(msgspec.Struct, frozen=True):
    id: str = ""
    channel_id: str = ""
    message_ts: str = ""
    thread_ts: str | None = None


class _Action(msgspec.Struct, frozen=True):
    action_id: str = ""
    action_ts: str = ""
    value: str = ""


class _Press(msgspec.Struct, frozen=True):
    user: _Person
    actions: list[_Action] = []
    channel: _Container | None = None
    container: _Container | None = None
    message: Message | None = None


def button_press(body: Mapping[str, Any], channel: str) -> InboundMessage | None:
    """The press of one of our buttons. Raises BadEvent."""
    press = shaped(body, _Press)
    action = next(
        (action for action in press.actions if action.action_id.startswith(ACTION_PREFIX)), None
    )
    if action is None or not action.value:
        return None
    place = press.container or _Container()
    chat = (press.channel.id if press.channel else "") or place.channel_id
    ts = place.message_ts or (press.message.ts if press.message else "")
    if not chat or not is_ts(ts) or not is_ts(action.action_ts):
        raise BadEvent("a press without chat, message or time")
    root = (press.message.thread_ts if press.message else None) or place.thread_ts
    return InboundMessage(
        address=Address(channel, chat, root if root != ts else None),
        message_id=ts,
        dedupe_key=f"{dedupe_key(chat, ts)}:press:{press.user.id}:{action.action_ts}",
        sender=Sender(press.user.id, clean(press.user.name or press.user.username)),
        text=clean(action.value).strip(),
        sent_at=moment(action.action_ts, 0.0),
        reply_to=ts,
        pressed=True,
        group=not is_direct(chat),
    )


class _Stopped(msgspec.Struct, frozen=True):
    channel: str
    user: str
    event_ts: str
    thread_ts: str | None = None


def stop_button(event: object, channel: str) -> InboundMessage:
    """The stop button that Slack shows while an answer grows: the same command as /stop. Raises
    BadEvent.
    """
    stopped = shaped(event, _Stopped)
    if not is_ts(stopped.event_ts):
        raise BadEvent("a stop without a time")
    return InboundMessage(
        address=Address(channel, stopped.channel, stopped.thread_ts or None),
        message_id=stopped.event_ts,
        dedupe_key=f"{dedupe_key(stopped.channel, stopped.event_ts)}:stop",
        sender=Sender(stopped.user),
        text="/stop",
        sent_at=moment(stopped.event_ts, 0.0),
        pressed=True,
        group=not is_direct(stopped.channel),
    )


class _Slash(msgspec.Struct, frozen=True):
    command: str
    channel_id: str
    user_id: str
    trigger_id: str
    text: str = ""
    user_name: str = ""


def command_message(body: Mapping[str, Any], channel: str, now: float) -> InboundMessage:
    """A slash command: "/nanobot stop" means "/stop", and "/nanobot" alone "/help".

    Raises BadEvent.
    """
    slash = shaped(body, _Slash)
    command = clean(slash.text).strip().lstrip("/") or "help"
    return InboundMessage(
        address=Address(channel, slash.channel_id),
        message_id=slash.trigger_id,
        dedupe_key=f"command:{slash.trigger_id}",
        sender=Sender(slash.user_id, clean(slash.user_name)),
        text=f"/{command}",
        sent_at=now,
        group=not is_direct(slash.channel_id),
        unseen=True,
    )
