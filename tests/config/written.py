"""A configuration as a person wrote it, with comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import environ_of

WRITTEN = """\
# Mine.
drain_seconds = 10 # not long

[agent]
# The one I like.
model = "openai/gpt-6-luna"   # fast

# About Telegram.
[channels.telegram]
token = "${TELEGRAM_TOKEN}"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(WRITTEN)
    return tmp_path


def environ(home: Path) -> dict[str, str]:
    return environ_of(home, TELEGRAM_TOKEN="1:secret")


def text(home: Path) -> str:
    return (home / "config.toml").read_text()
