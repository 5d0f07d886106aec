"""Scopes: whom a conversation belongs to, so that nobody is shown what is known of others."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from nanobot.messages import Address, Role

OWNER = "owner"
"""The scope of the owners' private conversations: MEMORY.md and memory/*.md."""

FOLDER = "memory"
"""The folder of the workspace whose folders belong to one scope each, by its name."""

# A path component may have at most 255 bytes.
_LONGEST = 200
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_@+.")


def scope_of(address: Address, sender_id: str, role: Role, *, private: bool) -> str:
    """The memory scope of a conversation: the owners' scope if it is private and theirs; the
    person's scope if it is a private conversation with one person; otherwise the chat's scope, for
    all its speakers.

    The scope is also the name of the folder under memory/. Two people never share one, on any file
    system.
    """
    if private and role is Role.OWNER:
        return OWNER
    if private:
        return f"people/{_name(address.channel)}/{_name(sender_id)}"
    return f"chats/{_name(address.channel)}/{_name(address.chat_id)}"


@lru_cache(maxsize=1_000)
def _name(text: str) -> str:
    """A file name unique to this text; `=` marks upper case, so that names stay distinct on file
    systems that ignore case.
    """
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
