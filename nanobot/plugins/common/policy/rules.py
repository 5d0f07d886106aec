"""Rules for calls: which calls a configured one matches, and the built-in ones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import Any

import msgspec

from nanobot.config.settings.tools import RuleSettings
from nanobot.errors import ConfigError, ToolError
from nanobot.messages import Role
from nanobot.plugins.common.globs import Glob
from nanobot.seam.installed import Interface, provided
from nanobot.text import Sentence, pattern
from nanobot.tools.verdict import Verdict

PROMPT_FILES = (
    *("AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "MEMORY.md"),
    *("HEARTBEAT.md", "BOOT.md", "SHUTDOWN.md"),
)
"""The model's instructions about itself come from these workspace files."""
# Ends a shell command, or runs another one within it.
_SEPARATORS = pattern(r"[;&|<>`\n\r\\]|\$\(|\$\{|<\(|>\(")
_PARTS = pattern(r"[;&|`\n\r(){}]+")

ESCAPES: Interface[Callable[[str, str], bool]] = Interface("escapes", own=True)
"""Whether a command that matches a pattern does more than it says."""


class PolicyInput(msgspec.Struct, frozen=True, kw_only=True):
    """The policy's input: a call."""

    tool: str
    arguments: Mapping[str, Any] = {}
    role: Role = Role.OWNER
    channel: str = ""
    chat: str = ""
    tainted: bool = False
    elsewhere: bool = False
    """It posts to another chat than its run's."""
    contained: bool = True
    """It stays within a sandbox."""
    sends: bool = False
    """It may send data that the run has read to the outside."""
    host: str = ""
    """The destination, if known."""
    reached: str = ""
    """The file at `path`, with links resolved."""
    danger: Sentence = ""
    """Why this call is dangerous, if it is."""
    unusual: Sentence = ""
    """Why the tool requires approval, if it does."""
    risky: bool = False
    """It is not known to be harmless."""
    foreign: bool = False
    """The tool belongs to another program or package."""
    typed: bool = False
    """A person typed it in the message that the run answers."""
    asked_by: str = ""
    """The untrusted piece that the call seems to follow, if known."""
    carries: str = ""
    """The source of private words that it would send to the host `to`, which nobody named."""
    to: str = ""
    secret: str = ""
    """The source of a secret in the context, if the call may carry it outside."""
    joined_by_members: bool = False
    """Members or guests contributed to the context of an owner's run."""
    unaccepted: Sentence = ""
    """See Tool."""


class _Rule(msgspec.Struct, frozen=True):
    """A built-in rule. `when`: the facts of a call that it is about, by the fields of PolicyInput,
    and whether they hold. Roles and paths of None match anything."""

    name: str
    verdict: Verdict
    why: Sentence
    when: Mapping[str, bool] = {}
    tools: tuple[str, ...] = ("*",)
    paths: tuple[str, ...] | None = None
    roles: tuple[Role, ...] | None = None

    def matches(self, call: PolicyInput) -> bool:
        return (
            (self.roles is None or call.role in self.roles)
            and ("*" in self.tools or call.tool in self.tools)
            and all(bool(getattr(call, fact)) is holds for fact, holds in self.when.items())
            and (self.paths is None or _in_paths(self.paths, call))
        )

    def why_of(self, call: PolicyInput) -> Sentence:
        """The reason for this call; the call's own reason if the rule is about that."""
        if "danger" in self.when or "unaccepted" in self.when:
            return call.danger or call.unaccepted
        why = call.unusual if "unusual" in self.when else self.why
        if "secret" in self.when:
            why = f"it could send {call.secret} outside, which is secret"
            return f"{call.asked_by} asks for it, and {why}" if call.asked_by else why
        leaks = "carries" in self.when
        if call.asked_by and ("tainted" in self.when or (leaks and call.tainted)):
            why = f"{call.asked_by} asks for it"
        if call.carries:
            sends = f"it would send text from {call.carries} to {call.to}, which no one named"
            return sends if leaks and why == self.why else f"{why}, and {sends}"
        if call.joined_by_members and self.roles == _MEMBER:
            return f"{why}, and others than owners speak in this conversation"
        return why


