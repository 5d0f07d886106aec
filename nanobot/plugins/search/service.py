"""Search over the store of a gateway, and the indexing of new messages while it serves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nanobot.bus.core import Bus
from nanobot.plugins.common.message_search import MessageSearch
from nanobot.plugins.search.hits import Search
from nanobot.plugins.search.store.indexing import LogIndexing
from nanobot.plugins.search.store.log_search import LogSearch
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.tools.redact import Redactor


def objects(store: Store, redact: Redactor) -> Mapping[Any, Any]:
    """The search, for operations and for lists of conversations."""
    search = LogSearch(store.database, store.writer, redact)
    return {Search: search, MessageSearch: search}


def start(store: Store, redact: Redactor, bus: Bus, works: Works) -> None:
    """Index existing messages, then new ones."""
    works.add("indexing", partial(LogIndexing(store.database, store.writer, redact).run, bus))
