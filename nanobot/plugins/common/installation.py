"""How this nanobot was installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Literal

from nanobot.system import DISTRIBUTION


class Installation:
    """The kind of an installation. `prefix`: that of its Python; `package`: the folder of its
    code."""

    def __init__(self, prefix: str = sys.prefix, package: Path | None = None) -> None:
        self.prefix = Path(prefix)
        package = package or Path(__file__).resolve().parents[2]
        self.checkout = package.parent if (package.parent / "Makefile").is_file() else None
        self.kind: Literal["pipx", "uv", "checkout", "pip"] = "pip"
        if (self.prefix / "pipx_metadata.json").is_file():
            self.kind = "pipx"
        elif (self.prefix / "uv-receipt.toml").is_file():
            self.kind = "uv"
        elif self.checkout is not None:
            self.kind = "checkout"

    @property
    def python(self) -> str:
        return str(self.prefix / "bin" / "python")

    def adding(self, extra: str) -> str:
        """The command that adds an optional part."""
        requirement, python = f'"{DISTRIBUTION}[{extra}]"', shlex.quote(self.python)
        match self.kind:
            case "pipx":
                return f"pipx inject {DISTRIBUTION} {requirement}"
            case "uv":
                return f"uv tool install --force {requirement}"
            case "checkout":
                return f'{python} -m pip install -e "{self.checkout}[{extra}]"'
            case "pip":
                return f"{python} -m pip install {requirement}"
