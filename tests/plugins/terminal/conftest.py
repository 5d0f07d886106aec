"""A home with a scripted model, and its terminal."""

from __future__ import annotations

from tests.cli.conftest import home as home
from tests.cli.conftest import terminal as terminal
from tests.cli.conftest import world as world
