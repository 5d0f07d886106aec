"""The stores that these tests share with those of the store."""

from __future__ import annotations

from tests.store.conftest import claimed as claimed
from tests.store.conftest import home as home
from tests.store.conftest import homes as homes
from tests.store.conftest import journal as journal
from tests.store.conftest import new_home as new_home
from tests.store.conftest import postgres as postgres
from tests.store.conftest import postgres_url as postgres_url
