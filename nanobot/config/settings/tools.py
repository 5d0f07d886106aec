"""What the model may do, and who is asked before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from nanobot.config.settings.base import URL, Duration, Settings, Unfit, is_url

REGISTRIES = "registries"
"""What stands for the usual package registries in a list of hosts."""
HOST_ENTRY = re.compile(
    r"(?P<host>\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:(?P<port>\d{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
"""An entry of a list of hosts."""
_HOSTS = 'a list of hosts, like ["registries", "example.org", "*.example.org:8443"]'


def _check_hosts(hosts: tuple[str, ...]) -> None:
    if not all(HOST_ENTRY.fullmatch(host) for host in hosts):
        raise Unfit("hosts", _HOSTS)


class ExecSettings(Settings, frozen=True, kw_only=True):
    """`[tools.exec]`: how commands of the model run. `network`: no host, those of `hosts`, or
    whatever this machine reaches."""

    sandbox: Literal["auto", "bwrap", "off"] = "auto"
    network: Literal["hosts", "none", "all"] = "hosts"
    hosts: tuple[str, ...] = (REGISTRIES,)
    timeout: Duration = 60.0
    background_timeout: Annotated[float, Meta(gt=0, le=30 * 86_400)] = 3600.0

    def __post_init__(self) -> None:
        _check_hosts(self.hosts)


class WebToolSettings(Settings, frozen=True, kw_only=True):
    """`[tools.web]`: how the model searches the web and reads its pages."""

    fetch: bool = True
    search: Literal["auto", "ddgs", "brave", "tavily", "searxng", "off"] = "auto"
    brave_api_key: str = ""
    brave_api_root: str = "https://api.search.brave.com"
    tavily_api_key: str = ""
    tavily_api_root: str = "https://api.tavily.com"
    searxng_url: str = ""
    allow_private: tuple[str, ...] = ()
    proxy: str = ""

    def __post_init__(self) -> None:
        for key in ("brave_api_root", "tavily_api_root", "searxng_url", "proxy"):
            if getattr(self, key) and not is_url(getattr(self, key)):
                raise Unfit(key, URL)
        needs = {"brave": "brave_api_key", "tavily": "tavily_api_key", "searxng": "searxng_url"}
        need = needs.get(self.search)
        if need is not None and not getattr(self, need):
            raise Unfit("search", f"another service unless tools.web.{need} is set")


class ToolsSettings(Settings, frozen=True, kw_only=True):
    """`[tools]`."""

    exec: ExecSettings = ExecSettings()
    web: WebToolSettings = WebToolSettings()


class SkillsSettings(Settings, frozen=True, kw_only=True):
    """`[skills]`. Those named in `disabled` are not shown to the model."""

    disabled: tuple[str, ...] = ()


class McpSettings(Settings, frozen=True, kw_only=True):
    """`[mcp.NAME]`: a server of the Model Context Protocol, started by `command` or reached at
    `url`. `env` is its environment, `headers` go with every request. `allow` are globs of the
    tools that are offered; `members`: also to members.

    A program runs in a sandbox (`sandbox`: "auto" without it where that does not work, "bwrap" not
    at all then, "off" always without): of files it sees the system, itself, and what it may `read`
    and `write`, of the network what `network` and `hosts` say."""

    enabled: bool = True
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    sandbox: Literal["auto", "bwrap", "off"] = "auto"
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: Literal["hosts", "none", "all"] = "hosts"
    hosts: tuple[str, ...] = (REGISTRIES,)
    url: str = ""
    headers: Mapping[str, str] = {}
    timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    allow: tuple[str, ...] = ("*",)
    members: bool = False

    def __post_init__(self) -> None:
        if not self.enabled:
            return
        if bool(self.command) is bool(self.url):
            raise Unfit("", "a table with either a command (a program to start) or a url")
        if self.url and not is_url(self.url):
            raise Unfit("url", URL)
        if self.command and self.headers:
            raise Unfit("headers", "left out where there is a command: they belong to a url")
        _check_hosts(self.hosts)
        for key in ("env", "args", "read", "write"):
            if self.url and getattr(self, key):
                raise Unfit(key, "left out where there is a url")
        for key in ("read", "write"):
            if not all(path.startswith(("/", "~/")) for path in getattr(self, key)):
                raise Unfit(key, 'a list of whole paths, like ["/srv/documents", "~/notes"]')

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Any of their values, and any argument, may be a key.
        hidden = {"env": sorted(self.env), "headers": sorted(self.headers), "args": len(self.args)}
        return [(key, hidden.get(key, value)) for key, value in super().__rich_repr__()]


class RuleSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of `[policy]`: `tool` is a pattern, and so are `channels`, `chats` and the values of
    `args`; what is left out fits everything."""

    verdict: Literal["allow", "ask", "deny"]
    tool: str = "*"
    args: Mapping[str, str] = {}
    roles: tuple[Literal["owner", "member", "guest"], ...] = ()
    channels: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    tainted: bool | None = None
    elsewhere: bool | None = None
    why: str = ""


class PolicySettings(Settings, frozen=True, kw_only=True):
    """`[policy]`: which calls are made, which need a person's approval, and whose.

    `hosts` are patterns of those that conversations with content from outside may ask anything.
    `approvers`: besides owners; "members", or CHANNEL:ID."""

    rules: tuple[RuleSettings, ...] = ()
    hosts: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    approval_seconds: Annotated[float, Meta(gt=0, le=2_592_000)] = 86_400.0
    question_seconds: Annotated[float, Meta(gt=0, le=2_592_000)] = 86_400.0

    def __post_init__(self) -> None:
        if any(not host or set(host) & set("/:@?# ") for host in self.hosts):
            raise Unfit("hosts", 'a list of hosts, such as "docs.python.org" or "*.wikipedia.org"')
