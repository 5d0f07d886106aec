"""A message's content other than text: attachments, and content described in words."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from nanobot.messages import Attachment
from nanobot_channels.common.numbers import size
from nanobot_channels.common.text import file_name, label
from nanobot_channels.telegram.types import File, Location, Message, Origin, Sticker, User

_KINDS = ("image", "audio", "video")


def attachments(message: Message) -> tuple[Attachment, ...]:
    """The files; of a photo the largest size. Animated stickers are left out: no model
    reads them.
    """
    return tuple(_files(message))


def _files(message: Message) -> Iterator[Attachment]:
    if message.photo:
        largest = max(message.photo, key=lambda photo: (size(photo.width), size(photo.file_size)))
        yield _file(largest, "image/jpeg", f"photo-{message.message_id}.jpg")
    number = message.message_id
    if message.animation:
        yield _file(message.animation, "video/mp4", f"animation-{number}.mp4")
    elif message.document:
        # Telegram repeats an animation as a document, for old clients.
        yield _file(message.document, "", f"document-{number}")
    if message.voice:
        voice = _file(message.voice, "audio/ogg", f"voice-{number}.ogg")
        yield msgspec.structs.replace(voice, recorded=True)
    if message.audio:
        audio = message.audio
        titled = " - ".join(word for word in (audio.performer, audio.title) if word)
        yield _file(audio, "audio/mpeg", f"{titled}.mp3" if titled else f"audio-{number}.mp3")
    if message.video:
        yield _file(message.video, "video/mp4", f"video-{number}.mp4")
    if message.video_note:
        note = _file(message.video_note, "video/mp4", f"video-note-{number}.mp4")
        yield msgspec.structs.replace(note, recorded=True)
    if message.sticker and not _moves(message.sticker):
        sticker = message.sticker
        yield Attachment(
            kind="image",
            ref=sticker.file_id,
            name=f"sticker-{number}.webp",
            mime="image/webp",
            size=size(sticker.file_size),
        )


def _file(file: File, mime: str, name: str) -> Attachment:
    mime = label(file.mime_type).lower() or mime
    kind = mime.partition("/")[0]
    return Attachment(
        kind=kind if kind in _KINDS else "document",
        ref=file.file_id,
        name=file_name(file.file_name) or file_name(name),
        mime=mime,
        size=size(file.file_size),
    )


def _moves(sticker: Sticker) -> bool:
    return sticker.is_animated or sticker.is_video


def described(message: Message) -> list[str]:
    """Content that is neither text nor a file, in words, one line each."""
    return [*_places(message), *_things(message)]


def _places(message: Message) -> Iterator[str]:
    if message.venue:
        venue = message.venue
        yield f"[venue: {label(venue.title)}, {label(venue.address)}, {_point(venue.location)}]"
    elif message.location:
        live = "live location" if message.location.live_period else "location"
        yield f"[{live}: {_point(message.location)}]"
    if message.contact:
        contact = message.contact
        name = label(f"{contact.first_name} {contact.last_name}")
        yield f"[contact: {name}, {label(contact.phone_number)}]"


def _things(message: Message) -> Iterator[str]:
    if message.sticker:
        sticker = message.sticker
        what = "animated sticker" if _moves(sticker) else "sticker"
        yield f"[{what} {label(sticker.emoji)}]".replace(" ]", "]")
    if message.poll:
        options = " / ".join(label(option.text) for option in message.poll.options)
        yield f"[poll: {label(message.poll.question, 300)} Options: {options}]"
    if message.dice:
        yield f"[dice {label(message.dice.emoji)} shows {message.dice.value}]"
    if message.game:
        yield f"[game: {label(message.game.title)}]"
    if message.checklist:
        tasks = " / ".join(label(task.text, 100) for task in message.checklist.tasks)
        yield f"[checklist: {label(message.checklist.title)}: {tasks}]"
    if message.story is not None:
        yield "[a story, which bots cannot see]"


def _point(location: Location) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"


def forwarded(origin: Origin) -> str:
    """The line that names the author of forwarded text; with it no forwarded text is a command."""
    chat = origin.sender_chat or origin.chat
    if origin.sender_user:
        name = person(origin.sender_user)
    elif chat:
        name = label(chat.title) or str(chat.id)
    else:
        name = label(origin.sender_user_name)
    signature = label(origin.author_signature)
    return f"[forwarded from {name or 'somebody'}{f' ({signature})' if signature else ''}]"


def made_by(bot: User | None) -> str:
    """The line that names the inline bot that made a text; with it no such text is a command."""
    name = bot and (label(bot.username) or label(bot.first_name))
    return f"[made by the bot {name or 'of somebody'}]"


def person(user: User) -> str:
    """A user's name, for display only."""
    return label(f"{user.first_name} {user.last_name}") or label(user.username)
