"""A gateway's world."""

from __future__ import annotations

from tests.cli.conftest import world as world
