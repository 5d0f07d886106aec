"""Where operations are asked for, by a message in a chat or by a call, and performed."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from nanobot.boundary import Caught, guarded
from nanobot.errors import NanobotError, NotAllowed, UsageError
from nanobot.messages import TERMINAL, WEB, InboundMessage, Role
from nanobot.operations.at_once import AtOnce, unordered
from nanobot.operations.catalogue import (
    OPERATIONS,
    off_here,
    plugin_with,
    plugin_with_word,
)
from nanobot.operations.conversation import cancel_children, stopping
from nanobot.operations.engine import Engine
from nanobot.operations.operation import AT_THE_TERMINAL, Caller, Operation
from nanobot.operations.unreadable import Listed, below
from nanobot.seam.installed import Interface, provided
from nanobot.seam.offers import Offers
from nanobot.session import keys
from nanobot.session.decisions import Decisions
from nanobot.session.inbox import Admission
from nanobot.session.quarantine import Quarantined, UnreadableRows
from nanobot.session.said import Order, Said, Waiting, notice
from nanobot.text import Sentence, Spans, capitalized, pattern

_AT_ONCE = AtOnce()
_MOST_UNREADABLE = 1_000
_COMMAND = pattern(r"/([a-z][a-z_-]*)(?:@\S+)?(?:\s|$)", re.IGNORECASE)
_NOTHING_RUNS = {
    True: "Nothing was running here.",
    False: "Nothing of yours was running here.",
}


OWN_WORDS: Interface[Callable[[Operation, str, object], Spans]] = Interface("own_words")
"""The parts of a rendered result that are nanobot's own words; none if nothing translates them."""


class Invocation(Said, frozen=True, kw_only=True):
    """A call of an operation in a chat."""

    argument: str


