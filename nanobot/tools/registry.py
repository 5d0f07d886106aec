"""The tools a run may call: their schemas for the model, and one validated way to execute them."""

from __future__ import annotations

import asyncio
import copy
import difflib
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.config.settings.tools import PolicySettings
from nanobot.errors import (
    ToolArgumentsError,
    ToolDenied,
    ToolError,
    ToolTimeout,
    ToolUnknown,
    UnknownId,
    UsageError,
)
from nanobot.log_context import calling
from nanobot.messages import Role
from nanobot.providers.base import ToolCall, ToolSpec
from nanobot.seam.given import of_kind
from nanobot.seam.installed import Interface, provided
from nanobot.system import RandomIds
from nanobot.text import MAX_RESULT_CHARS, clean, pattern, quoted, shorten
from nanobot.tools.arguments import parse_arguments
from nanobot.tools.base import (
    AnyTool,
    CallContext,
    Effect,
    RawArgs,
    ResultFilter,
    Tool,
    ToolExecutor,
    ToolOutput,
    direct_call,
)
from nanobot.tools.desk import CallDesk, Keeper
from nanobot.tools.judge import LEFT_TO_EXECUTE, Judge, judge_by
from nanobot.tools.redact import Redactor
from nanobot.tools.running import as_shown, failure, note_secrets, ran
from nanobot.tools.schema import parameters_of
from nanobot.tools.stand_in import TOOLS_THEMSELVES, StandIn
from nanobot.tools.verdict import PolicyDecision, Verdict

# The function names that every OpenAI-compatible endpoint accepts.
_NAME = pattern(r"[a-zA-Z0-9_-]{1,64}")
_LOGGED = 500
_NAMED = 40
BUILT_IN = "built-in"
FUNCTION_TOOL: Interface[Callable[[Callable[..., object]], AnyTool]] = Interface("function_tool")
"""Makes a tool of a typed function."""
FOREIGN_ARGUMENTS: Interface[Callable[[Mapping[str, Any], str], RawArgs]] = Interface(
    "foreign_arguments"
)
"""The arguments of a call by a JSON schema from another source."""
MAX_LISTED = 40
"""Maximum lazy tools that a prompt lists; if there are more, it lists none of them."""


