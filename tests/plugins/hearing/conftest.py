"""What tests of calls of models share."""

from __future__ import annotations

from tests.providers.conftest import server as server
