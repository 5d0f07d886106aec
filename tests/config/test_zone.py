"""The zone of a gateway: configured, else the machine's, else proposed by the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.app.agent import run_settings
from nanobot.app.gateway import Gateway
from nanobot.app.zones import zone_of_home
from nanobot.config.loader import load
from nanobot.errors import ConfigError
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.common.times.guessed_zone import guessed


def environ_of(home: Path, **more: str) -> dict[str, str]:
    return {"NANOBOT_HOME": str(home), "NANOBOT_AGENT__MODEL": "embedded", "TZ": "UTC"} | more


@pytest.mark.parametrize(
    ("environ", "zone"),
    [
        ({"TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8"}, "Asia/Tokyo"),
        ({"TZ": "UTC", "LANG": "de_DE.UTF-8"}, "Europe/Berlin"),
        ({"TZ": "Etc/UTC", "LANG": "C.UTF-8", "LC_TIME": "zh_CN.UTF-8"}, "Asia/Shanghai"),
        ({"TZ": "UTC", "LANG": "C.UTF-8"}, "UTC"),
        ({"TZ": "UTC", "LANG": "xx_ZZ.UTF-8"}, "UTC"),
    ],
)
def test_a_zone_is_proposed(environ: dict[str, str], zone: str) -> None:
    assert guessed(environ) == zone


async def test_every_part_goes_by_the_configured_zone(tmp_path: Path) -> None:
    environ = environ_of(tmp_path, NANOBOT_AGENT__ZONE="Asia/Tokyo")
    config = load(environ)
    assert zone_of_home(config.agent, environ) == "Asia/Tokyo"
    assert run_settings(config.agent, environ).zone == "Asia/Tokyo"
    async with Gateway(config, environ, channels=False).serving("test", lambda _: None) as parts:
        assert parts.engine.zone == "Asia/Tokyo"
        assert parts.plugged.offers.get(Budgets).zone == "Asia/Tokyo"


def test_a_zone_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(environ_of(tmp_path, NANOBOT_AGENT__ZONE="Mars/Olympus"))
    assert 'as in "Europe/Berlin"' in str(raised.value)
