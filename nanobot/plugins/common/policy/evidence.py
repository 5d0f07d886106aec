"""Finds which part of a conversation a call follows, and whose private words the call would carry
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus, urlsplit

import msgspec

from nanobot.labels import Privacy
from nanobot.messages import Origin
from nanobot.plugins.common.terms import telling_terms, terms_of
from nanobot.providers.base import ToolCall
from nanobot.session.entries import (
    Body,
    Entry,
    PostEntry,
    RecallEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.labelling import PUBLIC_TOOLS, label_of
from nanobot.text import quoted

_URL = re.compile(r"https?://[^\s'\"<>|;`]+", re.IGNORECASE)
_NAMED = ("path", "url", "query", "command", "uri")
_COMMANDS = ("exec", "process")
_NAME_CHARS = 80
_NAMES: dict[type[Any], str] = {
    RecallEntry: "my memory",
    SummaryEntry: "the summary of this conversation",
    PostEntry: "an earlier message in this chat",
}
_SEQUENCE = 3
"""This many consecutive words of a private text identify it."""
_LONGEST_WORD, _LARGEST_NUMBER, _SHORTEST_CODE = 20, 4, 6


class Carried(msgspec.Struct, frozen=True):
    """Words from the piece `source` would reach `host`."""

    source: str
    host: str


def asked_by(arguments: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    """The untrusted line that a call most resembles, such as "line 3 of report.pdf"; "" if no line
    contains most of the call's words.
    """
    wanted = {term for text in texts_in(arguments) for term in telling_terms(text)}
    best, found = max(2, (len(wanted) + 1) // 2), ""
    for entry in reversed(entries):
        if not label_of(entry.body).tainted:
            continue
        for number, line in enumerate(_lines(getattr(entry.body, "text", "")), 1):
            shared = len(wanted.intersection(telling_terms(line)))
            if shared > best or (shared == best and not found):
                best, found = shared, f"line {number} of {name_of(entry, entries)}"
    return found


def carried(arguments: Mapping[str, Any], entries: Sequence[Entry]) -> Carried | None:
    """The private piece whose words occur in the address of a call, if no one named its host."""
    for text in texts_in(arguments):
        for url in _URL.findall(text):
            host, words = _parts(url)
            if not host or _is_named(host, entries) or _is_found(url, host, entries):
                continue
            if source := _private(words, entries):
                return Carried(source, host)
    return None


def name_of(entry: Entry, entries: Sequence[Entry]) -> str:
    """The name of a piece of a conversation for people."""
    body = entry.body
    if isinstance(body, ToolResultEntry):
        return _asked(entry.run_id, body, entries) or body.name
    if isinstance(body, UserEntry):
        files = ", ".join(file.name for file in body.attachments if file.name)
        return quoted(files, _NAME_CHARS) if files else "a message that was passed on"
    return _NAMES.get(type(body), "this conversation")


def _asked(run_id: str, result: ToolResultEntry, entries: Sequence[Entry]) -> str:
    """The subject of a call, from its arguments."""
    replies = (e.body for e in entries if e.run_id == run_id and isinstance(e.body, ReplyEntry))
    for reply in replies:
        if reply.call == result.call and result.index < len(reply.tool_calls):
            return _subject(reply.tool_calls[result.index].arguments)
    return ""


def _values(arguments: str) -> dict[str, Any]:
    try:
        values = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _subject(arguments: str) -> str:
    values = _values(arguments)
    text = next((values[name] for name in _NAMED if isinstance(values.get(name), str)), "")
    return quoted(text, _NAME_CHARS).strip("'\"") if text else ""


def _lines(text: str) -> list[str]:
    """The lines of untrusted text, without the frame around it."""
    lines = text.splitlines()
    begin = next((at + 1 for at, line in enumerate(lines) if line.startswith("<<<")), 0)
    return lines[begin:]


def _parts(url: str) -> tuple[str, str]:
    """The host of an address, and the rest of the address."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return "", ""
    # A subdomain of a host is served by the same people.
    said = [
        " ".join(host.split(".")[:-2]),
        parts.path,
        parts.query,
        parts.fragment,
        parts.username or "",
    ]
    return host, unquote_plus(" ".join(said))


def _is_named(host: str, entries: Sequence[Entry]) -> bool:
    """Whether a person named the host, or a job or task that the run carries out. A report and the
    repetition of a question are a run's own words.
    """
    word = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", re.IGNORECASE)
    messages = [
        body
        for body in (entry.body for entry in entries)
        if isinstance(body, UserEntry)
        and body.origin is not Origin.APPROVAL
        and not (body.origin is Origin.RUN and body.inbound_id)
    ]
    return any(not label_of(body).tainted and word.search(body.text) for body in messages)


def _is_found(url: str, host: str, entries: Sequence[Entry]) -> bool:
    """Whether the whole address was read where no run can have put it together: not in what a
    command or a run wrote, and not after a call that named its host, unless it read the web.
    """
    word = re.compile(rf"(?<![\w.-]){re.escape(url)}(?![\w/?&=#%-])")
    for body in (entry.body for entry in entries):
        if isinstance(body, ReplyEntry):
            if any(_names(call, host) for call in body.tool_calls):
                return False
        elif _repeats(body) and word.search(getattr(body, "text", "")):
            return True
    return False


def _names(call: ToolCall, host: str) -> bool:
    """Whether a call can have put the host somewhere."""
    texts = texts_in(_values(call.arguments))
    return call.name not in PUBLIC_TOOLS and any(host in text.lower() for text in texts)


def _repeats(body: Body | None) -> bool:
    """Whether an entry repeats what was written elsewhere: no run has put it together."""
    if isinstance(body, ToolResultEntry):
        return body.name not in _COMMANDS
    return isinstance(body, RecallEntry) or label_of(body).privacy < Privacy.PERSON


def _private(words: str, entries: Sequence[Entry]) -> str:
    """The private piece that contains some words; "" if there is none."""
    known: set[str] = set()
    private = []
    for entry in entries:
        privacy = label_of(entry.body).privacy
        if privacy >= Privacy.PERSON:
            private.append(entry)
        elif isinstance(entry.body, UserEntry | PostEntry) or (
            privacy is Privacy.PUBLIC and isinstance(entry.body, ToolResultEntry)
        ):
            known.update(telling_terms(getattr(entry.body, "text", "")))
    if not private:
        return ""
    terms = terms_of(words).split()
    codes = {term for term in terms if _is_code(term)} - known
    runs = [
        f" {' '.join(run)} "
        for run in (terms[at : at + _SEQUENCE] for at in range(len(terms) - _SEQUENCE + 1))
        if not known.issuperset(run)
    ]
    if not codes and not runs:
        return ""
    for entry in private:
        text = f" {terms_of(getattr(entry.body, 'text', ''))} "
        if any(f" {code} " in text for code in codes) or any(run in text for run in runs):
            return name_of(entry, entries)
    return ""


def _is_code(term: str) -> bool:
    if term.isdecimal():
        return len(term) > _LARGEST_NUMBER
    return len(term) >= _SHORTEST_CODE and (not term.isalpha() or len(term) > _LONGEST_WORD)


def texts_in(value: Any) -> Iterator[str]:
    """Each text within a value that is JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
