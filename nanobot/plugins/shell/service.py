"""The commands of a gateway; and what others use of them: the sandbox, and commands elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.approvals import NO_APPROVALS, ApprovalRecords
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.keys.tool_settings import ExecSettings, ExecTable, WebTable
from nanobot.plugins.common.places import CommandPlace
from nanobot.plugins.common.policy.rules import STEERING
from nanobot.plugins.common.privacy import private_paths
from nanobot.plugins.common.walls import NetworkAccess, Walls, walls_of
from nanobot.plugins.shell.allowed_hosts import AllowedHosts
from nanobot.plugins.shell.background import BackgroundCommands
from nanobot.plugins.shell.exec import ExecOptions, exec_tool
from nanobot.plugins.shell.process import process_tool
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.plugins.shell.store import SqlBackgroundCommands
from nanobot.ports import Clock
from nanobot.seam.offers import Environment
from nanobot.store.opening import Store
from nanobot.tools.base import AnyTool
from nanobot.tools.redact import Redactor

_ISOLATION: Mapping[str, Literal["required", "wanted", "off"]] = {
    "bwrap": "required",
    "auto": "wanted",
    "off": "off",
}


def objects(  # noqa: PLR0913 - each is a part of its own
    config: Config,
    store: Store,
    bus: Bus,
    clock: Clock,
    environ: Environment,
    taint: TaintedFiles,
    redact: Redactor,
) -> Mapping[Any, Any]:
    """The sandbox of commands, and those in the background. Private files are hidden unless only an
    owner reads. All other files of the home (keys, the log) stay hidden from commands, even if the
    workspace contains the home."""
    sandbox = Sandbox(
        walls((config.home, config.file), config.of(WebTable).web.allow_private),
        apart=private_paths(config.workspace),
        protected=STEERING,
        home=config.home / "sandbox-home",
        environment=environ,
    )
    records = SqlBackgroundCommands(store.database, store.writer)
    longest = config.of(ExecTable).exec.background_timeout
    background = BackgroundCommands(sandbox, taint, bus, records, clock, longest, redact)
    return {Sandbox: sandbox, BackgroundCommands: background}


def always_objects(config: Config) -> Mapping[Any, Any]:
    """The walls around programs, which programs of other plugins keep while this one is off."""
    return {Walls: walls_of(config)}


def tools(
    config: Config,
    sandbox: Sandbox,
    background: BackgroundCommands,
    taint: TaintedFiles,
    approvals: ApprovalRecords = NO_APPROVALS,
) -> list[AnyTool]:
    """The tools that run commands and look after those in the background."""
    options = options_of(config.of(ExecTable).exec)
    allowed = AllowedHosts(approvals.rules)
    execute = exec_tool(sandbox, config.workspace, options, background, taint, allowed)
    return [execute, process_tool(background)]


def around_runs(background: BackgroundCommands) -> AbstractAsyncContextManager[None]:
    """Let commands run in the background."""
    return background.serving()


def options_of(settings: ExecSettings) -> ExecOptions:
    """The options of commands, as configured."""
    return ExecOptions(
        isolation=_ISOLATION[settings.sandbox],
        network=NetworkAccess(mode=settings.network, hosts=settings.hosts),
        timeout=settings.timeout,
    )


def walls(hidden: Sequence[Path], allow_private: Sequence[str]) -> Bubblewrap:
    """The isolation of programs from the machine. Raises ConfigError for an invalid host."""
    return Bubblewrap(find_bwrap(), hidden=hidden, addresses=Addresses(allow_private))


def commands(place: CommandPlace) -> AnyTool:
    """Exec for a place of others, without commands in the background."""
    settings = place.settings
    bwrap = None if settings.sandbox == "off" else find_bwrap()
    sandbox = Sandbox(
        Bubblewrap(bwrap, hidden=place.hidden),
        apart=place.apart,
        protected=place.protected,
        home=place.home,
        environment=place.environment,
    )
    network = NetworkAccess(mode=settings.network, hosts=settings.hosts)
    options = ExecOptions(isolation=place.isolation, network=network, timeout=settings.timeout)
    return exec_tool(sandbox, place.workspace, options, None, place.taint)
