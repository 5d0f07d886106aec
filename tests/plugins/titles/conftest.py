"""What tests of runs begin with."""

from __future__ import annotations

from tests.agent.conftest import bot as bot
from tests.agent.conftest import held as held
from tests.agent.conftest import recorder as recorder
from tests.agent.conftest import starter as starter
