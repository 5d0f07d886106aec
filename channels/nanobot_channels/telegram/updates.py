"""Updates of the Bot API as inbound messages (https://core.telegram.org/bots/api#update)."""

from __future__ import annotations

import zlib

import msgspec

from nanobot.messages import Address, InboundMessage, Sender
from nanobot_channels.common.numbers import moment
from nanobot_channels.common.text import clean, clipped, label
from nanobot_channels.telegram.content import attachments, described, forwarded, made_by, person
from nanobot_channels.telegram.rich_text import markdown_of
from nanobot_channels.telegram.text import commands_another, means, message_text
from nanobot_channels.telegram.types import (
    DIRECT,
    BotUser,
    ExternalReply,
    Message,
    Origin,
    Press,
    Reacted,
    Stopped,
    Update,
    User,
)
from nanobot_channels.telegram.unread import unknown_fields

ALLOWED_UPDATES = (
    *("message", "edited_message", "callback_query"),
    *("message_reaction", "stopped_message_generation"),
)
QUOTE_LENGTH = 1000
"""Characters of the answered message; a longer one is cut with an ellipsis."""
_GROUPS = {"group", "supergroup"}


class BadUpdate(ValueError):
    """The update lacks a required field, or has a type that the Bot API does not document."""


def update_id(update: object) -> int | None:
    """The update's number, None if it has none."""
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else None


def press_id(update: object) -> str | None:
    """The id for answerCallbackQuery, if the update is the press of a button."""
    press = update.get("callback_query") if isinstance(update, dict) else None
    return str(press["id"]) if isinstance(press, dict) and "id" in press else None


def needs_me(update: object) -> bool:
    """Whether converting the update requires the bot's identity."""
    for kind in ("message", "edited_message"):
        message = update.get(kind) if isinstance(update, dict) else None
        if not isinstance(message, dict):
            continue
        chat = message.get("chat")
        if isinstance(chat, dict) and str(chat.get("type")) in _GROUPS:
            return True
        if "@" in str(message.get("text", "")) or "@" in str(message.get("caption", "")):
            return True
    return False


_ODD = (ValueError, TypeError, ArithmeticError, RecursionError)


def _parsed(update: object) -> Update:
    """The update; an empty one if it is not valid."""
    try:
        return msgspec.convert(update, Update, strict=False)
    except _ODD:
        return Update()


def moved_chat(update: object) -> tuple[str, str] | None:
    """The old and the new id of a group that became a supergroup, if the update reports this; both
    groups get such an update.
    """
    message = _parsed(update).message
    if message and message.migrate_to_chat_id:
        return str(message.chat.id), str(message.migrate_to_chat_id)
    if message and message.migrate_from_chat_id:
        return str(message.migrate_from_chat_id), str(message.chat.id)
    return None


def to_inbound(
    update: object, channel: str, me: BotUser | None, now: float
) -> InboundMessage | None:
    """The message in an update, None if it contains none: other kinds of updates, service messages,
    other bots' messages, a group's commands to another bot, automatic forwards from a group's
    channel, live location updates.

    In groups `addressed` are mentions of the bot, replies to it and commands with its name. `now`
    is the time for updates without one, such as presses. Raises BadUpdate.
    """
    try:
        parsed = msgspec.convert(update, Update, strict=False)
        raw = update.get("message") if isinstance(update, dict) else None
        return _message(parsed, channel, me, now) or _unread(parsed, raw, channel, now)
    except _ODD as error:
        raise BadUpdate(str(error)) from error


def _message(update: Update, channel: str, me: BotUser | None, now: float) -> InboundMessage | None:
    if update.stopped_message_generation:
        return _from_stop(update.stopped_message_generation, channel, now)
    if update.callback_query:
        return _from_press(update.callback_query, channel, now)
    if update.message_reaction:
        return _from_reaction(update.message_reaction, channel, now)
    if update.message:
        return _from_message(update.message, channel, me, now)
    return _from_edit(update.edited_message, channel, me, now)


def _unread(update: Update, raw: object, channel: str, now: float) -> InboundMessage | None:
    """A person's message to the bot alone, with content of an unknown kind only: told in words, as
    they would wait for an answer. In a group it could be anything that happened there.
    """
    message = update.message
    unknown = unknown_fields(raw)
    if message is None or not unknown or message.chat.type in _GROUPS:
        return None
    message.caption = f"[a message that cannot be read: {', '.join(map(label, unknown))}]"
    return _from_message(message, channel, None, now)


