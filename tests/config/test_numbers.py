"""No key of the configuration takes a number that later breaks a sum, a log or a deadline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from nanobot.config import loader as config
from nanobot.config.plugin_tables import config_file
from nanobot.config.settings.base import Settings
from nanobot.config.values import base_of
from nanobot.errors import ConfigError

ABSURD = ("inf", "-inf", "nan", "1e308", "-1e308", "1e400", "1" + "0" * 400, str(2**63 - 1))
NAME = "some"


def numbers(table: type[msgspec.Struct], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key that is a number, with its type; tables with free names have one called `some`."""
    for field in msgspec.structs.fields(table):
        key = f"{path}{field.name}"
        kind: Any = base_of(field.type)
        if get_origin(kind) is Mapping:
            key, kind = f"{key}.{NAME}", base_of(get_args(kind)[1])
        if isinstance(kind, type) and issubclass(kind, Settings):
            yield from numbers(kind, f"{key}.")
        elif kind in {int, float}:
            yield key, kind


KEYS = dict(numbers(config_file()))


def test_the_list_holds_the_numbers_of_every_table() -> None:
    assert len(KEYS) > 100
    assert {"agent.temperature", "budgets.cost_per_day", "providers.some.prices.some.prompt"} <= {
        *KEYS
    }


@pytest.mark.parametrize("key", KEYS)
def test_every_number_has_two_ends(tmp_path: Path, key: str) -> None:
    for value in ABSURD:
        others = {"prompt": "1", "completion": "1"} if NAME in key and "price" in key else {}
        lines = {f"{key.rpartition('.')[0]}.{name}": one for name, one in others.items()}
        written = "\n".join(f"{name} = {one}" for name, one in {**lines, key: value}.items())
        (tmp_path / "config.toml").write_text(written)
        with pytest.raises(
            ConfigError, match=r"must be a (whole )?number.* up to .*Correct"
        ) as told:
            config.load({"NANOBOT_HOME": str(tmp_path)})
        assert key in str(told.value)
        assert len(str(told.value)) < 800
