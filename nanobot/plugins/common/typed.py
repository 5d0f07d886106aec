"""What a person typed in the message that a run answers: whether a call does only that.

Untrusted content cannot type. A call that does only what the person's current message says needs no
approval, even in a conversation that has read a page. What that means for a tool, its function
says, made into a `Tool.typed` by `by_words`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from nanobot.labels import Label, Speaker
from nanobot.messages import Origin, Role
from nanobot.plugins.common.terms import telling_terms
from nanobot.session.entries import Entry, UserEntry
from nanobot.session.labelling import joined_label, label_of
from nanobot.tools.base import CallContext

_PEOPLE = (Origin.USER, Origin.API)


class Said(msgspec.Struct, frozen=True):
    """The texts that the run's person typed: in the message that the run answers (`text`, `words`),
    and in everything that the run sees (`all_words`).
    """

    text: str
    words: set[str]
    all_words: set[str]
    run_id: str
    entries: Sequence[Entry]
    label: Label
    """That of the message."""

    def means(self, intent: re.Pattern[str]) -> bool:
        """Whether the message says so."""
        return intent.search(self.text) is not None

    def has(self, arguments: Mapping[str, Any], *names: str) -> bool:
        """Whether all words of these arguments are from the message; there must be one."""
        words = words_of(arguments, *names)
        return bool(words) and self.words >= words


def said(run_id: str, role: Role, entries: Sequence[Entry]) -> Said | None:
    """What people with this role typed; None if nobody did in the message that the run answers."""
    messages = list(_typed(entries, role, run_id))
    if not messages:
        return None
    texts = [message.text for message in messages]
    everything = _terms(message.text for message in _typed(entries, role))
    label = joined_label(messages)
    return Said("\n".join(texts), _terms(texts), everything, run_id, entries, label)


def by_words(
    check: Callable[[Mapping[str, Any], Said], bool],
) -> Callable[[Mapping[str, Any], CallContext], bool]:
    """A `Tool.typed`: whether people typed something, and the check accepts it."""

    def typed(arguments: Mapping[str, Any], context: CallContext) -> bool:
        words = said(context.run_id, context.role, context.entries)
        return words is not None and check(arguments, words)

    return typed


def words_of(arguments: Mapping[str, Any], *names: str) -> set[str]:
    """The words of these arguments."""
    return _terms(str(arguments.get(name) or "") for name in names)


def _typed(entries: Iterable[Entry], role: Role, run_id: str = "") -> Iterator[UserEntry]:
    """The messages that people with this role typed, only in one run if it is given."""
    own = {Role.OWNER: Speaker.OWNER, Role.MEMBER: Speaker.MEMBER}.get(role)
    for entry in entries:
        body = entry.body
        if (
            isinstance(body, UserEntry)
            and (not run_id or entry.run_id == run_id)
            and body.origin in _PEOPLE
            and own is not None
            and _wrote(own, body)
        ):
            yield body


def _wrote(person: Speaker, message: UserEntry) -> bool:
    """Whether only this person's words are in the text. Its quote may have those of others who may
    speak here."""
    label = label_of(message)
    quotes = bool(message.quote) and person in label.speakers and not label.tainted
    return quotes or label.speakers == {person}


def _terms(texts: Iterable[str]) -> set[str]:
    return {term for text in texts for term in telling_terms(text)}
