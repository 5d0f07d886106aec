"""Installs what locks name, with the arguments of `pip install`, and shows how far it is.

uv does it where it is there or can be fetched: it takes a tenth of pip's processor time. Elsewhere
pip does it, without compiling: Python compiles what is used when it is used first. Both check the
hashes of the locks. On a terminal one line is drawn over; elsewhere there is one every five
seconds. What the installer says is shown if it fails.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
FETCHED = HERE / "uv.txt"
PINS = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
DRAWN_EVERY = 0.25
PRINTED_EVERY = 5.0


def main(arguments: list[str]) -> int:
    """Install; returns the installer's exit code."""
    names = named(arguments)
    what = f"{len(names)} package{'' if len(names) == 1 else 's'}" if names else "nanobot"
    uv = uv_program()
    if uv is not None:
        command = [uv, "pip", "install", "--python", sys.executable, "--no-progress"]
        command += arguments
        code, said = followed(command, what, names, os.environ | uv_settings(pip_settings()))
        if code == 0:
            return 0
        sys.stderr.write(f"{last_line(said)}\n  uv could not install {what}; pip tries it.\n")
    command = [*PIP, "install", "--no-compile", "--progress-bar", "off", *arguments]
    code, said = followed(command, what, names, dict(os.environ))
    if code != 0:
        sys.stderr.write(said)
    return code


def named(arguments: list[str]) -> set[str]:
    """The packages that the locks among the arguments pin, by their normalized names."""
    locks = [Path(each) for each in arguments if each.endswith(".txt")]
    return {normalized(name) for lock in locks for name in PINS.findall(lock.read_text("utf-8"))}


def normalized(name: str) -> str:
    """A name as all spellings of it are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def uv_program() -> str | None:
    """The uv beside this Python or on PATH, else one that pip fetches; None if it cannot."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is not None:
        return found
    options = ("--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes")
    command = [*PIP, "install", "--quiet", *options, "-r", str(FETCHED)]
    code, _ = followed(command, "the installer (uv)", set(), dict(os.environ))
    return str(beside) if code == 0 and beside.exists() else None


def pip_settings() -> dict[str, str]:
    """What pip is configured with, for all commands and for `install`, by the option's name."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False)
    settings: dict[str, str] = {}
    # What is named later is nearer: all commands, then this one, then the environment.
    for scope in ("global", "install", ":env:"):
        for line in listed.stdout.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(f"{scope}."):
                settings[name.removeprefix(f"{scope}.")] = str(ast.literal_eval(value))
    return settings


def uv_settings(pip: dict[str, str]) -> dict[str, str]:
    """The same for uv, which does not read pip's; what the environment says of uv counts more."""
    settings = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(map(reachable, pip.get("extra-index-url", "").split())),
        "UV_FIND_LINKS": ",".join(map(reachable, pip.get("find-links", "").split())),
        # As pip: what the locks pin may be in any index, and the hashes say that it is that.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_NO_INDEX": "1" if pip.get("no-index", "") in {"1", "true", "yes", "on"} else "",
        "UV_INSECURE_HOST": " ".join(pip.get("trusted-host", "").split()),
        "SSL_CERT_FILE": pip.get("cert", ""),
        "SSL_CLIENT_CERT": pip.get("client-cert", ""),
        "ALL_PROXY": pip.get("proxy", ""),
        "UV_HTTP_TIMEOUT": pip.get("default-timeout", pip.get("timeout", "")),
        # A cache on another disk is copied from; that is no reason for a warning.
        "UV_LINK_MODE": "copy" if other_disk() else "",
    }
    return {
        name: value.strip()
        for name, value in settings.items()
        if value.strip() and name not in os.environ
    }


def reachable(place: str) -> str:
    """A folder that is not there, which pip passes over and uv does not, is left out."""
    path = place.removeprefix("file://")
    return place if not path.startswith("/") or Path(path).is_dir() else ""


def other_disk() -> bool:
    """Whether the cache of uv is on another file system than this environment."""
    cache = os.environ.get("UV_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    place = Path(cache) if cache else Path.home() / ".cache"
    while not place.exists():
        place = place.parent
    return place.stat().st_dev != Path(sys.prefix).stat().st_dev


def followed(
    command: list[str], what: str, names: set[str], environ: dict[str, str]
) -> tuple[int, str]:
    """Run an installer and show how far it is; its exit code and what it said."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        installer = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environ)
        show = line_drawn if sys.stderr.isatty() else line_printed
        every = DRAWN_EVERY if sys.stderr.isatty() else PRINTED_EVERY
        code = None
        while code is None:
            try:
                code = installer.wait(every)
            except subprocess.TimeoutExpired:
                show(progress(installer.pid, what, names, time.monotonic() - began))
            except KeyboardInterrupt:
                installer.terminate()
                installer.wait()
                raise SystemExit(130) from None
        said.seek(0)
        text = said.read()
    if code == 0:
        show(f"{what} in {time.monotonic() - began:.0f} s")
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return code, text


def progress(process: int, what: str, names: set[str], seconds: float) -> str:
    """How far an installer is: what it wrote to the disk moves while it fetches and unpacks."""
    there = len(names & installed()) if names else 0
    parts = [f"{there} of {what} installed" if there else what]
    written = bytes_written(process)
    parts += [f"{written / 1e6:.0f} MB written"] * bool(written)
    return ", ".join([*parts, f"{seconds:.0f} s"])


def installed() -> set[str]:
    """The packages of this environment, by their normalized names."""
    folder = Path(sysconfig.get_paths()["purelib"])
    return {normalized(each.name.split("-")[0]) for each in folder.glob("*.dist-info")}


def bytes_written(process: int) -> int:
    """The bytes that a process has written to files so far; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{process}/io").read_text("ascii")
    except OSError:
        return 0
    counts = dict(line.split(": ") for line in text.splitlines())
    return int(counts.get("wchar", 0))


def last_line(said: str) -> str:
    """The last line of what an installer said."""
    lines = [line for line in said.splitlines() if line.strip()]
    return f"  {lines[-1].strip()}" if lines else ""


def line_drawn(text: str) -> None:
    """Draw over the line before."""
    sys.stderr.write(f"\r  {text:<70.70}")
    sys.stderr.flush()


def line_printed(text: str) -> None:
    """One line more."""
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
