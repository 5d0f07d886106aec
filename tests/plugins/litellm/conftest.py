"""An endpoint like OpenAI's."""

from __future__ import annotations

from tests.providers.conftest import server as server
