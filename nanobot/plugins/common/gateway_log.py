"""The file with the log of a gateway."""

from __future__ import annotations

from pathlib import Path


def log_file_of(home: Path) -> Path:
    """Its path in a home, if it exists; beside it is its predecessor, `gateway.log.1`."""
    return home / "logs" / "gateway.log"
