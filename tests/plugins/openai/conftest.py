"""A whole gateway, asked over HTTP."""

from __future__ import annotations

from tests.server.conftest import owner, served

__all__ = ["owner", "served"]
