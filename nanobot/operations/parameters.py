"""The parameters of an operation, for every face: read from the signature of the handler, parsed
from typed text, and converted to the handler's types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import Parameter as Declared
from inspect import signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.text import pattern
from nanobot.visible import unspelled

SessionArgument: TypeAlias = Annotated[
    str, Meta(description="The session; in a chat, the chat's own.", extra={"session": True})
]
"""The type of an argument that names a session; empty: where it is asked. Only owners may name
another one."""


def for_owners(refusal: str) -> Meta:
    """Marks an argument that only owners may give; others are told `refusal`."""
    return Meta(extra={"role": Role.OWNER, "refusal": refusal})


Positional: TypeAlias = Annotated[str, Meta(extra={"positional": True})]
"""The type of an argument that is given without its name. One named `text` takes all that follows.
Arguments without a default are given so too."""
Rest: TypeAlias = Annotated[str, Meta(extra={"positional": True, "rest": True})]
"""The type of one that takes all that follows, whatever its name."""
MachinePath: TypeAlias = Annotated[
    str, Meta(pattern=r"^[^\x00]*$", extra={"positional": True, "machine": True})
]
"""The type of a path on the machine of the person who asks, and not in the workspace."""
PositionalSession: TypeAlias = Annotated[SessionArgument, Meta(extra={"positional": True})]
Find: TypeAlias = Annotated[str, Meta(max_length=200, description="Filter by text.")]
"""The type of an argument that narrows a list: letter case does not count."""
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of results.")]

_IN_QUOTES = pattern(r"""(\w+)=("[^"]*"|'[^']*'|“[^”]*”|‘[^’]*’)(?!\S)\s*""")
_OPTION = pattern("(?:--|\u2014)([A-Za-z][A-Za-z-]*)(?=[=\\s]|$)")
_YES_NO = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_SHOWN = 80
LARGEST = 2**53
"""Beyond it, JSON of other programs loses digits."""
_REQUIRED = Declared.empty


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """Several parameters in one: a handler that takes a struct of this kind takes its fields."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument."""

    name: str
    slot: str
    """The handler's name for it."""
    within: str
    """The name of the struct that it is a field of."""
    hint: Any
    """Its type."""
    kind: type
    """One of int, float, bool and str."""
    description: str
    positional: bool
    takes_rest: bool
    on_machine: bool
    session: bool
    required: bool
    default: Any
    role: Role | None = None
    """The least that may give it, where not everybody may who may perform the operation."""
    refusal: str = ""
    """What others are told."""

    @property
    def rest(self) -> bool:
        """Whether it takes all the text that follows."""
        return self.takes_rest or (self.positional and self.name == "text")

    @property
    def usage(self) -> str:
        """How it is written in a chat."""
        shown = self.name.upper()
        if self.positional:
            return shown if self.required else f"[{shown}]"
        return f"[{self.name}=yes]" if self.kind is bool else f"[{self.name}={shown}]"

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; none where any text will do."""
        base = _bare(self.hint)
        return tuple(word for word in get_args(base) if word) if get_origin(base) is Literal else ()

    @property
    def allowed(self) -> str:
        """The allowed values, for people."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "yes or no"
        if self.kind is str:
            return "text"
        number = "a whole number" if self.kind is int else "a number"
        rule = msgspec.json.schema(_without_none(self.hint))
        least, most = rule.get("minimum"), rule.get("maximum")
        above = "" if least is None else f" from {least:,}"
        return number + above + ("" if most is None else f" to {most:,}")

    def converted(self, value: Any, *, strict: bool) -> Any:
        """The value in the handler's type; without `strict`, also from text. Raises UsageError that
        names the expected type."""
        if self.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number
        try:
            typed = msgspec.convert(value, self.hint, strict=strict)
        except msgspec.ValidationError:
            shown = f"{value!r}"[:_SHOWN]
            raise UsageError(f"`{self.name}` must be {self.allowed}, not {shown}") from None
        if isinstance(typed, int | float) and not abs(typed) <= LARGEST:
            raise UsageError(f"`{self.name}` is too large: at most {LARGEST:,}")
        if isinstance(typed, str) and self.name == "session":
            return unspelled(typed)  # lists show it spelled, and it may have any characters
        if isinstance(typed, str) and "\0" in typed:
            raise UsageError(f"`{self.name}` contains a NUL character")
        return typed


def _without_none(hint: Any) -> Any:
    """The type without the None that means "not given"."""
    if get_origin(hint) in (Union, UnionType):
        return next(member for member in get_args(hint) if member is not NoneType)
    return hint


def _bare(hint: Any) -> Any:
    """The type without metadata and without None, in either order."""
    hint = _without_none(hint)
    return _without_none(hint.__origin__) if hasattr(hint, "__metadata__") else hint


