"""An operation: its name, parameters, role and result, and the text of the result in a chat.

The faces are made from this alone: commands of the command line, /commands of every chat, calls of
the control socket, routes over HTTP, tools for other programs. A new one is one function:

    @operation("people greet")
    async def greet(context: OperationContext, caller: Caller, name: Name, times: Times = 1) -> str:
        \"\"\"Greets somebody.\"\"\"
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol, TypeVar, get_type_hints

import msgspec

from nanobot.addresses import OWNER_ID
from nanobot.errors import NotAllowed, UsageError
from nanobot.messages import TERMINAL, TERMINAL_SESSION, Address, Choice, LaneCommand, Role
from nanobot.operations.engine import Engine
from nanobot.operations.parameters import (
    Arguments,
    Parameter,
    converted,
    is_struct,
    parameters_of,
    parsed,
)
from nanobot.operations.rendering import Now, as_text

T = TypeVar("T")
_BY_POWER = (Role.OWNER, Role.MEMBER, Role.GUEST)


def _reaches(role: Role, least: Role | None) -> bool:
    return least is None or _BY_POWER.index(role) <= _BY_POWER.index(least)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The person or program that calls an operation, with role and address."""

    role: Role
    session_key: str
    by: str
    name: str = ""
    address: Address | None = None
    """None for the control socket."""
    key: str = ""
    """The same if a chat delivers the same command again."""
    private: bool = True
    """No one else reads the chat."""
    own: str = ""
    """The prefix of the caller's other sessions; "": there is only one."""
    program: bool = False
    """Another program calls: no text that it gives was typed by a person."""

    def owns(self, session: str) -> bool:
        """Whether they may act in a session: owners in all of them, others in their own."""
        if self.role is Role.OWNER or session == self.session_key:
            return True
        return bool(self.own) and session.startswith(self.own) and session != self.own

    def sees(self, session: str) -> bool:
        """Whether they may read a session's log. In a group it has more than the group was told."""
        return self.owns(session) and (self.role is Role.OWNER or self.private)

    @property
    def sessions(self) -> tuple[str, ...] | None:
        """The sessions whose logs they may read, by name, or by a prefix that ends with a colon;
        None: all of them."""
        if self.role is Role.OWNER:
            return None
        return (self.session_key, self.own)[: 2 if self.own else 1] if self.private else ()

    def at_this_machine(self, what: str) -> None:
        """Raises UsageError in a chat: a person who takes over a platform account must not get the
        machine too."""
        if self.address is not None and self.address.channel != TERMINAL:
            raise UsageError(f"{what} does not work in a chat: use the command line or the page.")


AT_THE_TERMINAL = Caller(role=Role.OWNER, session_key=TERMINAL_SESSION, by=OWNER_ID)
"""Whoever may open the control socket."""
A_PROGRAM = msgspec.structs.replace(AT_THE_TERMINAL, program=True)


class OperationContext(Protocol):
    """The first argument of a handler: the engine, and the list of operations that contains it."""

    engine: Engine
    listed: tuple[Operation, ...]

    def of(self, kind: type[T]) -> T:
        """What plugins are offered of that type. Raises PluginBroken if there is none."""

    def offered(self, kind: type[T]) -> T | None:
        """The same, or None if there is none."""


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Facts(_Named, frozen=True, kw_only=True):
    """What is said of an operation besides its handler."""

    role: Role = Role.OWNER
    reads: bool = False
    command: str = ""
    alias: str = ""
    text: Callable[[Any, Now], str] = as_text
    in_lane: Callable[[Mapping[str, Any]], LaneCommand] | None = None
    confirm: str = ""
    example: str = ""
    listed: bool = True
    quiet: bool = False
    own_command: bool = False
    failed: Callable[[Any], bool] = lambda _: False
    empty: str = ""
    shows: tuple[str, ...] = ()
    choices: Callable[[Any], tuple[Choice, ...]] = lambda _: ()
    storeless: bool = False
    of_home: bool = False
    slow: bool = False
    exact: bool = False


