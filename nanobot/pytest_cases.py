"""What pytest loads at every start: the hooks of nanobot's plugin of pytest, if they are there."""

from __future__ import annotations

from contextlib import suppress

with suppress(ModuleNotFoundError):  # the tests of others do not end with our plugins
    from nanobot.plugins.pytest_cases import pytest_addoption as pytest_addoption
    from nanobot.plugins.pytest_cases import pytest_collect_file as pytest_collect_file
    from nanobot.plugins.pytest_cases import pytest_configure as pytest_configure
