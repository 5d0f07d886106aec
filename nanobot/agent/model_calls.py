"""One model call: steer, fix prompt and window in the log, then ask within the time left."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator

import msgspec
from loguru import logger

from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.compaction import Compaction
from nanobot.agent.context import PromptBudget, context, plan_window, summary_tokens
from nanobot.agent.prompt import PromptBuilder, digest, prompt_variant
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import elapsed_seconds
from nanobot.agent.summaries import latest
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
from nanobot.messages import EventKind
from nanobot.ports import Clock
from nanobot.providers.base import (
    ChatMessage,
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
from nanobot.session.entries import (
    FallbackEntry,
    ModelCallEntry,
    OverflowEntry,
    ReplyEntry,
    SummaryEntry,
)
from nanobot.session.runs import PromptSnapshot
from nanobot.session.usage import guess
from nanobot.text import clean
from nanobot.tools.registry import ToolRegistry

_MAX_OVERFLOWS = 3
_MAX_PROMPTS = 64
_FOR_GOOD = (ModelUnreachable, ModelRefused, ModelRateLimited, ModelMissing, ConfigError)
"""What another model may do better. A prompt that does not fit is cut instead."""


class ModelCaller:
    """Makes the model calls of runs."""

    def __init__(
        self,
        bus: Bus,
        models: Models,
        tools: ToolRegistry,
        persona: PromptBuilder,
        clock: Clock,
        settings: RunSettings,
    ) -> None:
        self._bus = bus
        self._journal = bus.journal
        self._models = models
        self._tools = tools
        self._persona = persona
        self._clock = clock
        self.settings = settings
        self._compaction = Compaction(clock, persona.lasting)
        self._snapshots: dict[str, PromptSnapshot] = {}

    async def call(self, turn: ActiveRun, wanted: step.CallModel) -> None:
        """Steer, fix the prompt and the window in the log, then ask."""
        if self.settings.steer and self._bus.mail_came(turn.run.session_key):
            await turn.steer(self.settings.zone)
        began = self._clock.monotonic()
        try:
            reply = await self._one_model(turn, wanted)
        except ContextOverflow as error:
            await self._overflowed(turn, error)
        except OverBudget as error:
            if not error.of_model:
                raise
            await self._fall_back(turn, error, self._clock.monotonic() - began)
        except _FOR_GOOD as error:
            await self._fall_back(turn, error, self._clock.monotonic() - began)
        else:
            turn.answer = reply
            calls = len(reply.tool_calls)
            turn.emit(EventKind.ASSISTANT_MESSAGE, text=reply.text, tool_calls=calls)

    async def compact(self, turn: ActiveRun) -> SummaryEntry | None:
        """Sum up everything before this run; None if there is nothing, or the model cannot. Raises
        ModelError or ConfigError when there is no model."""
        if not any(isinstance(body, SummaryEntry) for body in turn.bodies):  # before a crash
            provider, profile = await self._models.pick(turn.model)
            await self._compaction.summarise(turn, provider, profile, turn.log.entries[-1].seq)
        return next((body for body in turn.bodies if isinstance(body, SummaryEntry)), None)

    async def _one_model(self, turn: ActiveRun, wanted: step.CallModel) -> ReplyEntry:
        """Ask the model whose turn it is: the session's, or the first that has not failed yet."""
        failed, others = len(_failures(turn)), self.settings.fallback_models
        label = others[min(failed, len(others)) - 1] if failed and others else None
        label = label or turn.terms.model or turn.model
        provider, profile = await self._models.pick(label)
        snapshot, call = await self._start_model(turn, wanted, provider, profile)
        request = ModelRequest(
            model=profile.name,
            messages=_with_history(turn, context(turn.log.visible, snapshot, call)),
            tools=snapshot.tools if profile.tools else (),
            temperature=call.temperature,
            max_tokens=call.max_tokens,
        )
        return await self._ask(turn, provider, request, call)

    async def _fall_back(self, turn: ActiveRun, error: NanobotError, seconds: float) -> None:
        """Note that a model failed, so that the next step asks the one after it, for the rest of
        the run. Raises when there is none."""
        failures, others = _failures(turn), self.settings.fallback_models
        if len(failures) >= len(others):
            if failures and not isinstance(error, OverBudget):
                raise ModelError(" ".join([*failures, str(error)])) from error
            raise error
        label = others[len(failures)]
        logger.warning("run {}: {} is asked, because: {}", turn.run.id, label, error)
        ms = max(int(seconds * 1000), 0)
        await turn.record([FallbackEntry(text=str(error), ms=ms)])
        turn.emit(EventKind.STATUS, state="fallback", model=label, why=str(error))

    async def prepare(
        self, turn: ActiveRun, wanted: step.CallModel, profile: ModelProfile
    ) -> tuple[PromptSnapshot, ModelCallEntry, bool]:
        """What a call would be given, and whether its prompt is a new one. Nothing is written."""
        kept = None
        if turn.prompt is not None and turn.prompt_variant == _prompt_variant(turn, profile):
            kept = await self._snapshot(turn.prompt)
        snapshot = kept or await self._fresh(turn, profile)
        max_tokens = min(self.settings.max_tokens, max(profile.context_tokens // 4, 64))
        summary = latest(turn.log.visible)
        room = PromptBudget(
            profile=profile,
            fixed=len(msgspec.json.encode(snapshot)) // 3 + summary_tokens(summary),
            max_tokens=max_tokens,
            max_history=self.settings.max_history,
        )
        begin = turn.window_from if summary is None else max(turn.window_from, summary.upto + 1)
        window = plan_window(turn.log.visible, begin, room, overflowed=wanted.overflowed)
        if window.start != turn.window_from:
            kept, snapshot = None, await self._fresh(turn, profile)
        call = ModelCallEntry(
            call=wanted.call,
            prompt=turn.prompt if kept is not None and turn.prompt else digest(snapshot),
            window_from=window.start,
            profile=profile,
            estimate=window.estimate,
            temperature=self.settings.temperature,
            max_tokens=max_tokens,
        )
        return snapshot, call, kept is None

    async def _start_model(
        self, turn: ActiveRun, wanted: step.CallModel, provider: LLMProvider, profile: ModelProfile
    ) -> tuple[PromptSnapshot, ModelCallEntry]:
        snapshot, call, fresh = await self.prepare(turn, wanted, profile)
        if call.window_from != turn.window_from and turn.terms.history is None:
            try:
                await self._compaction.summarise(turn, provider, profile, call.window_from - 1)
            except OverBudget as error:  # the answer may still be within it
                logger.warning("run {}: no summary of what was before: {}", turn.run.id, error)
            snapshot = await self._fresh(turn, profile)  # what was learnt may be in it
            call = msgspec.structs.replace(call, prompt=digest(snapshot))
        variant = _prompt_variant(turn, profile)
        call = await turn.start_model(call, variant, snapshot if fresh else None)
        self._keep(call.prompt, snapshot)
        return snapshot, call

    async def _fresh(self, turn: ActiveRun, profile: ModelProfile) -> PromptSnapshot:
        """The prompt of the persona, as far as the terms of the run do not say otherwise."""
        terms = turn.terms
        offered = sorted(
            self._tools.offered(turn.run.role, turn.may_call),
            key=lambda spec: _place(spec.name, terms.tool_order),
        )
        made = await self._persona.shown(
            profile, tuple(offered), turn.scope, private=turn.log.with_owner
        )
        if terms.system_prompt is not None:
            made = msgspec.structs.replace(made, system=terms.system_prompt, parts=())
        if not terms.extra_instructions:
            return made
        extra = terms.extra_instructions
        parts = (*made.parts, ("extra instructions", len(extra))) if made.parts else ()
        return msgspec.structs.replace(made, system=f"{made.system}\n\n{extra}", parts=parts)

    async def _snapshot(self, name: str) -> PromptSnapshot:
        snapshot = self._snapshots.pop(name, None) or await self._journal.snapshot(name)
        self._keep(name, snapshot)
        return snapshot

    def _keep(self, name: str, snapshot: PromptSnapshot) -> None:
        """At hand for the next call; those used last are."""
        self._snapshots[name] = snapshot
        while len(self._snapshots) > _MAX_PROMPTS:
            del self._snapshots[next(iter(self._snapshots))]

    async def _ask(
        self, turn: ActiveRun, provider: LLMProvider, request: ModelRequest, call: ModelCallEntry
    ) -> ReplyEntry:
        """One model call, bounded by what is left of the run's seconds. With other models behind it
        it must begin to answer within its share of them."""
        began = self._clock.monotonic()
        left = turn.limits(self.settings.limits).max_run_seconds - elapsed_seconds(turn.bodies)
        left = max(left, 0.05)
        behind = max(len(self.settings.fallback_models) - len(_failures(turn)), 0)
        patience = left / (1 + behind) if behind else None
        answer: Completion | None = None
        run_deadline = asyncio.timeout(left)
        try:
            async with run_deadline:
                answer = await _answer(turn, provider.chat_stream(request), call, patience)
        except TimeoutError:
            if not run_deadline.expired():
                raise
            logger.warning("run {}: the model call was cut at the run's time limit", turn.run.id)
        ms = max(int((self._clock.monotonic() - began) * 1000), 0)
        if answer is None:
            text = clean(turn.partial)
            return ReplyEntry(call=call.call, text=text, partial=True, cut_by_limit=True, ms=ms)
        return ReplyEntry(
            call=call.call,
            text=clean(answer.text),
            reasoning=clean(answer.reasoning),
            tool_calls=tuple(
                self._tools.resolved(
                    ToolCall(clean(asked.id), clean(asked.name), clean(asked.arguments))
                )
                for asked in answer.tool_calls
            ),
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            ms=ms,
        )

    async def _overflowed(self, turn: ActiveRun, error: ContextOverflow) -> None:
        """The prompt did not fit: note it, so that the next step cuts the window."""
        notes = sum(isinstance(b, OverflowEntry) for b in turn.bodies)
        if notes >= _MAX_OVERFLOWS:
            raise error
        await turn.record([OverflowEntry(text=str(error))])


def _failures(turn: ActiveRun) -> list[str]:
    """What the models said that failed in this run, the configured one first."""
    return [b.text for b in turn.bodies if isinstance(b, FallbackEntry)]


def _prompt_variant(turn: ActiveRun, profile: ModelProfile) -> str:
    """A prompt made for the terms of one run serves no other."""
    terms, private = turn.terms, turn.log.with_owner
    common = prompt_variant(profile, turn.run.role, private=private, scope=turn.scope)
    of_run = (terms.system_prompt, terms.tools, terms.tool_order, terms.extra_instructions)
    if of_run == (None, None, (), ""):
        return common
    own = msgspec.json.encode(of_run)
    return f"{common}+{hashlib.sha256(own).hexdigest()[:16]}"


def _place(name: str, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


def _with_history(turn: ActiveRun, messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """With the past that the caller gave, in the place of the session's own."""
    given = turn.terms.history
    if not given:
        return messages
    system, *rest = messages
    past = (
        ChatMessage(role="assistant" if role == "assistant" else "user", content=text)
        for role, text in given
    )
    return (system, *past, *rest)


async def _answer(
    turn: ActiveRun, deltas: AsyncIterator[Delta], call: ModelCallEntry, patience: float | None
) -> Completion:
    """The whole answer, shown while it streams. Raises ModelUnreachable if nothing of it comes
    within `patience` seconds, and OverBudget before a request that passes a limit."""
    first_token_timeout = asyncio.timeout(patience)
    try:
        async with first_token_timeout:
            delta = await _next_piece(turn, deltas, call)
    except TimeoutError:
        if not first_token_timeout.expired():
            raise
        silent = f"{call.profile.label} was silent for {patience:.0f} s."
        raise ModelUnreachable(silent) from None
    while not isinstance(delta, Completion):
        _show(turn, delta)
        delta = await _next_piece(turn, deltas, call)
    async for _ in deltas:  # there is nothing, but the provider tidies up behind its last delta
        pass
    return delta


async def _next_piece(
    turn: ActiveRun, deltas: AsyncIterator[Delta], call: ModelCallEntry
) -> TextDelta | ReasoningDelta | Completion:
    """What comes next of an answer. A provider makes a further request only once it is asked for
    what follows its Retrying, so that each is accounted for before."""
    async for delta in deltas:
        if not isinstance(delta, Retrying):
            return delta
        discarded = Usage(call.estimate, guess(turn.partial_reply())) if turn.partial else Usage()
        await turn.start_retry(discarded)
        turn.partial = ""
        turn.emit(EventKind.STATUS, state="retrying", why=delta.why, delay=delta.delay)
    raise ModelProtocolError("the provider's stream ended without an answer")


def _show(turn: ActiveRun, delta: TextDelta | ReasoningDelta) -> None:
    """Keep what was said, and show it to whoever watches."""
    if isinstance(delta, TextDelta):
        turn.partial += delta.text
    if turn.watched:
        kind = "text" if isinstance(delta, TextDelta) else "reasoning"
        turn.emit(EventKind.MODEL_DELTA, **{kind: delta.text})
