"""What a shell command could have done. A command that is not known may do anything."""

from __future__ import annotations

import re

from nanobot.plugins.claims.deeds import Deed

EVERYTHING = frozenset(Deed)
_NOTHING: frozenset[Deed] = frozenset()

_LOOKS = frozenset(
    {
        *("ls", "cat", "head", "tail", "less", "more", "grep", "rg", "wc", "pwd", "date", "whoami"),
        *("which", "whereis", "type", "stat", "du", "df", "tree", "file", "uptime", "ps", "top"),
        *("free", "id", "uname", "hostname", "env", "printenv", "echo", "printf", "sort", "uniq"),
        *("cut", "diff", "cmp", "md5sum", "sha256sum", "journalctl", "dmesg", "ping", "dig", "cd"),
        *("true", "false", "test", "[", "sleep", "nproc", "lscpu", "lsblk", "jq", "find", "man"),
        *("awk", "column", "nslookup", "netstat", "ss", "history", "export", "set", "basename"),
    }
)
"""Programs that change nothing, unless their output goes into a file."""

_LOOKS_LONGER = re.compile(
    r"(?:git (?:status|log|diff|show|branch(?: -[avr]+)?|remote(?: -v)?|blame|describe)"
    r"|pip3? (?:show|list|freeze|check)|npm (?:ls|list|view|outdated)|systemctl (?:status|list\S*"
    r"|is-\S+)|docker (?:ps|images|logs|inspect|version|info|stats)|crontab -l|apt(?:-cache)?"
    r" (?:list|show|search|policy)|gh (?:issue|pr|run|release) (?:list|view|status)"
    r"|kubectl (?:get|describe|logs)|\S+ (?:--version|-V|--help))\b"
)
_DOES: tuple[tuple[re.Pattern[str], frozenset[Deed]], ...] = tuple(
    (re.compile(pattern), frozenset(deeds))
    for pattern, deeds in (
        (r"(?:rm|rmdir|unlink|shred|trash\S*)\b", {Deed.DELETED, Deed.CANCELLED}),
        (r"(?:mkdir|touch|cp|tee|ln|install|wget|tar|zip|unzip)\b", {Deed.SAVED, Deed.MOVED}),
        (r"(?:mv|rename)\b", {Deed.MOVED, Deed.SAVED, Deed.DELETED, Deed.FIXED}),
        (r"(?:sed|perl) -\S*i", {Deed.FIXED, Deed.DELETED, Deed.SAVED, Deed.MOVED}),
        (r"(?:chmod|chown|truncate)\b", {Deed.FIXED, Deed.DELETED}),
        (
            r"(?:apt|apt-get|dnf|yum|brew|pip3?|pipx|uv|npm|pnpm|yarn|cargo|gem|go|snap|conda"
            r"|pacman|apk) (?:\S+ )*?(?:install|add|upgrade|update|remove|uninstall|purge|i|ci"
            r"|-S\S*)"
            r"\b",
            {Deed.INSTALLED, Deed.DELETED, Deed.FIXED, Deed.SAVED, Deed.RAN},
        ),
        (r"(?:pytest|tox|nox|ruff|mypy)\b", {Deed.RAN, Deed.FIXED}),
        (
            r"(?:systemctl|service|launchctl|supervisorctl) ",
            {Deed.RESTARTED, Deed.CANCELLED, Deed.SCHEDULED, Deed.FIXED},
        ),
        (r"(?:reboot|shutdown|kill|pkill|killall)\b", {Deed.RESTARTED, Deed.CANCELLED}),
        (r"(?:mail|mailx|mutt|sendmail|msmtp|swaks)\b", {Deed.SENT}),
        (r"(?:crontab|at|systemd-run)\b", {Deed.SCHEDULED, Deed.CANCELLED, Deed.DELETED}),
        (
            r"git push\b",
            {Deed.PUBLISHED, Deed.SENT, Deed.SAVED, Deed.DELETED, Deed.FIXED},
        ),
        (
            r"git \S+",
            {Deed.SAVED, Deed.FIXED, Deed.DELETED, Deed.MOVED, Deed.PUBLISHED, Deed.CANCELLED},
        ),
    )
)
_WRITES = frozenset({Deed.SAVED, Deed.FIXED, Deed.REMEMBERED})
_TO_FILE = re.compile(r"(?<![0-9&])>>?\s*(?!/dev/null|&)\S")
_SUDO = re.compile(r"^(?:sudo(?: -\S+)*|env(?: \w+=\S*)*|nohup|time|nice|\w+=\S*)\s+")


def may_do(command: str) -> frozenset[Deed]:
    """The deeds that a command could have done."""
    if "<<" in command or "$(" in command or "`" in command:
        return EVERYTHING
    deeds: frozenset[Deed] = _NOTHING
    for part in re.split(r"&&|\|\||[;|\n]", command):
        deeds |= _one(part.strip())
    return deeds | {Deed.RAN} if deeds else deeds


def _one(command: str) -> frozenset[Deed]:
    while (shorter := _SUDO.sub("", command)) != command:
        command = shorter
    if not command or command.startswith("#"):
        return _NOTHING
    wrote = _WRITES if _TO_FILE.search(command) else _NOTHING
    program = command.split()[0].rpartition("/")[2] if "/" in command.split()[0] else ""
    first = program or command.split()[0]
    if first == "find" and re.search(r"-delete|-exec", command):
        return frozenset({Deed.DELETED, Deed.MOVED, Deed.FIXED, Deed.SAVED})
    if command.split()[0].startswith("./"):  # a program of theirs
        return EVERYTHING
    if first in _LOOKS or _LOOKS_LONGER.match(command):
        return wrote
    for pattern, deeds in _DOES:
        if pattern.match(command):
            return deeds | wrote
    return EVERYTHING
