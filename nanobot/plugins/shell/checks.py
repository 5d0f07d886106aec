"""Whether commands run in a sandbox on this machine."""

from __future__ import annotations

from typing import Literal

from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.keys.tool_settings import ExecTable
from nanobot.plugins.common.walls import NetworkAccess
from nanobot.plugins.shell.sandbox.bubblewrap import (
    REMEDY,
    Bubblewrap,
    find_bwrap,
    missing_walls,
    remedy,
    standing_walls,
)
from nanobot.plugins.shell.sandbox.file_wall import no_wall_alone


async def checks(config: Config) -> list[Finding]:
    """The state of the sandbox, from a test of it."""
    return [await _sandbox(config)]


async def _sandbox(config: Config) -> Finding:
    settings, about = config.of(ExecTable).exec, "sandbox"
    if settings.sandbox == "off":
        text = "tools.exec.sandbox is off: the model can run no commands"
        return Finding(about=about, level="warning", text=text, remedy='Set it to "auto"')
    network = NetworkAccess(mode=settings.network, hosts=settings.hosts)
    bwrap = find_bwrap()
    why = await Bubblewrap(bwrap).probe(network)
    if why is None:
        reached = {
            "none": "bubblewrap, without network",
            "hosts": "bubblewrap, with listed hosts",
            "all": "bubblewrap, with the network",
        }[settings.network]
        walls = [reached, *standing_walls()]
        text = "; ".join([*walls, *missing_walls()])
        return Finding(about=about, level="ok", text=text)
    level: Literal["warning", "broken"] = "broken" if settings.sandbox == "bwrap" else "warning"
    advice = remedy(bwrap)
    text = f"{why.removesuffix(f': {advice}')}: the model can run no commands"
    if level == "warning":
        alone = no_wall_alone()
        kept = "Landlock alone keeps files from them" if alone is None else f"bare: {alone}"
        text += f" but those that a person agrees to ({kept})"
    todo = f"Run: {advice}" if advice == REMEDY else advice
    return Finding(about=about, level=level, text=text, remedy=todo)
