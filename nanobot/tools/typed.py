"""Recognizes calls that a person typed in the message that a run answers.

Untrusted content cannot type. A call that does only what the person's current message says needs no
approval, even in a conversation that has read a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from nanobot.labels import Speaker
from nanobot.messages import Origin, Role
from nanobot.search.terms import telling_terms
from nanobot.session.entries import Entry, ToolResultEntry, UserEntry
from nanobot.session.labelling import label_of
from nanobot.text import pattern

_PEOPLE = (Origin.USER, Origin.API)
_WEB = ("web_fetch", "web_search")
_INTENTS = {
    "memory_save": r"\b(remember|note|memori[sz]e|keep in mind|don't forget|do not forget"
    r"|merk|souviens|retiens|recuerda|ricorda)|记住|記住|记下|記下|覚えて|기억",
    "memory_forget": r"\b(forget|unlearn|vergiss|oublie|olvida)|忘",
    "cron": r"\b(remind|every|each|daily|weekly|monthly|alarm|wake me|schedule"
    r"|erinner|jeden|rappelle|chaque|recu[eé]rda|cada)|提醒|每|リマインド",
    "cron change": r"\b(remove|delete|cancel|take .{1,40} away|stop|pause|resume|run|lösch|supprime"
    r"|quita|borra)|删|刪|取消|暂停|暫停",
    "spawn": r"\b(background|meanwhile|in parallel|at the same time|hintergrund|arrière-plan"
    r"|segundo plano)|后台|後台|バックグラウンド",
    "web_fetch": r"\b(link|links|open|follow|click|next page|page|seite|lien|enlace)\b"
    r"|链接|鏈接|打开|打開|リンク",
}
_PATTERNS = {name: pattern(text, re.IGNORECASE) for name, text in _INTENTS.items()}
# How a model refers to the person whose words it stores.
_OF_A_PERSON = "the user, this person, the owner, their"


class _Said(msgspec.Struct, frozen=True):
    """The texts that the run's person typed: the message that the run answers, and everything that
    the run sees.
    """

    text: str
    words: set[str]
    all_words: set[str]
    run_id: str
    entries: Sequence[Entry]

    def meant(self, intent: str) -> bool:
        return _PATTERNS[intent].search(self.text) is not None


def is_typed(
    tool: str, arguments: Mapping[str, Any], run_id: str, role: Role, entries: Sequence[Entry]
) -> bool:
    """Whether the run's person typed the action of a call in the message that the run answers."""
    messages, judge = list(_typed(entries, role, run_id)), _TOOLS.get(tool)
    if not messages or judge is None:
        return False
    everything = _terms(_typed(entries, role))
    said = _Said("\n".join(messages), _terms(messages), everything, run_id, entries)
    return judge(arguments, said)


def _memory(arguments: Mapping[str, Any], said: _Said) -> bool:
    known = said.all_words.union(telling_terms(_OF_A_PERSON))
    return said.meant("memory_save") and known >= _of(arguments, "text")


def _job(arguments: Mapping[str, Any], said: _Said) -> bool:
    if arguments.get("action") == "list":
        return True
    if arguments.get("action") == "add":
        return said.meant("cron") and said.all_words >= _of(arguments, "message")
    return said.meant("cron change")


def _message(arguments: Mapping[str, Any], said: _Said) -> bool:
    words = _of(arguments, "content")
    return bool(words) and not arguments.get("files") and said.words >= words


def _file(arguments: Mapping[str, Any], said: _Said) -> bool:
    words = _of(arguments, "path", "content", "old_text", "new_text")
    return bool(words) and said.words >= words


def _command(arguments: Mapping[str, Any], said: _Said) -> bool:
    command = " ".join(str(arguments.get("command", "")).split())
    hosts = arguments.get("hosts") or ()
    text = f" {' '.join(said.text.replace('`', ' ').split())} "
    return bool(command) and f" {command} " in text and all(host in text for host in hosts)


def _link(arguments: Mapping[str, Any], said: _Said) -> bool:
    """One link of a page that was read, as the run's first fetch: the choice of link reveals no
    more than the person's own choice.
    """
    url = str(arguments.get("url", ""))
    if not url or not said.meant("web_fetch"):
        return False
    results = [
        entry
        for entry in said.entries
        if isinstance(entry.body, ToolResultEntry) and entry.body.name in _WEB
    ]
    if any(entry.run_id == said.run_id for entry in results):
        return False
    link = re.compile(rf"(?<![^\s<>()\[\]\"']){re.escape(url)}(?![^\s<>()\[\]\"'])")
    return any(link.search(getattr(entry.body, "text", "")) for entry in results)


_TOOLS: dict[str, Callable[[Mapping[str, Any], _Said], bool]] = {
    "memory_save": _memory,
    "memory_forget": lambda _, said: said.meant("memory_forget"),
    "spawn": lambda _, said: said.meant("spawn"),
    "cron": _job,
    "message": _message,
    "write_file": _file,
    "edit_file": _file,
    "exec": _command,
    "web_fetch": _link,
}


def _typed(entries: Iterable[Entry], role: Role, run_id: str = "") -> Iterator[str]:
    """The texts that people with this role typed, only in one run if it is given."""
    own = {Role.OWNER: Speaker.OWNER, Role.MEMBER: Speaker.MEMBER}.get(role)
    for entry in entries:
        body = entry.body
        if (
            isinstance(body, UserEntry)
            and (not run_id or entry.run_id == run_id)
            and body.origin in _PEOPLE
            and label_of(body).speakers == {own}
        ):
            yield body.text


def _terms(texts: Iterable[str]) -> set[str]:
    return {term for text in texts for term in telling_terms(text)}


def _of(arguments: Mapping[str, Any], *names: str) -> set[str]:
    return _terms(str(arguments.get(name) or "") for name in names)
