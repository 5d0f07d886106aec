"""`nanobot gateway`: serve until a signal, then drain."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.roles import Roles, roles_of
from nanobot.boundary import ungrouped
from nanobot.cli import USUAL_GARBAGE, streams
from nanobot.cli.exit_codes import errors
from nanobot.cli.logs import GATEWAY_LOG, LogRuns, to_stderr
from nanobot.cli.output import say
from nanobot.config.loader import Config, load
from nanobot.config.plugin_tables import switched
from nanobot.errors import ConfigError
from nanobot.seam.installed import provided
from nanobot.supervision import Work, begin_all
from nanobot.system import raise_open_files

_FORCED = 1


def gateway(environ: Mapping[str, str], names: Sequence[str] = ()) -> None:
    """Run the gateway, or the roles of these names, in the foreground until it is stopped; see
    `errors` for other ends."""
    with errors(), ungrouped():
        roles = roles_of(names)
        raise_open_files()
        to_stderr(environ, "INFO")
        config = load(environ)
        if config.log_format:
            to_stderr(environ, "INFO", config.log_format)
        begin = provided(GATEWAY_LOG, switched(config).on)
        log_runs = None if begin is None else begin(config.home, environ)
        if not roles.whole and config.database_url.startswith("sqlite"):
            raise ConfigError(
                "--role needs a store that processes share: set database_url to a PostgreSQL "
                '("postgresql://USER:PASSWORD@HOST/DATABASE"), or leave --role out'
            )
        for warning in config.warnings:
            logger.warning("{}", warning)
        if not config.served and roles.channels:
            logger.warning(
                "no channel is configured, so only `{0} agent` on this machine can write to it; "
                "`{0} onboard` connects a channel, and docs/channels.md lists them all",
                "nanobot",
            )
        again = asyncio.run(_serve(config, environ, roles, log_runs))
    if again:
        logger.info("starting again")
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself


async def _serve(
    config: Config,
    environ: Mapping[str, str],
    roles: Roles,
    log_runs: LogRuns | None,
) -> bool:
    """Serve until told to stop; returns whether to restart."""
    stop, again = asyncio.Event(), asyncio.Event()

    def restart() -> None:
        again.set()
        stop.set()

    loop = asyncio.get_running_loop()
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` leaves it
        numbers.append(signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, _signalled, stop)
    gateway = Gateway(config, environ, roles=roles, restart=restart)
    if not await _reached(gateway, stop):
        return False
    async with asyncio.TaskGroup() as tasks:
        async with gateway.serving("nanobot gateway", _ready) as parts:
            works: dict[str, Work] = {}
            if log_runs is not None:
                works["log of runs"] = partial(log_runs, parts.engine.bus)
            beside = begin_all(tasks, works, parts.engine.clock)
            await stop.wait()
            logger.info("stopping: active runs have {:g} s to finish", config.drain_seconds)
        for task in beside:
            task.cancel()
    return again.is_set()


async def _reached(gateway: Gateway, stop: asyncio.Event) -> bool:
    """Wait for the database server; returns whether to serve, or False if told to stop in the
    meantime.
    """
    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(gateway.reached()), tasks.create_task(stop.wait())]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
    return not stop.is_set()


def _ready(line: str) -> None:
    try:
        say(line)
    except OSError as error:  # its reader is gone, or the disk is full
        streams.lost()
        logger.warning("the line that says `ready` cannot be written: {}", error.strerror)
    gc.set_threshold(*USUAL_GARBAGE)
    # Exclude objects that live as long as the process from garbage collection, which paused
    # everything for 75 ms each time.
    gc.freeze()


def _signalled(stop: asyncio.Event) -> None:
    if stop.is_set():
        # The second signal forces the end. Everything accepted is on disk, so nothing is lost.
        os._exit(_FORCED)
    stop.set()
