"""The AgentLoop: one provider, one set of tools, and the gateway's worker over a bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from nanobot.addresses import OWNER_ID, THE_OWNER
from nanobot.agent.accompanying import begin_log_of
from nanobot.agent.askers import ASKER
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.runner import Runner
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.agent.summarizers import OBEY_SUMMARIES, SUMMARIES
from nanobot.agent.tool_calls import Retries, ToolExecutor
from nanobot.agent.worker import Capacity, Worker
from nanobot.bus.core import Bus
from nanobot.errors import ToolError, UsageError
from nanobot.messages import (
    TERMINAL,
    TERMINAL_SESSION,
    Address,
    Attachment,
    EventKind,
    InboundMessage,
    Origin,
    RunEvent,
    RunOptions,
    Sender,
)
from nanobot.messages import session_key as session_key_of
from nanobot.plugins.common.files.local_files import given
from nanobot.plugins.common.jobs.service import CRON_SERVICE, JobService
from nanobot.plugins.common.keys.tool_settings import ExecSettings
from nanobot.plugins.common.runs.background_work import SUBAGENTS, Subagents
from nanobot.plugins.common.runs.run_client import RunClient
from nanobot.plugins.library.background import Background
from nanobot.plugins.library.context_builder import ContextBuilder
from nanobot.plugins.library.default_tools import add_managed, default_tools, keeper
from nanobot.plugins.library.failures import raise_failure
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.library.sessions import SessionManager
from nanobot.plugins.library.shared_bus import shared_bus
from nanobot.plugins.library.streamed_text import StreamedText
from nanobot.providers.base import LLMProvider
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.installed import provided
from nanobot.system import RandomIds, SystemClock, environment, local_zone
from nanobot.tools.base import direct_call
from nanobot.tools.registry import ToolRegistry

_DRAIN_SECONDS = 30.0
_ME = Sender(OWNER_ID, THE_OWNER)


class CancelToken:
    """Cancels the run that it was given to. This cannot be undone."""

    def __init__(self) -> None:
        self._was_cancelled = asyncio.Event()

    @property
    def cancelled(self) -> bool:
        return self._was_cancelled.is_set()

    def cancel(self) -> None:
        """Yield nothing more, and end the run permanently."""
        self._was_cancelled.set()

    async def wait(self) -> None:
        await self._was_cancelled.wait()


class _Engine(msgspec.Struct, frozen=True):
    worker: Worker
    client: RunClient
    background: Background


class AgentLoop:
    """Answers messages on a bus, with one provider's model and one set of tools.

    `run` serves the bus until `stop`. `process_direct` and `process_message` each request one run,
    whether or not `run` is active. Every run happens in its session's lane and is recorded in the
    bus's journal at every step. If `bus` is None, the bus of the given managers is used, or else a
    private one, which `close` ends.

    Without `restrict_to_workspace` the file tools reach the whole file system, but never nanobot's
    home outside the workspace. Commands run in the sandbox or not at all. Work that `spawn` and
    `cron` start is done from the first call until `close`, even if `run` is not active. Over a bus
    whose store another object opened, they need a `subagent_manager` and a `cron_service`. A call
    without effect that failed inside its tool is attempted `max_retries` times in total. The
    default of `max_tool_calls` is `max_iterations`.

    `brave_api_key`, `exec_config` and `restrict_to_workspace` configure the default tools: if you
    pass `tools`, the first two raise UsageError. A `subagent_manager` and a `cron_service` add
    their tool to `tools`, unless it has one with that name. `blobs`: a folder that keeps the
    pictures of messages for later runs; without it they last as long as this object.
    """

    def __init__(  # noqa: PLR0913 - the promised signature
        self,
        bus: Bus | None = None,
        provider: LLMProvider | None = None,
        workspace: Path | None = None,
        model: str | None = None,
        max_iterations: int = 20,
        brave_api_key: str | None = None,
        exec_config: ExecSettings | None = None,
        cron_service: JobService | None = None,
        restrict_to_workspace: bool = False,  # noqa: FBT001, FBT002 - the promised signature
        tools: ToolRegistry | None = None,
        context_builder: ContextBuilder | None = None,
        session_manager: SessionManager | None = None,
        max_retries: int = 3,
        retry_delay: float = 1.0,
        temperature: float = 0.7,
        max_tokens: int = 4096,
        blobs: Path | None = None,
        subagent_manager: Subagents | None = None,
        max_tool_calls: int | None = None,
    ) -> None:
        if provider is None or workspace is None:
            missing = "provider" if provider is None else "workspace"
            raise UsageError(f"{missing}: an AgentLoop needs one")
        _only_default(tools, brave_api_key=brave_api_key, exec_config=exec_config)
        shared = shared_bus(bus, session_manager, subagent_manager, cron_service)
        self.bus: Bus = MessageBus() if shared is None else shared
        self._with_own_bus = shared is None
        self.workspace = Path(workspace)
        self.context = context_builder or ContextBuilder(self.workspace)
        self.sessions = session_manager or SessionManager(self.bus)
        self.subagents, self._cron = subagent_manager, cron_service
        self._private = isinstance(self.bus, MessageBus) and self.bus.private
        if tools is None and isinstance(self.bus, MessageBus) and self.bus.private:
            subagents, scheduling = provided(SUBAGENTS), provided(CRON_SERVICE)
            if subagent_manager is None and subagents is not None:
                self.subagents = subagents(self.bus, self.bus.tasks)
            if cron_service is None and scheduling is not None:
                self._cron = scheduling(self.bus.jobs, self.bus, SystemClock())
        self.tools = tools or default_tools(
            self.workspace,
            exec_config or ExecSettings(),
            everywhere=not restrict_to_workspace,
            brave_api_key=brave_api_key or "",
        )
        starter = None if self.subagents is None else self.subagents.starter
        add_managed(self.tools, starter, self._cron)
        self._received = keeper(self.workspace, blobs)
        self._models = OneProvider(provider, model)
        self._clock, self._ids = SystemClock(), RandomIds()
        self._retries = Retries(count=max(max_retries - 1, 0), delay=retry_delay)
        self._settings = _settings(max_iterations, max_tool_calls, temperature, max_tokens)
        self._engine_made: _Engine | None = None
        self._serving: asyncio.Event | None = None

    async def run(self) -> None:
        """Serve until `stop`, starting with unfinished work of an earlier process. After `stop`,
        active runs get 30 seconds; then, or when this call is cancelled, they are released to be
        resumed later."""
        if self._serving is not None:
            raise UsageError("this loop runs already")
        worker = self._engine().worker
        stop = self._serving = asyncio.Event()
        try:
            await self._engine().background.end()
            async with asyncio.TaskGroup() as tasks:
                await worker.recover()
                serving = tasks.create_task(worker.run(), name="agent")
                firing = None if self._cron is None else tasks.create_task(self._cron.run())
                await stop.wait()
                if firing is not None:
                    firing.cancel()
                await worker.drain(_DRAIN_SECONDS)
                serving.cancel()
        finally:
            self._serving = None

    def stop(self) -> None:
        """Stop taking new work and let `run` return."""
        if self._serving is not None:
            self._serving.set()

    async def close(self) -> None:
        """Stop background work. A private bus is discarded with its sessions, jobs and background
        runs."""
        if self._engine_made is not None:
            await self._engine_made.background.end()
        if self._with_own_bus and isinstance(self.bus, MessageBus):
            await self.bus.close()

    async def process_direct(
        self,
        content: str,
        session_key: str = TERMINAL_SESSION,
        channel: str = TERMINAL,
        chat_id: str = "direct",
        *,
        session_id: str | None = None,
        raise_errors: bool = False,
    ) -> str:
        """The reply to a message: the last answer of its run, or a line that says why there is
        none. Only the caller gets it; it is not delivered elsewhere. `session_id` is another name
        for `session_key`; `raise_errors` as in `process_message`."""
        message = self._message(content, Address(channel, chat_id), RunOptions())
        async with self._asking().followed(message, session_id or session_key) as events:
            async for event in events:
                if event.kind is EventKind.END:
                    if raise_errors:
                        raise_failure(event)
                    return event.payload.get("text", "")
        return ""

    async def process_message(  # noqa: PLR0913 - the promised signature
        self,
        message: str,
        session_key: str = TERMINAL_SESSION,
        *,
        context: Sequence[Mapping[str, object]] | None = None,
        media: Sequence[str | Path | bytes] | None = None,
        channel: str = TERMINAL,
        chat_id: str = "direct",
        cancel_token: CancelToken | None = None,
        session_id: str | None = None,
        raise_errors: bool = False,
    ) -> AsyncIterator[str]:
        """Stream the text of every model call of the message's run.

        If a limit or an error ends the run, the last piece says so; with `raise_errors` the model's
        error or RunFailed is raised. `session_id` is another name for `session_key`. `context`
        replaces the session's history for the model. After `cancel_token` is cancelled nothing is
        yielded, and the log records the run as aborted. If you stop iterating early, the next
        driver of the lane continues the run.

        `media`: files that come with the message, as paths or bytes. Models with vision see
        pictures, and all files are put into the workspace. Raises UsageError, before any model
        call, for a file that cannot be read, is empty or is larger than 20 MB.
        """
        token = cancel_token or CancelToken()
        if token.cancelled:
            return
        request = self._message(
            message, Address(channel, chat_id), RunOptions(history=_past(context))
        )
        files = await self._files(media or (), request.sent_at)
        request = msgspec.structs.replace(request, attachments=files)
        client, spoken = self._asking(), StreamedText()
        async with (
            client.followed(request, session_id or session_key) as events,
            aclosing(_until(token, events, client, request)) as until_cancelled,
        ):
            async for event in until_cancelled:
                if raise_errors and event.kind is EventKind.END:
                    raise_failure(event)
                if piece := spoken.added_by(event):
                    yield piece

    async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> str:
        """Call a tool as an owner. Raises ToolError. The call belongs to no run and is not logged;
        messages that it sends are."""
        self._asking()
        output = await self.tools.perform(
            name, msgspec.json.encode(arguments).decode(), direct_call(self._ids.run_id())
        )
        if output.failed:
            raise ToolError(output.text)
        for message in output.messages:
            await self.bus.journal.post(session_key_of(message.address, "", "chat"), message)
            self.bus.owed(message.address)
        return output.text

    async def _files(
        self, media: Sequence[str | Path | bytes], at: float
    ) -> tuple[Attachment, ...]:
        if isinstance(media, str | bytes):
            raise UsageError("media: a list of files, not one of them")
        return tuple([await given(self._received, file, at) for file in media])

    def _asking(self) -> RunClient:
        """The client for a run. Starts the background work of its tools."""
        engine = self._engine()
        if self._serving is None and (self.subagents or self._cron):
            engine.background.begin()
        return engine.client

    def _engine(self) -> _Engine:
        """Created on first use, because a private store is opened within the running loop."""
        if self._engine_made is None:
            bus, clock, settings = self.bus, self._clock, self._settings
            prompts, summaries = self.context.persona, provided(SUMMARIES)
            summarizing = None if summaries is None else summaries(clock).keeping(None)
            model_calls = ModelCaller(
                *(bus, self._models, self.tools, prompts, summarizing, clock),
                settings,
                self._received.blobs,
            )
            seconds = settings.limits.max_run_seconds
            tool_calls = ToolExecutor(
                self.tools, clock, seconds, self._retries, asker=provided(ASKER)
            )
            runner = Runner(
                *(bus, model_calls, tool_calls, clock),
                begun=(begin_log_of,),
                obey_other=lambda: provided(OBEY_SUMMARIES),
            )
            worker = Worker(bus, runner, clock, self._ids, Capacity())
            client = RunClient(bus, worker, clock, lambda: self._serving is None)
            background = Background(worker, self._cron, private=self._private)
            self._engine_made = _Engine(worker, client, background)
        return self._engine_made

    def _message(self, text: str, address: Address, options: RunOptions) -> InboundMessage:
        run_id = self._ids.run_id()
        return InboundMessage(
            address=address,
            message_id=run_id,
            dedupe_key=run_id,
            sender=_ME,
            text=text,
            sent_at=self._clock.now(),
            origin=Origin.API,
            options=msgspec.structs.replace(options, run_id=run_id, direct=True),
        )


def _settings(
    max_iterations: int, max_tool_calls: int | None, temperature: float, max_tokens: int
) -> RunSettings:
    limits = StepLimits(
        max_iterations=max_iterations,
        max_tool_rounds=max_iterations,
        max_tool_calls=max_tool_calls or max_iterations,
    )
    zone = local_zone(environment())
    return RunSettings(limits=limits, temperature=temperature, max_tokens=max_tokens, zone=zone)


def _only_default(tools: ToolRegistry | None, **options: object) -> None:
    names = [name for name, value in options.items() if value is not None]
    if tools is not None and names:
        raise UsageError(f"{names[0]}: it is for the default tools; give it to your own `tools`")


def _past(context: Sequence[Mapping[str, object]] | None) -> tuple[tuple[str, str], ...] | None:
    if context is None:
        return None
    past: list[tuple[str, str]] = []
    for message in context:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant") or not isinstance(content, str):
            raise UsageError("context: messages of role user or assistant, with text")
        past.append((str(role), content))
    return tuple(past)


async def _until(
    token: CancelToken, events: AsyncIterator[RunEvent], client: RunClient, request: InboundMessage
) -> AsyncGenerator[RunEvent, None]:
    """The events until the token is cancelled. Then the run is aborted at any point, and its end
    awaited."""
    loop = asyncio.get_running_loop()
    cancelled = loop.create_task(token.wait(), name="cancel token")
    coming: asyncio.Task[RunEvent | None] | None = None
    aborted = False
    try:
        while True:
            coming = loop.create_task(_next(events), name="next event")
            await asyncio.wait((coming, cancelled), return_when=asyncio.FIRST_COMPLETED)
            if token.cancelled and not aborted:
                aborted = True
                await client.abort(request.address, request.dedupe_key)
            event = await coming
            if event is None:
                return
            if not token.cancelled:
                yield event
    finally:
        cancelled.cancel()
        if coming is not None and not coming.done():
            coming.cancel()
            await asyncio.wait((coming,))


async def _next(events: AsyncIterator[RunEvent]) -> RunEvent | None:
    return await anext(events, None)
