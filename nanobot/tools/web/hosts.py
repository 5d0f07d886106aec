"""Hosts of the internet by pattern: `docs.example`, or `*.example` for all below it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def among(host: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns fits a host."""
    host = host.lower().removesuffix(".")
    return bool(host) and any(fnmatchcase(host, pattern.lower()) for pattern in patterns)
