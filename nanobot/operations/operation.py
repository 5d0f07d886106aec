"""An operation: its name, its typed arguments, who may, what it returns, how that reads in a chat.

The faces are made from this alone: commands of the command line, /commands of every chat, calls of
the control socket.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.messages import Address, Role
from nanobot.operations.rendering import as_text

if TYPE_CHECKING:
    from nanobot.agent.budgets import Budgets, UsageStore
    from nanobot.agent.context_preview import ContextPreview
    from nanobot.bus.core import Bus
    from nanobot.bus.pairing import Pairing
    from nanobot.memory.port import MemoryPort
    from nanobot.providers.base import ModelProfile
    from nanobot.session.entries import ReplyEntry
    from nanobot.session.journal import Journal
    from nanobot.session.runs import Run
    from nanobot.session.tasks import TaskRecords, TaskStarter
    from nanobot.session.views import Records
    from nanobot.tools.mcp.servers import McpServers
    from nanobot.tools.registry import ToolRegistry
    from nanobot.triggers.cron.editing import JobEditor
    from nanobot.triggers.webhooks.views import WebhookAdmin
    from nanobot.workspace.skills import Skills


_MISSING = re.compile(r"Object missing required field `(\w+)`")


_STRANGE = re.compile(r"Invalid enum value (.*) - at `\$\.(\w+)`", re.DOTALL)


_BY_POWER = (Role.OWNER, Role.MEMBER, Role.GUEST)


_YES_NO = {"yes": "true", "on": "true", "no": "false", "off": "false"}


Here: TypeAlias = Annotated[
    str, Meta(description="The session; in a chat, the chat's own.", extra={"here": True})
]


"""The type of an argument that names a session; empty: where it is asked. Only owners may name
another one."""


HereFirst: TypeAlias = Annotated[Here, Meta(extra={"positional": True})]


First: TypeAlias = Annotated[str, Meta(extra={"positional": True})]


"""The type of an argument that is given without its name. One named `text` takes all that follows.
Arguments without a default are given so too."""


Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operation is given. Every field has a description (msgspec.Meta)."""


class Nothing(Arguments, frozen=True, kw_only=True):
    """An operation without arguments."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, as what, where. `address` None: through the control socket, not from a chat.
    `key` is the same when a chat brings the same order again. `private`: nobody else reads it."""

    role: Role
    session_key: str
    by: str
    name: str = ""
    address: Address | None = None
    key: str = ""
    private: bool = True


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway says of itself. `serving` False: the store is open, but nothing runs.
    `watches`: what those of the machine saw last."""

    version: str
    home: str
    pid: int
    serving: bool
    channels: Mapping[str, str]
    web: str = ""
    watches: Mapping[str, str] = {}


class Engine(Protocol):
    """What operations need of the gateway."""

    @property
    def bus(self) -> Bus:
        """Wake-ups and watchers over the journal."""
        ...

    @property
    def tasks(self) -> TaskRecords:
        """What background runs there are."""
        ...

    @property
    def starter(self) -> TaskStarter:
        """Starts background runs."""
        ...

    @property
    def journal(self) -> Journal:
        """The store's verbs."""
        ...

    @property
    def records(self) -> Records:
        """The store as people see it."""
        ...

    @property
    def pairing(self) -> Pairing:
        """Who was let in beside the people of the configuration."""
        ...

    @property
    def budgets(self) -> Budgets:
        """What may be spent."""
        ...

    @property
    def spending(self) -> UsageStore:
        """What was spent."""
        ...

    @property
    def memory(self) -> MemoryPort:
        """What is remembered beyond conversations."""
        ...

    @property
    def book(self) -> JobEditor:
        """What is done by the clock."""
        ...

    @property
    def tools(self) -> ToolRegistry:
        """What the model may do."""
        ...

    @property
    def glimpse(self) -> ContextPreview:
        """What models would be shown."""
        ...

    @property
    def skills(self) -> Skills:
        """Pages on how to do things."""
        ...

    @property
    def mcp(self) -> McpServers:
        """The MCP servers."""
        ...

    @property
    def door(self) -> WebhookAdmin:
        """The webhooks."""
        ...

    def running(self) -> list[Run]:
        """The runs driven now."""
        ...

    def partial(self, session_key: str) -> ReplyEntry | None:
        """What the session's run has said so far."""
        ...

    async def describe_model(self, label: str | None) -> ModelProfile:
        """The model that a session with that label talks to; raises ConfigError or ModelError."""
        ...

    def facts(self) -> Facts:
        """What it is and where."""
        ...

    def now(self) -> float:
        """Unix seconds."""
        ...

    def uptime(self) -> float:
        """Seconds since the start."""
        ...


