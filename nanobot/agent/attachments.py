"""Files as the model sees them: a line for each, and a selection of pictures."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.messages import Attachment
from nanobot.providers.base import ImagePart, ModelProfile
from nanobot.session.entries import Body, Entry, ModelCallEntry, ToolResultEntry, UserEntry

IMAGE_TOKENS = 1_000
"""Estimated tokens of a picture; providers count from 85 to 1,600."""

_MOST_IMAGES = 16
_MOST_BYTES = 8 * 1024 * 1024
# Each image takes about this many thousand tokens, so a small model is shown only a few.
_CONTEXT_FOR_ONE = 4_000
_NAME_CHARACTERS = 100


def shown(entries: Sequence[Entry], start: int, profile: ModelProfile) -> frozenset[int]:
    """The attachments (numbered by `place`) that the model sees as pictures, from entry `start` on.

    A group is the messages of one turn, or the results of one answer's calls. The first 16 pictures
    of a group, or 8 MiB, are shown, and later ones do not change that. When a group begins after
    more than that was shown, only the newest pictures, up to half of it, stay shown. So the
    selection changes in steps: between turns, and within a turn only when tools return many
    pictures.
    """
    if not profile.images:
        return frozenset()
    most = max(min(_MOST_IMAGES, profile.context_tokens // _CONTEXT_FOR_ONE), 1)
    groups: list[dict[int, float]] = []
    current = None
    for entry in entries:
        body = entry.body
        if entry.seq < start or not isinstance(body, UserEntry | ToolResultEntry):
            continue
        call = body.call if isinstance(body, ToolResultEntry) else None
        if call is not None and not body.attachments:
            continue
        group = (entry.run_id, call)
        if group != current:
            current = group
            groups = [*_newest(groups), {}]
        for index, file in enumerate(body.attachments):
            size = min(max(file.size, 0), 2 * _MOST_BYTES)
            weight = max(1 / most, size / _MOST_BYTES)
            if _visible(file) and sum(groups[-1].values()) + weight <= 1.000_001:
                groups[-1][place(entry.seq, index)] = weight
    return frozenset(number for group in groups for number in group)


def blind(bodies: Sequence[Body]) -> str:
    """The model that answered a run but cannot see the pictures in its messages. Empty if there
    were none, or if it can."""
    profile = next((b.profile for b in reversed(bodies) if isinstance(b, ModelCallEntry)), None)
    messages = [body for body in bodies if isinstance(body, UserEntry)]
    unseen = any(_visible(file) for message in messages for file in message.attachments)
    return profile.name if unseen and profile is not None and not profile.images else ""


def place(seq: int, index: int) -> int:
    """One number for an attachment of an entry."""
    return seq * 10_000 + index


def rendered(
    seq: int, files: Sequence[Attachment], pictures: frozenset[int], profile: ModelProfile
) -> tuple[list[str], list[ImagePart]]:
    """The lines of an entry's files, and the pictures that the model is shown."""
    seen = [place(seq, index) in pictures for index in range(len(files))]
    pairs = list(zip(files, seen, strict=True))
    lines = [line(file, images=profile.images, seen=visible) for file, visible in pairs]
    return lines, [part(file) for file, visible in pairs if visible]


def part(file: Attachment) -> ImagePart:
    """The picture without its bytes. The caller adds them before the model call."""
    return ImagePart(mime=file.mime, data="", blob=file.blob)


def line(file: Attachment, *, images: bool, seen: bool) -> str:
    """The attachment as one line. `images`: the model sees pictures; `seen`: this one too."""
    what = "voice message" if file.kind == "audio" and file.text else file.kind
    facts = [_named(file, what)]
    if file.text:
        facts.append(f"transcript: {file.text}")
    if file.error:
        facts.append(file.error if file.path or file.text else f"not here: {file.error}")
    elif file.coming:
        facts.append("not here: it did not come in time")
    elif file.kind == "image" and not seen:
        facts.append("no longer shown to you" if images else "you cannot see pictures")
    elif file.kind == "audio" and not file.text:
        facts.append("not transcribed")
    elif file.kind == "document" and file.path:
        facts.append("read it with read_file")
    return f"[{'; '.join(facts)}]"


def _visible(file: Attachment) -> bool:
    return file.kind == "image" and bool(file.blob and file.mime) and not file.error


def _newest(groups: list[dict[int, float]]) -> list[dict[int, float]]:
    total = sum(sum(group.values()) for group in groups)
    if total <= 1:
        return groups
    kept = list(groups)
    while kept and total > 0.5:
        total -= sum(kept.pop(0).values())
    return kept


def _named(file: Attachment, what: str) -> str:
    name = (file.path or file.name).rpartition("/")[2][:_NAME_CHARACTERS]
    # A stranger may have chosen the name: keep it within its line.
    plain = "".join(c if c.isprintable() and c not in "[]" else "_" for c in name)
    head = " ".join(word for word in (what, plain) if word)
    if file.kind != "image" and file.size:
        head = f"{head}, {_size(file.size)}"
    return f"{head}: {file.path}" if file.path else head


def _size(count: int) -> str:
    count = min(max(count, 0), 10**15)
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{max(count / 1e3, 0.1):.1f} kB"
