"""Checks every entrance for people and programs: does it work, and only for the intended ones?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from nanobot.config.loader import ChannelSettings, Config
from nanobot.errors import ChannelError, ConfigError, PluginBroken
from nanobot.operations.home import Finding
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.web_port import port_finding
from nanobot.plugins.setup.probes import receives, try_channel
from nanobot.plugins.setup.strangers import can_ask
from nanobot.seam.http import Http
from nanobot.seam.installed import Interface, provided
from nanobot.store.servers import url_of

OWNED_CHANNELS: Interface[Callable[[str], frozenset[str]]] = Interface("owned_channels")
"""The channels with an owner who is not in the configuration, from the URL of the store."""


async def entrances(
    config: Config, said: Sequence[Finding], *, usable: bool
) -> AsyncIterator[Finding]:
    """The findings about each entrance that is open. It skips a channel with an unreadable
    configuration, because `said` already names the mistake. `usable`: whether the store is."""
    asking = can_ask(config)
    owned = provided(OWNED_CHANNELS) if asking and usable else None
    owned_channels = frozenset[str]() if owned is None else owned(url_of(config))
    if config.of(WebSettings).enabled:
        off = Finding(about="web", level="ok", text=Http.lacks)
        yield await port_finding(config) if receives(config) else off
    for name, settings in config.channels.items():
        unread = any(f"channels.{name}." in finding.text for finding in said)
        if settings.enabled and not unread:
            asks = settings.pairing and asking
            there = name in owned_channels
            for finding in await _channel(name, settings, config, owned=there, asks=asks):
                yield finding


async def _channel(
    name: str, settings: ChannelSettings, config: Config, *, owned: bool, asks: bool
) -> list[Finding]:
    """Whether its platform accepts the credentials, and which people it hears. `owned`: an owner
    was let in; `asks`: strangers can ask to be."""
    about = name
    try:
        who = await try_channel(name, settings, config)
    except (ChannelError, ConfigError, PluginBroken) as error:
        return [Finding(about=about, level="broken", text=str(error))]
    findings = [
        Finding(
            about=about, level="ok", text=who.who if who else "cannot be checked without running it"
        )
    ]
    unfinished = (who.lacking, who.todo) if who else ()
    findings += [Finding(about=about, level="warning", text=text) for text in unfinished if text]
    if "*" in settings.members:
        remedy = f"Name people in channels.{name}.members instead"
        text = "everybody may talk to it and use its harmless tools"
        findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
    elif "*" in settings.guests:
        remedy = f"Name people in channels.{name}.guests instead"
        text = "everybody may talk to it, at your expense"
        findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
    elif not settings.owners and not owned:
        heard = settings.members or settings.guests or asks
        text = "no owner is configured" if heard else "no person has access"
        remedy = f"Put your id into channels.{name}.owners"
        if asks:
            remedy += ", or write to it and run: nanobot pair approve CODE --role owner"
        findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
    for chat, room in settings.chats.items():
        if "*" in room.members:
            remedy = f'Name people in channels.{name}.chats."{chat}".members instead'
            text = f"everybody in the group {chat} may talk to it and use its harmless tools"
            findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
    return findings
