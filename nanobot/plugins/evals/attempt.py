"""One attempt at a case: the model works as in a run, and its tools answer from the recording.

No tool runs. The model's requests and the responses to them are kept for the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from nanobot.errors import ModelError, NanobotError, OverBudget, ToolError
from nanobot.messages import Address, Role
from nanobot.plugins.common.models.auxiliary import AuxiliaryAnswer, ask
from nanobot.plugins.common.runs.recorded import (
    UNRECORDED,
    RecordedResult,
    RecordedTools,
    signature,
)
from nanobot.plugins.evals.cases import Case, Message, as_json, table
from nanobot.providers.base import (
    ChatMessage,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    ToolCall,
    ToolSpec,
    Usage,
)
from nanobot.session.auxiliary import CallAccount
from nanobot.session.entries import Entry, ReplyEntry
from nanobot.session.store_write import StoreWrite
from nanobot.tools.base import CallContext

RUN = "attempt"
_ADDRESS = Address("eval", "eval")


class Settling(CallAccount, Protocol):
    """An account whose calls are settled separately, outside other transactions."""

    async def settle(self, call: StoreWrite) -> None:
        """The call ended."""


class MadeCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that the model made. `recorded`: the recording answered it."""

    name: str
    arguments: str
    recorded: bool


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt. `error`: why there is no answer. `cost` is None if no price is
    known.
    """

    answer: str = ""
    calls: tuple[MadeCall, ...] = ()
    cost: float | None = None
    seconds: float = 0.0
    usage: Usage = Usage()
    error: NanobotError | None = None

    @property
    def unreachable(self) -> bool:
        """Whether the model was unreachable, which says nothing about its answers."""
        return isinstance(self.error, ModelError)

    @property
    def over_budget(self) -> bool:
        """Whether the budget did not allow it."""
        return isinstance(self.error, OverBudget)


class CallsUsedUp(NanobotError):
    """The model kept calling tools."""


def tools_of(case: Case) -> tuple[ToolSpec, ...]:
    """The tools offered to a model."""
    return tuple(
        ToolSpec(tool.name, tool.description, table(tool.parameters)) for tool in case.tools
    )


def recording_of(case: Case) -> RecordedTools:
    """The recorded answers to its calls."""
    results: dict[str, list[RecordedResult]] = {}
    for number, call in enumerate(case.recorded):
        known = signature(call.tool, as_json(call.arguments))
        results.setdefault(known, []).append(
            RecordedResult(text=call.result, ok=call.ok, seq=number)
        )
    return RecordedTools({known: tuple(found) for known, found in results.items()})


def messages_of(case: Case) -> list[ChatMessage]:
    """The messages a model is shown at first."""
    return [_chat_message(message) for message in case.messages]


def _chat_message(message: Message) -> ChatMessage:
    calls = (ToolCall(c.id, c.name, as_json(c.arguments)) for c in message.tool_calls)
    return ChatMessage(
        role=message.role,
        content=message.content,
        tool_calls=tuple(calls),
        tool_call_id=message.tool_call_id or None,
    )


class Trial:
    """One attempt in progress."""

    def __init__(
        self,
        case: Case,
        picked: tuple[LLMProvider, ModelProfile],
        account: Settling,
        now: Callable[[], float],
    ) -> None:
        self._case = case
        self._picked = picked
        self._account = account
        self._now = now
        self._tools = recording_of(case)
        self._messages = messages_of(case)
        self._log: list[Entry] = []
        self._calls: list[MadeCall] = []
        self._usage: list[Usage] = []
        self._seconds = 0.0

    async def made(self) -> Attempt:
        """Make the attempt. Raises only StoreError."""
        try:
            answer = await self._answer()
        except (ModelError, OverBudget, CallsUsedUp) as error:
            return self._attempt("", error)
        return self._attempt(answer, None)

    def _attempt(self, answer: str, error: NanobotError | None) -> Attempt:
        price = self._picked[1].price
        return Attempt(
            answer=answer,
            calls=tuple(self._calls),
            cost=None if price is None else sum(price.of(each) for each in self._usage),
            seconds=self._seconds,
            usage=Usage(
                sum(each.prompt_tokens for each in self._usage),
                sum(each.completion_tokens for each in self._usage),
            ),
            error=error,
        )

    async def _answer(self) -> str:
        for number in range(1, self._case.max_calls + 1):
            said = await self._said()
            if not said.completion or not said.completion.tool_calls:
                return said.text
            await self._use_tools(number, said.text, said.completion.tool_calls)
        raise CallsUsedUp(f"no answer after {self._case.max_calls} model calls (max_calls)")

    async def _said(self) -> AuxiliaryAnswer:
        case, (_, profile) = self._case, self._picked
        request = ModelRequest(
            model=profile.name,
            messages=tuple(self._messages),
            tools=tools_of(case) if profile.tools else (),
            temperature=case.temperature,
            max_tokens=case.max_tokens,
            effort=case.effort,
        )
        began = self._now()
        said = await ask(self._account, self._picked, request, apart=True)
        self._seconds += self._now() - began
        await self._account.settle(said.settled)
        self._usage.append(said.usage.clamped())
        if said.error is not None:
            raise said.error
        return said

    async def _use_tools(self, number: int, text: str, calls: Sequence[ToolCall]) -> None:
        named = tuple(
            ToolCall(call.id or f"call_{number}_{index}", call.name, call.arguments)
            for index, call in enumerate(calls)
        )
        self._messages.append(ChatMessage(role="assistant", content=text, tool_calls=named))
        reply = ReplyEntry(call=number, text=text, tool_calls=named)
        self._log.append(Entry(len(self._log), RUN, 0.0, reply))
        for index, call in enumerate(named):
            result = await self._result(call, f"{RUN}:{number}:{index}")
            told = ChatMessage(role="tool", content=result, tool_call_id=call.id)
            self._messages.append(told)

    async def _result(self, call: ToolCall, key: str) -> str:
        """The response to a call: the recorded result or a refusal."""
        context = CallContext(
            run_id=RUN,
            session_key="eval",
            address=_ADDRESS,
            sender_id="eval",
            role=Role.OWNER,
            key=key,
            entries=tuple(self._log),
        )
        known = self._tools.knows(call.name, call.arguments, context)
        self._calls.append(MadeCall(name=call.name, arguments=call.arguments, recorded=known))
        try:
            output = await self._tools.answered(call, context)
        except ToolError as error:
            return str(error)
        if output is None:
            return f"not executed: {UNRECORDED}"
        return f"error: {output.text}" if output.failed else output.text
