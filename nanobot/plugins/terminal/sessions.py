"""Which conversation a terminal is in: each folder has its own, in addition to the main one."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from nanobot.cli.language import said
from nanobot.errors import NanobotError, UsageError
from nanobot.messages import TERMINAL, TERMINAL_SESSION
from nanobot.operations.rendering import Now, cell
from nanobot.plugins.common.commands.output import say
from nanobot.plugins.common.control.client import ControlClient
from nanobot.plugins.common.control.protocol import Hello
from nanobot.plugins.common.page_link import PageLink
from nanobot.plugins.common.questions import choose
from nanobot.plugins.common.session_keys import ONCE
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.plugins.common.views.views import SessionView

_LOOKED_AT, _OFFERED = 500, 9
_LAST_ENTRIES, _LINE = 40, 70

Begins: TypeAlias = Literal["usual", "new", "once", "last", "chosen"]
"""The main conversation; a new one of this folder; a new one for one message; the folder's last
one; one of them that the person chooses.
"""


async def session_for(client: ControlClient, begins: Begins, folder: Path, zone: str) -> str:
    """The session to use. Raises UsageError if there is nothing to choose from."""
    if begins == "usual":
        return TERMINAL_SESSION
    if begins in ("new", "once"):
        return new_session(folder, once=begins == "once")
    there = await _of_folder(client, folder)
    if begins == "last":
        return there[0].key if there else new_session(folder)
    if not there:
        raise UsageError(f"no conversation was begun in {folder}: `nanobot agent --new` begins one")
    return await _chosen(client, there[:_OFFERED], zone)


def new_session(folder: Path, *, once: bool = False) -> str:
    """A unique name; `once`: lists leave the session out."""
    moment = f"{int(time.time()):x}{secrets.token_hex(2)}"
    return f"{_prefix(folder)}{f'{ONCE}-' if once else ''}{moment}"


def greeting(hello: Hello, version: str, zone: str) -> list[str]:
    """The model that answers, the current conversation, and how to begin another one."""
    lines = [f"nanobot {version}: {said(hello.model)}"]
    if hello.entries:
        ago = cell("at", hello.changed_at, Now(time.time(), zone))
        lines.append(
            said(
                f"{hello.session} resumes (last entry {ago}); `nanobot agent --new` begins another."
            )
        )
    return [*lines, said("/help lists the commands; Ctrl-D leaves.")]


async def page_line(client: ControlClient, hello: Hello) -> list[str]:
    """How to open the page, if this terminal itself serves it."""
    if hello.gateway:
        return []
    with suppress(NanobotError):  # there is no page
        link = msgspec.json.decode(await client.call("web link", {}), type=PageLink)
        return [said(f"The page: {link.url}")]
    return []


async def last_lines(client: ControlClient, session: str, count: int = 2) -> list[str]:
    """The last messages in a session, one line each, the person's after `>`."""
    raw = await client.call("sessions show", {"session": session, "limit": _LAST_ENTRIES})
    lines = []
    for entry in msgspec.json.decode(raw, type=SessionPage).entries:
        text = " ".join(str((entry.body or {}).get("text", "")).split())
        if text and entry.kind in ("user", "reply"):
            mark = "> " if entry.kind == "user" else "  "
            lines.append(mark + (text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"))
    return lines[-count:]


async def _of_folder(client: ControlClient, folder: Path) -> list[SessionView]:
    """The folder's conversations, the latest first."""
    named = {"find": _prefix(folder), "all": True, "limit": _LOOKED_AT}
    raw = await client.call("sessions list", named)
    rows = msgspec.json.decode(raw, type=list[SessionView])
    own = [row for row in rows if row.key.startswith(_prefix(folder))]
    return sorted(own, key=lambda row: -row.updated_at)  # pinned ones are listed first


async def _chosen(client: ControlClient, rows: list[SessionView], zone: str) -> str:
    now, options = Now(time.time(), zone), []
    for row in rows:
        lines = await last_lines(client, row.key)
        options.append("\n     ".join([str(cell("updated_at", row.updated_at, now)), *lines]))
    number = choose("Which conversation do you want to continue?", options)
    say()
    return rows[number].key


def _prefix(folder: Path) -> str:
    """The prefix of the names of a folder's sessions."""
    digest = hashlib.sha256(str(folder).encode("utf-8", "replace")).hexdigest()[:6]
    name = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:20] or "root"
    return f"{TERMINAL}:{name}-{digest}-"
