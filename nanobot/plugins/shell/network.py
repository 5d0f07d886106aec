"""Finds command lines that need the network, and the hosts they name."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.plugins.shell.commandline import parse
from nanobot.plugins.shell.program_call import ProgramCall
from nanobot.text import pattern

_ALWAYS = frozenset(
    {"apt", "apt-get", "aria2c", "curl", "dig", "ftp", "gh", "host", "http", "https", "lftp"}
    | {"lynx", "mosh", "nc", "ncat", "netcat", "nslookup", "npx", "ping", "rclone", "rsync"}
    | {"scp", "sftp", "ssh", "telnet", "traceroute", "uvx", "w3m", "wget", "whois", "yt-dlp"}
)
_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "cargo": frozenset({"add", "fetch", "install", "publish", "search", "update"}),
    "gem": frozenset({"install", "update", "fetch", "push"}),
    "git": frozenset({"clone", "fetch", "ls-remote", "pull", "push", "remote", "submodule"}),
    "go": frozenset({"get", "install"}),
    "npm": frozenset({"add", "ci", "i", "install", "publish", "search", "update", "view"}),
    "pip": frozenset({"download", "index", "install"}),
    "pipx": frozenset({"install", "run", "upgrade"}),
    "pnpm": frozenset({"add", "i", "install", "update"}),
    "poetry": frozenset({"add", "install", "publish", "update"}),
    "uv": frozenset({"add", "lock", "pip", "sync", "tool"}),
    "yarn": frozenset({"add", "install", "upgrade"}),
}
_INSTALLERS = frozenset(_SUBCOMMANDS) - {"git"} | {"apt", "apt-get"}
_PORTS: Mapping[str, int] = {"ftp": 21, "git": 9418, "http": 80, "https": 443, "ssh": 22}
_URL = pattern(
    r"\b(ftp|git|https?|ssh)://(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#\[\]]+)(?::(\d{1,5}))?"
)


def named_hosts(command: str) -> tuple[str, ...]:
    """The hosts of the URLs on the line, without duplicates: `example.org`, with `:PORT` if it is
    not a standard web port. Hosts that are only known at run time are not included.
    """
    hosts = dict[str, None]()
    for call in parse(command).calls:
        for word in call.words:
            for scheme, host, port in _URL.findall(word.text):
                number = int(port) if port else _PORTS[scheme]
                hosts[host if number in (80, 443) else f"{host}:{number}"] = None
    return tuple(hosts)


def needs_network(command: str) -> bool:
    """Whether the line contains a program that is useless without the network. False says nothing
    about what a script does.
    """
    return any(_needs(call) for call in parse(command).calls)


def brings_files(command: str) -> bool:
    """Whether a command with network access may write untrusted content. Installing packages does
    not count: they are code, which is run but not read.
    """
    online = [_program(call) for call in parse(command).calls if _needs(call)]
    return not online or not _INSTALLERS.issuperset(online)


def _needs(call: ProgramCall) -> bool:
    name, words = _program(call), list(call.arguments)
    return name in _ALWAYS or bool(_SUBCOMMANDS.get(name, frozenset()).intersection(words))


def _program(call: ProgramCall) -> str:
    name, words = call.name, list(call.arguments)
    if name.startswith("python") and words[:1] == ["-m"]:
        name = "".join(words[1:2])
    return name.rstrip("0123456789.") if name.startswith("pip") else name