class Dispatcher:
    """All operations over one gateway."""

    def __init__(
        self,
        engine: Engine,
        listed: Sequence[Operation] = OPERATIONS,
        offers: Offers = Offers(),  # noqa: B008 - nothing is added to it
    ) -> None:
        self.engine = engine
        self.of, self.offered = offers.get, offers.find
        self._unreadable: UnreadableRows | None = offers.find(UnreadableRows)
        self.listed = tuple(listed)
        self.decisions: Decisions | None = offers.find(Decisions)
        self._by_name = {operation.name: operation for operation in listed}
        self._by_alias = self._by_name | {
            operation.alias: operation for operation in listed if operation.alias
        }

    # From a chat

    def find(self, text: str) -> tuple[Operation, str] | None:
        """The operation a message asks for, with its argument; None for ordinary text.

        `/sessions` alone is `/sessions list`, and `/web tokens` is `/web tokens list`.
        """
        if not text.startswith("/"):
            return None
        head, *rest = text.split(maxsplit=1)
        argument = "".join(rest).strip()
        name = head[1:].split("@", 1)[0].lower()
        for count in (2, 1):
            words = argument.split(maxsplit=count)
            several = " ".join([name, *words[:count]]).lower()
            longer = self._by_alias.get(several) or self._by_alias.get(f"{several} list")
            if words and longer is not None:
                return longer, "".join(words[count:])
        if name == "start" and name in self._by_name:  # what stands behind it is a link's
            return self._by_name[name], ""
        operation = self._by_name.get(name) or self._by_name.get(f"{name} list")
        if operation is None or (argument and self._of_plugin_off(text)):
            return None
        return operation, argument

    def knows(self, text: str) -> bool:
        """Whether a message asks for an operation."""
        return self.find(text) is not None

    def unknown(self, text: str) -> Sentence:
        """The answer to an unknown command, with the nearest known one. Empty for ordinary text,
        even if it begins with a slash, as a path does."""
        match = _COMMAND.match(text)
        if match is None:
            return ""
        if command := self._of_plugin_off(text):
            return off_here(f"/{command}", plugin_with(command))
        name, alone = match[1].lower(), match.end() == len(text.rstrip())
        names = dict.fromkeys(operation.split()[0] for operation in self._by_alias)
        if name in names:
            words = {each.split()[1] for each in self._by_alias if each.startswith(f"{name} ")}
            return f"/{name} needs another word: {', '.join(sorted(words))}."
        if plugin := plugin_with_word(name):
            return off_here(f"/{name}", plugin)
        near = difflib.get_close_matches(name, names, 1)
        if not near and not alone:
            return ""
        meant: Sentence = f"Did you mean /{near[0]}?" if near else ""
        listed: Sentence = "/help lists the commands." if self.has("help") else ""
        return " ".join(filter(None, (f"There is no /{name}.", meant, listed)))

    def _of_plugin_off(self, text: str) -> str:
        """The operation that a command asks for, if its plugin is off; otherwise empty."""
        head, *rest = text[1:].lower().split(maxsplit=3)
        words = [head.split("@", 1)[0], *rest][:3]
        names = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
        if not rest:  # `/runs` is `/runs list`, whoever has the other words of that group
            names.append(f"{words[0]} list")
        return next((n for n in names if n not in self._by_alias and plugin_with(n)), "")

    async def settled(
        self, said: Said, order: Order = unordered, waiting: Waiting = _AT_ONCE
    ) -> Admission | None:
        """A command, or a yes or no to what was asked, with its answer; None for other text."""
        command = self.find(said.message.text)
        if command is None:
            decisions = self.decisions
            meant = None if decisions is None else await decisions.meant(said, order)
            if meant is None:
                return None
            if meant.refusal:
                return said.answered(capitalized(meant.refusal), refused=True)
            command = self._by_name[meant.operation], meant.argument
        operation, argument = command
        invocation = Invocation(
            message=said.message, session_key=said.session_key, role=said.role, argument=argument
        )
        return await self.admission(operation, invocation, order, waiting)

    async def reacted(self, message: InboundMessage, role: Role) -> None:
        """See Decisions.reacted."""
        if self.decisions is not None:
            await self.decisions.reacted(message, role, self.call)

    async def admission(
        self,
        operation: Operation,
        invocation: Invocation,
        order: Order = unordered,
        waiting: Waiting = _AT_ONCE,
    ) -> Admission:
        """The message with its answer, to be committed as one. In a terminal and on the page, where
        nobody else waits for it, a command has no limit of time."""
        message = invocation.message
        if not operation.may(invocation.role):
            allowed = "owners" if operation.role is Role.OWNER else "members and owners"
            text = f"/{operation.name} is for {allowed}."
            return invocation.answered(text, refused=True)
        if operation.name == "stop":
            return await self._stop(invocation, waiting)
        try:
            arguments = operation.parsed(invocation.argument)
        except UsageError as error:
            text = f"/{error}.\nWrite: `{operation.usage}`"
            return invocation.answered(text, refused=True)
        if operation.in_lane is not None:
            command = operation.in_lane(arguments)
            message = msgspec.structs.replace(message, text=f"/{command}", command=command)
            return Admission(
                message=message, session_key=invocation.session_key, role=invocation.role
            )

        def perform(seconds: float | None) -> Coroutine[Any, Any, Admission]:
            return self._performed(operation, invocation, arguments, order, seconds)

        if message.address.channel in (TERMINAL, WEB):
            return await perform(None)
        return await waiting.command(invocation, perform)

    async def _performed(
        self,
        operation: Operation,
        invocation: Invocation,
        arguments: dict[str, Any],
        order: Order,
        seconds: float | None,
    ) -> Admission:
        """Perform it, for at most so many seconds; gives the message with its answer."""
        message = invocation.message
        caller = Caller(
            role=invocation.role,
            session_key=invocation.session_key,
            by=message.sender.id,
            name=message.sender.name,
            address=message.address,
            key=f"{keys.message(message.address, message.dedupe_key)}:{operation.name}",
            private=not message.group,
        )

        async def act() -> tuple[Any, str]:
            if self.decisions is not None:
                await self.decisions.check(operation.name, arguments, message, order)
            result = await self._perform(operation, caller, arguments)
            lines = [operation.rendered(result, self.engine.shown_at())]
            lines += below(await self.unreadable(operation, caller, arguments), "/quarantine")
            return result, "\n".join(lines)

        try:
            result, text = await _contained(operation, act(), seconds)
        except NanobotError as error:
            return invocation.answered(capitalized(str(error)), refused=True)
        words = provided(OWN_WORDS)
        own = () if words is None else words(operation, text, result)
        admission = invocation.answered(text, choices=operation.choices(result), own=own)
        if operation.quiet and message.pressed and admission.answer is not None:
            alone = {"only_for": message.sender.id, "discreet": True}
            answer = msgspec.structs.replace(admission.answer, **alone)
            admission = msgspec.structs.replace(admission, answer=answer)
        return admission

    async def _stop(self, invocation: Invocation, waiting: Waiting) -> Admission:
        """/stop reaches the sender's own run and messages, an owner's all of the session; `all` the
        background runs too. Should this end before the order is kept, the chat brings it again."""
        partial = self.engine.partial(invocation.session_key)
        everyone, sender, children = invocation.role is Role.OWNER, invocation.message.sender.id, 0
        everything = invocation.argument.strip().lower() == "all"
        if everything:
            who = None if everyone else sender
            children = await cancel_children(self, invocation.session_key, who, sender)
        running = any(
            run.session_key == invocation.session_key and (everyone or run.sender_id == sender)
            for run in self.engine.running()
        )
        commands = waiting.stop(invocation, everyone=everyone)
        text = "Stopped." if running or children or commands else _NOTHING_RUNS[everyone]
        return Admission(
            message=invocation.message,
            session_key=invocation.session_key,
            role=invocation.role,
            stop=stopping(partial, notice(invocation.message, text)),
            everyone=everyone,
            children=everything,
        )

    # By a call

    def has(self, name: str) -> bool:
        """Whether there is an operation of that name here."""
        return name in self._by_alias

    def named(self, name: str) -> Operation:
        """The operation of that name. Raises UsageError."""
        operation = self._by_alias.get(name)
        if operation is None:
            if plugin := plugin_with(name):
                raise UsageError(off_here(name, plugin))
            names = ", ".join(self._by_name)
            raise UsageError(f"there is no operation {name[:80]!r}; there are: {names}")
        return operation

    async def call(
        self, name: str, arguments: Mapping[str, Any], caller: Caller = AT_THE_TERMINAL
    ) -> Any:
        """Perform an operation for `caller`, by default an owner at this machine.

        Raises UsageError for unknown names and wrong arguments, NotAllowed if the role is too low,
        and the operation's errors.
        """
        operation = self.named(name)
        if not operation.may(caller.role):
            raise NotAllowed(f"{name} is not for {caller.role}s.")
        return await self._perform(operation, caller, operation.converted(arguments))

    async def listing(
        self, name: str, arguments: Mapping[str, Any], caller: Caller = AT_THE_TERMINAL
    ) -> Listed:
        """As `call`, with the rows that belong into the result and cannot be read."""
        result = await self.call(name, arguments, caller)
        unreadable = await self.unreadable(self.named(name), caller, arguments)
        return Listed(result=result, unreadable=tuple(unreadable))

    async def unreadable(
        self, operation: Operation, caller: Caller, arguments: Mapping[str, Any]
    ) -> list[Quarantined]:
        """The rows that belong into a list and cannot be read, of those that the caller may see."""
        if self._unreadable is None or not operation.shows or arguments.get("skip"):
            return []
        session = arguments.get("session", "")
        if not session and any(each.session for each in operation.parameters):
            session = caller.session_key
        rows = await self._unreadable.listed(
            tables=operation.shows, session=session, restored=False, limit=_MOST_UNREADABLE
        )
        owner = caller.role is Role.OWNER
        return [row for row in rows if owner or (row.session and caller.sees(row.session))]

    async def _perform(
        self, operation: Operation, caller: Caller, arguments: dict[str, Any]
    ) -> Any:
        operation.check(caller.role, arguments)
        for parameter in operation.parameters:
            if not parameter.session:
                continue
            session = arguments[parameter.name] or caller.session_key
            if not caller.owns(session):
                raise NotAllowed("Only owners can see other conversations.")
            arguments = arguments | {parameter.name: session}
        return await operation.perform(self, caller, arguments)


async def _contained(
    operation: Operation, acting: Awaitable[tuple[Any, str]], seconds: float | None
) -> tuple[Any, str]:
    """The result, and what the chat is told. Raises NanobotError, also if it takes too long or
    fails otherwise: the chat brings the message no second time."""

    async def act() -> tuple[Any, str]:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await acting
        except TimeoutError:
            if not limit.expired():
                raise
            raise UsageError(_too_slow(operation, seconds or 0.0)) from None

    def failed(caught: Caught) -> tuple[Any, str]:
        raise UsageError(_failed(operation, caught.error))

    return await guarded(f"the command /{operation.name}", act, failed, None, NanobotError)


def _too_slow(operation: Operation, seconds: float) -> Sentence:
    return (
        f"/{operation.name} was stopped after {seconds:g} s. "
        f"`nanobot {operation.command or operation.name}` has no limit of time."
    )


def _failed(operation: Operation, error: Exception | None) -> Sentence:
    return f"/{operation.name} failed: {type(error).__name__}. The log has the details."
