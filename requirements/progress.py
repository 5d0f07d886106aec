"""pip install with the arguments given, and a line that says how far it is.

On a terminal the line is drawn over; elsewhere there is one for every tenth of the packages. What
pip says is shown if it fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run pip; returns its exit code."""
    files = [Path(each) for each in arguments if each.endswith(".txt")]
    pins = re.compile(r"^[A-Za-z0-9._-]+==", re.MULTILINE)
    count = sum(len(pins.findall(file.read_text("utf-8"))) for file in files)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *arguments]
    pip = subprocess.Popen(
        [*command, "--progress-bar", "off"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    said: list[str] = []
    all_of_them = f"{count} package{'' if count == 1 else 's'}"
    began, fetched = time.monotonic(), 0
    for line in pip.stdout or ():
        said.append(line)
        if match := re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
            fetched += 1
            tenth = fetched % -(-count // 10) == 0
            show(f"{min(fetched, count)} of {count}: {match[1]}", often=tenth)
        elif line.startswith("Installing collected packages"):
            show(f"unpacking {all_of_them}, which takes a while ...", often=True)
    code = pip.wait()
    if code == 0:
        show(f"{all_of_them} in {time.monotonic() - began:.0f} s", often=True)
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    if code != 0:
        sys.stderr.write("".join(said))
    return code


def show(text: str, *, often: bool) -> None:
    """Draw a line, or print it if it is one of the few that a log wants."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r  {text:<70.70}")
    elif often:
        sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
