"""The versions of nanobot, Python, the system and the packages that nanobot needs."""

from __future__ import annotations

import platform
import re
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution, version

from nanobot import __version__
from nanobot.system import DISTRIBUTION

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FOR_CONTRIBUTORS = re.compile(r"extra == ['\"](?:test|dev|full)['\"]")


def versions(at: float) -> str:
    """One line each. The name of the machine is not among them."""
    system = " ".join((platform.system(), platform.release(), platform.machine()))
    lines = [
        f"time        {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))} UTC",
        f"nanobot     {__version__}",
        f"python      {platform.python_version()} ({platform.python_implementation()})",
        f"system      {system}",
        f"released as {_release()}",
        f"encoding    {sys.getfilesystemencoding()}",
        "",
        "Packages:",
        *(f"  {name} {found}" for name, found in _packages()),
    ]
    return "\n".join(lines)


def _release() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def _packages() -> list[tuple[str, str]]:
    """What nanobot declares as its dependencies, the optional ones included."""
    try:
        declared = distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        return []
    names = {
        found[0].lower()
        for line in declared
        if (found := _NAME.match(line)) and not _FOR_CONTRIBUTORS.search(line)
    }
    return [(name, _version(name)) for name in sorted(names)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"
