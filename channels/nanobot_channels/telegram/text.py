"""A message's text and entities: links and mentions resolved, and whether the bot is addressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from nanobot_channels.telegram.types import BotUser, Entity, Message

_CODE = {"code", "pre"}


class _Edit(msgspec.Struct, frozen=True, order=True):
    """Replaces `units[start:end]` by `text`."""

    start: int
    end: int
    text: str = ""


def message_text(message: Message, me: BotUser | None) -> str:
    """Text or caption as plain text.

    Mentions of the bot are left out (unless nothing else is there), also at the end of a command.
    Targets of links that show only a text follow them, and code is fenced as in Markdown.
    """
    text, entities = _text(message)
    if not entities:
        return text
    marks = list(_markup(text, entities))
    mentions = list(_names(text, entities, me)) if me else []
    return _edited(text, marks + mentions).strip() or _edited(text, marks)


def means(message: Message, me: BotUser) -> bool:
    """Whether the text mentions the bot, or is a command with its name."""
    text, entities = _text(message)
    return any(
        entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id
        for entity in entities
    ) or any(_names(text, entities, me))


def commands_another(message: Message, me: BotUser) -> bool:
    """Whether the message is a command with the name of another bot, as people write it in groups
    that have several.
    """
    text, entities = _text(message)
    return any(
        entity.type == "bot_command" and entity.offset == 0 and "@" in _slice(text, entity)
        for entity in entities
    ) and not means(message, me)


def _text(message: Message) -> tuple[str, Sequence[Entity]]:
    if message.text:
        return message.text, message.entities
    return message.caption, message.caption_entities


def _slice(text: str, entity: Entity) -> str:
    if text.isascii():
        return text[max(entity.offset, 0) : max(entity.offset + entity.length, 0)]
    units = text.encode("utf-16-le", "surrogatepass")
    start, end = max(2 * entity.offset, 0), max(2 * (entity.offset + entity.length), 0)
    return units[start:end].decode("utf-16-le", "replace")


def _names(text: str, entities: Sequence[Entity], me: BotUser) -> Iterator[_Edit]:
    """The edits that remove the bot's name, as marked by Telegram's entities: never from code."""
    if not me.username or "@" not in text:
        return
    handle = f"@{me.username}".lower()
    code = [
        (entity.offset, entity.offset + entity.length)
        for entity in entities
        if entity.type in _CODE
    ]
    for entity in entities:
        start, end = entity.offset, entity.offset + entity.length
        if entity.type not in {"mention", "bot_command"}:
            continue
        if any(start < last and end > first for first, last in code):
            continue
        mention = _slice(text, entity).lower()
        if entity.type == "mention" and mention == handle:
            after = _slice(text, Entity(offset=end, length=2))
            gap = len(after) - len(after.lstrip(" ,:" if start == 0 else " "))
            yield _Edit(start, end + min(gap, 2 if start == 0 else 1))
        elif entity.type == "bot_command" and mention.endswith(handle):
            yield _Edit(end - len(handle), end)


def _markup(text: str, entities: Sequence[Entity]) -> Iterator[_Edit]:
    for entity in entities:
        start, end = entity.offset, entity.offset + entity.length
        if entity.type == "text_link" and entity.url:
            yield _Edit(end, end, f" ({entity.url})")
        elif entity.type == "code":
            yield _Edit(start, start, "`")
            yield _Edit(end, end, "`")
        elif entity.type == "pre":
            before = _slice(text, Entity(offset=start - 1, length=1)) if start > 0 else "\n"
            after = _slice(text, Entity(offset=end, length=1)) or "\n"
            yield _Edit(start, start, f"{_line(before)}```{entity.language}\n")
            yield _Edit(end, end, f"\n```{_line(after)}")


def _line(neighbour: str) -> str:
    return "" if neighbour == "\n" else "\n"


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    units = text.encode("utf-16-le", "surrogatepass")
    pieces = []
    at = 0
    for edit in sorted(edits):
        start, end = (min(max(2 * unit, at), len(units)) for unit in (edit.start, edit.end))
        pieces += [units[at:start], edit.text.encode("utf-16-le", "surrogatepass")]
        at = end
    return b"".join([*pieces, units[at:]]).decode("utf-16-le", "replace")
