"""The limits that a process sets itself before it works on untrusted material."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 20


def limit_self() -> None:
    """Limit this process's memory and processor time, and prevent files from growing. Only where
    the system supports it.
    """
    with suppress(ImportError, AttributeError, ValueError, OSError):
        resource: Any = import_module("resource")
        for what, most in (
            (resource.RLIMIT_AS, MEMORY_BYTES),
            (resource.RLIMIT_CPU, CPU_SECONDS),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
