"""What attackers of each kind could reach, computed from the configuration and from the policy's
decisions about their calls."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nanobot.app.live_settings import LiveSettings
from nanobot.config.loader import ChannelSettings, Config
from nanobot.messages import Role
from nanobot.plugins.audit.brought import Brought
from nanobot.plugins.common.addresses import is_local
from nanobot.plugins.common.approvals import ApprovalRecords
from nanobot.plugins.common.exposures import Attacker, Exposure, Level
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.keys.approval_settings import ApprovalSettings
from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.plugins.common.policy.policy import policy_of
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.text import Sentence
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict

_SHORTEST_SECRET = 16
_ORDER: tuple[Attacker, ...] = (
    *("stranger", "guest", "member", "web page", "MCP server", "other user of the machine"),
)
_LEVELS: tuple[Level, ...] = ("danger", "risk", "note", "ok")


class _Call(NamedTuple):
    """A call that an attacker wants, and how severe it is without approval: by a member, and by
    content from outside in an owner's conversation."""

    tool: str
    does: str
    member: Level
    outside: Level
    facts: Mapping[str, Any] = MappingProxyType({})


_CALLS = (
    _Call("exec", "runs commands without a sandbox", "danger", "danger", {"contained": False}),
    _Call("exec", "runs commands that have the network", "danger", "danger", {"sends": True}),
    _Call("exec", "runs commands in the sandbox", "risk", "note"),
    _Call("exec", "runs commands that are dangerous", "danger", "danger", {"danger": "it is"}),
    _Call(
        "write_file",
        "rewrites what steers the assistant (AGENTS.md, skills/)",
        "danger",
        "danger",
        {"arguments": {"path": "AGENTS.md"}},
    ),
    _Call("message", "writes to other chats", "risk", "danger", {"elsewhere": True}),
    _Call("cron", "makes scheduled jobs", "risk", "danger"),
    _Call("spawn", "starts background runs", "note", "risk"),
    _Call("memory_save", "writes into memory", "note", "danger"),
    _Call("web_fetch", "fetches any address, with data in it", "note", "danger", {"sends": True}),
    _Call("web_search", "searches for private words", "note", "risk", {"sends": True}),
)


class SecurityAuditor:
    """Audits one gateway; `brought`: what its plugins bring that others reach."""

    def __init__(
        self, live: LiveSettings, tools: ToolRegistry, approvals: ApprovalRecords, brought: Brought
    ) -> None:
        self._brought = brought
        self._live = live
        self._tools = tools
        self._approvals = approvals

    async def audit(self) -> list[Exposure]:
        """What each kind of attacker could reach, grouped by attacker, the most severe first."""
        bare = await self._bare()
        current = self._live.config
        exposures = [
            *_strangers(current, self._brought.to_strangers),
            *self._http(current),
            *await self._brought.exposures(),
            *_rules(current),
            *self._unasked("member", Role.MEMBER, bare),
            *_members(current),
            *self._unasked("web page", Role.OWNER, bare, tainted=True),
            *await self._allowed_for_good(),
            *_pages(current, bare),
            *_machine(current),
        ]
        return sorted(
            exposures, key=lambda row: (_ORDER.index(row.attacker), _LEVELS.index(row.level))
        )

    def _http(self, current: Config) -> Iterator[Exposure]:
        if not self._brought.serves_http():
            return iter(())
        return _http(current, deliveries=self._brought.takes_deliveries())

    async def _bare(self) -> str | None:
        """Why commands run without a sandbox; None if they do not."""
        tools = {tool.name: tool for tool, _, _ in self._tools.listed()}
        uncontained = tools["exec"].uncontained if "exec" in tools else None
        return None if uncontained is None else await uncontained()

    def _unasked(
        self, attacker: Attacker, role: Role, bare: str | None, *, tainted: bool = False
    ) -> Iterator[Exposure]:
        """What such a run may do without approval, apart from harmless calls."""
        tools = {tool.name: tool for tool, _, _ in self._tools.listed()}
        for call in _CALLS:
            tool = tools.get(call.tool)
            if tool is None or role not in tool.allowed:
                continue
            facts = {"contained": bare is None, **call.facts}
            judged = policy_of(self._tools).judge(
                PolicyInput(tool=call.tool, role=role, tainted=tainted, **facts)
            )
            level = call.outside if tainted else call.member
            allowed = judged.verdict is Verdict.ALLOW and not judged.configured
            if allowed and level != "note":
                yield Exposure(
                    attacker=attacker,
                    level=level,
                    reaches=f"{call.does}, unasked ({judged.rule})",
                    remedy='A rule of yours with verdict = "ask" asks before.',
                )

    async def _allowed_for_good(self) -> list[Exposure]:
        rules = [rule for rule in await self._approvals.rules() if rule.tainted]
        if not rules:
            return []
        return [
            Exposure(
                attacker="web page",
                level="note",
                reaches=f"{len(rules)} permanent approvals in tainted conversations",
                remedy="`policy rules` lists them, `policy forget` takes one back.",
            )
        ]


