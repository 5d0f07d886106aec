"""The identity under which other processes that share a store know a process. It is the same after
a restart.

A process that acquires an identity may take over everything held under that identity at once,
because the previous holder must be dead. Two things prove this: the lock on the home, which the
operating system releases only when the process ends, and the name of the machine, because a lock
may not be visible from other machines.
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
    """`name` is the prefix of the owner of every lease. The lock is held as long as the identity is
    in use.
    """

    name: str
    lock: HomeLock


def identity_of(home: Path, command: str) -> Identity | None:
    """None if another process of that home is alive, or if the home is not writable. A process
    without an identity takes nothing over, and its own leases have to expire.
    """
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
    """The id of this home. It is created on first use, so that a copied configuration gets a
    different one.
    """
    if path.exists() and (text := path.read_text("ascii", errors="replace").strip()):
        return text
    text = os.urandom(16).hex()
    path.write_text(f"{text}\n", "ascii")
    return text


def process_name(name: str) -> str:
    """The lease that shows other processes that the process of that name is working."""
    return f"(process) {name}"


def name_of(owner: str) -> str:
    """The name under which other processes know a process, derived from the name of its leases."""
    return hashlib.blake2b(owner.encode(), digest_size=6).hexdigest()


def life_lock(name: str) -> int:
    """The number of the lock that a process of that name holds while it is connected."""
    return _LIFE_LOCKS | int(name, 16)
