"""While notifications are not limited, the heartbeat still has its own quiet hours."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.errors import ConfigError
from nanobot.plugins.heartbeat import service
from nanobot.plugins.heartbeat.service import rhythm_of

OFF = '[plugins]\noff = ["quiet"]\n[heartbeat]\nquiet_from = "22:00"\nquiet_until = "08:00"\n'


def test_the_heartbeat_is_quiet_at_night(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OFF)
    hours = rhythm_of(load({"NANOBOT_HOME": str(tmp_path)}), "UTC").hours
    assert hours is not None
    night, morning = datetime(2026, 3, 10, 23, tzinfo=UTC), datetime(2026, 3, 11, 8, tzinfo=UTC)
    assert hours.until(night.timestamp()) == morning.timestamp()
    assert hours.until(morning.timestamp()) is None


def test_hours_that_no_plugin_can_read_are_refused_and_not_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "provided", lambda _: None)
    (tmp_path / "config.toml").write_text(OFF)
    with pytest.raises(ConfigError, match=r"heartbeat\.quiet_from and .* need the plugin quiet"):
        rhythm_of(load({"NANOBOT_HOME": str(tmp_path)}), "UTC")
    (tmp_path / "config.toml").write_text("")
    assert rhythm_of(load({"NANOBOT_HOME": str(tmp_path)}), "UTC").hours is None
