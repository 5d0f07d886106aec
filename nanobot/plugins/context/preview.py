"""The preview of a context: exactly what a session's model would be sent now, without asking it."""

from __future__ import annotations

import msgspec

from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.context import context
from nanobot.agent.entry_messages import estimate_tokens
from nanobot.agent.model_calls import ModelCaller
from nanobot.bus.core import Bus
from nanobot.errors import UnknownId
from nanobot.messages import TERMINAL, Address, Origin, Role
from nanobot.operations.operation import OperationContext
from nanobot.plugins.context.shown import ContextView, PartView, text_of
from nanobot.ports import Clock
from nanobot.providers.base import ChatMessage, Models
from nanobot.session.entries import Entry, UserEntry
from nanobot.session.runs import Claim, Lane, PromptSnapshot, Run
from nanobot.session.states import RunKind, RunState


class ContextPreview:
    """Looks at sessions as their next model call would see them. Nothing is written."""

    def __init__(self, bus: Bus, model_calls: ModelCaller, models: Models, clock: Clock) -> None:
        self._bus = bus
        self._model_calls = model_calls
        self._models = models
        self._clock = clock

    async def at(self, session_key: str) -> ContextView:
        """The next call of a session, before whatever is said next. Raises NanobotError for one
        that is not there, ModelError and ConfigError for its model."""
        claim = await self._claim(session_key)
        active = ActiveRun(claim, self._bus, self._clock)
        _, profile = await self._models.pick(claim.model)
        next_call = step.CallModel(call=1, overflowed=False)
        snapshot, call, fresh = await self._model_calls.prepare(active, next_call, profile)
        system, *messages = context(active.log.visible, snapshot, call)
        parts = _parts(snapshot, messages)
        return ContextView(
            session_key=session_key,
            model=profile.label,
            context_tokens=profile.context_tokens,
            tokens=sum(part.tokens for part in parts),
            renewed=fresh,
            parts=parts,
            system=str(system.content),
            tools=snapshot.tools if profile.tools else (),
            messages=tuple(messages),
        )

    async def _claim(self, session_key: str) -> Claim:
        """The claim of the session's run, or of a run that would begin now."""
        row = await self._bus.journal.session(session_key)
        if row is None:
            raise UnknownId(f"There is no session {session_key}; `sessions list` lists them.")
        entries = await self._bus.journal.history(session_key)
        return Claim(
            lane=Lane(session_key, 0),
            run=row.run or _next_run(session_key, entries),
            entries=entries,
            window_from=row.window_from,
            prompt=row.prompt,
            prompt_variant=row.prompt_variant,
            model=row.model,
            shared=row.shared,
        )


def preview_of(context: OperationContext) -> ContextPreview:
    """The preview over the gateway in which an operation runs."""
    engine = context.engine
    return ContextPreview(engine.bus, context.of(ModelCaller), engine.models, engine.clock)


def _next_run(session_key: str, entries: tuple[Entry, ...]) -> Run:
    messages = [entry.body for entry in entries if isinstance(entry.body, UserEntry)]
    last = messages[-1] if messages else None
    return Run(
        id="next",
        session_key=session_key,
        kind=RunKind.CHAT,
        state=RunState.QUEUED,
        origin=Origin.USER,
        address=last.address if last else Address(TERMINAL, "direct"),
        sender_id=last.sender_id if last else "local",
        role=last.role if last else Role.OWNER,
        reply_to=None,
        first_seq=0,
        attempts=0,
        created_at=0.0,
    )


def _parts(snapshot: PromptSnapshot, messages: list[ChatMessage]) -> tuple[PartView, ...]:
    parts, at = [], 0
    for name, length in snapshot.parts or (("prompt", len(snapshot.system)),):
        text = snapshot.system[at : at + length]
        at += length + 2
        parts.append(PartView(name=f"system: {name}", tokens=estimate_tokens(text)))
    if snapshot.tools:
        size = len(msgspec.json.encode(snapshot.tools)) // 3
        parts.append(PartView(name=f"tools ({len(snapshot.tools)})", tokens=size))
    past, last = messages[:-1], messages[-1:]
    if past:
        tokens = sum(_tokens(message) for message in past)
        messages_said = "1 message" if len(past) == 1 else f"{len(past)} messages"
        parts.append(PartView(name=f"history ({messages_said})", tokens=tokens))
    ends = (PartView(name=f"last message ({m.role})", tokens=_tokens(m)) for m in last)
    return (*parts, *ends)


def _tokens(message: ChatMessage) -> int:
    calls = sum(estimate_tokens(call.arguments) for call in message.tool_calls)
    return estimate_tokens(text_of(message)) + calls
