"""The one list of operations: all that stand in these modules, in this order."""

from __future__ import annotations

from nanobot.operations import (
    approvals,
    context,
    conversation,
    cron,
    mcp,
    memory,
    pairing,
    runs,
    sessions,
    skills,
    status,
    tasks,
    usage,
    webhooks,
)
from nanobot.operations.operation import Operation

_MODULES = (
    conversation,
    status,
    approvals,
    sessions,
    runs,
    tasks,
    pairing,
    skills,
    context,
    usage,
    mcp,
    memory,
    cron,
    webhooks,
)
OPERATIONS: tuple[Operation, ...] = tuple(
    operation
    for module in _MODULES
    for operation in vars(module).values()
    if isinstance(operation, Operation)
)
