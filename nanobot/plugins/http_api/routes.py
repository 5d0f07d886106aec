"""All routes of the HTTP API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

import msgspec

from nanobot import __version__
from nanobot.addresses import session_of
from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.config.loader import Config
from nanobot.messages import WEB, Address
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.approvals import NO_APPROVALS, ApprovalRecords
from nanobot.plugins.common.files.shown_files import ShownFiles
from nanobot.plugins.common.http.admission import Admission
from nanobot.plugins.common.http.frontend import Frontend
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import Described
from nanobot.plugins.common.http.web_channel import WebChannel, WebMessage
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.http_api.event_routes import EventRoutes
from nanobot.plugins.http_api.file_routes import FileRoutes
from nanobot.plugins.http_api.login import login_routes
from nanobot.plugins.http_api.openapi import openapi_route
from nanobot.plugins.http_api.operation_routes import operation_routes
from nanobot.plugins.http_api.session_routes import Conversations
from nanobot.plugins.http_api.socket import Socket
from nanobot.plugins.http_api.streams import Streams
from nanobot.plugins.http_api.watching import Watching
from nanobot.seam.http import Http
from nanobot.seam.offers import Contributions
from nanobot.store.opening import Store
from nanobot.workspace.received import Received


async def routes(  # noqa: PLR0913 - each is a part of its own
    config: Config,
    operations: Dispatcher,
    received: Received,
    current: CurrentRuns,
    chat: WebChannel,
    frontend: Frontend,
    http: Http,
    admission: Admission,
    described: Described,
    store: Store,
    contributions: Contributions,
    shown: ShownFiles | None = None,
    approvals: ApprovalRecords = NO_APPROVALS,
) -> list[Route]:
    """All of it; each route decides what its caller may do. What is sent to the channel `web` is
    shown to those who watch, until the gateway drains.
    """
    await asyncio.to_thread(_read, operations)
    watching = Watching(operations.engine, current, store, approvals, contributions)
    chat.shown.append(partial(_show, watching.streams))
    http.on_drain(watching.close)
    intake = partial(_intake, config, operations)
    conversations = Conversations(operations, intake, watching.streams)
    document = openapi_route(
        operations.listed, __version__, cookie=admission.access.cookie, others=described
    )
    return list(
        _for_everyone(
            [
                *login_routes(admission, frontend, operations.listed),
                *conversations.routes(),
                *FileRoutes(received, operations.engine, store, shown).routes(),
                *EventRoutes(watching, admission).routes(),
                Socket(operations, conversations, watching, admission).route(),
                *operation_routes(operations),
                document,
            ]
        )
    )


def _read(operations: Dispatcher) -> None:
    """Resolve the annotations of all operations, which the first request would otherwise have to
    do.
    """
    for operation in operations.listed:
        operation.parameters  # noqa: B018 - it is kept


def _intake(config: Config, operations: Dispatcher, gate: Gate) -> ChannelIntake:
    """The entrance for the messages of those whom the gate admits."""
    bus, policy = operations.engine.bus, config.agent.session_policy
    return ChannelIntake(WEB, gate, bus, reception(operations), policy)


def _show(streams: Streams, address: Address, message: WebMessage) -> None:
    streams.say("message", session_of(address.chat_id), message)


def _for_everyone(given: Iterable[Route]) -> Iterable[Route]:
    for route in given:
        yield msgspec.structs.replace(route, whole=True, everyone=True)
