"""What tests of the web tools share: a caller, and the tool over a site of the tests' own."""

from __future__ import annotations

import json

from nanobot.messages import Address, Role
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.web_tools.fetch import SECONDS, Web, web_fetch_tool
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry
from tests.doubles.web_server import PUBLIC, WebServer

CALL = CallContext(
    run_id="r1",
    session_key="cli:direct",
    address=Address("cli", "direct"),
    sender_id="1",
    role=Role.MEMBER,
    key="r1:1:0",
)


class Browser:
    """web_fetch as a model calls it, where the site's address counts as public."""

    def __init__(
        self, site: WebServer, allowed: tuple[str, ...] = (), seconds: float = SECONDS
    ) -> None:
        addresses = Addresses((f"{PUBLIC}/32", *allowed), site.look_up)
        self.registry = ToolRegistry()
        self.registry.register(web_fetch_tool(Web(addresses, seconds=seconds)))

    async def fetch(self, url: str, **more: object) -> str:
        return await self.registry.execute("web_fetch", json.dumps({"url": url, **more}), CALL)