def _from_edit(
    edited: Message | None, channel: str, me: BotUser | None, now: float
) -> InboundMessage | None:
    # Telegram also sends one for changes that bots cannot see: then there is no edit_date.
    if edited is None or not edited.edit_date or edited.location:
        return None
    message = _from_message(edited, channel, me, now)
    if message is None:
        return None
    # Two edits may happen in the same second.
    digest = zlib.crc32(repr((message.text, message.attachments)).encode())
    return msgspec.structs.replace(
        message,
        dedupe_key=f"edit:{edited.message_id}:{edited.edit_date}:{digest:08x}",
        edit_of=message.dedupe_key,
    )


def stopped_draft(update: object) -> tuple[str, int] | None:
    """The chat and the number of the draft whose stop button was pressed, if the update is that."""
    stopped = _parsed(update).stopped_message_generation
    return None if stopped is None else (str(stopped.chat.id), stopped.draft_id)


def _from_stop(stopped: Stopped, channel: str, now: float) -> InboundMessage:
    """The stop command; drafts exist only in private chats, where the person and the chat are the
    same.
    """
    chat, thread = stopped.chat, stopped.message_thread_id
    who = User(chat.id, first_name=chat.first_name, last_name=chat.last_name)
    return InboundMessage(
        address=Address(channel, str(chat.id), None if thread is None else str(thread)),
        message_id=f"stop:{stopped.draft_id}",
        dedupe_key=f"stop:{stopped.draft_id}",
        sender=Sender(str(chat.id), person(who)),
        text="/stop",
        sent_at=now,
        pressed=True,
    )


def _from_press(press: Press, channel: str, now: float) -> InboundMessage | None:
    if press.message is None or press.sender.is_bot:
        return None
    text = clean(press.data).strip()
    if not text:
        return None
    return InboundMessage(
        address=_address(press.message, channel),
        message_id=_number(press.message),
        dedupe_key=f"press:{press.id}",
        sender=Sender(str(press.sender.id), person(press.sender)),
        text=text,
        sent_at=now,
        reply_to=_number(press.message),
        pressed=True,
        group=press.message.chat.type in _GROUPS,
        language=press.sender.language_code,
    )


def _from_reaction(reacted: Reacted, channel: str, now: float) -> InboundMessage | None:
    """The emoji that was added, None if one was only removed. Telegram does not name the topic."""
    before = {reaction.emoji for reaction in reacted.old_reaction}
    added = [reaction.emoji for reaction in reacted.new_reaction if reaction.emoji not in before]
    user, actor = reacted.user, reacted.actor_chat
    if len(added) != 1 or not added[0] or (user is not None and user.is_bot):
        return None
    if user is not None:
        sender = Sender(str(user.id), person(user))
    elif actor is not None:
        sender = Sender(str(actor.id), label(actor.title))
    else:
        return None
    number = str(reacted.message_id)
    return InboundMessage(
        address=Address(channel, str(reacted.chat.id)),
        message_id=number,
        dedupe_key=f"reaction:{number}:{sender.id}:{reacted.date}:{added[0]}",
        sender=sender,
        text=added[0],
        sent_at=moment(reacted.date, now),
        reply_to=number,
        reaction=True,
        group=reacted.chat.type in _GROUPS,
    )


def _from_message(
    message: Message, channel: str, me: BotUser | None, now: float
) -> InboundMessage | None:
    sender = _sender(message)
    if sender is None or message.is_automatic_forward:
        return None
    group = message.chat.type in _GROUPS
    if group and me is not None and commands_another(message, me):
        return None
    files = attachments(message)
    lines = described(message)
    if not (message.text or message.caption or files or lines or message.rich_message):
        return None
    if _made_by_another_bot(message, me):
        lines.insert(0, made_by(message.via_bot))
    if message.forward_origin:
        lines.insert(0, forwarded(message.forward_origin))
    text = clean("\n".join([*lines, _said(message, me)])).strip()
    unseen = message.ephemeral_message_id > 0
    reply_to, quote = _answered(message)
    return InboundMessage(
        address=_address(message, channel),
        message_id=_number(message),
        dedupe_key=_number(message),
        sender=sender,
        text=text,
        sent_at=moment(message.date, now),
        attachments=files,
        group_id=message.media_group_id,
        reply_to=reply_to,
        quote=quote,
        group=group,
        addressed=not group or unseen or (me is not None and _is_for(message, me)),
        unseen=unseen,
        tainted=_others_speak(message, me, quote),
        language=message.sender.language_code if message.sender else "",
    )


def _said(message: Message, me: BotUser | None) -> str:
    """The text, the caption, or the words of a rich message."""
    if message.rich_message and not (message.text or message.caption):
        return markdown_of(message.rich_message)
    return message_text(message, me)


