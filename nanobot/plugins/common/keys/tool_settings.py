"""The tables of `[tools]`: commands, and the web. Several plugins read them."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

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


class ExecTable(Settings, frozen=True, kw_only=True):
    """Where `[tools.exec]` is."""

    part_of: ClassVar[str] = "tools"
    exec: Annotated[ExecSettings, about("Commands of the model.")] = ExecSettings()


class WebTable(Settings, frozen=True, kw_only=True):
    """Where `[tools.web]` is."""

    part_of: ClassVar[str] = "tools"
    web: Annotated[WebToolSettings, about("Web search and web pages.")] = WebToolSettings()
