"""What a message has besides its own text: shared messages, pasted tables, and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from nanobot.messages import Attachment
from nanobot_channels.common.numbers import size
from nanobot_channels.common.shapes import table, tables
from nanobot_channels.common.text import clean
from nanobot_channels.slack.blocks import tables_in, words_of

_KINDS = {"image", "audio", "video"}
# The output of Slack's own recorder.
_CLIPS = ("slack_audio", "slack_video")
_NOTHING = "[no preview available]"


class File(msgspec.Struct, frozen=True):
    """A file in a message, or from files.info."""

    id: str = ""
    name: str | None = ""
    title: str | None = ""
    mimetype: str | None = ""
    size: Any = 0
    user: Any = ""
    subtype: Any = ""
    mode: str = ""
    url_private: str = ""
    url_private_download: str = ""


class _Field(msgspec.Struct, frozen=True):
    title: str = ""
    value: str = ""


class Shared(msgspec.Struct, frozen=True):
    """An attachment: a message that a person shared, a table that they pasted, the preview of a
    link, or what a bot shows.
    """

    is_share: bool = False
    is_msg_unfurl: bool = False
    is_reply_unfurl: bool = False
    author_name: str = ""
    pretext: str = ""
    title: str = ""
    text: str = ""
    fallback: str = ""
    footer: str = ""
    fields: list[_Field] = []
    files: list[File | None] = []
    blocks: Any = None
    message_blocks: Any = None

    @property
    def is_message(self) -> bool:
        """Whether it is a message that a person forwarded, and not the preview of a link."""
        return self.is_share or self.is_msg_unfurl or self.is_reply_unfurl

    @property
    def words(self) -> str:
        """Its text; the fallback only if there is no other."""
        about = (field.title + ": " + field.value for field in self.fields)
        inner = (table(each.get("message")).get("blocks") for each in tables(self.message_blocks))
        blocks = "\n".join(filter(None, [words_of(self.blocks), *map(words_of, inner)]))
        own = [self.pretext, self.title, self.text, *about, "" if self.text else blocks]
        text = "\n".join(filter(None, [*own, *self._pasted(), self.footer]))
        return text or ("" if self.fallback == _NOTHING else self.fallback)

    def _pasted(self) -> Iterator[str]:
        """Tables, which the text does not repeat."""
        if self.text:
            yield tables_in(self.blocks)
            for each in tables(self.message_blocks):
                yield tables_in(table(each.get("message")).get("blocks"))


def shared_words(attachments: Sequence[Shared]) -> Iterator[str]:
    """What a person's attachments add to their text."""
    for item in attachments:
        if item.is_message and (item.words or item.files):
            author = f" from {item.author_name}" if item.author_name else ""
            yield f"[shared message{author}{f': {item.words}' if item.words else ''}]"
        elif not item.is_message:
            yield tables_in(item.blocks)


def files_of(
    own: Sequence[File | None], attachments: Sequence[Shared], sender: str
) -> Iterator[Attachment]:
    """A message's files, and those of the messages that it shares, each once."""
    seen = set()
    for file in own:
        if file is not None:
            seen.add(file.id)
            yield _attachment(file, sender)
    for file in (file for item in attachments if item.is_message for file in item.files):
        if file is not None and file.id not in seen:
            yield _attachment(file, "")


def _attachment(file: File, sender: str) -> Attachment:
    kind = (file.mimetype or "").partition("/")[0]
    error = ""
    if file.mode in {"tombstone", "hidden_by_limit"}:
        error = "Slack does not keep this file any more"
    return Attachment(
        kind=kind if kind in _KINDS else "document",
        ref=file.url_private_download or file.url_private or file.id,
        name=clean(file.name or file.title or "").replace("\n", " "),
        mime=file.mimetype or "",
        size=size(file.size),
        error=error,
        # A person other than its speaker can share a clip again.
        recorded=file.subtype in _CLIPS and bool(sender) and file.user == sender,
    )
