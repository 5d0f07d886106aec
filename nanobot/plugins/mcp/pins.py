"""The tools of MCP servers that an owner accepted, each with its description and schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any, Literal, Protocol

import msgspec

from nanobot.errors import UnknownId, UsageError
from nanobot.visible import spelled

MOST_SHOWN = 12_000
"""Maximum number of characters of a review. The next review shows the rest."""
FIRST = "configuration"
"""Who accepted the tools of a server that is trusted at first: its owner configured it."""
_CODE = 12


class Said(msgspec.Struct, frozen=True):
    """What a server says of a tool: its description, and the schema of its arguments."""

    description: str = ""
    schema: Mapping[str, Any] = {}

    @property
    def digest(self) -> str:
        """The same for the same content, in any order of keys."""
        return hashlib.sha256(self.encoded.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def encoded(self) -> str:
        return json.dumps([self.description, self.schema], sort_keys=True)

    @property
    def lines(self) -> list[str]:
        """For people, with invisible characters spelled out."""
        schema = json.dumps(self.schema, indent=2, sort_keys=True, ensure_ascii=False)
        return [spelled(line) for line in (*self.description.split("\n"), *schema.split("\n"))]


def read(encoded: str | bytes) -> Said:
    """The reverse of `encoded`. Raises ValueError."""
    # msgspec's decoder refuses halves of surrogate pairs, which a server may send.
    description, schema = msgspec.convert(json.loads(encoded), tuple[str, dict[str, Any]])
    return Said(description, schema)


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, by the name its server gives it: as the server describes it now, and as accepted."""

    server: str
    tool: str
    said: Said
    accepted: Said | None = None
    by: str = ""

    @property
    def state(self) -> Literal["new", "changed", "accepted"]:
        if self.accepted is None:
            return "new"
        return "accepted" if self.accepted.digest == self.said.digest else "changed"


class Pins(Protocol):
    """The store of pins."""

    async def note(
        self, server: str, said: Mapping[str, Said], *, trusted_at_first: bool = False
    ) -> Mapping[str, str]:
        """Store the tools that a server lists now, and delete those that it no longer lists, except
        accepted ones. With `trusted_at_first`, it accepts all tools of a server without any
        accepted tool. Returns the accepted digests by tool. Raises StoreError."""

    async def listed(self, server: str) -> list[Pin]:
        """The pins of a server, sorted by tool. Raises StoreError."""

    async def accept(self, server: str, digests: Mapping[str, str], by: str) -> int:
        """Accept those of these tools that still have these digests. Returns their number. Raises
        StoreError."""


def never_accepted(pins: Sequence[Pin]) -> bool:
    """Whether no owner has ever accepted one of these tools of a server."""
    return all(pin.accepted is None for pin in pins)


class MemoryPins:
    """Pins in memory. With `everything`, all tools are accepted."""

    def __init__(self, *, everything: bool = False) -> None:
        self._everything = everything
        self._pins: dict[tuple[str, str], Pin] = {}

    async def note(
        self, server: str, said: Mapping[str, Said], *, trusted_at_first: bool = False
    ) -> Mapping[str, str]:
        if self._everything:
            return {tool: words.digest for tool, words in said.items()}
        for pin in await self.listed(server):
            if pin.tool not in said and pin.accepted is None:
                del self._pins[server, pin.tool]
        for tool, words in said.items():
            pin = self._pins.get((server, tool)) or Pin(server=server, tool=tool, said=words)
            self._pins[server, tool] = msgspec.structs.replace(pin, said=words)
        pins = await self.listed(server)
        if trusted_at_first and never_accepted(pins):
            await self.accept(server, {pin.tool: pin.said.digest for pin in pins}, FIRST)
            pins = await self.listed(server)
        return {pin.tool: pin.accepted.digest for pin in pins if pin.accepted is not None}

    async def listed(self, server: str) -> list[Pin]:
        return [pin for key, pin in sorted(self._pins.items()) if key[0] == server]

    async def accept(self, server: str, digests: Mapping[str, str], by: str) -> int:
        fit = [p for p in await self.listed(server) if digests.get(p.tool) == p.said.digest]
        for pin in fit:
            accepted = msgspec.structs.replace(pin, accepted=pin.said, by=by)
            self._pins[server, pin.tool] = accepted
        return len(fit)


class ToolReview(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that an owner has to accept: new or changed, with the lines of the difference."""

    tool: str
    state: Literal["new", "changed", "accepted"]
    diff: tuple[str, ...]


class ServerReview(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a server that an owner has to accept. `code` identifies exactly this version
    (empty: nothing to accept). `more`: number of further tools that did not fit."""

    server: str
    code: str
    tools: tuple[ToolReview, ...]
    accepted: int = 0
    more: int = 0


def review(server: str, pins: Sequence[Pin]) -> ServerReview:
    """Show those of a server's tools that are not accepted."""
    shown, room, waiting = list[Pin](), MOST_SHOWN, [pin for pin in pins if pin.state != "accepted"]
    for pin in waiting:
        room -= sum(len(line) + 1 for line in _diff(pin))
        if shown and room < 0:
            break
        shown.append(pin)
    return ServerReview(
        server=server,
        code=_code(shown),
        tools=tuple(
            ToolReview(tool=spelled(pin.tool), state=pin.state, diff=_diff(pin)) for pin in shown
        ),
        accepted=len(pins) - len(waiting),
        more=len(waiting) - len(shown),
    )


async def accept(pins: Pins, server: str, code: str, by: str) -> int:
    """Accept the tools that the review with this code showed. Raises UnknownId if there is nothing
    to accept, and UsageError if the tools have changed since."""
    kept = await pins.listed(server)
    known = review(server, kept)
    if not known.code:
        raise UnknownId(f"All tools of {server} are accepted.")
    again = f"`mcp review {server}` shows them, with the code"
    if not code:
        raise UsageError(f"The code of the tools of {server} is missing: {again}.")
    if code.strip().lower() != known.code:
        raise UsageError(f"{code[:60]!r} does not match the tools of {server} now: {again}.")
    waiting = [pin for pin in kept if pin.state != "accepted"][: len(known.tools)]
    digests = {pin.tool: pin.said.digest for pin in waiting}
    count = await pins.accept(server, digests, by)
    if count < len(digests):
        left = len(digests) - count
        raise UsageError(f"{count} accepted, but {left} changed meanwhile: {again}.")
    return count


def _code(pins: Sequence[Pin]) -> str:
    if not pins:
        return ""
    digests = json.dumps([(pin.tool, pin.said.digest) for pin in pins])
    return hashlib.sha256(digests.encode()).hexdigest()[:_CODE]


def _diff(pin: Pin) -> tuple[str, ...]:
    before = [] if pin.accepted is None else pin.accepted.lines
    lines = unified_diff(before, pin.said.lines, lineterm="", n=2)
    return tuple(lines)[2:]  # without the names of files
