"""Makes a tool from a typed function: signature as the schema, docstring as the description."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    Unpack,
    overload,
)

import msgspec

from nanobot.errors import ToolError, UsageError
from nanobot.messages import Role
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput

P = ParamSpec("P")

FunctionTool: TypeAlias = Tool[msgspec.Struct]
"""A tool made from a function; its arguments are a struct made from the signature."""

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ToolOptions(TypedDict, total=False):
    """The other options of `@tool`; see Tool."""

    timeout: float
    allowed: frozenset[Role]
    rest: str
    taints: bool
    risk: Literal["low", "high"]
    lazy: bool


class ToolMaker(Protocol):
    """Makes a tool of the decorated function."""

    def __call__(self, function: Callable[P, object], /) -> FunctionTool: ...


@overload
def tool(function: Callable[P, object], /) -> FunctionTool: ...
@overload
def tool(
    *, name: str = "", effect: Effect = Effect.WORLD, **options: Unpack[ToolOptions]
) -> ToolMaker: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    effect: Effect = Effect.WORLD,
    **options: Unpack[ToolOptions],
) -> FunctionTool | ToolMaker:
    """`@tool`, or `@tool(effect=Effect.NONE, ...)`: makes a Tool of the decorated function.

        @tool
        async def weather(city: Annotated[str, "where"], days: int = 3) -> str:
            \"\"\"The weather of the next days.\"\"\"

    Parameters without a default are required; `Annotated[T, "words"]` describes one to the model. A
    parameter annotated `CallContext` receives the call's context and is not part of the schema. A
    function that is not `async` runs on a thread. The return value is the result, encoded as JSON
    if it is not text; a ToolError or ValueError tells the model what to correct. `effect` decides
    what a crash during the call means: by default the function acts on the world, so that an
    interrupted call is not repeated. `options` are the options of Tool.

    Raises UsageError, naming the parameter, for a signature that a schema cannot express.
    """
    if function is None:

        def decorated(function: Callable[P, object], /) -> FunctionTool:
            return _tool(function, name, effect, options)

        return decorated
    return _tool(function, name, effect, options)


def _tool(
    function: Callable[..., object], name: str, effect: Effect, options: ToolOptions
) -> FunctionTool:
    name = name or function.__name__
    description = inspect.getdoc(function) or ""
    if not description:
        raise UsageError(
            f"{name} has no docstring: it is what tells the model what the tool is for"
        )
    args, context_name = _arguments(function, name)

    async def run(arguments: Any, context: CallContext) -> str | ToolOutput:
        values = {field: getattr(arguments, field) for field in arguments.__struct_fields__}
        if context_name:
            values[context_name] = context
        try:
            if inspect.iscoroutinefunction(function):
                result = await function(**values)
            else:
                result = await asyncio.to_thread(function, **values)
        except ValueError as error:
            raise ToolError(str(error) or "it refused these arguments") from error
        if isinstance(result, str | ToolOutput):
            return result
        return msgspec.json.encode(result).decode()

    return Tool(name=name, description=description, args=args, run=run, effect=effect, **options)


def _arguments(function: Callable[..., Any], name: str) -> tuple[type[msgspec.Struct], str]:
    """A struct of the function's parameters, and the name of the one that takes the context, if
    any.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"{name}: a type of its signature is not known: {error}") from error
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    context_name = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED:
            raise UsageError(f"{name}: {parameter} cannot be a tool's: name each parameter")
        hint = hints.get(parameter.name)
        if hint is None:
            raise UsageError(f"{name}: {parameter.name} needs a type, for the model to know")
        if hint is CallContext:
            context_name = parameter.name
        elif parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, _described(hint)))
        else:
            fields.append((parameter.name, _described(hint), parameter.default))
    title = "".join(word.capitalize() for word in name.split("_"))
    struct = msgspec.defstruct(title, fields, kw_only=True, frozen=True, module=function.__module__)
    return struct, context_name


def _described(hint: Any) -> Any:
    """`Annotated[T, "words"]` in the form of msgspec's descriptions."""
    if typing.get_origin(hint) is not Annotated:
        return hint
    inner, *notes = typing.get_args(hint)
    metas = [msgspec.Meta(description=note) if isinstance(note, str) else note for note in notes]
    return Annotated[(inner, *metas)]
