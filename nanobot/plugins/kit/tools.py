"""The promises of nanobot.tools.base.Tool as checks, for tools of any package.

@pytest.mark.parametrize("check", CHECKS)
async def test_a_tool_keeps_what_the_port_promises(check: Check) -> None:
    await check(Case(tool=CLOCK, good={"zone": "UTC"}))
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from nanobot.errors import ToolArgumentsError, ToolError, UsageError
from nanobot.messages import Address, Role
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.kit.promises import ends_when_cancelled, that
from nanobot.text import MAX_RESULT_CHARS
from nanobot.tools.base import AnyTool, CallContext, Effect, ToolOutput
from nanobot.tools.plugins import trouble
from nanobot.tools.registry import ToolRegistry

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_DESCRIPTION = 2_000
_BROKEN = ("", "null", "[]", "7", '"text"', "{", '{"a": 1,}', "[" * 10_000)
_WRONG: Mapping[str, object] = {
    "string": [1],
    "integer": "many",
    "number": "many",
    "boolean": "perhaps",
    "array": 7,
    "object": 7,
}


def context(role: Role = Role.OWNER) -> CallContext:
    """The owner's own chat, for which calls are made."""
    return CallContext(
        run_id="r",
        session_key="checked:1",
        address=Address("checked", "1"),
        sender_id="1001",
        role=role,
        key="r:0:0",
        private=True,
    )


class ToolCase(msgspec.Struct, frozen=True, kw_only=True):
    """A tool to be checked. `good` are arguments with which it works here (None: it cannot be
    called in a test). `failing` are arguments that fit the schema and make it fail.
    """

    tool: AnyTool
    good: Mapping[str, Any] | None = None
    failing: Mapping[str, Any] | None = None
    context: CallContext = context()


Check: TypeAlias = Callable[[ToolCase], Awaitable[None]]


def _registry(case: ToolCase) -> ToolRegistry:
    registry = ToolRegistry()
    registry.blobs = MemoryBlobs()
    try:
        registry.register(case.tool)
    except UsageError as error:
        raise AssertionError(f"it can be registered: {error}") from None
    return registry


async def is_written_down_whole(case: ToolCase) -> None:
    """Name, description, effect, roles and time limit are valid."""
    tool = case.tool
    wrong = trouble(tool)
    that(not wrong, f"everything about it is as it has to be, but {wrong}")
    that(_NAME.fullmatch(tool.name), "its name is of letters, digits, _ and -, at most 64")
    that(len(tool.description) <= _MAX_DESCRIPTION, "its description is short: every prompt has it")


async def has_a_schema(case: ToolCase) -> None:
    """Models get a JSON schema of an object, the same bytes every time, in which every required
    argument exists.
    """
    (spec,) = _registry(case).specs()
    schema = spec.parameters
    that(schema.get("type") == "object", "its schema is that of an object")
    fields = schema.get("properties", {})
    that(isinstance(fields, dict), "its schema names its arguments")
    that(set(schema.get("required", ())) <= set(fields), "required fields have a description")
    (again,) = _registry(case).specs()
    that(msgspec.json.encode(spec) == msgspec.json.encode(again), "its schema stays the same")


async def refuses_wrong_arguments(case: ToolCase) -> None:
    """Whatever a model sends, it is told what is wrong with it."""
    (spec,) = _registry(case).specs()
    for text in _BROKEN[1:] if not spec.parameters.get("required") else _BROKEN:
        if text != "null" or spec.parameters.get("required"):
            await _refused(case, text, "")
    good = dict(case.good or {})
    for name in spec.parameters.get("required", ()):
        without = {key: value for key, value in good.items() if key != name}
        await _refused(case, msgspec.json.encode(without).decode(), name)
    for name, rule in spec.parameters.get("properties", {}).items():
        wrong = _WRONG.get(rule.get("type", ""))
        if wrong is not None:
            await _refused(case, msgspec.json.encode({**good, name: wrong}).decode(), name)


async def _refused(case: ToolCase, arguments: str, name: str) -> None:
    shown = arguments[:60]
    try:
        await _registry(case).execute(case.tool.name, arguments, case.context)
    except ToolArgumentsError as error:
        # Without valid arguments, another one may be named first.
        named = not name or case.good is None or name in str(error)
        that(str(error).strip() and named, f"{shown} is refused in words that name {name}: {error}")
        return
    raise AssertionError(f"{shown} is refused")


async def works_and_says_so(case: ToolCase) -> None:
    """With good arguments it returns a text for the model, within the limit."""
    if case.good is None:
        return
    done = await _call(case, case.good)
    that(done.text.strip(), "a result says something: a model does not know what silence means")
    that(len(done.text) <= MAX_RESULT_CHARS, "a result is short, or is cut")
    done.text.encode()
    if case.tool.effect is not Effect.STORE:
        that(not done.messages and not done.writes, "only a tool of effect `store` leaves rows")


async def may_be_called_again(case: ToolCase) -> None:
    """A tool without effect can be called again freely: this happens after a crash."""
    if case.good is None or case.tool.effect is not Effect.NONE:
        return
    await _call(case, case.good)
    await _call(case, case.good)


async def fails_in_words(case: ToolCase) -> None:
    """Problems that the model can fix, or must accept, raise a ToolError that says so."""
    if case.failing is None:
        return
    try:
        await _call(case, case.failing)
    except ToolError as error:
        that(str(error).strip(), "an error says what went wrong")
        return
    raise AssertionError("arguments with which it fails make it fail")


async def obeys_cancellation(case: ToolCase) -> None:
    """A call that is cancelled ends at once: /stop ends a run this way."""
    if case.good is not None:
        await ends_when_cancelled(_call(case, case.good), "a call")


async def is_for_nobody_else(case: ToolCase) -> None:
    """A role that is not in `allowed` is refused."""
    for role in set(Role) - case.tool.allowed:
        text = msgspec.json.encode(case.good or {}).decode()
        try:
            await _registry(case).execute(case.tool.name, text, context(role))
        except ToolError:
            continue
        raise AssertionError(f"a {role} is refused")


async def _call(case: ToolCase, arguments: Mapping[str, Any]) -> ToolOutput:
    text = msgspec.json.encode(arguments).decode()
    return await _registry(case).perform(case.tool.name, text, case.context)


CHECKS: tuple[Check, ...] = (
    is_written_down_whole,
    has_a_schema,
    refuses_wrong_arguments,
    works_and_says_so,
    may_be_called_again,
    fails_in_words,
    obeys_cancellation,
    is_for_nobody_else,
)
