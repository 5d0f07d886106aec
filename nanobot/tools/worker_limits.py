"""What a process that works on the material of strangers allows itself."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 20


def limit_self() -> None:
    """Bound this process: memory, processor time, no file may grow. Where the system can."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        resource: Any = import_module("resource")
        for what, most in (
            (resource.RLIMIT_AS, MEMORY_BYTES),
            (resource.RLIMIT_CPU, CPU_SECONDS),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
