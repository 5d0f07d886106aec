"""Who a process is to the others over one store: the same again after a restart.

What a process held whose identity another has now may be taken from it at once: it is dead. That is
proved by the lock on the home, which the system gives up only with the process, and by the name of
the machine, because a lock need not be seen from another one.
"""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import NamedTuple

from nanobot.errors import StoreError
from nanobot.store.database.lock import HomeLock

_FILE = "worker.id"
_LIFE_LOCKS = 1 << 62


class Identity(NamedTuple):
    """`name` begins the owner of every lease; the lock is held for as long as it is used."""

    name: str
    lock: HomeLock


def identity_of(home: Path, command: str) -> Identity | None:
    """None where another process of that home lives, or the home cannot be written: whoever has no
    identity takes nothing over, and its own leases run out."""
    try:
        lock = HomeLock(home, command, "worker.lock")
    except StoreError:
        return None
    try:
        return Identity(f"{socket.gethostname()}/{_number(home / _FILE)}/", lock)
    except OSError:
        lock.release()
        return None


def _number(path: Path) -> str:
    """Of this home; made the first time, so that a copied configuration has another."""
    if path.exists() and (text := path.read_text("ascii", errors="replace").strip()):
        return text
    text = os.urandom(16).hex()
    path.write_text(f"{text}\n", "ascii")
    return text


def process_name(name: str) -> str:
    """The lease by which the others see that a process of that name works."""
    return f"(process) {name}"


def name_of(owner: str) -> str:
    """A process's name to the others, by that of its leases."""
    return hashlib.blake2b(owner.encode(), digest_size=6).hexdigest()


def life_lock(name: str) -> int:
    """The number of the lock that a process of that name holds while it is connected."""
    return _LIFE_LOCKS | int(name, 16)
