"""Labels: who said a piece of what a model sees, and how private it is.

A label has a set of speakers and a level of privacy. Content derived from several pieces has the
join of their labels: all speakers, and the highest privacy. The join is associative, commutative
and idempotent, and never removes anything. So the order in which a conversation was summarized,
copied or remembered does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from functools import lru_cache

import msgspec

from nanobot.text import pattern


class Speaker(StrEnum):
    """Who said something. The value is its letter in a stored label."""

    OWNER = "o"
    """An owner typed it."""
    MEMBER = "m"
    GUEST = "g"
    PROGRAM = "p"
    """Another program said it, over HTTP or MCP."""
    PASSED_ON = "f"
    """Passed on by a person: a file, a forward, a quote, a contact card."""
    TOOL = "t"
    """A tool returned it from outside."""
    OUTSIDE = "x"
    """It came from outside in another or unknown way."""


class Privacy(IntEnum):
    """Who may read something."""

    PUBLIC = 0
    CONVERSATION = 1
    """The readers of the conversation."""
    PERSON = 2
    """One person: their files, their memory, the output of their commands."""
    SECRET = 3
    """No one else, as with keys."""


_MARKED = pattern(r"#(?<![\w&#]#)secret(?!\w)")  # the "#" first: a search goes from one to the next

FROM_OUTSIDE = frozenset(
    {Speaker.GUEST, Speaker.PROGRAM, Speaker.PASSED_ON, Speaker.TOOL, Speaker.OUTSIDE}
)
"""Speakers who cannot give orders. A label with one of them taints."""

MOST_TOOLS = 8
"""Maximum number of tools in a label; above it, the label says only that there were tools."""
_EVERY_TOOL = "*"
_SPEAKERS = tuple(Speaker)
_LETTERS = frozenset(speaker.value for speaker in _SPEAKERS)
_LONGEST_NAME = 64


class Label(msgspec.Struct, frozen=True):
    """Speakers and privacy. `tools`: names of the tools that returned content from outside; `{"*"}`
    if there were too many."""

    speakers: frozenset[Speaker] = frozenset()
    privacy: Privacy = Privacy.PUBLIC
    tools: frozenset[str] = frozenset()

    @property
    def tainted(self) -> bool:
        """Whether any of it came from outside. Older rows have only this bit."""
        return not self.speakers.isdisjoint(FROM_OUTSIDE)

    def join(self, other: Label) -> Label:
        """The label of content derived from both."""
        if other <= self:
            return self
        return Label(
            self.speakers | other.speakers,
            max(self.privacy, other.privacy),
            _named(self.tools | other.tools),
        )

    def __le__(self, other: Label) -> bool:
        """Whether `other` restricts at least as much."""
        return (
            self.speakers <= other.speakers
            and self.privacy <= other.privacy
            and (self.tools <= other.tools or _EVERY_TOOL in other.tools)
        )

    def serves(self, other: Label) -> bool:
        """Whether a permission given under this label also holds under the other: no other kind of
        speaker, and nothing more private."""
        return other.speakers <= self.speakers and other.privacy <= self.privacy

    def encoded(self) -> str:
        """The stored form, such as `ot2:web_fetch`: letters of speakers, the privacy, tools."""
        letters = "".join([speaker for speaker in _SPEAKERS if speaker in self.speakers])
        tools = f":{','.join(sorted(self.tools))}" if self.tools else ""
        return f"{letters}{self.privacy:d}{tools}"


NOTHING = Label()
"""The label of an empty text: the lowest."""
UNKNOWN = Label(frozenset({Speaker.OUTSIDE}), Privacy.PERSON)
"""The label of unreadable data: it gives no orders, and no one else may read it."""


def of(*speakers: Speaker, privacy: Privacy = Privacy.PUBLIC) -> Label:
    """A label of these speakers."""
    return Label(frozenset(speakers), privacy)


def of_tool(name: str) -> Label:
    """The label of content that a tool returned from outside."""
    safe = "".join(c for c in name if c.isalnum() or c in "_-.")[:_LONGEST_NAME]
    return Label(frozenset({Speaker.TOOL}), Privacy.PUBLIC, frozenset({safe} if safe else ()))


def joined(labels: Iterable[Label]) -> Label:
    """The label of content derived from all of these."""
    result = last = NOTHING
    for label in labels:
        if label is not last and label is not NOTHING:  # most are, in a long conversation
            result, last = result.join(label), label
    return result


@lru_cache(maxsize=1024)
def read(text: str, *, tainted: bool = False) -> Label:
    """Parse a stored label. Rows from before labels have an empty one and the bit `tainted`, which
    also counts if both are there. An invalid label reads as UNKNOWN."""
    if not text:
        return of(Speaker.OUTSIDE, privacy=Privacy.CONVERSATION) if tainted else NOTHING
    head, _, names = text.partition(":")
    letters, step = head[:-1], head[-1:]
    if not set(letters) <= _LETTERS or step not in ("0", "1", "2", "3"):
        return UNKNOWN
    tools = _named(frozenset(name for name in names.split(",") if name))
    label = Label(frozenset(map(Speaker, letters)), Privacy(int(step)), tools)
    return label if label.tainted or not tainted else label.join(of(Speaker.OUTSIDE))


def is_marked_secret(text: str) -> bool:
    """Whether a person marked a text with #secret."""
    return _MARKED.search(text) is not None


def without_secret_lines(text: str) -> str:
    """The text without the lines that are marked with #secret."""
    if not is_marked_secret(text):
        return text
    return "\n".join(line for line in text.split("\n") if not is_marked_secret(line))


def _named(tools: frozenset[str]) -> frozenset[str]:
    full = len(tools) > MOST_TOOLS or _EVERY_TOOL in tools
    return frozenset({_EVERY_TOOL}) if full else tools