def _number(message: Message) -> str:
    """The message's number in its chat; ephemeral messages have separate numbers."""
    ephemeral = message.ephemeral_message_id
    return f"e{ephemeral}" if ephemeral > 0 else str(message.message_id)


def _address(message: Message, channel: str) -> Address:
    # Replies in groups without topics have a message_thread_id too; it cannot be used as a
    # destination.
    thread = message.message_thread_id if message.is_topic_message else None
    if message.direct_messages_topic:
        return Address(
            channel, str(message.chat.id), f"{DIRECT}{message.direct_messages_topic.topic_id}"
        )
    return Address(channel, str(message.chat.id), None if thread is None else str(thread))


def _sender(message: Message) -> Sender | None:
    """The sender: a person, or the chat that they post as. None for bots.

    A post on behalf of a chat (anonymous administrators, channels) has a placeholder as `from`,
    which is the same for all of Telegram: it must not be taken for a person.
    """
    if message.sender_chat:
        return Sender(str(message.sender_chat.id), label(message.sender_chat.title))
    if message.sender:
        user = message.sender
        return None if user.is_bot else Sender(str(user.id), person(user))
    return Sender(str(message.chat.id), label(message.chat.title))


def _answered(message: Message) -> tuple[str | None, str]:
    """The number of the answered message, if it is in this chat, and its text."""
    replied = None if _opens_topic(message) else message.reply_to_message
    chosen = message.quote.text if message.quote else ""
    if replied is None:
        away = message.external_reply
        here = away is not None and away.chat is not None and away.chat.id == message.chat.id
        number = away.message_id if away and here else None
        story = "[a story, which bots cannot see]" if message.reply_to_story is not None else ""
        quote = chosen or (_in_words(away) if away else story)
        return None if number is None else str(number), _clip(quote)
    return _number(replied), _clip(chosen or replied.text or replied.caption or _in_words(replied))


def _in_words(content: Message | ExternalReply) -> str:
    """What a message without text contains."""
    rich = markdown_of(content.rich_message) if content.rich_message else ""
    files = (f"[{file.kind} {file.name}]" for file in attachments(content))
    return rich or "\n".join(described(content)) or ", ".join(files)


def _others_speak(message: Message, me: BotUser | None, quote: str) -> bool:
    """Whether it contains text of third parties, neither the sender's nor the bot's: forwarded,
    from an inline bot, quoted, or of a shared contact card.
    """
    author = message.sender.id if message.sender and not message.sender_chat else None
    return _brings_others(message, author, me) or (
        bool(quote) and _quotes_another(message, author, me)
    )


def _brings_others(message: Message, author: int | None, me: BotUser | None) -> bool:
    things = message.contact, message.venue, message.checklist, message.game, message.invoice
    return any(things) or _made_by_another_bot(message, me) or _forwards_another(message, author)


def _made_by_another_bot(message: Message, me: BotUser | None) -> bool:
    """Whether its sender picked it among the proposals of an inline bot, whose words it has."""
    return message.via_bot is not None and (me is None or message.via_bot.id != me.id)


def _forwards_another(message: Message, author: int | None) -> bool:
    return message.forward_origin is not None and not _wrote(message.forward_origin, author)


def _quotes_another(message: Message, author: int | None, me: BotUser | None) -> bool:
    replied = None if _opens_topic(message) else message.reply_to_message
    if replied is None or _brings_others(replied, author, me):
        return True  # the first: it is in another chat
    wordless = not (replied.text or replied.caption or replied.rich_message)
    by_me = me is not None and replied.sender is not None and replied.sender.id == me.id
    if wordless and not by_me and not all(file.recorded for file in attachments(replied)):
        return True  # the quote is the names of its files
    if message.chat.type == "private":
        return False
    speaks = replied.sender if replied.sender_chat is None else None
    return speaks is None or speaks.id not in {author, me.id if me else None}


def _wrote(origin: Origin, author: int | None) -> bool:
    return origin.sender_user is not None and origin.sender_user.id == author


def _clip(quote: str) -> str:
    return clipped(clean(quote[: 2 * QUOTE_LENGTH]).strip(), QUOTE_LENGTH)


def _opens_topic(message: Message) -> bool:
    """Whether the reply is only Telegram's way to name the message's topic."""
    replied = message.reply_to_message
    return replied is not None and (
        replied.forum_topic_created is not None
        or (message.is_topic_message and replied.message_id == message.message_thread_id)
    )


def _is_for(message: Message, me: BotUser) -> bool:
    replied = message.reply_to_message
    if replied and replied.sender and replied.sender.id == me.id and not _opens_topic(message):
        return True
    return means(message, me)
