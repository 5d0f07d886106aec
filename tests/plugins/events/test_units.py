"""Failed units, as a systemctl says: a script in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.events.sensor import SensorOff, SensorUnreadable
from nanobot.plugins.events.settings import UnitsSettings
from nanobot.plugins.events.units import UnitsSensor


def sensor(folder: Path, script: str, settings: UnitsSettings | None = None) -> UnitsSensor:
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    return UnitsSensor(settings or UnitsSettings(), str(folder))


async def test_units_are_told_when_they_fail_and_when_they_have_not_any_more(
    tmp_path: Path,
) -> None:
    failed = tmp_path / "failed"
    failed.write_text('[{"unit":"web.service","load":"loaded","description":"A\\nweb server"}]')
    units = sensor(tmp_path, f"cat {failed}")
    event, state = units.judge(await units.read(None), None, 0)
    assert event is not None
    assert event.text == "A unit of systemd has failed: web.service (A web server)."
    event, state = units.judge(await units.read(state), state, 60)
    assert event is None
    failed.write_text('[{"unit":"a.timer","description":""},{"unit":"b.mount"}]')
    event, state = units.judge(await units.read(state), state, 120)
    assert event is not None
    assert event.text == (
        "2 units of systemd have failed: a.timer, b.mount. "
        "A unit of systemd has no longer failed: web.service."
    )
    assert state == ["a.timer", "b.mount"]


async def test_only_units_that_are_meant_count_and_those_of_the_user_are_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine").write_text('[{"unit":"mine.service"}]')
    (tmp_path / "all").write_text('[{"unit":"a.service"},{"unit":"snap-x.mount"}]')
    script = f'cd {tmp_path}; if [ "$1" = --user ]; then cat mine; else cat all; fi'
    settings = UnitsSettings(ignore=("snap-*",), user=True)
    states = await sensor(tmp_path, script, settings).read(None)
    assert set(states) == {"a.service", "mine.service"}


async def test_without_systemd_it_is_off(tmp_path: Path) -> None:
    with pytest.raises(SensorOff, match="no systemctl here"):
        await UnitsSensor(UnitsSettings(), str(tmp_path)).read(None)
    complaint = "echo 'System has not been booted with systemd as init system' >&2; exit 1"
    with pytest.raises(SensorOff, match="was not started with systemd"):
        await sensor(tmp_path, complaint).read(None)
    with pytest.raises(SensorOff, match="systemd 246 or later"):
        await sensor(tmp_path, "echo 'UNIT LOAD ACTIVE'").read(None)


async def test_what_goes_wrong_now_and_then_is_said_and_tried_again(tmp_path: Path) -> None:
    with pytest.raises(SensorUnreadable, match=r"systemctl failed \(1\): Failed to connect to bus"):
        await sensor(tmp_path, "echo 'Failed to connect to bus' >&2; exit 1").read(None)
    broken = sensor(tmp_path, "")
    (tmp_path / "systemctl").write_text("#!/no/such/shell\n")
    with pytest.raises(SensorUnreadable, match="cannot be started"):
        await broken.read(None)
    assert await sensor(tmp_path, "echo '[]'").read(None) == {}


@given(st.lists(st.sets(st.sampled_from("abcdef"))))
def test_each_failure_and_each_mending_is_told_once(readings: list[set[str]]) -> None:
    units, state, events = UnitsSensor(UnitsSettings()), None, 0
    changes, before = 0, set[str]()
    for now, names in enumerate(readings):
        event, state = units.judge(dict.fromkeys(names, ""), state, now)
        changes += names != before
        before = names
        events += event is not None
    assert events == changes
