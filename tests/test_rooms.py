"""The descriptions of the rooms: short, complete, and true about the names that they mention."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from nanobot.store.database.schema import metadata

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nanobot"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
ROOMS = sorted(
    folder
    for parent in (PACKAGE, PACKAGE / "plugins")
    for folder in parent.iterdir()
    if (folder / "__init__.py").exists()
)
FILES = {
    path.name
    for root in (PACKAGE, ROOT / "channels", ROOT / "tests")
    for path in root.rglob("*.py")
}
FILE = re.compile(r"`(?:[\w.]+/)*(\w+\.py)`")


def named(folder: Path) -> str:
    return str(folder.relative_to(PACKAGE))


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_a_room_is_described_on_one_screen_by_names_that_exist(room: Path) -> None:
    text = (room / "README.md").read_text("utf-8")
    assert text.startswith("# ")
    assert len(text.splitlines()) < 60
    assert {name for name in FILE.findall(text) if name not in FILES} == set()


def test_the_architecture_is_short_and_leads_to_every_room() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    assert len(text.splitlines()) <= 120
    assert {name for name in FILE.findall(text) if name not in FILES} == set()
    above = {f"nanobot/{named(room)}/README.md" for room in ROOMS if room.parent == PACKAGE}
    linked = set(re.findall(r"\((nanobot/[\w/]+README\.md)\)", text))
    assert linked == above


def test_every_table_of_the_store_is_described_once() -> None:
    text = (PACKAGE / "store" / "TABLES.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(names) == sorted(set(names))
    assert {table for table in metadata().tables if "." not in table} - set(names) == set()


def test_the_table_names_the_rooms_in_the_order_of_their_imports() -> None:
    rows = re.findall(
        r"^\| (?:\[`(\w+)/`\]|`(\w+)\.py`)", ARCHITECTURE.read_text("utf-8"), re.MULTILINE
    )
    told = [folder or module for folder, module in rows]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = {name: floor for floor, line in enumerate(layers) for name in re.split(" [:|] ", line)}
    assert [floors[name] for name in told] == sorted(floors[name] for name in told)
