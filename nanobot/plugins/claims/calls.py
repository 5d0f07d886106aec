"""The calls of a run, and which deeds each could have done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from nanobot.plugins.claims.commands import EVERYTHING, may_do
from nanobot.plugins.claims.deeds import Deed
from nanobot.session.entries import CUT_OFF, Entry, ReplyEntry, ToolResultEntry

_NOTHING: frozenset[Deed] = frozenset()
_WRITES = {Deed.SAVED, Deed.FIXED, Deed.MOVED, Deed.DELETED}
_BUILT_IN: dict[str, frozenset[Deed]] = {
    **dict.fromkeys(("read_file", "list_dir", "search_files", "find_tools", "skill"), _NOTHING),
    **dict.fromkeys(("web_search", "web_fetch", "memory_search", "ask_user"), _NOTHING),
    "message": frozenset({Deed.SENT, Deed.PUBLISHED}),
    "memory_save": frozenset({Deed.REMEMBERED, Deed.SAVED, Deed.FIXED}),
    "memory_forget": frozenset({Deed.DELETED, Deed.REMEMBERED, Deed.FIXED}),
    "process": frozenset({Deed.RAN, Deed.CANCELLED, Deed.RESTARTED, Deed.STARTED}),
    "spawn": EVERYTHING,
}
"""What the tools do that come with the gateway; a background run may do anything."""

_CRON: dict[str, frozenset[Deed]] = {
    "list": _NOTHING,
    "remove": frozenset({Deed.CANCELLED, Deed.DELETED, Deed.SCHEDULED}),
    "pause": frozenset({Deed.CANCELLED, Deed.RESTARTED, Deed.SCHEDULED}),
}
_CRON_CHANGES = frozenset({Deed.SCHEDULED, Deed.MOVED, Deed.FIXED, Deed.STARTED, Deed.SAVED})
_CRON_CHANGES |= {Deed.RESTARTED}

_READING = frozenset(
    [
        "get",
        "list",
        "search",
        "read",
        "find",
        "query",
        "show",
        "describe",
        "view",
        "fetch",
        "check",
        "status",
        "count",
        "lookup",
        "look",
        "browse",
        "inspect",
        "preview",
        "history",
        "recent",
        "retrieve",
    ]
)
_MAKING = {Deed.SAVED, Deed.SCHEDULED, Deed.BOOKED, Deed.PUBLISHED, Deed.REMEMBERED, Deed.STARTED}
_CHANGING = {Deed.FIXED, Deed.MOVED, Deed.SCHEDULED, Deed.SAVED, Deed.RESTARTED, Deed.CANCELLED}
_VERBS: tuple[tuple[str, set[Deed]], ...] = (
    ("send reply answer respond forward notify", {Deed.SENT}),
    ("mail sms text share invite", {Deed.SENT}),
    ("post publish comment push", {Deed.SENT, Deed.PUBLISHED}),
    ("create add insert new make", _MAKING | {Deed.FIXED}),
    ("write save store upload append put", _WRITES | _MAKING),
    ("download export backup copy", {Deed.SAVED, Deed.MOVED}),
    ("update edit modify change patch replace", _CHANGING),
    ("move rename reschedule", _CHANGING),
    ("delete remove clear trash", {Deed.DELETED, Deed.CANCELLED}),
    ("cancel unsubscribe revoke", {Deed.DELETED, Deed.CANCELLED}),
    ("schedule remind reminder", {Deed.SCHEDULED}),
    ("book reserve reservation order buy pay", {Deed.BOOKED}),
    ("install upgrade uninstall", {Deed.INSTALLED}),
    ("turn switch toggle restart start", {Deed.RESTARTED}),
    ("merge deploy release close", {Deed.PUBLISHED, Deed.FIXED}),
    ("remember memorize", {Deed.REMEMBERED}),
)
_BY_WORD: dict[str, frozenset[Deed]] = {
    word: frozenset(deeds) for words, deeds in _VERBS for word in words.split()
}
"""The deeds of verbs in the names and descriptions of tools."""
_THINGS = frozenset(
    [
        "mail",
        "sms",
        "text",
        "post",
        "comment",
        "order",
        "book",
        "reservation",
        "schedule",
        "reminder",
    ]
)
"""Words that name what is read as often as what is done."""
_OF_FILES = frozenset({*_WRITES, Deed.PUBLISHED})
_OF_THE_WEB = EVERYTHING - {Deed.INSTALLED, Deed.REMEMBERED, Deed.SAVED}
_TELLS: dict[str, frozenset[Deed]] = {
    **dict.fromkeys(("message", "spawn", "write_file", "edit_file", "memory_save"), _NOTHING),
    **dict.fromkeys(("read_file", "list_dir", "search_files"), _OF_FILES),
    **dict.fromkeys(("web_search", "web_fetch"), _OF_THE_WEB),
    "cron": frozenset({Deed.SCHEDULED, Deed.CANCELLED, Deed.STARTED, Deed.RESTARTED}),
}
"""What calls tell of; those of other tools may tell of anything."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call with its outcome. `description`: what its tool says of itself."""

    name: str
    arguments: str = "{}"
    ok: bool = True
    description: str = ""

    @property
    def given(self) -> Mapping[str, Any]:
        """Its arguments; none if they cannot be read."""
        try:
            return msgspec.json.decode(self.arguments, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return {}

    def may_have(self) -> frozenset[Deed]:
        """The deeds that it could have done. A call that failed did none."""
        if not self.ok:
            return _NOTHING
        given = self.given
        if self.name == "exec":
            return may_do(str(given.get("command", "")))
        if self.name == "cron":
            return _CRON.get(str(given.get("action", "")), _CRON_CHANGES)
        if self.name in ("write_file", "edit_file"):
            return _written(str(given.get("path", "")))
        known = _BUILT_IN.get(self.name)
        return _by_words(self.name, self.description) if known is None else known

    def may_tell(self) -> frozenset[Deed]:
        """The deeds of which it could tell that others did them, or that they were done before."""
        return _TELLS.get(self.name, EVERYTHING) if self.ok else _NOTHING


def calls_of(entries: Sequence[Entry], descriptions: Mapping[str, str]) -> list[Call]:
    """The calls of a run that have a result, in the order of their results."""
    asked: dict[tuple[int, int], str] = {}
    made: list[Call] = []
    for entry in entries:
        body = entry.body
        if isinstance(body, ReplyEntry):
            for index, call in enumerate(body.tool_calls):
                asked[body.call, index] = call.arguments
        elif isinstance(body, ToolResultEntry):
            made.append(
                Call(
                    name=body.name,
                    arguments=asked.get((body.call, body.index), "{}"),
                    ok=body.ok and not body.text.startswith(CUT_OFF),
                    description=descriptions.get(body.name, ""),
                )
            )
    return made


def _written(path: str) -> frozenset[Deed]:
    """A file may also be a schedule, or what the assistant remembers."""
    deeds = {*_WRITES, Deed.REMEMBERED}
    if re.search(r"heartbeat|calendar|\.ics$|schedule|cron", path, re.IGNORECASE):
        deeds.add(Deed.SCHEDULED)
    return frozenset(deeds)


def _by_words(name: str, description: str) -> frozenset[Deed]:
    """By the verbs in a tool's name, else in what it says of itself. A tool that says neither may
    do anything."""
    for text in (name, description.split(".", maxsplit=1)[0]):
        words = [word.lower() for word in _WORD.findall(text)]
        reads = any(word in _READING for word in words)
        deeds = _of(word for word in words if not (reads and word.removesuffix("s") in _THINGS))
        if deeds or reads:
            return deeds
    return EVERYTHING


def _of(words: Iterable[str]) -> frozenset[Deed]:
    found: set[Deed] = set()
    for word in words:
        found |= _BY_WORD.get(word, _BY_WORD.get(word.removesuffix("s"), _NOTHING))
    return frozenset(found)
