"""What the documents promise is what the code does."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot import config, settings

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")
TABLES: dict[str, type[msgspec.Struct]] = {
    "agent": settings.AgentSettings,
    "providers.NAME": settings.ProviderSettings,
    "channels.NAME": settings.ChannelSettings,
    "web": settings.WebSettings,
    "tools.exec": settings.ExecSettings,
    "Top level": config.Top,
}
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \|", re.MULTILINE)


def documented(heading: str) -> dict[str, str]:
    """Key and default of each row of the table below a heading."""
    section = re.search(
        rf"^## \[?{re.escape(heading)}\]?$(.*?)(?=^## |\Z)", CONFIGURATION, re.MULTILINE | re.DOTALL
    )
    assert section, heading
    return dict(ROW.findall(section[1]))


def default_of(field: msgspec.structs.FieldInfo) -> object:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()


@pytest.mark.parametrize("heading", TABLES)
def test_every_key_is_documented_with_its_default(heading: str) -> None:
    rows = documented(heading)
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(TABLES[heading])}
    if heading == "channels.NAME":
        # The adapter's own keys and the type have no default in the code.
        fields.pop("settings")
        fields.pop("type")
        assert rows.pop("type") == "the table's name"
    assert set(rows) == set(fields)
    for key, default in rows.items():
        value = tomllib.loads(f"x = {default.strip('`')}")["x"]
        assert (tuple(value) if isinstance(value, list) else value) == fields[key], key


def test_every_table_is_documented() -> None:
    headings = set(re.findall(r"^## \[(.+)\]$", CONFIGURATION, re.MULTILINE))
    assert headings | {"Top level"} == set(TABLES)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 150


def test_the_readmes_configuration_loads_without_a_warning(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    example = re.search(r"^    \[agent\]\n(?:    .*\n)+", text, re.MULTILINE)
    assert example
    (tmp_path / "config.toml").write_text(textwrap.dedent(example[0]))
    found = config.load({"NANOBOT_HOME": str(tmp_path), "TELEGRAM_TOKEN": "t"})
    assert found.warnings == ()
    assert found.channels["telegram"].owners == ("123456789",)


def test_the_readmes_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(
        r"^    make (\w+)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    ):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("lock", ["run", "dev", "embedded-model"])
def test_locks_are_hashed_and_name_no_index(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")
    assert "--hash=sha256:" in text
    assert not re.search(r"^-|https?://|file://|index-url|find-links", text, re.MULTILINE)


def test_what_runs_is_what_is_tested() -> None:
    pin = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    run, dev = (
        dict(pin.findall((ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")))
        for lock in ("run", "dev")
    )
    assert run.items() <= dev.items()