class Operation(_Facts, frozen=True, kw_only=True, dict=True):
    """One thing to do, made of its handler by `operation`. What the handler's annotations say is
    read at its first use: a start has no time to read them all."""

    help: str
    handler: Callable[..., Awaitable[Any]]
    details: str = ""

    @property
    def sentence(self) -> str:
        """The help as a sentence of its own."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    def rendered(self, result: Any, now: Now) -> str:
        """A result as a message of a chat; of an empty list, how it comes to have something."""
        text = self.text(result, now)
        return f"{text} {self.empty}" if self.empty and result in ([], ()) else text

    @cached_property
    def _hints(self) -> dict[str, Any]:
        # A handler's module has all that its annotations name.
        return get_type_hints(self.handler, include_extras=True)

    def check_annotations(self) -> None:
        """Raises whatever is wrong with what the handler's annotations say."""
        _ = self._sound

    @cached_property
    def _sound(self) -> bool:
        """Whether the annotations can be read; raises what is wrong. Read once in a process."""
        if self.parameters:
            msgspec.json.schema(self.returns)
        return True

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters_of(self.handler, self._hints)

    @cached_property
    def structs(self) -> dict[str, type[Arguments]]:
        """The parameters of the handler that are several arguments in one."""
        return {slot: hint for slot, hint in self._hints.items() if is_struct(hint)}

    @property
    def returns(self) -> Any:
        """The type of its result."""
        return self._hints["return"]

    @property
    def translated_as(self) -> Any:
        """The type by which its result is translated for a client: an exact one is not."""
        return Any if self.exact else self.returns

    @property
    def usage(self) -> str:
        """How it is written in a chat."""
        shown = [
            parameter.usage
            for parameter in self.parameters
            if parameter.positional or not parameter.session
        ]
        return " ".join([f"/{self.name}", *shown])

    def may(self, role: Role) -> bool:
        """Whether this role may call it."""
        return _reaches(role, self.role)

    def arguments_of(self, role: Role) -> tuple[str, ...]:
        """The names of the arguments that this role may pass."""
        return tuple(each.name for each in self.parameters if _reaches(role, each.role))

    def check(self, role: Role, arguments: Mapping[str, Any]) -> None:
        """Raises NotAllowed for an argument that is not for this role."""
        for parameter in self.parameters:
            if arguments[parameter.name] != parameter.default and not _reaches(
                role, parameter.role
            ):
                raise NotAllowed(parameter.refusal)

    def parsed(self, text: str) -> dict[str, Any]:
        """Parse the text behind a command into arguments. Raises UsageError that names the
        mistake."""
        with self._named():
            return converted(self.parameters, parsed(self.parameters, text), strict=False)

    def converted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the arguments of a program. Raises UsageError that names the mistake."""
        with self._named():
            return converted(self.parameters, values, strict=True)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None

    async def perform(
        self, context: OperationContext, caller: Caller, arguments: Mapping[str, Any]
    ) -> Any:
        """Do it, with arguments that were converted. Raises what the handler raises."""
        values: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {slot: {} for slot in self.structs}
        for parameter in self.parameters:
            into = inner[parameter.within] if parameter.within else values
            into[parameter.slot] = arguments[parameter.name]
        structs = {slot: kind(**inner[slot]) for slot, kind in self.structs.items()}
        return await self.handler(context, caller, **values, **structs)


class operation(_Facts, frozen=True, kw_only=True):  # noqa: N801 - a decorator
    """Make an operation of a handler. Its annotations define the parameters and the result. The
    first paragraph of its docstring is the help, one sentence; the others are `details`, for the
    help of one command, the reference and OpenAPI. The handler gets the context, the caller and the
    arguments, and raises NanobotError for its caller.

    `role` is the lowest role that may call it. `reads`: it changes nothing. `command` is its name
    on the command line if that differs, `alias` an older name. `text` makes a chat message of a
    result, given the time. `in_lane`: in a chat, it waits for its turn among the messages.
    `confirm`: the question that the command line asks first. `example`: typical arguments, in the
    syntax of a chat. Not `listed`: no help and no menu names it. `own_command`: a hand-written
    command, which works without a store, performs it too. `quiet`: after a press of a button, only
    the person who pressed it sees an answer, if there is one. `failed`: for such a result the
    command exits with 1. `empty`: a line to add to an empty list. `shows`: the tables whose rows it
    lists; the result names unreadable rows below the list. `choices`: the buttons below a result in
    a chat. `storeless`: the command line performs it without a gateway, a store or a configuration,
    so its handler uses nothing of its context. `of_home`: it needs no store, and so works where the
    plugin of its database is off. `slow`: it may take longer than two minutes, and the command line
    waits until it ends. `exact`: its result is given as it is stored, in no other
    language.
    """

    def __call__(self, handler: Callable[..., Awaitable[Any]]) -> Operation:
        first, _, details = inspect.cleandoc(handler.__doc__ or "").partition("\n\n")
        # A package may have left it out, and menus need a text for each command.
        sentence = " ".join(first.split()).removesuffix(".") or f"perform {self.name}"
        facts = msgspec.structs.asdict(self) | {"command": self.command or self.name}
        help = f"{sentence[:1].lower()}{sentence[1:]}"
        return Operation(**facts, help=help, handler=handler, details=details)
