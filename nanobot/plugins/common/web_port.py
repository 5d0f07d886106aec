"""Whether HTTP can be served where the configuration says."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.errors import ConfigError, NanobotError, NotServed
from nanobot.operations.home import Finding
from nanobot.plugins.common.control.client import call
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import Answering, WebServer


async def _nobody() -> Answering:
    raise NotServed("this only tries whether it can be listened there")


async def port_finding(config: Config) -> Finding:
    """The finding of doctor about it."""
    about, web = "web", config.of(WebSettings)
    where = f"{web.host}:{web.port}"
    try:
        if await call(config.home / "control.sock", "plugins list", {}) is not None:
            return Finding(about=about, level="ok", text=f"{where} is for the gateway that runs")
    except NanobotError:
        pass  # reported with the gateway
    try:
        async with WebServer(web, _nobody).serving():
            return Finding(about=about, level="ok", text=f"{where} can be listened on")
    except ConfigError as error:
        return Finding(about=about, level="broken", text=str(error).rstrip("."))
