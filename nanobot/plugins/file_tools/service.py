"""The file tools of a gateway, and those of other places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.file_readers import FileReaders, readers_of
from nanobot.plugins.common.places import FilePlace
from nanobot.plugins.common.privacy import kept_apart, private_paths
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.seam.offers import Contributions
from nanobot.tools.base import AnyTool
from nanobot.workspace.confinement import ConfinedFiles


def always_objects(plugins: Contributions) -> Mapping[Any, Any]:
    """The readers of files, which `web_fetch` uses, too."""
    return {FileReaders: readers_of(plugins.on)}


def tools(roots: ConfinedFiles, taint: TaintedFiles, readers: FileReaders) -> list[AnyTool]:
    """Those of a gateway. Unless only an owner reads, they cannot reach private files."""

    def over(reached: ConfinedFiles) -> list[AnyTool]:
        return file_tools(reached, taint=taint, readers=readers)

    return kept_apart(over, roots, private_paths(roots.workspace))


def file_tools_at(place: FilePlace) -> list[AnyTool]:
    """Those of another place, for everybody there."""
    return file_tools(place.roots, taint=place.taint, readers=place.readers)
