"""The one list of operations: all that stand in these modules, in this order."""

from __future__ import annotations

from nanobot.operations import (
    approvals,
    channels,
    configuration,
    context,
    conversation,
    cron,
    feedback,
    files,
    health,
    help,
    mcp,
    memory,
    pairing,
    prompts,
    quarantine,
    runs,
    search,
    security,
    sending,
    session_marks,
    sessions,
    skills,
    status,
    usage,
    web,
    webhooks,
)
from nanobot.operations.operation import Operation

_MODULES = (
    help,
    conversation,
    sending,
    status,
    approvals,
    sessions,
    search,
    session_marks,
    runs,
    feedback,
    pairing,
    skills,
    context,
    usage,
    security,
    mcp,
    memory,
    cron,
    webhooks,
    web,
    channels,
    configuration,
    prompts,
    files,
    health,
    quarantine,
)
OPERATIONS: tuple[Operation, ...] = tuple(
    operation
    for module in _MODULES
    for operation in vars(module).values()
    if isinstance(operation, Operation)
)
