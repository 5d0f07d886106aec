"""MCP servers in config.toml: added, removed, tested."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomlkit

from nanobot.cli.logs import to_stderr
from nanobot.config.loader import load
from nanobot.config.values import content_of, home_of
from nanobot.errors import ConfigError, UnknownId, UsageError
from nanobot.plugins.common.commands.output import document, say
from nanobot.plugins.common.keys import config_file as configfile
from nanobot.plugins.common.keys.tool_settings import REGISTRIES
from nanobot.plugins.common.walls import walls_of
from nanobot.plugins.mcp.connection_state import ConnectionState, ServerTrouble
from nanobot.plugins.mcp.pins import Pin, Said, never_accepted
from nanobot.plugins.mcp.server import connect
from nanobot.plugins.mcp.service import place_of
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.store import kept_at
from nanobot.plugins.mcp.tool_names import allowed, described, names, schema
from nanobot.store.servers import url_of

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = re.compile(r"[A-Za-z0-9_-]+")


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A server as typed; `env` and `headers` are KEY=VALUE. `hosts` are allowed in addition to the
    package registries.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


class ToolProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a tested server. `offered`: `allow` includes it. `state`: new, changed or
    accepted.
    """

    name: str
    description: str
    read_only: bool
    offered: bool
    state: str


_NOTES = {"new": " (new)", "changed": " (changed since it was accepted)", "accepted": ""}


def added(environ: Mapping[str, str], name: str, spec: ServerSpec) -> Path:
    """Add a server; returns the file. Raises UsageError and ConfigError, and then writes
    nothing.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} cannot be a server's name: letters, digits, - and _")
    if name in _servers(environ):
        raise UsageError(f"there is a server {name} already: nanobot mcp remove {name}")
    if bool(spec.command) is bool(spec.url):
        raise UsageError("give either --url URL, or a program: nanobot mcp add NAME -- PROGRAM ...")
    table: dict[str, Any] = {}
    if spec.command:
        table["command"] = spec.command[0]
        table["args"] = list(spec.command[1:])
    else:
        table["url"] = spec.url
    table |= {"read": list(spec.read), "write": list(spec.write)}
    table["hosts"] = [REGISTRIES, *spec.hosts] if spec.hosts else []
    table |= {"env": _pairs("--env", spec.env), "headers": _pairs("--header", spec.headers)}
    return configfile.change(environ, lambda text: _with(text, name, table))


def _with(text: str, name: str, table: Mapping[str, Any]) -> str:
    lines = [f"[mcp.{name}]"]
    for key, value in table.items():
        if isinstance(value, dict):
            if value:
                pairs = ", ".join(f"{k} = {configfile.as_toml(v)}" for k, v in value.items())
                lines.append(f"{key} = {{ {pairs} }}")
        elif value:
            lines.append(f"{key} = {configfile.as_toml(value)}")
    return text.rstrip() + ("\n\n" if text.strip() else "") + "\n".join(lines) + "\n"


def removed(environ: Mapping[str, str], name: str) -> Path:
    """Remove a server; returns the file. Raises UnknownId if it does not exist."""
    names = _servers(environ)
    if name not in names:
        raise UnknownId(f"there is no server {name}; there are: {', '.join(names) or 'none'}")

    def without(text: str) -> str:
        document: Any = tomlkit.parse(text)
        del document["mcp"][name]
        if not document["mcp"]:
            del document["mcp"]
        return str(document.as_string())

    return configfile.change(environ, without)


def tried(environ: Mapping[str, str], name: str, *, json: bool) -> None:
    """Connect to a server, and print its tools. Raises UnknownId, ConfigError, ServerTrouble."""
    to_stderr(environ, "WARNING")
    tools = asyncio.run(_tools(environ, name))
    if json:
        document(tools)
        return
    for tool in tools:
        notes = " (only reads, it says)" if tool.read_only else ""
        notes += "" if tool.offered else " (not allowed)"
        notes += _NOTES[tool.state]
        say(f"{tool.name}{notes}: {tool.description}")
    offered = sum(tool.offered for tool in tools)
    count = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    say(f"{name} answers: {count}, {offered} of them offered.")
    if any(tool.offered and tool.state != "accepted" for tool in tools):
        say("Each call of a new or changed tool needs an approval until you accept the tool.")
        say(f"The gateway shows the differences: nanobot mcp review {name}")


async def _tools(environ: Mapping[str, str], name: str) -> list[ToolProbe]:
    config = load(environ)
    configured: Mapping[str, McpSettings] = config.tables["mcp"]
    settings = configured.get(name)
    if settings is None:
        servers = ", ".join(configured) or "none"
        raise UnknownId(f"there is no server {name}; there are: {servers}")
    if not settings.enabled:
        raise UsageError(f"mcp.{name}.enabled is false")
    place = place_of(config, walls_of(config))
    line = ConnectionState()
    try:
        async with (
            connect(place.environment(environ), place, name, settings, line) as link,
            asyncio.timeout(settings.timeout),
        ):
            listed = await link.tools()
    except TimeoutError:
        raise ServerTrouble("it does not answer") from None
    by_name = {row.name: row for row in reversed(listed)}
    kept = await asyncio.to_thread(kept_at, url_of(config))
    pins = {pin.tool: pin for pin in kept if pin.server == name}
    first = settings.pin == "changes" and never_accepted(list(pins.values()))
    trusted = settings.pin == "off" or first
    return [
        ToolProbe(
            name=shown,
            description=described(name, row.description),
            read_only=row.read_only,
            offered=allowed(row.name, settings.allow),
            state="accepted"
            if trusted
            else _state(
                pins.get(row.name), Said(described(name, row.description), schema(row.schema))
            ),
        )
        for shown, tool in names(name, [row.name for row in listed]).items()
        for row in (by_name[tool],)
    ]


def _state(pin: Pin | None, said: Said) -> str:
    return "new" if pin is None else msgspec.structs.replace(pin, said=said).state


def _servers(environ: Mapping[str, str]) -> list[str]:
    """The servers in the file, whatever other mistakes it has."""
    file = home_of(environ) / "config.toml"
    try:
        servers = tomlkit.parse(content_of(file).decode("utf-8-sig")).unwrap().get("mcp", {})
    except (tomlkit.exceptions.TOMLKitError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None
    return list(servers) if isinstance(servers, dict) else []


def _pairs(option: str, options: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for pair in options:
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key):
            # The value may be a key.
            raise UsageError(f"{option} wants NAME=VALUE, with letters, digits, - and _ in NAME")
        pairs[key] = value
    return pairs
