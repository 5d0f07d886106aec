"""What a person or a program may do besides talking: one list, behind every face of nanobot."""

from __future__ import annotations

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher, Invocation, notice
from nanobot.operations.operation import Engine, Facts, Operation

__all__ = ["OPERATIONS", "Dispatcher", "Engine", "Facts", "Invocation", "Operation", "notice"]
