"""One model call: steer, record prompt and window in the log, then ask within the time left."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import TypeVar

import msgspec
from loguru import logger

from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.context import (
    PromptBudget,
    plan_window,
    request_digest,
    request_of,
    summary_tokens,
)
from nanobot.agent.entry_messages import Rendered
from nanobot.agent.prompts import Prompts, Summarizing, prompt_variant
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import elapsed_seconds
from nanobot.bus.core import Bus
from nanobot.errors import (
    ConfigError,
    ContextOverflow,
    ModelError,
    ModelMissing,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
    NanobotError,
    OverBudget,
)
from nanobot.forgetting import forgettable
from nanobot.messages import EventKind, RunPayload
from nanobot.ports import BlobReader, Clock
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Models,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolCall,
    Usage,
)
from nanobot.providers.vision import with_images
from nanobot.session.entries import (
    FallbackEntry,
    ModelCallEntry,
    OverflowEntry,
    ReplyEntry,
)
from nanobot.session.runs import PromptSnapshot
from nanobot.text import clean
from nanobot.tools.toolbox import Toolbox

T = TypeVar("T")

_MAX_OVERFLOWS = 3
_MAX_PROMPTS = 64
_MAX_RENDERED = 16
_FOR_GOOD = (ModelUnreachable, ModelRefused, ModelRateLimited, ModelMissing, ConfigError)
"""Errors that another model may not have. A prompt that is too long is cut instead."""


class ModelCaller:
    """Makes the model calls of runs."""

    def __init__(  # noqa: PLR0913 - each is a part of a call
        self,
        bus: Bus,
        models: Models,
        tools: Toolbox,
        prompts: Prompts,
        summarizing: Summarizing | None,
        clock: Clock,
        settings: RunSettings,
        blobs: BlobReader | None = None,
    ) -> None:
        """`summarizing`: makes summaries; `blobs`: has the pictures of requests."""
        self._bus = bus
        self._journal = bus.journal
        self.models = models
        self._tools = tools
        self._prompts = prompts
        self.summarizing = summarizing
        self._clock = clock
        self.settings = settings
        self._blobs = blobs
        self._snapshots: OrderedDict[str, PromptSnapshot] = forgettable(OrderedDict())
        self._rendered: OrderedDict[str, Rendered] = forgettable(OrderedDict())

    async def call(self, active: ActiveRun, next_call: step.CallModel) -> None:
        """Steer, record the prompt and the window in the log, then ask the model."""
        began = self._clock.monotonic()
        try:
            await self._one_model(active, next_call)
        except ContextOverflow as error:
            await self._overflowed(active, error)
        except (OverBudget, *_FOR_GOOD) as error:
            if isinstance(error, OverBudget) and not error.of_model:
                raise
            await self._fall_back(active, error, self._since(began))

    async def _one_model(self, active: ActiveRun, next_call: step.CallModel) -> None:
        """Ask the current model: the session's, or the first fallback that has not failed."""
        failed, others = len(_failures(active)), self.settings.fallback_models
        label = others[min(failed, len(others)) - 1] if failed and others else None
        label = label or active.options.model or active.model
        provider, profile = await self.models.pick(label)
        steers = self.settings.steer and not profile.one_at_a_time
        if steers and self._bus.mail_came(active.run.session_key):
            await active.steer(self.settings.zone)
        snapshot, call = await self._start_model(active, next_call, provider, profile)
        visible, rendered = active.log.visible, self._rendered_of(active)
        request = request_of(visible, snapshot, call, active.options, rendered)
        reply = await self._ask(active, provider, request, call)
        name = request_digest(request, rendered.requests)
        active.answer = msgspec.structs.replace(reply, request=name)
        active.emit(
            EventKind.ASSISTANT_MESSAGE,
            text=reply.text,
            tool_calls=len(reply.tool_calls),
            model=call.profile.name,
            ms=reply.ms,
            first_ms=reply.first_ms or reply.ms,
        )

    async def _fall_back(self, active: ActiveRun, error: NanobotError, ms: int) -> None:
        """Record that a model failed: from the next step to the end of the run, the next model is
        used. Raises when there is none."""
        failures, others = _failures(active), self.settings.fallback_models
        if len(failures) >= len(others):
            if failures and not isinstance(error, OverBudget):
                raise ModelError(" ".join([*failures, str(error)])) from error
            raise error
        label = others[len(failures)]
        logger.warning("run {}: {} is asked, because: {}", active.run.id, label, error)
        await active.record([FallbackEntry(text=str(error), ms=ms, usage=active.broken_off())])
        active.emit(EventKind.STATUS, state="fallback", model=label, why=str(error))

    async def prepare(
        self, active: ActiveRun, next_call: step.CallModel, profile: ModelProfile
    ) -> tuple[PromptSnapshot, ModelCallEntry, bool]:
        """The prompt and entry of a call, and whether the prompt is new. Writes nothing."""
        kept = None
        if active.prompt is not None and active.prompt_variant == _prompt_variant(active, profile):
            kept = await self._snapshot(active.prompt)
        snapshot = kept or await self._fresh(active, profile)
        max_tokens = min(self.settings.max_tokens, max(profile.context_tokens // 4, 64))
        summary = active.log.summary
        room = PromptBudget(
            profile=profile,
            fixed=snapshot.tokens + summary_tokens(summary),
            max_tokens=max_tokens,
            max_history=self.settings.max_history,
        )
        begin = active.window_from if summary is None else max(active.window_from, summary.upto + 1)
        visible, rendered = active.log.visible, self._rendered_of(active)
        window = plan_window(visible, begin, room, rendered, overflowed=next_call.overflowed)
        if window.start != active.window_from:
            kept, snapshot = None, await self._fresh(active, profile)
        call = ModelCallEntry(
            call=next_call.call,
            prompt=active.prompt if kept is not None and active.prompt else snapshot.digest,
            window_from=window.start,
            profile=profile,
            estimate=window.estimate,
            temperature=self.settings.temperature,
            max_tokens=max_tokens,
            effort=self.settings.effort,
        )
        return snapshot, call, kept is None

    async def _start_model(
        self,
        active: ActiveRun,
        next_call: step.CallModel,
        provider: LLMProvider,
        profile: ModelProfile,
    ) -> tuple[PromptSnapshot, ModelCallEntry]:
        snapshot, call, fresh = await self.prepare(active, next_call, profile)
        if call.window_from != active.window_from and active.options.history is None:
            try:
                if self.summarizing is not None:
                    upto = call.window_from - 1
                    await self.summarizing.summarise(active, provider, profile, upto)
            except OverBudget as error:  # the answer may still fit
                logger.warning("run {}: no summary of older messages: {}", active.run.id, error)
            snapshot = await self._fresh(active, profile)  # it may include new memories
            call = msgspec.structs.replace(call, prompt=snapshot.digest)
        variant = _prompt_variant(active, profile)
        call = await active.start_model(call, variant, snapshot if fresh else None)
        _keep(self._snapshots, call.prompt, snapshot, _MAX_PROMPTS)
        return snapshot, call

    async def _fresh(self, active: ActiveRun, profile: ModelProfile) -> PromptSnapshot:
        """The persona's prompt, with the changes that the run's options request."""
        options = active.options
        offered = sorted(
            self._tools.offered(active.run.role, active.may_call),
            key=lambda spec: _place(spec.name, options.tool_order),
        )
        snapshot = await self._prompts.shown(
            profile, tuple(offered), active.scope, private=active.log.with_owner
        )
        if options.system_prompt is not None:
            snapshot = msgspec.structs.replace(snapshot, system=options.system_prompt, parts=())
        if not options.extra_instructions:
            return snapshot
        extra = options.extra_instructions
        parts = (*snapshot.parts, ("extra instructions", len(extra))) if snapshot.parts else ()
        return msgspec.structs.replace(
            snapshot, system=f"{snapshot.system}\n\n{extra}", parts=parts
        )

    async def _snapshot(self, name: str) -> PromptSnapshot | None:
        snapshot = self._snapshots.pop(name, None) or await self._journal.snapshot(name)
        if snapshot is not None:
            _keep(self._snapshots, name, snapshot, _MAX_PROMPTS)
        return snapshot

    def _rendered_of(self, active: ActiveRun) -> Rendered:
        """What was made of the session's entries, also in its earlier runs."""
        key = active.run.session_key
        rendered = self._rendered.pop(key, None) or Rendered()
        _keep(self._rendered, key, rendered, _MAX_RENDERED)
        return rendered

    async def _ask(
        self, active: ActiveRun, provider: LLMProvider, request: ModelRequest, call: ModelCallEntry
    ) -> ReplyEntry:
        """Make one model call within the run's remaining seconds. If fallback models exist, it must
        begin to answer within its share of them."""
        began = self._clock.monotonic()
        left = active.limits(self.settings.limits).max_run_seconds - elapsed_seconds(active.bodies)
        left = max(left, 0.05)
        behind = max(len(self.settings.fallback_models) - len(_failures(active)), 0)
        patience = left / (1 + behind) if behind else None
        answer: Completion | None = None
        run_deadline = asyncio.timeout(left)
        try:
            async with run_deadline:
                if self._blobs is not None:
                    request = await with_images(request, self._blobs)
                answer = await self._answer(active, provider.chat_stream(request), call, patience)
        except TimeoutError:
            if not run_deadline.expired():
                raise
            logger.warning("run {}: the model call was cut at the run's time limit", active.run.id)
        ms, first_ms = self._since(began), active.first_ms
        if answer is None:
            return ReplyEntry(
                call=call.call,
                text=clean(active.partial),
                partial=True,
                cut_by_limit=True,
                ms=ms,
                first_ms=first_ms,
            )
        return ReplyEntry(
            call=call.call,
            text=clean(answer.text),
            reasoning=clean(answer.reasoning),
            tool_calls=tuple(
                self._tools.resolved(
                    ToolCall(clean(tool_call.id), clean(tool_call.name), clean(tool_call.arguments))
                )
                for tool_call in answer.tool_calls
            ),
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            ms=ms,
            first_ms=first_ms,
            native=answer.native,
        )

    async def _answer(
        self,
        active: ActiveRun,
        deltas: AsyncIterator[Delta],
        call: ModelCallEntry,
        patience: float | None,
    ) -> Completion:
        """Stream the answer and return all of it. Raises ModelUnreachable if it does not begin
        within `patience` seconds, and OverBudget before a request that would exceed a limit."""
        began, first_token_timeout = self._clock.monotonic(), asyncio.timeout(patience)
        try:
            async with first_token_timeout:
                delta = await _next_piece(active, deltas)
                active.first_ms = self._since(began)
        except TimeoutError:
            if not first_token_timeout.expired():
                raise
            silent = f"{call.profile.label} was silent for {patience:.0f} s."
            raise ModelUnreachable(silent) from None
        while not isinstance(delta, Completion):
            _show(active, delta)
            delta = await _next_piece(active, deltas)
        async for _ in deltas:  # empty, but lets the provider clean up after its last delta
            pass
        return delta

    def _since(self, began: float) -> int:
        """The milliseconds since then."""
        return max(int((self._clock.monotonic() - began) * 1000), 0)

    async def _overflowed(self, active: ActiveRun, error: ContextOverflow) -> None:
        """Record that the prompt was too long, so that the next step cuts the window."""
        notes = sum(isinstance(b, OverflowEntry) for b in active.bodies)
        if notes >= _MAX_OVERFLOWS:
            raise error
        await active.record([OverflowEntry(text=str(error))])


def _keep(kept: OrderedDict[str, T], name: str, value: T, most: int) -> None:
    """Keep a value as the newest, at the expense of the oldest."""
    kept[name] = value
    while len(kept) > most:
        kept.popitem(last=False)


def _failures(active: ActiveRun) -> list[str]:
    """The errors of the models that failed in this run, the configured one first."""
    return [b.text for b in active.bodies if type(b) is FallbackEntry]


def _prompt_variant(active: ActiveRun, profile: ModelProfile) -> str:
    """A prompt made for the options of one run is not reused."""
    options, private = active.options, active.log.with_owner
    common = prompt_variant(profile, active.run.role, private=private, scope=active.scope)
    of_run = (options.system_prompt, options.tools, options.tool_order, options.extra_instructions)
    if of_run == (None, None, (), ""):
        return common
    own = msgspec.json.encode(of_run)
    return f"{common}+{hashlib.sha256(own).hexdigest()[:16]}"


def _place(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


async def _next_piece(
    active: ActiveRun, deltas: AsyncIterator[Delta]
) -> TextDelta | ReasoningDelta | Completion:
    """The next piece of an answer. A provider makes another request only when asked for the item
    after its Retrying, so each request is accounted for first."""
    async for delta in deltas:
        if not isinstance(delta, Retrying):
            return delta
        await active.start_retry(active.broken_off() or Usage())
        active.partial = ""
        active.emit(EventKind.STATUS, state="retrying", why=delta.why, delay=delta.delay)
    raise ModelProtocolError("the provider's stream ended without an answer")


def _show(active: ActiveRun, delta: TextDelta | ReasoningDelta) -> None:
    """Keep the text and show it to watchers."""
    if isinstance(delta, TextDelta):
        active.partial += delta.text
    if active.watched:
        payload: RunPayload = (
            {"text": delta.text} if isinstance(delta, TextDelta) else {"reasoning": delta.text}
        )
        active.emit(EventKind.MODEL_DELTA, **payload)
