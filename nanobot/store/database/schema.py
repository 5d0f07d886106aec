"""All tables under one name. Every migration makes the same change here; a test compares them."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.access_tables import *
from nanobot.store.database.file_tables import *
from nanobot.store.database.job_tables import *
from nanobot.store.database.memory_tables import *
from nanobot.store.database.message_tables import *
from nanobot.store.database.quarantine_tables import *
from nanobot.store.database.removal_tables import *
from nanobot.store.database.search_tables import *
from nanobot.store.database.tables import metadata as metadata
from nanobot.store.database.task_tables import *
from nanobot.store.database.tool_tables import *
from nanobot.store.database.usage_tables import *

MIN_READER = 1
"""Older programs, which know a smaller number, must not open the store."""

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