def _rules(current: Config) -> Iterator[Exposure]:
    """What the rules of the configuration allow."""
    for number, rule in enumerate(current.policy.rules, 1):
        calls = [call for call in _CALLS if fnmatchcase(call.tool, rule.tool)]
        if rule.verdict != "allow":
            continue
        what = f"{rule.tool}({', '.join(f'{key}: {value}' for key, value in rule.args.items())})"
        sentence = f"{what}, unasked (policy.rules, rule {number})"
        if rule.tainted is not False and (not rule.roles or {"owner", "member"} & {*rule.roles}):
            levels = [call.outside for call in calls if call.outside != "note"]
            yield Exposure(
                attacker="web page",
                level="risk" if not calls else min(levels, key=_LEVELS.index, default="note"),
                reaches=sentence,
                remedy="Take it back, or give it `tainted = false`.",
            )
        if not rule.roles or "member" in rule.roles:
            levels = [call.member for call in calls if call.member != "note"]
            yield Exposure(
                attacker="member",
                level=min(levels, key=_LEVELS.index, default="note"),
                reaches=sentence,
                remedy='Take it back, narrow its `args`, or give it `roles = ["owner"]`.',
            )


def _strangers(current: Config, asking: Callable[[str], Sentence]) -> Iterator[Exposure]:
    for name, channel in current.channels.items():
        if channel.enabled:
            yield _stranger(name, channel, asking)
            yield from _udp(name, channel)


def _stranger(name: str, channel: ChannelSettings, asking: Callable[[str], Sentence]) -> Exposure:
    where = f"channels.{name}"
    rooms = [chat for chat, room in channel.chats.items() if "*" in room.members]
    if "*" in channel.members or rooms:
        chats = f" in {', '.join(rooms)}" if rooms and "*" not in channel.members else ""
        return Exposure(
            attacker="stranger",
            level="danger",
            reaches=f"{where}: everybody is a member{chats}, with files, web and memory",
            remedy=f"Name people in {where}.members.",
        )
    if "*" in channel.guests:
        return Exposure(
            attacker="stranger",
            level="risk",
            reaches=f"{where}: everybody may talk to it, at your expense",
            remedy=f"Name people in {where}.guests, or set limits in [budgets].",
        )
    reaches = asking(name) if channel.pairing else f"{where}: nothing"
    return Exposure(attacker="stranger", level="ok", reaches=reaches)


def _udp(name: str, channel: ChannelSettings) -> Iterator[Exposure]:
    host = str(channel.settings.get("host", "127.0.0.1"))
    if channel.type == "udp" and not is_local(host):
        token = str(channel.settings.get("token", ""))
        yield Exposure(
            attacker="stranger",
            level="danger" if len(token) < _SHORTEST_SECRET else "risk",
            reaches=f"channels.{name}: UDP at {host}, unencrypted, "
            + ("with a token" if token else "without any token"),
            remedy=f'Set channels.{name}.host = "127.0.0.1", or a token and a tunnel.',
        )


