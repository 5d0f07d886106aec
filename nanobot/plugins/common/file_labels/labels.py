"""The labels of files: who contributed to a file and how private it is, tracked by path and
content.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot import labels
from nanobot.labels import NOTHING, Label, Privacy, Speaker
from nanobot.plugins.common.file_labels.marks import TaintMarks

MOST_LABELS = 64
"""Maximum number of distinct labels; further ones name no tools."""

_KNOWN, _OF = "labels:", "label="
_PATH = "path:"
_OWN = frozenset({Speaker.OWNER})


def restricts(label: Label) -> bool:
    """Whether a file has to store this label. The label of text that only an owner wrote and that
    is not secret is the default for every file.
    """
    return not label.speakers <= _OWN or label.privacy >= Privacy.SECRET


class FileLabels:
    """Labels of places. A place is a text such as `path:notes.md` or `content:DIGEST`."""

    def __init__(self, marks: TaintMarks) -> None:
        self._marks = marks

    async def add(self, places: Sequence[str], label: Label) -> None:
        """Add this label to these places."""
        if not places or not restricts(label):
            return
        known = await self._marks.beginning_with(_KNOWN)
        if len(known) >= MOST_LABELS and _KNOWN + label.encoded() not in known:
            label = msgspec.structs.replace(label, tools=frozenset())
        code = label.encoded()
        if _KNOWN + code not in known:
            await self._marks.add([_KNOWN + code])
        await self._marks.add([_kind(code) + place for place in places])

    async def of(self, places: Sequence[str]) -> Label:
        """The combined label of these places."""
        return (await self.look((), places))[1] if places else NOTHING

    async def look(self, marks: Sequence[str], places: Sequence[str]) -> tuple[bool, Label]:
        """Whether one of these marks exists, and the combined label of these places."""

        def labelled(code: str) -> list[str]:
            return [_kind(code) + place for place in places]

        marked, codes = await self._marks.look(marks, _KNOWN, labelled)
        return marked, labels.joined(map(labels.read, codes))

    async def forget(self, places: Sequence[str]) -> None:
        """Remove all labels of these places."""
        for code in await self._known():
            await self._marks.remove([_kind(code) + place for place in places])

    async def paths(self) -> list[str]:
        """The files that have a label."""
        found: dict[str, None] = {}
        for code in await self._known():
            kind = _kind(code)
            for mark in await self._marks.beginning_with(kind):
                place = mark.removeprefix(kind)
                if place.startswith(_PATH):
                    found[place.removeprefix(_PATH)] = None
        return list(found)

    async def _known(self) -> list[str]:
        return [mark.removeprefix(_KNOWN) for mark in await self._marks.beginning_with(_KNOWN)]


def _kind(code: str) -> str:
    """A mark's kind ends at its first colon; a label may contain further colons."""
    return f"{_OF}{code.replace(':', '=')}:"
