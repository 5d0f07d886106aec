"""The port to memory: whose it is, what is kept, how it is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot import labels
from nanobot.labels import Label, Privacy
from nanobot.messages import Address, Role

OWNER = "owner"
"""The scope of the owners' private conversations: MEMORY.md and memory/*.md."""
MAX_TEXT = 4_000
"""Characters of one memory; longer texts belong into a file."""

# A path component may have 255 bytes.
_LONGEST = 200
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_@+.")

State: TypeAlias = Literal["proposed", "active", "retracted"]
Kind: TypeAlias = Literal["fact", "note", "summary"]


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a memory comes from: a run and the range of entries it was drawn from, or the file
    alone, if a person wrote it there. `tainted`: content from outside had a part in it."""

    session_key: str = ""
    run_id: str = ""
    first_seq: int | None = None
    last_seq: int | None = None
    file: str = ""
    tainted: bool = False
    label: str = ""

    @property
    def spoken(self) -> Label:
        """The label of what is remembered, which is of a person at least."""
        return labels.read(self.label, tainted=self.tainted).join(labels.of(privacy=Privacy.PERSON))


class MemoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory. `active` ones are lines of a file; `proposed` ones wait for a person, `retracted`
    ones were rejected and are kept so that they are not proposed again."""

    id: int
    scope: str
    text: str
    state: State
    kind: Kind
    provenance: Provenance
    created_at: float
    updated_at: float


class MemoryHit(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found. Scores compare within one search; `kind` and `created_at` are the
    memory's."""

    id: int
    text: str
    score: float
    provenance: Provenance
    kind: Kind = "note"
    created_at: float = 0.0


class SavedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a save came to. Not `fresh`: the same text was there, and `state` is its state."""

    id: int
    state: State
    fresh: bool


class MemoryPort(Protocol):
    """What is remembered, by scope. No search ever finds what belongs to another scope."""

    async def search(self, scope: str, query: str, top_k: int = 5) -> list[MemoryHit]:
        """The active memories of a scope that fit best, the best first. A file that a person
        edited meanwhile counts as it is now. Nothing fits: an empty list."""
        ...

    async def save(
        self,
        scope: str,
        text: str,
        provenance: Provenance,
        *,
        state: State = "active",
        kind: Kind = "note",
    ) -> SavedMemory:
        """Keep a text, once: saved again it is the same memory, so a repeated call does no harm.

        `active` writes it into a file of the scope (facts into MEMORY.md, all else into the day's
        notes), `proposed` keeps it for a person to accept. One that was rejected stays so if it is
        proposed again. Raises NanobotError for a text that is empty or longer than MAX_TEXT, and
        for a file that cannot be written.
        """
        ...

    async def forget(self, identity: int, scope: str | None = None) -> MemoryView:
        """Remove a memory for good: its line, its row, its index, and nothing else. Raises
        NanobotError if there is no such one in that scope (None: in any)."""
        ...

    async def correct(self, identity: int, text: str, scope: str | None = None) -> MemoryView:
        """Have a memory say something else: its line does, where it stands, and no trace of the
        words before is left. What was proposed is active then, in these words. It has another
        number. Raises NanobotError as `forget` and `save`."""
        ...

    async def accept(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory becomes active. Raises NanobotError as `forget`."""
        ...

    async def reject(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory is retracted, and not proposed again. Raises NanobotError."""
        ...

    async def show(self, identity: int, scope: str | None = None) -> MemoryView:
        """One memory. Raises NanobotError as `forget`."""
        ...

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str = "", limit: int = 50, find: str = ""
    ) -> list[MemoryView]:
        """Memories of these scopes (None: of all) in a state ("": in any), with these words in
        them, the newest first."""
        ...

    async def curated(self, scope: str) -> str:
        """The beginning of the scope's MEMORY.md, as much as a prompt may hold; "" if there is
        none."""
        ...


def scope_of(address: Address, sender_id: str, role: Role, *, private: bool) -> str:
    """Whose memory a conversation has: the owners' if it is private and theirs, that of its one
    person if it is private, else that of its chat, whoever speaks there.

    It is also the name of the folder below memory/: different people never share one, on no file
    system.
    """
    if private and role is Role.OWNER:
        return OWNER
    if private:
        return f"people/{_name(address.channel)}/{_name(sender_id)}"
    return f"chats/{_name(address.channel)}/{_name(address.chat_id)}"


def _name(text: str) -> str:
    """A file name that stands for this text only, upper and lower case told apart by `=`."""
    name = "".join(_letter(c) for c in text)
    if len(name) > _LONGEST:
        return "%%" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    plain = name and name == name.strip(".")
    return name if plain else name.replace(".", "%2e") or "%"


def _letter(c: str) -> str:
    if c in _PLAIN:
        return c
    if "A" <= c <= "Z":
        return f"={c.lower()}"
    return "".join(f"%{byte:02x}" for byte in c.encode("utf-8", "surrogatepass"))
