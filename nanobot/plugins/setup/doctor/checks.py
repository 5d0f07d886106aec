"""The checks of doctor, with remedies."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.app.home import close_to_others, open_to_others
from nanobot.app.zones import zone_of_home
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import ConfigError, ModelError, NanobotError, StoreUnwritable
from nanobot.operations.home import Finding
from nanobot.plugins.common.control.client import call
from nanobot.plugins.common.models.spending import COST_LIMITED
from nanobot.plugins.common.store.inspection import Inspection, inspect
from nanobot.plugins.setup.doctor.configuration import configuration, of_this_shell
from nanobot.plugins.setup.doctor.entrances import entrances
from nanobot.plugins.setup.doctor.mendable import Mendable
from nanobot.plugins.setup.doctor.plugins import plugins, unattended
from nanobot.plugins.setup.probes import try_model
from nanobot.seam.installed import provided
from nanobot.store.servers import url_of
from nanobot.workspace import folder as workspace
from nanobot.zones import zone_named

_LITTLE_BYTES, _NO_BYTES = 1_000_000_000, 100_000_000
_FIRST_RELEASE = 1_760_000_000
"""A correct clock shows a later time."""
_OTHER_HOME = "Make it a folder of yours, or set NANOBOT_HOME to another"
_RUNS = "running"
_AILING = frozenset({"down", "wedged", "failed"})
"""Channel states that people should know about."""


def mended(mendable: Mendable) -> Finding:
    """The finding after an attempt to repair it."""
    about = mendable.finding.about
    try:
        mendable.mend()
    except (OSError, NanobotError) as error:
        return msgspec.structs.replace(mendable.finding, remedy=f"It could not be mended: {error}")
    return Finding(about=about, level="ok", text=f"mended: {mendable.finding.text}")


async def everything(
    environ: Mapping[str, str], *, rows: bool = False
) -> AsyncIterator[Finding | Mendable]:
    """All findings, each as soon as it is available. `rows`: also read each row of the store."""
    findings, config = configuration(environ)
    gateway = None if config is None else await _served(config)
    runs = gateway is not None and gateway.text.startswith(_RUNS)
    for finding in of_this_shell(findings, environ) if runs else findings:
        yield finding
    if config is None or gateway is None:
        return
    for result in (*_home(config), *_machine(config, environ)):
        yield result
    async for finding in plugins(config, rows=rows):
        yield finding
    for finding in (gateway, *await _troubles(config)):
        yield finding
    kept = _inspected(config)
    if isinstance(kept, Finding):
        yield kept
    else:
        yield _kept(kept)
        for finding in unattended(config, served=runs):
            yield finding
    yield await _model(config, environ)
    async for finding in entrances(config, findings, usable=not isinstance(kept, Finding)):
        yield finding


async def every_finding(environ: Mapping[str, str], *, fix: bool) -> list[Finding]:
    """All findings; with `fix`, after repairing those that can be repaired."""
    findings = []
    async for examined in everything(environ):
        if not isinstance(examined, Mendable):
            findings.append(examined)
        elif fix:
            findings.append(mended(examined))
        else:
            findings.append(msgspec.structs.replace(examined.finding, mendable=True))
    return findings


async def findings(environ: Mapping[str, str]) -> list[Finding]:
    """All findings, without any repair."""
    return await every_finding(environ, fix=False)


# The home and the machine


def _home(config: Config) -> list[Finding | Mendable]:
    home, about = config.home, "home"
    if not home.exists():
        finding = Finding(
            about=about,
            level="warning",
            text=f"{home} is not there yet",
            remedy="The first start makes it",
        )
        return [Mendable(finding, lambda: home.mkdir(parents=True, mode=0o700))]
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        text = f"{home} cannot be written"
        return [Finding(about=about, level="broken", text=text, remedy=_OTHER_HOME)]
    findings: list[Finding | Mendable] = []
    secrets = home / "secrets"
    private = [(home, 0o700), (config.file, 0o600), (home / "web.token", 0o600), (secrets, 0o700)]
    if os.access(secrets, os.R_OK | os.X_OK):
        private += [(path, 0o600) for path in sorted(secrets.iterdir()) if path.is_file()]
    for path, right in private:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else right
        if mode & 0o077:
            text = f"{path} can be read by others (mode {mode:o})"
            open_to_all = Finding(
                about=about, level="warning", text=text, remedy=f"Run: chmod {right:o} {path}"
            )
            findings.append(Mendable(open_to_all, _closing(path, right)))
    named = {path for path, _ in private}
    rest = [path for path in open_to_others(home, config.workspace) if path not in named]
    if rest:
        text = f"{len(rest)} more in {home} can be read by others, such as {rest[0]}"
        more = Finding(about=about, level="warning", text=text, remedy=f"Run: chmod -R go= {home}")
        findings.append(Mendable(more, lambda: close_to_others(rest)))
    if not config.workspace.is_dir():
        text = f"the workspace {config.workspace} is not there yet"
        missing = Finding(
            about=about, level="warning", text=text, remedy="The first start makes it"
        )
        findings.append(Mendable(missing, lambda: workspace.prepare(config.workspace)))
    return findings or [Finding(about=about, level="ok", text=str(home))]


def _closing(path: Path, mode: int) -> Callable[[], None]:
    return lambda: path.chmod(mode)


def _machine(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    return [_disk(config), _clock(config, environ), _user()]


def _disk(config: Config) -> Finding:
    place = next(path for path in (config.home, *config.home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 1e9:.1f} GB free at {place}"
    level: Literal["ok", "warning", "broken"] = "ok"
    if free < _LITTLE_BYTES:
        level = "broken" if free < _NO_BYTES else "warning"
    remedy = "" if level == "ok" else "Make room: a full disk stops the taking in of messages"
    return Finding(about="disk", level=level, text=text, remedy=remedy)


def _clock(config: Config, environ: Mapping[str, str]) -> Finding:
    now, zone, about = time.time(), zone_of_home(config.agent, environ), "clock"
    if now < _FIRST_RELEASE:
        text = f"the clock says {time.strftime('%Y-%m-%d', time.gmtime(now))}"
        remedy = "Set it; certificates and the order of messages depend on it"
        return Finding(about=about, level="broken", text=text, remedy=remedy)
    info = zone_named(zone)
    if info is None:
        text = f"the zone {zone!r} is not known here"
        remedy = "Set TZ to a name such as Europe/Berlin, or install tzdata"
        return Finding(about=about, level="warning", text=text, remedy=remedy)
    shown = datetime.fromtimestamp(now, info).strftime("%Y-%m-%d %H:%M")
    return Finding(about=about, level="ok", text=f"{shown}, time zone {zone}")


def _user() -> Finding:
    if os.geteuid() == 0:
        remedy = "Run it as its own user to limit the damage of a model's mistake"
        return Finding(about="user", level="warning", text="nanobot runs as root", remedy=remedy)
    return Finding(about="user", level="ok", text="not root")


# What runs


async def _served(config: Config) -> Finding:
    path = config.home / "control.sock"
    about = "gateway"
    shown = "top" in switched(config).on
    try:
        answer = await call(path, "status" if shown else "plugins list", {})
    except NanobotError as error:
        return Finding(about=about, level="broken", text=str(error), remedy="Start it again")
    if answer is None:
        if "control" not in switched(config).on:
            text = "whether it runs is unknown: that needs the plugin control, which is not on"
            remedy = "Run: nanobot plugins on control"
            return Finding(about=about, level="warning", text=text, remedy=remedy)
        remedy = "`nanobot gateway` serves the channels" if config.channels else ""
        return Finding(about=about, level="ok", text="not running", remedy=remedy)
    if not shown:
        return Finding(
            about=about,
            level="warning",
            text=f"{_RUNS}; how is unknown: that needs the plugin top, which is not on",
            remedy="Run: nanobot plugins on top",
        )
    status = msgspec.json.decode(answer)
    text = f"{_RUNS} as process {status['pid']}"
    ailing = {name: state for name, state in status["channels"].items() if state in _AILING}
    if ailing:
        text += "; " + ", ".join(f"{name} is {state}" for name, state in ailing.items())
        remedy = "The gateway's log says why; all but a failed one are tried again by themselves"
        return Finding(about=about, level="warning", text=text, remedy=remedy)
    return Finding(about=about, level="ok", text=text)


async def _troubles(config: Config) -> list[Finding]:
    """Recent failures of the running gateway."""
    try:
        answer = await call(config.home / "control.sock", "status", {})
    except NanobotError:
        return []  # reported with the gateway
    troubles = msgspec.json.decode(answer).get("troubles", []) if answer else []
    remedy = "It is tried again; the gateway's log has the details"
    return [
        Finding(about="gateway", level="warning", text=trouble, remedy=remedy)
        for trouble in troubles
    ]


def _inspected(config: Config) -> Inspection | Finding:
    """The store's contents, or the finding that says why it cannot be used."""
    try:
        return inspect(url_of(config))
    except NanobotError as error:
        return Finding(about="store", level="broken", text=str(error))


