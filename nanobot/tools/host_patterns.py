"""Patterns for internet hosts: `docs.example`, or `*.example` for all its subdomains."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def among(host: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns matches a host."""
    host = host.lower().removesuffix(".")
    return bool(host) and any(fnmatchcase(host, pattern.lower()) for pattern in patterns)
