"""Performs one operation for a command: through the process that serves this home, otherwise
directly over the store.

The heavy part of nanobot is loaded only if no process serves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from nanobot.app.zones import zone_of_home
from nanobot.cli.logs import to_stderr
from nanobot.config.loader import Config, load
from nanobot.config.plugin_tables import switched
from nanobot.errors import NanobotError, PluginBroken, StoreError, StoreLocked
from nanobot.operations.operation import AT_THE_TERMINAL, Caller, Operation
from nanobot.operations.rendering import Now
from nanobot.operations.unreadable import Listed, below
from nanobot.plugins.common.commands.output import Line, document, say, warn
from nanobot.seam.installed import Interface, provided
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.operations.dispatcher import Dispatcher
    from nanobot.operations.engine import Engine

T = TypeVar("T")
_PATIENCE_SECONDS = 5.0
_CALL_SECONDS = 120.0
_UNREACHED: Sentence = (
    "Commands reach a running nanobot by the plugin control, which is not on: "
    "`nanobot plugins on control` switches it on from the next start on."
)
_RESTART: Sentence = (
    "The running nanobot takes no commands: write /restart to it in a chat, or end its process and "
    "start it again."
)
REMOTE: Interface[
    Callable[[Path, str, Mapping[str, Any], float | None, Caller], Awaitable[Listed | None]]
] = Interface("remote_operations")
"""Performs an operation in the process that serves a home, with these arguments and within so many
seconds (None: without a limit), for this caller; None if none serves it."""


def as_in_a_chat(operation: Operation, result: Any, zone: str) -> Sequence[str | Line]:
    """A result for people, as a chat shows it."""
    return [operation.rendered(result, Now(time.time(), zone))]


def perform(
    environ: Mapping[str, str],
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    json: bool,
    shown: Callable[[Operation, Any, str], Sequence[str | Line]] = as_in_a_chat,
) -> None:
    """Perform it and print the result, as text (`shown`, which gets the zone of the home) or as one
    JSON document."""
    to_stderr(environ, "WARNING")
    arguments = {**arguments, **_on_this_machine(operation, arguments)}
    if operation.storeless:
        given, zone = asyncio.run(_here(operation, arguments)), "UTC"
    else:
        unset: dict[str, str] = {}
        config = load(environ, unset)
        given = asyncio.run(performed(config, environ, operation, arguments, [*unset.values()]))
        zone = zone_of_home(config.agent, environ)
    result = msgspec.json.decode(given.result, type=operation.returns)
    unreadable = below(given.unreadable, "nanobot db quarantine")
    if json:
        document(bytes(given.result))
        if unreadable:
            warn(*unreadable)
    else:
        say(*shown(operation, result, zone), *unreadable)
    if operation.failed(result):
        raise SystemExit(1)


def _on_this_machine(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that are paths, which a gateway reads in another folder."""
    named = (each.name for each in operation.parameters if each.on_machine)
    return {n: str(Path(arguments[n]).expanduser().absolute()) for n in named if arguments.get(n)}


class _NoGateway:
    """The context of an operation that uses none."""

    listed: tuple[Operation, ...] = ()
    engine: Engine

    def of(self, kind: type[T]) -> T:
        raise PluginBroken(f"a storeless operation asks for {kind.__name__}")

    def offered(self, kind: type[T]) -> T | None:
        return None


async def _here(operation: Operation, arguments: Mapping[str, Any]) -> Listed:
    """The result of an operation that needs neither a gateway nor a store."""
    given = operation.converted(arguments)
    result = await operation.perform(_NoGateway(), AT_THE_TERMINAL, given)
    return Listed(result=msgspec.Raw(msgspec.json.encode(result)))


async def performed(
    config: Config,
    environ: Mapping[str, str],
    operation: Operation,
    arguments: Mapping[str, Any],
    unset: Sequence[str] = (),
    caller: Caller = AT_THE_TERMINAL,
) -> Listed:
    """The result. `unset`: variables that the configuration refers to and this process lacks.

    Raises what the operation raises, or StoreError.
    """
    remote = provided(REMOTE)
    began = time.monotonic()
    seconds = None if operation.slow else _CALL_SECONDS
    beside = False

    async def listing(operations: Dispatcher) -> Listed:
        return await operations.listing(operation.name, arguments, caller)

    while True:
        given = (config.home, operation.name, arguments, seconds, caller)
        answer = None if remote is None else await remote(*given)
        if answer is not None:
            return answer
        try:
            return await _alone(config, environ, operation, listing, unset, beside=beside)
        except StoreLocked as locked:
            reached = provided(REMOTE, switched(config).on) is not None
            if reached and time.monotonic() - began <= _PATIENCE_SECONDS:
                # Another command is using the store, or a nanobot is starting.
                await asyncio.sleep(0.1)
                continue
            if beside := operation.of_home:
                if not operation.reads:
                    warn(_RESTART)
                continue
            if not reached:
                raise StoreError(f"{locked} {_UNREACHED}") from None
            raise


async def _alone(
    config: Config,
    environ: Mapping[str, str],
    operation: Operation,
    listing: Callable[[Dispatcher], Awaitable[Listed]],
    unset: Sequence[str],
    *,
    beside: bool,
) -> Listed:
    """`beside`: a nanobot serves this home, and cannot be asked."""
    from nanobot.plugins.common.commands import at_rest  # noqa: PLC0415 - the whole of nanobot

    gateway = at_rest.gateway_of(config, environ, of_home=operation.of_home, beside=beside)
    async with at_rest.operations(gateway, f"nanobot {operation.command}") as operations:
        try:
            given = await listing(operations)
        except NanobotError:
            for sentence in unset:  # a missing secret may be the cause
                warn(f"nanobot: {sentence}")
            raise
        raw = msgspec.Raw(msgspec.json.encode(given.result))
        return msgspec.structs.replace(given, result=raw)