_WRITERS = ("write_file", "edit_file")
_FOLDERS = ("skills", "personas", "memory")
STEERING = (*PROMPT_FILES, *_FOLDERS)
"""Workspace names of files that determine how the assistant behaves."""
_STEERING = (*STEERING, *(f"{folder}/**" for folder in _FOLDERS))
_SEEN = "this conversation has seen content from outside, which may be what asks for it"
_OWNER, _MEMBER, _GUEST = (Role.OWNER,), (Role.MEMBER,), (Role.GUEST,)
_ASK, _ALLOW = Verdict.ASK, Verdict.ALLOW

_UNTYPED = {"tainted": True, "typed": False}
DEFAULTS: tuple[_Rule, ...] = (
    _Rule("guests", Verdict.DENY, "guests may use no tools", roles=_GUEST),
    _Rule("dangerous", _ASK, "it is dangerous", {"danger": True}),
    _Rule("unaccepted tool", _ASK, "no owner accepted this", {"unaccepted": True}),
    _Rule("secrets", _ASK, "it could send a secret", {"secret": True, "typed": False}),
    _Rule(
        "private words",
        _ASK,
        "it would send private words to a host that no one named",
        {"carries": True},
    ),
    _Rule(
        "tainted: other chats",
        _ASK,
        f"it writes to another chat, and {_SEEN}",
        {**_UNTYPED, "elsewhere": True},
        tools=("message",),
    ),
    _Rule(
        "tainted: prompt files",
        _ASK,
        f"this file tells me how to behave, and {_SEEN}",
        _UNTYPED,
        tools=_WRITERS,
        paths=_STEERING,
    ),
    _Rule(
        "tainted: lasting effects",
        _ASK,
        f"it has effects beyond this answer, and {_SEEN}",
        _UNTYPED,
        tools=("memory_save", "memory_forget", "cron", "spawn"),
    ),
    _Rule(
        "tainted: tools of others",
        _ASK,
        f"it may have effects outside, and {_SEEN}",
        {"foreign": True, "risky": True, "tainted": True},
    ),
    _Rule(
        "no sandbox",
        _ASK,
        "commands run without a sandbox on this machine",
        {"contained": False},
        tools=("exec",),
    ),
    _Rule(
        "tainted: the network",
        _ASK,
        f"it may send text that I have read to others, and {_SEEN}",
        {**_UNTYPED, "sends": True},
    ),
    _Rule("unusual", _ASK, "the tool asks for it", {"unusual": True}),
    _Rule("owners", _ALLOW, "owners may do everything", roles=_OWNER),
    _Rule(
        "members: commands and jobs",
        _ASK,
        "an owner has to agree to commands and jobs of members",
        tools=("exec", "cron"),
        roles=_MEMBER,
    ),
    _Rule(
        "members: other chats",
        _ASK,
        "members write to their own chat only",
        {"elsewhere": True},
        tools=("message",),
        roles=_MEMBER,
    ),
    _Rule(
        "members: prompt files",
        _ASK,
        "this file tells me how to behave towards everybody",
        tools=_WRITERS,
        paths=_STEERING,
        roles=_MEMBER,
    ),
    _Rule(
        "members: usual tools",
        _ALLOW,
        "members may use files, web and memory",
        tools=(
            *("read_file", "list_dir", "search_files", *_WRITERS),
            *("web_search", "web_fetch", "message", "ask_user", "spawn"),
            *("memory_search", "memory_save", "memory_forget"),
        ),
        roles=_MEMBER,
    ),
    _Rule(
        "members: risky tools",
        _ASK,
        "an owner has to agree to what may have effects outside",
        {"risky": True},
        roles=_MEMBER,
    ),
    _Rule("members", _ALLOW, "it has no effects outside", roles=_MEMBER),
)


