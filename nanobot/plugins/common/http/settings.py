"""The settings of the HTTP server."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from nanobot.config.settings.base import URL, Settings, Unfit, about, is_usable_url
from nanobot.messages import WEB
from nanobot.text import pattern

WEB_PORT = 8765
PATH_PREFIX = pattern(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]{1,64}){1,8}")
"""A path below which a proxy may serve the gateway, as in /assistant."""


class WebSettings(Settings, frozen=True, kw_only=True):
    """`[web]`: the page and the HTTP API. If it is not enabled, hooks are still served. In
    `trusted_programs`, `owner` means `token`, and `mcp serve` means that command."""

    enabled: Annotated[bool, about("Whether the page and the HTTP API are served.")] = True
    host: Annotated[str, about("Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(ge=0, le=65_535),
        about(
            "Port to listen on. 0: any free one. If the default is taken, the next "
            "free one, unless `hosts`, `public_url` or `base_path` is set."
        ),
    ] = WEB_PORT
    token: Annotated[
        str, about("Token of the owner for the API. Empty: made at the first start.")
    ] = ""
    hosts: Annotated[
        tuple[str, ...],
        about(
            "Host names of the gateway, in addition to addresses and localhost, as "
            "in assistant.example.org or *.example.org."
        ),
    ] = ()
    health_port: Annotated[
        int,
        Meta(ge=0, le=65_535),
        about("Port for health checks of a process without the role web. 0: none."),
    ] = 0
    trusted_proxies: Annotated[
        tuple[str, ...], about("Addresses of proxies whose X-Forwarded headers count.")
    ] = ()
    public_url: Annotated[
        str, about("Address that people use, if a proxy has another one than this machine.")
    ] = ""
    base_path: Annotated[
        str, about("Path below which a proxy serves the gateway. Empty: the path of `public_url`.")
    ] = ""

    trusted_programs: Annotated[
        tuple[str, ...],
        about("Names of tokens whose words over /v1 and /mcp count as the owner's."),
    ] = ()
    mcp_approves: Annotated[
        bool, about("Whether programs may approve calls and answer questions over MCP.")
    ] = False

    push_details: Annotated[
        bool, about("Whether notifications on phones contain the question.")
    ] = False

    def __post_init__(self) -> None:
        if self.public_url and not _is_public(self.public_url):
            raise Unfit("public_url", f"{URL} without a query, like https://example.org/assistant")
        if self.base_path and not PATH_PREFIX.fullmatch(self.base_path):
            raise Unfit("base_path", 'a path like "/assistant", without a / at its end')

    @property
    def prefix(self) -> str:
        """The path below which a proxy serves the gateway; "" at the root."""
        return self.base_path or urlsplit(self.public_url).path.rstrip("/")

    @property
    def own_channels(self) -> tuple[str, ...]:
        return (WEB,) if self.enabled else ()

    def channel_url(self, name: str) -> str:
        """Where the platform of a channel reaches it with requests; "" without a public address."""
        return f"{self.public_url.rstrip('/')}/channels/{name}" if self.public_url else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The host names of the gateway, in addition to addresses and localhost."""
        public = urlsplit(self.public_url).hostname
        return (*self.hosts, public) if public else self.hosts


def _is_public(url: str) -> bool:
    """Whether a URL can be the one that people use."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    path = parts.path.rstrip("/")
    return (
        is_usable_url(url)
        and bool(parts.hostname)
        and port != 0
        and not (parts.query or parts.fragment or parts.username or parts.password)
        and (not path or PATH_PREFIX.fullmatch(path) is not None)
    )
