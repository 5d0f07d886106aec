"""Labels: who said a piece of what a model sees, and how private it is.

A label is a pair. Its speakers are a set, and its privacy is a step on a ladder. What is derived
from several pieces has their join: all their speakers, and the highest privacy among them. The
join is associative, commutative and idempotent, and it never takes anything away, so that the
order in which a conversation was summed up, copied or remembered does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from functools import lru_cache

import msgspec


class Speaker(StrEnum):
    """Who said something. The value is its letter in a stored label."""

    OWNER = "o"
    """An owner typed it."""
    MEMBER = "m"
    GUEST = "g"
    PROGRAM = "p"
    """Another program said it, over HTTP or MCP."""
    PASSED_ON = "f"
    """Somebody passed it on: a file, a forward, a quote, a contact card."""
    TOOL = "t"
    """A tool brought it from outside."""
    OUTSIDE = "x"
    """It came from outside in another way, or nobody knows how."""


class Privacy(IntEnum):
    """Who may read something."""

    PUBLIC = 0
    CONVERSATION = 1
    """Those who read in the conversation."""
    PERSON = 2
    """One person: their files, their memory, the output of their commands."""
    SECRET = 3
    """Nobody else at all, such as keys."""


FROM_OUTSIDE = frozenset(
    {Speaker.GUEST, Speaker.PROGRAM, Speaker.PASSED_ON, Speaker.TOOL, Speaker.OUTSIDE}
)
"""Those whose words command nothing. A label with one of them taints."""

MOST_TOOLS = 8
"""Tools that a label names; of more it says only that there were tools."""
_EVERY_TOOL = "*"
_LETTERS = frozenset(speaker.value for speaker in Speaker)
_LONGEST_NAME = 64


class Label(msgspec.Struct, frozen=True):
    """Speakers and privacy. `tools` are the names of the tools that brought something from outside,
    `{"*"}` if there were too many to name."""

    speakers: frozenset[Speaker] = frozenset()
    privacy: Privacy = Privacy.PUBLIC
    tools: frozenset[str] = frozenset()

    @property
    def tainted(self) -> bool:
        """Whether something of it came from outside: the bit that older rows have instead."""
        return not self.speakers.isdisjoint(FROM_OUTSIDE)

    def join(self, other: Label) -> Label:
        """The label of what is derived from both."""
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

    def encoded(self) -> str:
        """The stored form, such as `ot2:web_fetch`: letters of speakers, the privacy, tools."""
        letters = "".join(speaker.value for speaker in Speaker if speaker in self.speakers)
        tools = f":{','.join(sorted(self.tools))}" if self.tools else ""
        return f"{letters}{self.privacy:d}{tools}"

    def described(self) -> str:
        """The label for people."""
        names = [speaker.name.lower().replace("_", " ") for speaker in Speaker]
        said = [n for n, s in zip(names, Speaker, strict=True) if s in self.speakers]
        tools = f" ({', '.join(sorted(self.tools - {_EVERY_TOOL}))})" if self.tools else ""
        return f"{', '.join(said) or 'nobody'}{tools}; {self.privacy.name.lower()}"


NOTHING = Label()
"""The label of an empty text: the least of all."""
UNKNOWN = Label(frozenset({Speaker.OUTSIDE}), Privacy.PERSON)
"""The label of what cannot be read: nobody's order, and for nobody else's eyes."""


def of(*speakers: Speaker, privacy: Privacy = Privacy.PUBLIC) -> Label:
    """A label of these speakers."""
    return Label(frozenset(speakers), privacy)


def of_tool(name: str) -> Label:
    """The label of what a tool brought from outside."""
    safe = "".join(c for c in name if c.isalnum() or c in "_-.")[:_LONGEST_NAME]
    return Label(frozenset({Speaker.TOOL}), Privacy.PUBLIC, frozenset({safe} if safe else ()))


def joined(labels: Iterable[Label]) -> Label:
    """The label of what is derived from all of these."""
    result = NOTHING
    for label in labels:
        result = result.join(label)
    return result


@lru_cache(maxsize=1024)
def read(text: str, *, tainted: bool = False) -> Label:
    """A stored label. Rows from before labels have an empty one, and the bit `tainted`, which also
    counts where both are there. What is no label reads as UNKNOWN."""
    if not text:
        return of(Speaker.OUTSIDE, privacy=Privacy.CONVERSATION) if tainted else NOTHING
    head, _, names = text.partition(":")
    letters, step = head[:-1], head[-1:]
    if not set(letters) <= _LETTERS or step not in ("0", "1", "2", "3"):
        return UNKNOWN
    tools = _named(frozenset(name for name in names.split(",") if name))
    label = Label(frozenset(map(Speaker, letters)), Privacy(int(step)), tools)
    return label if label.tainted or not tainted else label.join(of(Speaker.OUTSIDE))


def _named(tools: frozenset[str]) -> frozenset[str]:
    full = len(tools) > MOST_TOOLS or _EVERY_TOOL in tools
    return frozenset({_EVERY_TOOL}) if full else tools