class OperationContext(Protocol):
    """What a handler is given: the engine, and the list that it stands in."""

    engine: Engine
    listed: tuple[Operation, ...]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument as the faces need it. `kind` is int, float, bool or str."""

    name: str
    kind: type
    description: str
    positional: bool
    here: bool
    required: bool
    default: Any

    @property
    def rest(self) -> bool:
        """Whether it takes all the text that follows."""
        return self.positional and self.name == "text"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do.

    `run` gets arguments of that type and returns what `returns` says, or raises NanobotError for
    the person who asked. `text` makes a chat message of it, given the time. `role` is the least
    that may. `command` is its name on the command line where that differs. `in_lane`: in a chat it
    keeps its place among the messages. `confirm`: what the command line asks before.
    """

    name: str
    help: str
    run: Callable[[OperationContext, Caller, Any], Awaitable[Any]]
    returns: Any
    arguments: type[Arguments] = Nothing
    text: Callable[[Any, float], str] = as_text
    role: Role = Role.OWNER
    command: str = ""
    in_lane: bool = False
    confirm: str = ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its arguments, one by one."""
        return tuple(_parameter(field) for field in msgspec.structs.fields(self.arguments))

    @property
    def usage(self) -> str:
        """How it is written in a chat."""
        words = [f"/{self.name}"]
        for one in self.parameters:
            shown = one.name.upper()
            if one.positional:
                words.append(shown if one.required else f"[{shown}]")
            elif not one.here:
                words.append(f"[{one.name}=yes]" if one.kind is bool else f"[{one.name}={shown}]")
        return " ".join(words)

    def may(self, role: Role) -> bool:
        """Whether somebody in this role may."""
        return _BY_POWER.index(role) <= _BY_POWER.index(self.role)

    def parsed(self, text: str) -> dict[str, str]:
        """The arguments in what stands behind a command: `name=value` by name, others in order."""
        named = {one.name: one.kind for one in self.parameters if not one.rest}
        waiting = [one for one in self.parameters if one.positional]
        found: dict[str, str] = {}
        while text:
            word, *after = text.split(maxsplit=1)
            name, equals, value = word.partition("=")
            if equals and name in named:
                found[name] = _YES_NO.get(value.lower(), value) if named[name] is bool else value
            elif waiting and waiting[0].rest:
                found[waiting[0].name] = text
                break
            elif waiting:
                found[waiting.pop(0).name] = word
            elif not all(one.here for one in self.parameters):
                raise UsageError(f"{self.name}: {word!r} is too much")
            text = "".join(after)
        return found

    def converted(self, given: Mapping[str, Any], *, strict: bool) -> Arguments:
        """The typed arguments. Raises UsageError that says what was expected."""
        try:
            return msgspec.convert(given, self.arguments, strict=strict)
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.name}: {_told(str(error), self.arguments)}") from None


def _told(reason: str, arguments: type[Arguments]) -> str:
    """Why arguments do not fit, in the words of their names and values."""
    if missing := _MISSING.fullmatch(reason):
        return f"`{missing[1]}` is missing"
    if strange := _STRANGE.fullmatch(reason):
        kind = next(f.type for f in msgspec.structs.fields(arguments) if f.name == strange[2])
        known = msgspec.json.schema(kind).get("enum", ())
        return (
            f"{strange[2]}: {strange[1]} is none of {', '.join(str(one) for one in known if one)}"
        )
    return reason.replace("`$.", "`").replace("Object ", "it ")


def _parameter(field: msgspec.structs.FieldInfo) -> Parameter:
    hint, description = field.type, ""
    extra: dict[str, Any] = {}
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta):
            extra |= meta.extra or {}
            description = meta.description or description
    kind = getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint
    return Parameter(
        name=field.encode_name,
        kind=kind if kind in {int, float, bool} else str,
        description=description,
        positional=field.required or bool(extra.get("positional")),
        here=bool(extra.get("here")),
        required=field.required,
        default=None if field.required else field.default,
    )
