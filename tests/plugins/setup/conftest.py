"""A home with a scripted model, and a gateway's world."""

from __future__ import annotations

from tests.cli.conftest import home as home
from tests.cli.conftest import world as world