def is_struct(hint: Any) -> bool:
    """Whether a parameter of that type is several arguments in one."""
    return isinstance(hint, type) and issubclass(hint, Arguments)


def parameters_of(handler: Callable[..., Any], hints: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The parameters behind a handler's first two, its context and its caller."""
    rows: list[Parameter] = []
    for slot, declared in list(signature(handler).parameters.items())[2:]:
        hint = hints[slot]
        if not is_struct(hint):
            rows.append(_parameter(slot, hint, declared.default))
            continue
        for field in msgspec.structs.fields(hint):
            default = _REQUIRED if field.required else field.default
            rows.append(_parameter(field.name, field.type, default, within=slot))
    return tuple(rows)


def _parameter(slot: str, hint: Any, default: Any, within: str = "") -> Parameter:
    extra: dict[str, Any] = {}
    description = ""
    for meta in (*getattr(hint, "__metadata__", ()), *_inner_metadata(hint)):
        if isinstance(meta, Meta):
            extra |= meta.extra or {}
            description = meta.description or description
    kind = _bare(hint)
    required = default is _REQUIRED
    return Parameter(
        name=extra.get("name", slot),
        slot=slot,
        within=within,
        hint=hint,
        kind=kind if kind in {int, float, bool} else str,
        description=description,
        positional=required or "positional" in extra,
        takes_rest="rest" in extra,
        on_machine="machine" in extra,
        session="session" in extra,
        required=required,
        default=None if required else default,
        role=extra.get("role"),
        refusal=extra.get("refusal", ""),
    )


def _inner_metadata(hint: Any) -> tuple[Any, ...]:
    """The metadata of `Annotated[T, ...] | None`."""
    return getattr(_without_none(hint), "__metadata__", ()) if hint is not None else ()


def parsed(parameters: Collection[Parameter], text: str) -> dict[str, str]:
    """Parse the text behind a command: `name=value` sets an argument by name, a bare name sets a
    yes-or-no argument, a word that is a choice of one argument sets that one, and other words fill
    arguments in order. A value by name may be quoted and contain blanks. Raises UsageError for
    surplus text."""
    by_name = {parameter.name: parameter for parameter in parameters if not parameter.rest}
    by_choice = {word: each for each in by_name.values() for word in each.choices}
    waiting = [parameter for parameter in parameters if parameter.positional]
    values: dict[str, str] = {}
    while text:
        text = _as_in_a_chat(text, by_name)
        quoted = _IN_QUOTES.match(text)
        if quoted is not None and quoted[1] in by_name:
            values[quoted[1]] = quoted[2][1:-1]
            text = text[quoted.end() :]
            continue
        word, *after = text.split(maxsplit=1)
        name, equals, value = word.partition("=")
        flag, choice = by_name.get(word), by_choice.get(word)
        if equals and name in by_name:
            is_flag = by_name[name].kind is bool
            values[name] = _YES_NO.get(value.lower(), value) if is_flag else value
        elif waiting and waiting[0].rest:
            values[waiting[0].name] = text
            break
        elif flag is not None and flag.kind is bool:
            values[word] = "true"
        elif waiting:
            values[waiting.pop(0).name] = word
        elif choice is not None and choice.name not in values:
            values[choice.name] = word
        elif not all(parameter.session for parameter in parameters):
            raise UsageError(f"unexpected argument {word!r}")
        text = "".join(after)
    return values


def _as_in_a_chat(text: str, by_name: Mapping[str, Parameter]) -> str:
    """The text, its first word as chats write it where it is an option of the command line:
    `--undo` is `undo`, `--limit 5` is `limit=5`. Phones make one long dash of two."""
    match = _OPTION.match(text)
    parameter = by_name.get(match[1].replace("-", "_")) if match else None
    if match is None or parameter is None:
        return text
    rest = text[match.end() :]
    if rest.startswith("="):
        return f"{parameter.name}{rest}"
    if parameter.kind is bool:
        return f"{parameter.name}=yes{rest}"
    return f"{parameter.name}={rest.lstrip()}"


def converted(
    parameters: Collection[Parameter], values: Mapping[str, Any], *, strict: bool
) -> dict[str, Any]:
    """The typed arguments by name, including defaults. Raises UsageError that names an unknown,
    missing or wrong argument, and the allowed values."""
    names = [parameter.name for parameter in parameters]
    for name in values:
        if name not in names:
            there = ", ".join(names) or "none"
            raise UsageError(f"unknown argument `{name[:_SHOWN]}`; known: {there}")
    arguments = {}
    for parameter in parameters:
        if parameter.name in values:
            arguments[parameter.name] = parameter.converted(values[parameter.name], strict=strict)
        elif parameter.required:
            raise UsageError(f"`{parameter.name}` is missing")
        else:
            arguments[parameter.name] = parameter.default
    return arguments
