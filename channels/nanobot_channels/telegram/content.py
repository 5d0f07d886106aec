"""A message's content other than text: attachments, and content described in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from nanobot.messages import Attachment
from nanobot_channels.common.numbers import size
from nanobot_channels.common.text import file_name, label
from nanobot_channels.telegram.rich_text import files_in
from nanobot_channels.telegram.types import (
    ExternalReply,
    File,
    Location,
    Message,
    Origin,
    PaidMedia,
    Sticker,
    User,
)

_KINDS = ("image", "audio", "video")
# The types of files that Telegram does not name, and the ends of their names.
_USUAL = {
    "animation": ("video/mp4", ".mp4"),
    "audio": ("audio/mpeg", ".mp3"),
    "document": ("", ""),
    "photo": ("image/jpeg", ".jpg"),
    "video": ("video/mp4", ".mp4"),
    "voice_note": ("audio/ogg", ".ogg"),
}


def attachments(message: Message | ExternalReply) -> tuple[Attachment, ...]:
    """The files; of a photo the largest size. Animated stickers are left out: no model
    reads them.
    """
    return (*_files(message), *_sounds(message), *_several(message))


def _largest(sizes: Sequence[File]) -> File:
    return max(sizes, key=lambda photo: (size(photo.width), size(photo.file_size)))


def _files(message: Message | ExternalReply) -> Iterator[Attachment]:
    number = message.message_id or 0
    if message.photo:
        yield _file(_largest(message.photo), "image/jpeg", f"photo-{number}.jpg")
    elif message.live_photo:
        # Telegram repeats it as a photo, for old clients.
        yield _file(message.live_photo, "video/mp4", f"live-photo-{number}.mp4")
    if message.animation:
        yield _file(message.animation, "video/mp4", f"animation-{number}.mp4")
    elif message.document:
        # Telegram repeats an animation as a document, for old clients.
        yield _file(message.document, "", f"document-{number}")
    if message.video:
        yield _file(message.video, "video/mp4", f"video-{number}.mp4")
    if message.sticker and not _moves(message.sticker):
        sticker = message.sticker
        yield Attachment(
            kind="image",
            ref=sticker.file_id,
            name=f"sticker-{number}.webp",
            mime="image/webp",
            size=size(sticker.file_size),
        )


def _sounds(message: Message | ExternalReply) -> Iterator[Attachment]:
    number = message.message_id or 0
    if message.voice:
        voice = _file(message.voice, "audio/ogg", f"voice-{number}.ogg")
        yield msgspec.structs.replace(voice, recorded=True)
    if message.audio:
        audio = message.audio
        titled = " - ".join(word for word in (audio.performer, audio.title) if word)
        yield _file(audio, "audio/mpeg", f"{titled}.mp3" if titled else f"audio-{number}.mp3")
    if message.video_note:
        note = _file(message.video_note, "video/mp4", f"video-note-{number}.mp4")
        yield msgspec.structs.replace(note, recorded=True)


def _several(message: Message | ExternalReply) -> Iterator[Attachment]:
    """Those of paid media, of which only previews may be there, and of a rich message."""
    number = message.message_id or 0
    if message.paid_media:
        yield from _for_sale(message.paid_media, number)
    if message.rich_message:
        for at, (kind, file) in enumerate(files_in(message.rich_message), 1):
            mime, end = _USUAL[kind]
            yield _file(file, mime, f"{kind.replace('_', '-')}-{number}-{at}{end}")


def _for_sale(media: PaidMedia, number: int) -> Iterator[Attachment]:
    for at, item in enumerate(media.paid_media, 1):
        if item.photo:
            yield _file(_largest(item.photo), "image/jpeg", f"photo-{number}-{at}.jpg")
        elif video := item.video or item.live_photo:
            yield _file(video, "video/mp4", f"video-{number}-{at}.mp4")


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


def described(message: Message | ExternalReply) -> list[str]:
    """Content that is neither text nor a file, in words, one line each."""
    return [*_places(message), *_things(message), *_offers(message)]


def _places(message: Message | ExternalReply) -> Iterator[str]:
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


def _things(message: Message | ExternalReply) -> Iterator[str]:
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


def _offers(message: Message | ExternalReply) -> Iterator[str]:
    if message.paid_media:
        yield f"[media for {size(message.paid_media.star_count)} Telegram Stars]"
    if message.invoice:
        about = (label(message.invoice.title), label(message.invoice.description, 300))
        yield f"[invoice: {': '.join(filter(None, about))}]"
    if message.giveaway is not None:
        yield "[a giveaway]"
    if message.giveaway_winners is not None:
        yield "[the winners of a giveaway]"


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
