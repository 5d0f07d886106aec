"""What the model may do, and who is asked before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from nanobot.config.settings.base import URL, Duration, Settings, Unfit, about, is_usable_url
from nanobot.text import pattern

REGISTRIES = "registries"
"""What stands for the usual package registries in a list of hosts."""
HOST_ENTRY = pattern(
    r"(?P<host>\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:(?P<port>\d{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
"""An entry of a list of hosts."""
_HOSTS = 'a list of hosts, like ["registries", "example.org", "*.example.org:8443"]'


def check_hosts(hosts: tuple[str, ...]) -> None:
    """Raises Unfit if `hosts` is not a list of hosts."""
    if not all(HOST_ENTRY.fullmatch(host) for host in hosts):
        raise Unfit("hosts", _HOSTS)


class ExecSettings(Settings, frozen=True, kw_only=True):
    """`[tools.exec]`: commands that the model runs. Private hosts must be in
    `tools.web.allow_private`, too."""

    sandbox: Annotated[
        Literal["auto", "bwrap", "off"],
        about(
            "Sandbox of commands. auto: bubblewrap; where it does not work, each "
            "command needs an approval. bwrap: bubblewrap, or no command runs. off:"
            " none; each command needs an approval."
        ),
    ] = "auto"
    network: Annotated[
        Literal["hosts", "none", "all"],
        about("What commands reach: the listed hosts, nothing, or everything."),
    ] = "hosts"
    hosts: Annotated[
        tuple[str, ...],
        about(
            "Hosts that commands reach without asking, as in example.org, "
            "*.example.org or example.org:8443. registries: package registries and "
            "code hosts; *: every public host."
        ),
    ] = (REGISTRIES,)
    timeout: Annotated[Duration, about("How long a command may run.", unit="s")] = 60.0
    background_timeout: Annotated[
        float, Meta(gt=0, le=30 * 86_400), about("How long a background command may run.", unit="s")
    ] = 3600.0

    def __post_init__(self) -> None:
        check_hosts(self.hosts)


class WebToolSettings(Settings, frozen=True, kw_only=True):
    """`[tools.web]`: how the model searches the web and reads its pages."""

    fetch: Annotated[bool, about("Whether the model may fetch web pages.")] = True
    search: Annotated[
        Literal["auto", "ddgs", "brave", "tavily", "searxng", "off"],
        about(
            "Search service of the model. auto: the first one that is configured, "
            "else ddgs, which needs no key."
        ),
    ] = "auto"
    brave_api_key: Annotated[str, about("API key of Brave Search.")] = ""
    brave_api_root: Annotated[str, about("Base URL of Brave Search.")] = (
        "https://api.search.brave.com"
    )
    tavily_api_key: Annotated[str, about("API key of Tavily.")] = ""
    tavily_api_root: Annotated[str, about("Base URL of Tavily.")] = "https://api.tavily.com"
    searxng_url: Annotated[
        str, about("Address of a SearXNG server; its search.formats must contain json.")
    ] = ""
    allow_private: Annotated[
        tuple[str, ...],
        about(
            "Private hosts, addresses and networks that the model may reach, as in "
            "nas.home or 10.1.0.0/16."
        ),
    ] = ()
    proxy: Annotated[
        str,
        about(
            "Proxy for web pages and searches. It resolves names itself, so it must"
            " refuse private addresses."
        ),
    ] = ""

    def __post_init__(self) -> None:
        for key in ("brave_api_root", "tavily_api_root", "searxng_url", "proxy"):
            if getattr(self, key) and not is_usable_url(getattr(self, key)):
                raise Unfit(key, URL)
        needs = {"brave": "brave_api_key", "tavily": "tavily_api_key", "searxng": "searxng_url"}
        need = needs.get(self.search)
        if need is not None and not getattr(self, need):
            raise Unfit("search", f"another service unless tools.web.{need} is set")


class ToolsSettings(Settings, frozen=True, kw_only=True):
    """`[tools]`."""

    exec: Annotated[ExecSettings, about("Commands of the model.")] = ExecSettings()
    web: Annotated[WebToolSettings, about("Web search and web pages.")] = WebToolSettings()


class RuleSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule for calls. All keys that it has must match. `tool`, `channels`, `chats` and the
    values of `args` are patterns."""

    verdict: Annotated[
        Literal["allow", "ask", "deny"],
        about("What happens to a call: it is allowed, asked about, or denied.", live=True),
    ]
    tool: Annotated[str, about("Pattern of the tool's name.", live=True)] = "*"
    args: Annotated[Mapping[str, str], about("Patterns of arguments.", live=True)] = {}
    roles: Annotated[
        tuple[Literal["owner", "member", "guest"], ...],
        about("Roles of the person who asks. Empty: any.", live=True),
    ] = ()
    channels: Annotated[tuple[str, ...], about("Patterns of channels. Empty: any.", live=True)] = ()
    chats: Annotated[tuple[str, ...], about("Patterns of chats. Empty: any.", live=True)] = ()
    tainted: Annotated[
        bool | None,
        about("Whether the conversation has content from outside. Unset: either.", live=True),
    ] = None
    elsewhere: Annotated[
        bool | None, about("Whether the call writes to another chat. Unset: either.", live=True)
    ] = None
    why: Annotated[str, about("Reason that people are told.", live=True)] = ""


class PolicySettings(Settings, frozen=True, kw_only=True):
    """`[policy]`: which calls are allowed, and which need an approval. `approvers` are CHANNEL:ID,
    or "members"."""

    rules: Annotated[
        tuple[RuleSettings, ...],
        about("Rules for calls of tools; the first that matches decides.", live=True),
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        about("Hosts that even conversations with content from outside may ask.", live=True),
    ] = ()
    approvers: Annotated[
        tuple[str, ...], about("People who may approve calls, in addition to owners.", live=True)
    ] = ()
    approval_seconds: Annotated[
        float,
        Meta(gt=0, le=2_592_000),
        about("How long an approval waits for an answer.", unit="s", live=True),
    ] = 86_400.0
    question_seconds: Annotated[
        float,
        Meta(gt=0, le=2_592_000),
        about("How long a question of the assistant waits for an answer.", unit="s", live=True),
    ] = 86_400.0

    def __post_init__(self) -> None:
        if any(not host or set(host) & set("/:@?# ") for host in self.hosts):
            raise Unfit("hosts", 'a list of hosts, such as "docs.python.org" or "*.wikipedia.org"')
