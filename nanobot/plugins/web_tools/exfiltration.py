"""Prevents leaks through web calls: tracks what a conversation has shown of the web, and which
words in it are private, to decide whether a call's URL or its search words can carry something
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from yarl import URL

from nanobot.errors import ToolError
from nanobot.messages import Origin
from nanobot.plugins.common.addresses import MAX_URL, Addresses
from nanobot.plugins.common.terms import telling_terms
from nanobot.session.entries import (
    Body,
    Entry,
    RecallEntry,
    SummaryEntry,
    ToolResultEntry,
    UserEntry,
)

MAX_NEW_WORDS = 6
"""Maximum plain new words of a search in a conversation that untrusted content may influence."""

_OF_PEOPLE = (Origin.USER, Origin.API, Origin.CRON, Origin.APPROVAL)
_OF_THE_WEB = ("web_fetch", "web_search")
# Possible addresses in a person's text, and the characters that may follow one.
_TOKEN = re.compile(r"[^\s<>\"'`|\\^{}\[\]，。；：！？、（）】》]+")
_ASCII = re.compile(r"[\x21-\x7e]+")
_BEFORE, _BEHIND, _MOST_BEHIND = "(*_~", ".,;:!?)*_~", 4
# Words as in ordinary texts, and small numbers: no keys, no codes.
_LONGEST_WORD = 20
_LARGEST_NUMBER = 4
_SHORTEST_PART, _SHORTEST_WHOLE = 5, 6
"""Letters that a searched word needs within a private one, and a private word within a search."""


def is_shown(url: str, entries: Sequence[Entry], addresses: Addresses) -> bool:
    """Whether a person wrote this exact address in the conversation, a search found it, or it was
    already read.
    """
    place = _place(url, addresses)
    return place is not None and any(
        _place(text, addresses) == place for entry in entries for text in _addresses_in(entry.body)
    )


def is_private(query: str, entries: Sequence[Entry]) -> bool:
    """Whether a search could reveal private content that the conversation has read. Words that a
    person wrote or that web pages contain are not private; words from files, memory and command
    output are. All other words must be few and plain.
    """
    terms, known = set(telling_terms(query)), set[str]()
    for text in _texts_in(entries, _is_known):
        known.update(telling_terms(text))
        terms -= known
        if not terms:
            return False
    if len(terms) > MAX_NEW_WORDS or not all(map(_is_plain, terms)):
        return True
    return any(_overlap(terms, query, text, known) for text in _texts_in(entries, _is_kept_apart))


def _overlap(terms: Set[str], query: str, private: str, known: Set[str]) -> bool:
    """Whether words of a search, or parts of them, occur in a private text, or the reverse: a word
    may be cut, extended or written with gaps.
    """
    words = set(telling_terms(private))
    if not terms.isdisjoint(words):
        return True
    folded = private.casefold()
    if any(len(term) >= _SHORTEST_PART and term in folded for term in terms):
        return True
    joined = "".join(query.casefold().split())
    return any(len(word) >= _SHORTEST_WHOLE and word in joined for word in words - known)


def _is_plain(term: str) -> bool:
    if term.isdecimal():
        return len(term) <= _LARGEST_NUMBER
    return term.isalpha() and len(term) <= _LONGEST_WORD


def _place(text: str, addresses: Addresses) -> str | None:
    """The relevant parts of an address: host, port, path and query; None if it is not one."""
    try:
        url = addresses.check(text if text.lower().startswith("http") else f"https://{text}")
    except ToolError:
        return None
    port = url.explicit_port
    return f"{url.raw_host}{f':{port}' if port else ''}{_path(url)}"


def _path(url: URL) -> str:
    return url.raw_path_qs or "/"


def _addresses_in(body: Body | None) -> Iterator[str]:
    if isinstance(body, ToolResultEntry):
        yield from body.addresses
    elif isinstance(body, UserEntry) and _speaks_for_itself(body):
        for token in _TOKEN.findall(body.text):
            if len(token) <= MAX_URL and "." in token:
                yield from _readings(token)


def _readings(token: str) -> Iterator[str]:
    """The addresses that a word may mean."""
    begins = token.lower().find("http")
    address = token[max(begins, 0) :].lstrip(_BEFORE)
    ascii_part = _ASCII.match(address)
    for text in {address, ascii_part[0] if ascii_part else ""}:
        yield text
        for length in range(len(text) - 1, max(len(text) - 1 - _MOST_BEHIND, 0), -1):
            if text[length] not in _BEHIND:
                break
            yield text[:length]


def _speaks_for_itself(message: UserEntry) -> bool:
    return message.origin in _OF_PEOPLE and not message.tainted


def _is_known(body: Body | None) -> bool:
    """Whether it is a result from the web, or a person's message."""
    if isinstance(body, ToolResultEntry):
        return body.name in _OF_THE_WEB
    return isinstance(body, UserEntry)


def _is_kept_apart(body: Body | None) -> bool:
    return isinstance(body, ToolResultEntry | RecallEntry | SummaryEntry) and not _is_known(body)


def _texts_in(entries: Iterable[Entry], which: Callable[[Body | None], bool]) -> Iterator[str]:
    return (getattr(entry.body, "text", "") for entry in entries if which(entry.body))
