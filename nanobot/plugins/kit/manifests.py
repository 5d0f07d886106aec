"""The manifests of adapters: the `manifest.toml` in each adapter's package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.plugins.kit.scale import Manifest
from nanobot.seam.entry_points import CHANNELS, Plugins

NAME = "manifest.toml"
_MOST_BYTES = 256_000


def manifest_of(kind: str, plugins: Plugins | None = None) -> Manifest | None:
    """The manifest of that type of channel; None if there is none or it cannot be read. The adapter
    is not imported."""
    plugins = plugins or Plugins()
    point = next((point for point in plugins.points(CHANNELS) if point.name == kind), None)
    folder = None if point is None else _folder(point)
    if folder is None:
        return None
    try:
        changed = (folder / NAME).stat()
    except OSError:
        return None
    return _read(folder / NAME, changed.st_mtime_ns, changed.st_size)


def grades_of(kinds: Iterable[str], plugins: Plugins | None = None) -> Mapping[str, str]:
    """The grades of types of channels that have one; see `nanobot.seam.faces.GRADES`."""
    plugins = plugins or Plugins()
    manifests = {kind: manifest_of(kind, plugins) for kind in kinds}
    return {
        kind: manifest.grade
        for kind, manifest in manifests.items()
        if manifest is not None and manifest.grade is not None
    }


def _folder(point: EntryPoint) -> Path | None:
    """The folder of the package that an entry point names, without importing any of it; None if it
    is in no package."""
    top, *below = point.module.split(".")
    found: list[str] = []
    with boundary(f"the place of {top}"):
        spec = find_spec(top)
        found = list(spec.submodule_search_locations or ()) if spec is not None else []
    places = [Path(place, *below) for place in found]
    packages = [place if place.is_dir() else place.parent for place in places]
    return next((package for package in packages if package.is_dir()), None)


@lru_cache(maxsize=64)
def _read(file: Path, _changed: int, size: int) -> Manifest | None:
    if size > _MOST_BYTES:
        logger.warning("{} has over {} bytes, so its channel has no grade", file, _MOST_BYTES)
        return None
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Manifest)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        logger.warning("{} cannot be read, so its channel has no grade: {}", file, error)
        return None
