"""The labels of the files of a gateway's workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.file_labels.operations import UntrustedFiles
from nanobot.plugins.file_labels.store import SqlTaintMarks
from nanobot.store.opening import Store
from nanobot.tools.policy import STEERING


def file_labels(workspace: Path, store: Store) -> TaintedFiles:
    """Those that the store keeps. Names of files that a sandbox creates, to hide files from
    commands, carry no text."""
    marks = SqlTaintMarks(store.database, store.writer)
    return TaintedFiles(workspace, marks, expected=STEERING)


def objects(labels: TaintedFiles) -> Mapping[Any, Any]:
    """The labels, for the operations."""
    return {UntrustedFiles: labels}
