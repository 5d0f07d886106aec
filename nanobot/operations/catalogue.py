"""The one list of operations: all operations of these modules, in this order."""

from __future__ import annotations

from nanobot.boundary import boundary
from nanobot.operations import (
    approvals,
    channels,
    configuration,
    context,
    conversation,
    feedback,
    files,
    health,
    help,
    now,
    pairing,
    plugins,
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
)
from nanobot.operations.operation import Operation
from nanobot.seam.installed import installed
from nanobot.seam.offers import NOTHING, Offers
from nanobot.seam.plugin import resolved

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
    now,
    pairing,
    skills,
    context,
    usage,
    security,
    web,
    channels,
    configuration,
    plugins,
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


def plugin_operations() -> list[Operation]:
    """Those of every plugin that is installed, on or off: for a command line, which knows no
    configuration yet. What fails is said where the plugins are listed."""
    return [operation for _, operation in of_plugins()]


def of_plugins() -> list[tuple[str, Operation]]:
    """The same, each with the name of its plugin."""
    found: list[tuple[str, Operation]] = []
    names = {name for known in OPERATIONS for name in (known.name, known.alias, known.command)}
    for name, each in installed().found.items():
        if each.plugin.operations is None:
            continue
        with boundary(f"operations of the plugin {name}"):
            given = Offers().call(resolved(each.plugin.operations), NOTHING)
            for operation in given or ():
                if isinstance(operation, Operation) and operation.name not in names:
                    if each.package:  # a test reads those of the built-in ones
                        operation.check_annotations()
                    found.append((name, operation))
    return found
