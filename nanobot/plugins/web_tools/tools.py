"""The web tools, as configured in `[tools.web]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nanobot.config.loader import Config
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.files.file_readers import FileReaders
from nanobot.plugins.common.keys.tool_settings import WebTable, WebToolSettings
from nanobot.plugins.web_tools.fetch import Web, web_fetch_tool
from nanobot.plugins.web_tools.search import engines, web_search_tool
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry


def tools(config: Config, registry: ToolRegistry, readers: FileReaders) -> list[AnyTool]:
    """Those of a gateway."""
    return web_tools(config.of(WebTable).web, lambda: registry.policy.settings.hosts, readers)


def web_tools(
    settings: WebToolSettings,
    hosts: Callable[[], Sequence[str]] = tuple,
    readers: FileReaders | None = None,
) -> list[AnyTool]:
    """web_fetch and web_search, unless they are off; `hosts` returns the current `policy.hosts`;
    `readers` read documents (None: those of all installed plugins). Raises ConfigError.
    """
    # Parsed even if nothing is fetched, so that an invalid entry is reported at once.
    addresses = Addresses(settings.allow_private)
    tools: list[AnyTool] = []
    if settings.fetch:
        web = Web(addresses, settings.proxy)
        tools.append(web_fetch_tool(web, hosts=hosts, readers=readers))
    if settings.search != "off":
        tools.append(web_search_tool(engines(settings)))
    return tools
