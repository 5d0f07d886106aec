"""A gateway's world, for `nanobot top`."""

from __future__ import annotations

from tests.cli.conftest import world

__all__ = ["world"]