def _kept(findings: Inspection) -> Finding:
    about = "store"
    if findings.revision is None:
        return Finding(about=about, level="ok", text=f"{findings.where} is not there yet")
    size = f", {findings.size / 1e6:.1f} MB" if findings.size else ""
    text = f"{findings.where}: sound, revision {findings.revision}{size}"
    if not findings.current:
        remedy = "The next start brings it up to date, and keeps a copy"
        return Finding(about=about, level="warning", text=text, remedy=remedy)
    return Finding(about=about, level="ok", text=text)


async def _model(config: Config, environ: Mapping[str, str]) -> Finding:
    about = "model"
    try:
        tried = await try_model(config.agent.model, config.providers, environ, config)
    except (ModelError, ConfigError) as error:
        remedy = "Set agent.model and its key: `nanobot onboard` helps"
        return Finding(about=about, level="broken", text=str(error).rstrip("."), remedy=remedy)
    except StoreUnwritable as error:
        return Finding(about=about, level="broken", text=str(error), remedy=_OTHER_HOME)
    text = f"{tried.name} answered after {tried.seconds:.1f} s"
    limited = provided(COST_LIMITED)
    if tried.priced or limited is None or not limited(config):
        return Finding(about=about, level="ok", text=text)
    provider, _, model = tried.name.partition("/")
    text += "; its price is unknown, so no limit of cost holds for it"
    remedy = f'Set providers.{provider}.models."{model}".price'
    return Finding(about=about, level="warning", text=text, remedy=remedy)
