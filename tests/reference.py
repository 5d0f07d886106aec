"""The reference pages of docs/ that are made from the program: keys of the configuration, commands.

    python -m tests.reference            fails if a page is not what the program makes
    python -m tests.reference --write    writes the pages

A page begins with what people wrote. Everything below the mark is made from what the program also
shows: the sentences, limits and defaults of its keys, and the help of its commands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.reference_commands import commands_page
from tests.reference_configuration import configuration_page

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARK = "<!-- Below: made by `python -m tests.reference --write`. Do not edit it here. -->\n"
MADE: Mapping[str, Callable[[], str]] = {
    "configuration.md": configuration_page,
    "commands.md": commands_page,
}


def whole(name: str) -> str:
    """The text that a page should have."""
    written, mark, _ = (DOCS / name).read_text("utf-8").partition(MARK)
    assert mark, f"{name} lacks the line {MARK}"
    return f"{written}{MARK}\n{MADE[name]()}"


def main() -> None:
    """Write the pages, or name those that are not as they should be."""
    old = [name for name in MADE if (DOCS / name).read_text("utf-8") != whole(name)]
    if "--write" in sys.argv:
        for name in old:
            (DOCS / name).write_text(whole(name), "utf-8")
    elif old:
        names = ", ".join(old)
        sys.exit(f"{names}: not what the program makes. Run: python -m tests.reference --write")


if __name__ == "__main__":
    main()
