"""What a person or a program may do besides talking: one list, behind every face of nanobot."""

from __future__ import annotations

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Asked, Operations, notice
from nanobot.operations.operation import Engine, Facts, Operation

__all__ = ["OPERATIONS", "Asked", "Engine", "Facts", "Operation", "Operations", "notice"]