def check(rules: Sequence[RuleSettings]) -> None:
    """Raises ConfigError for an invalid path pattern."""
    for number, rule in enumerate(rules, 1):
        for name in filter(_is_path, rule.args):
            try:
                _glob(rule.args[name])
            except ToolError as error:
                raise ConfigError(f"policy, rule {number}: args.{name}: {error}") from None


def host_among(host: str, patterns: Sequence[str]) -> bool:
    """Whether a host is among `docs.example`, or `*.example` for all its subdomains."""
    host = host.lower().removesuffix(".")
    return bool(host) and any(fnmatchcase(host, pattern.lower()) for pattern in patterns)


def configured(rule: RuleSettings, call: PolicyInput) -> bool:
    """Whether a rule decides. No rule allows a tool that an owner has not accepted."""
    return (
        fnmatchcase(call.tool, rule.tool)
        and not (call.unaccepted and rule.verdict == "allow")
        and _globbed(rule.roles, call.role)
        and _globbed(rule.channels, call.channel)
        and _globbed(rule.chats, call.chat)
        and (rule.tainted is None or rule.tainted is call.tainted)
        and (rule.elsewhere is None or rule.elsewhere is call.elsewhere)
        and all(
            _argument(name, pattern, call, lenient=rule.verdict == "allow")
            for name, pattern in rule.args.items()
        )
    )


def _globbed(patterns: Sequence[str], value: str) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns)


def _argument(name: str, pattern: str, call: PolicyInput, *, lenient: bool) -> bool:
    """Whether an argument matches. A rule that allows (`lenient`) has to match all of it; one that
    asks or denies matches if a part does, so that it cannot be bypassed."""
    value = call.arguments.get(name)
    if value is None:
        return False
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if name == "command":
        return _command(pattern, text, lenient=lenient)
    if _is_path(name):
        places = {text, call.reached} if name == "path" and call.reached else {text}
        fits = [_path(pattern, place, exact=lenient) for place in places]
        return all(fits) if lenient else any(fits)
    return fnmatchcase(text, pattern)


def _is_path(name: str) -> bool:
    return name == "path" or name.endswith("_path")


def _command(pattern: str, command: str, *, lenient: bool) -> bool:
    whole = command.strip()
    if lenient:
        # "git *" is a single git command, not `git status; curl ... | sh`, nor the program that
        # `git -c alias.x='!curl ...' x` starts.
        if whole == pattern:
            return True
        plain = not _SEPARATORS.search(whole) and fnmatchcase(whole, pattern)
        if not plain:
            return False
        escapes = provided(ESCAPES)  # without it, only what the rule says word for word is allowed
        return escapes is not None and not escapes(whole, pattern)
    parts = (" ".join(part.split()) for part in _PARTS.split(whole))
    return fnmatchcase(whole, pattern) or any(fnmatchcase(part, pattern) for part in parts)


def _path(pattern: str, path: str, *, exact: bool) -> bool:
    place = normpath(path.strip() or ".")
    if not exact:  # some file systems open README.md as readme.MD
        place, pattern = place.casefold(), pattern.casefold()
    return _glob(pattern).matches(place)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Glob:
    # A rule that allows notes.md means the one in the workspace folder, not others in subfolders.
    return Glob(pattern, anywhere=False)


def _in_paths(patterns: Sequence[str], call: PolicyInput) -> bool:
    """Match absolute paths by each of their suffixes: the workspace may be any folder."""
    path = call.arguments.get("path")
    if not isinstance(path, str):
        return False
    names = [name for name in normpath(path).split("/") if name not in ("", "..")]
    ends = ["/".join(names[at:]) for at in range(len(names))]
    places = ends if path.strip().startswith(("/", "..")) else ends[:1]
    if call.reached:
        places.append(call.reached)
    return any(_path(pattern, place, exact=False) for pattern in patterns for place in places)
