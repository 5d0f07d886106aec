"""The file tools of a gateway, and those of other places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.config.loader import Config
from nanobot.plugins.common.file_labels.labelled_files import LabelledFiles
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.file_readers import FileReaders, readers_of
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.common.places import FilePlace
from nanobot.plugins.common.privacy import kept_apart, private_paths
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.seam.offers import Contributions
from nanobot.tools.base import AnyTool
from nanobot.workspace.received import WorkspaceFiles


def always_objects(
    config: Config, plugins: Contributions, labels: LabelledFiles | None = None
) -> Mapping[Any, Any]:
    """The readers of files, which `web_fetch` uses, too, and the workspace, for all that read or
    write there and for files that people send."""
    # Keys and the log stay hidden, even if the workspace contains the home.
    roots = ConfinedFiles(config.workspace, hidden=(config.home, config.file))
    return {
        FileReaders: readers_of(plugins.on),
        ConfinedFiles: roots,
        WorkspaceFiles: PlacedFiles(roots, labels),
    }


def tools(roots: ConfinedFiles, taint: TaintedFiles, readers: FileReaders) -> list[AnyTool]:
    """Those of a gateway. Unless only an owner reads, they cannot reach private files."""

    def over(reached: ConfinedFiles) -> list[AnyTool]:
        return file_tools(reached, taint=taint, readers=readers)

    return kept_apart(over, roots, private_paths(roots.workspace))


def file_tools_at(place: FilePlace) -> list[AnyTool]:
    """Those of another place, for everybody there."""
    return file_tools(place.roots, taint=place.taint, readers=place.readers)