class ToolRegistry:
    """See Toolbox. Its list is sorted, and stays byte-identical while the tools do not change."""

    def __init__(
        self,
        max_result_chars: int = MAX_RESULT_CHARS,
        *,
        policy: Judge | None = None,
        redact: Redactor | None = None,
        log_calls: bool = False,
    ) -> None:
        """`log_calls`: write each call to the process's log, with arguments and outcome."""
        self.executor: ToolExecutor | None = None
        """Runs tools instead of `tool.run(args, context)`, which it may call itself."""
        self.blobs: Keeper | None = None
        """Stores files made by calls; without it they cannot be stored."""
        self.stand_in: StandIn = TOOLS_THEMSELVES
        """Answers calls instead of the tools, including calls of tools that are not registered."""
        self.results: list[ResultFilter] = []
        """Change results before they are recorded."""
        self.policy = policy or judge_by(PolicySettings())
        self.redact = redact or Redactor()
        self._max_result_chars = max_result_chars
        self._log_calls = log_calls
        self._tools: dict[str, AnyTool] = {}
        self._specs: dict[str, ToolSpec] = {}
        self._sources: dict[str, str] = {}

    @property
    def asking(self) -> PolicySettings:
        return self.policy.settings

    def register(self, tool: AnyTool | Callable[..., object], source: str = BUILT_IN) -> None:
        """Register a tool, or a typed function as one (see nanobot.tool); `source` tells people
        where it comes from. Raises UsageError if its name is taken or invalid, or it has no schema.
        """
        if not isinstance(tool, Tool):
            make = provided(FUNCTION_TOOL)
            if make is None:
                raise UsageError("a function becomes a tool by the plugin library, which is absent")
            tool = make(tool)
        if _NAME.fullmatch(tool.name) is None:
            raise UsageError(
                f"a tool cannot be named {quoted(tool.name)}: letters, digits, _ and -"
            )
        if tool.name in self._tools:
            raise UsageError(f"a tool named {tool.name} is registered already")
        schema = tool.parameters if tool.parameters is not None else parameters_of(tool.args)
        self._specs[tool.name] = ToolSpec(tool.name, tool.description, schema)
        self._tools[tool.name] = tool
        self._sources[tool.name] = source

    def unregister(self, name: str) -> None:
        """Remove a tool. Raises UsageError if there is no tool of that name."""
        if self._tools.pop(name, None) is None:
            raise UsageError(f"there is no tool named {quoted(name)}")
        del self._specs[name], self._sources[name]

    def specs(self, role: Role | None = None) -> tuple[ToolSpec, ...]:
        """The tools that a sender with this role may use (None: all), sorted by name."""
        return tuple(self._specs[name] for name in self._names(role))

    def offered(self, role: Role, may: Callable[[str], bool]) -> list[ToolSpec]:
        specs = [
            spec
            for spec in self.specs(role)
            if may(spec.name) and not self._tools[spec.name].unaccepted
        ]
        lazy = {spec.name for spec in specs if self._tools[spec.name].lazy}
        return [spec for spec in specs if len(lazy) <= MAX_LISTED or spec.name not in lazy]

    def resolved(self, call: ToolCall) -> ToolCall:
        tool = self._tools.get(call.name)
        if tool is not None and tool.stands_for is not None:
            with boundary(f"what a call of {call.name} stands for"):
                return of_kind(tool.stands_for(call), ToolCall)
        return call

    def get_definitions(self, role: Role | None = None) -> list[dict[str, Any]]:
        """The same in OpenAI's function format. The caller may modify the result."""
        functions = (msgspec.structs.asdict(spec) for spec in self.specs(role))
        return [{"type": "function", "function": copy.deepcopy(each)} for each in functions]

    def listed(self) -> list[tuple[AnyTool, ToolSpec, str]]:
        """Every tool as shown to models, and its source; sorted by name."""
        return [(self._tools[spec.name], spec, self._sources[spec.name]) for spec in self.specs()]

    def acts(self, name: str, arguments: str, context: CallContext) -> bool:
        known = self.stand_in.knows(name, arguments, context)
        tool = self._tools.get(name)
        return tool is not None and tool.effect is Effect.WORLD and not known

    def tool(self, name: str) -> AnyTool | None:
        return self._tools.get(name)

    def known(self, name: str) -> tuple[AnyTool, ToolSpec]:
        """The tool, and how models see it. Raises UnknownId if there is no such tool."""
        if name not in self._tools:
            raise UnknownId(self._unknown(name, Role.OWNER))
        return self._tools[name], self._specs[name]

    def taints(self, name: str, arguments: str, context: CallContext) -> bool:
        tool = self._tools.get(name)
        if tool is None:
            return False
        if self.stand_in.knows(name, arguments, context):
            return False  # its result says so itself
        if isinstance(tool.taints, bool):
            return tool.taints
        with boundary(f"whether results of the tool {name} are from outside"):
            try:
                return of_kind(tool.taints(parsed(tool, arguments), context), bool)
            except ToolArgumentsError:
                return False
        return True

    async def judge(self, name: str, arguments: str, context: CallContext) -> PolicyDecision:
        decision = await self._judge(name, arguments, context)
        return await self.stand_in.judged(ToolCall("", name, arguments), context, decision)

    async def _judge(self, name: str, arguments: str, context: CallContext) -> PolicyDecision:
        tool = self._tools.get(name)
        if tool is None:
            return LEFT_TO_EXECUTE
        if context.role not in tool.allowed:
            why = f"{name} may not be used for a {context.role}"
            return PolicyDecision(verdict=Verdict.DENY, rule="the tool itself", why=why)
        try:
            args = parsed(tool, arguments)
        except ToolArgumentsError:
            return LEFT_TO_EXECUTE
        foreign = self._sources[name] != BUILT_IN
        decision = await self.policy.judged(tool, args, context, foreign=foreign)
        if decision.verdict is Verdict.ALLOW and tool.question is not None:
            return PolicyDecision(
                verdict=Verdict.ASK, rule="the tool itself", why="it is a question"
            )
        return decision

    async def execute(
        self,
        name: str,
        arguments: str | Mapping[str, object],
        context: CallContext | None = None,
    ) -> str:
        """Like `perform`, for callers without a log: messages are not sent, and failures are raised
        as ToolError. `arguments` are the values, or the model's text; without a `context` the call
        has an owner's role.
        """
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        context = context or direct_call(RandomIds().run_id())
        output = await self.perform(name, text, context)
        if output.failed:
            raise ToolError(output.text)
        return output.text

    async def perform(self, name: str, arguments: str, context: CallContext) -> ToolOutput:
        """Run one call with the model's own text as arguments; returns the text for the model, with
        the messages to commit with it.

        The result can be encoded as UTF-8, contains no known secret and does not exceed the
        registry's limit. Errors that the model can correct or must accept are raised as ToolError:
        ToolUnknown, ToolDenied, ToolArgumentsError, ToolTimeout, or the tool's own. Any other
        exception is a fault of the tool and propagates.
        """
        began, outcome = time.monotonic(), "failed inside"
        try:
            with calling(context.key):
                done = await self._perform(name, arguments, context)
            outcome = f"refused: {done.text}" if done.failed else "done"
        except ToolError as error:
            outcome = f"refused: {error}"
            raise
        except asyncio.CancelledError:
            outcome = "cut off"
            raise
        finally:
            if self._log_calls:
                seconds = time.monotonic() - began
                self._log(name, arguments, context, seconds, outcome)
        return done

    def _log(
        self, name: str, arguments: str, context: CallContext, seconds: float, outcome: str
    ) -> None:
        logger.info(
            "call {} of {} for {} ({}): {} {} took {:.0f} ms, {}",
            context.key,
            context.session_key,
            context.sender_id,
            context.role,
            quoted(name, 64),
            self.redact(quoted(arguments, _LOGGED)),
            seconds * 1000,
            self.redact(quoted(outcome)),
        )

    async def _perform(self, name: str, arguments: str, context: CallContext) -> ToolOutput:
        call = ToolCall("", name, arguments)
        if (answer := await self.stand_in.answered(call, context)) is not None:
            return msgspec.structs.replace(answer, text=self.redact(clean(answer.text)))
        tool = self._tools.get(name)
        if tool is None:
            raise ToolUnknown(self._unknown(name, context.role))
        if context.role not in tool.allowed:
            raise ToolDenied(f"{name} may not be used for a {context.role}")
        args = parsed(tool, arguments)
        desk = None if self.blobs is None else CallDesk(self.blobs, context, tool.effect)
        context = msgspec.structs.replace(context, desk=desk)
        try:
            done = await ran(tool, args, context, self.executor)
        except ToolError as error:
            note_secrets(error, self.redact, self.policy)
            if not self.results or isinstance(error, ToolTimeout):
                raise
            done = failure(error)  # so that it can be filtered, too
        done = as_shown(name, args, done, self.redact, self.policy)
        for change in self.results:
            tainted = done.tainted or self.taints(name, arguments, context)
            done = await change(name, msgspec.structs.replace(done, tainted=tainted), context)
        text = shorten(done.text, self._max_result_chars, tool.rest)
        sent = done.messages if desk is None else (*done.messages, *desk.sent)
        return msgspec.structs.replace(done, text=text, messages=sent)

    def _names(self, role: Role | None) -> list[str]:
        return sorted(
            name for name, tool in self._tools.items() if role is None or role in tool.allowed
        )

    def _unknown(self, name: str, role: Role) -> str:
        names = self._names(role)
        near = difflib.get_close_matches(name[:64], names, n=3, cutoff=0.5)
        if near:
            return f"there is no tool {quoted(name, 64)}. Did you mean {' or '.join(near)}?"
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = ", ".join(names[:_NAMED]) or "none"
        return f"there is no tool {quoted(name, 64)}. There are: {listed}{more}."


def parsed(tool: AnyTool, arguments: str) -> Any:
    """The arguments of a call, as the tool takes them. Raises ToolArgumentsError."""
    if tool.parameters is None:
        return parse_arguments(tool.args, arguments)
    parse = _parse_foreign()
    if parse is None:
        raise ToolArgumentsError("the plugin mcp checks these arguments, and it is not there")
    return parse(tool.parameters, arguments)


@cache
def _parse_foreign() -> Callable[[Mapping[str, Any], str], RawArgs] | None:
    return provided(FOREIGN_ARGUMENTS)
