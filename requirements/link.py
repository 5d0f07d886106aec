"""Links a command into ~/.local/bin, if that is on PATH and has nothing else of the name, and says
how to call it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(command: Path, environ: dict[str, str]) -> None:
    """Link it where that is possible, and say so."""
    folder = Path(environ.get("HOME", "/nonexistent")) / ".local" / "bin"
    link = folder / command.name
    on_path = str(folder) in environ.get("PATH", "").split(os.pathsep)
    free = not link.exists() or (link.is_symlink() and link.readlink() == command)
    called = str(command)
    if on_path and folder.is_dir() and os.access(folder, os.W_OK) and free:
        link.unlink(missing_ok=True)
        link.symlink_to(command)
        called = command.name
    sys.stderr.write(f"Installed. Call it from anywhere: {called}   ({called} --help)\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict(os.environ))