def _http(current: Config, *, deliveries: bool) -> Iterator[Exposure]:
    web = current.of(WebSettings)
    if not web.enabled and not deliveries:
        return
    if is_local(web.host):
        yield Exposure(attacker="stranger", level="ok", reaches="HTTP: this machine alone")
    else:
        short = bool(web.token) and len(web.token) < _SHORTEST_SECRET
        yield Exposure(
            attacker="stranger",
            level="danger" if short else "risk",
            reaches=f"HTTP at {web.host}:{web.port}, unencrypted, with the token alone between",
            remedy='Set web.host = "127.0.0.1" behind a proxy with TLS'
            + (", and a longer web.token." if short else "."),
        )


def _members(current: Config) -> Iterator[Exposure]:
    yield Exposure(
        attacker="member",
        level="note",
        reaches=f"files of {current.workspace} but the owners' own, the web, their own memory",
        remedy="Keep files that members must not read out of the workspace.",
    )
    others = [name for name in current.of(ApprovalSettings).approvers if name]
    if "members" in others:
        yield Exposure(
            attacker="member",
            level="danger",
            reaches="approves calls themselves, their own as well (policy.approvers)",
            remedy='Take "members" out of policy.approvers; name single people as CHANNEL:ID.',
        )


def _pages(current: Config, bare: str | None) -> Iterator[Exposure]:
    if bare is not None:
        yield Exposure(
            attacker="web page",
            level="risk",
            reaches=f"commands run without a sandbox after an approval ({bare})",
            remedy="Install bubblewrap; `nanobot doctor` explains how.",
        )
    wide = [host for host in current.policy.hosts if host.lstrip("*.").count(".") < 1]
    if wide:
        yield Exposure(
            attacker="web page",
            level="danger",
            reaches=f"policy.hosts lets tainted conversations ask {', '.join(wide)} anything",
            remedy="Name hosts whose owners you trust.",
        )
    private = current.of(WebTable).web.allow_private
    if private:
        yield Exposure(
            attacker="web page",
            level="risk",
            reaches=f"{', '.join(private)} of your network, where a person or a search names it",
            remedy="Remove unneeded hosts from tools.web.allow_private.",
        )
    yield Exposure(
        attacker="web page",
        level="ok",
        reaches="all else that has effects or sends something out asks first",
    )


def _machine(current: Config) -> Iterator[Exposure]:
    open_ones = [current.home] if _mode(current.home) & 0o077 else []
    if open_ones or not current.file.is_relative_to(current.home):
        open_ones += [current.file] if _mode(current.file) & 0o077 else []
    for path in open_ones:
        yield Exposure(
            attacker="other user of the machine",
            level="danger",
            reaches=f"{path} (mode {_mode(path):o}), with keys and conversations",
            remedy=f"Run: chmod go= {path}",
        )
    if _mode(current.workspace) & 0o002:
        yield Exposure(
            attacker="other user of the machine",
            level="danger",
            reaches=f"writes into the workspace {current.workspace}, and so steers the assistant",
            remedy=f"Run: chmod go= {current.workspace}",
        )
    elif _mode(current.workspace) & 0o055 and not current.workspace.is_relative_to(current.home):
        yield Exposure(
            attacker="other user of the machine",
            level="risk",
            reaches=f"reads the workspace {current.workspace}",
            remedy=f"Run: chmod go= {current.workspace}",
        )
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Exposure(
            attacker="other user of the machine",
            level="risk",
            reaches="nothing more; but nanobot runs as root, so that every mistake costs all",
            remedy="Run nanobot as a separate user, as `nanobot service install` does.",
        )
    database = urlsplit(current.database_url)
    if database.hostname and not is_local(database.hostname):
        yield Exposure(
            attacker="other user of the machine",
            level="note",
            reaches=f"the database at {database.hostname} holds all conversations",
            remedy="Let it be reached over TLS, by nanobot's account alone.",
        )
    if not open_ones:
        yield Exposure(
            attacker="other user of the machine",
            level="ok",
            reaches=f"{current.home} is closed to them",
        )


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
