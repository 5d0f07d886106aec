"""The labels of the files of a gateway's workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.config.loader import Config
from nanobot.plugins.common.file_labels.labelled_files import LabelledFiles
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.policy.rules import STEERING
from nanobot.plugins.file_labels.operations import UntrustedFiles
from nanobot.plugins.file_labels.store import SqlTaintMarks
from nanobot.store.opening import Store


def always_objects(config: Config, store: Store) -> Mapping[Any, Any]:
    """Those that the store keeps, for the tools of plugins, for files that people send, and for the
    operations. Names of files that a sandbox creates, to hide files from commands, carry no
    text."""
    marks = SqlTaintMarks(store.database, store.writer)
    labels = TaintedFiles(config.workspace, marks, expected=STEERING)
    return {TaintedFiles: labels, LabelledFiles: labels, UntrustedFiles: labels}
