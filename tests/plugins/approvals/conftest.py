"""The fixtures of agents, and the stores of the contract tests."""

from __future__ import annotations

from tests.agent.conftest import recorder as recorder
from tests.store.conftest import claimed as claimed
from tests.store.conftest import home as home
from tests.store.conftest import homes as homes
from tests.store.conftest import journal as journal
from tests.store.conftest import new_home as new_home
from tests.store.conftest import postgres as postgres
from tests.store.conftest import postgres_url as postgres_url
