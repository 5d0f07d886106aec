"""A typed function with a docstring is a tool."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest

from nanobot.errors import ToolArgumentsError, ToolError, UsageError
from nanobot.plugins.library.function import tool
from nanobot.testing.tools import context
from nanobot.tools.base import AnyTool, CallContext, Effect, ToolOutput
from nanobot.tools.registry import ToolRegistry


@tool(effect=Effect.NONE)
async def weather(
    city: Annotated[str, "where"], days: int = 3, unit: Literal["C", "F"] = "C"
) -> str:
    """The weather of the next days."""
    return f"{city}: {days} days in {unit}"


async def called(given: AnyTool, arguments: str) -> str:
    registry = ToolRegistry()
    registry.register(given)
    return await registry.execute(given.name, arguments, context())


def test_the_signature_is_the_schema() -> None:
    registry = ToolRegistry()
    registry.register(weather)
    assert registry.get_definitions()[0]["function"] == {
        "name": "weather",
        "description": "The weather of the next days.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "where"},
                "days": {"type": "integer", "default": 3},
                "unit": {"enum": ["C", "F"], "default": "C"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }


async def test_defaults_hold_where_the_model_says_nothing() -> None:
    assert await called(weather, '{"city": "Bern"}') == "Bern: 3 days in C"


async def test_arguments_are_checked_before_the_function_runs() -> None:
    with pytest.raises(ToolArgumentsError, match="days"):
        await called(weather, '{"city": "Bern", "days": "many"}')


async def test_a_plain_function_runs_on_a_thread() -> None:
    here = threading.get_ident()

    @tool
    def elsewhere() -> bool:
        """Whether this is another thread."""
        return threading.get_ident() != here

    assert await called(elsewhere, "{}") == "true"


async def test_the_context_is_given_and_not_asked_of_the_model() -> None:
    @tool
    async def where(context: CallContext, word: str = "in") -> str:
        """Which session this is."""
        return f"{word} {context.session_key}"

    assert "context" not in str(where.args.__struct_fields__)
    assert await called(where, "{}") == f"in {context().session_key}"


async def test_what_is_no_text_is_told_as_json() -> None:
    @tool
    async def numbers() -> dict[str, list[int]]:
        """Some numbers."""
        return {"primes": [2, 3, 5]}

    assert await called(numbers, "{}") == '{"primes":[2,3,5]}'


async def test_an_output_with_more_than_text_goes_through() -> None:
    @tool
    async def page() -> ToolOutput:
        """A page from outside."""
        return ToolOutput("words", tainted=True)

    registry = ToolRegistry()
    registry.register(page)
    assert (await registry.perform("page", "{}", context())).tainted


async def test_a_value_error_tells_the_model_what_to_mend() -> None:
    @tool
    async def roll(sides: int) -> int:
        """Roll a die."""
        raise ValueError(f"no die has {sides} sides")

    with pytest.raises(ToolError, match="no die has 1 sides"):
        await called(roll, '{"sides": 1}')


def test_a_function_acts_on_the_world_unless_it_says_otherwise() -> None:
    @tool
    async def send(word: str) -> str:
        """Send a word."""
        return word

    assert send.effect is Effect.WORLD


def silent(word: str) -> str:
    return word


def rest(*words: str) -> str:
    """Some words."""
    return " ".join(words)


def untyped(word) -> str:  # type: ignore[no-untyped-def]
    """A word."""
    return str(word)


@pytest.mark.parametrize(
    ("function", "says"), [(silent, "docstring"), (rest, "words"), (untyped, "word needs a type")]
)
def test_a_signature_without_a_schema_is_refused_by_name(
    function: Callable[..., Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        tool(function)
