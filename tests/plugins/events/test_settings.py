"""What is configured, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config import loader as config
from nanobot.errors import ConfigError
from nanobot.plugins.events.settings import EventsSettings


def load(home: Path, text: str, **environ: str) -> config.Config:
    (home / "config.toml").write_text(text, "utf-8")
    return config.load({"NANOBOT_HOME": str(home), **environ})


def test_all_that_can_be_watched_is_read(tmp_path: Path) -> None:
    text = """
[events]
enabled = true
[events.disk]
mounts = ["/", "~/data"]
over = 95.5
[events.swap]
enabled = false
[events.processes.nginx]
[events.files.inbox]
paths = ["~/inbox"]
[events.logs.auth]
path = "/var/log/auth.log"
pattern = 'Failed \\w+'
prompt = "Look."
"""
    loaded = load(tmp_path, text, NANOBOT_EVENTS__FOLD_SECONDS="3")
    events = loaded.of(EventsSettings)
    assert loaded.warnings == ()
    assert (events.disk.mounts, events.disk.over, events.disk.under) == (("/", "~/data"), 95.5, 85)
    assert not events.swap.enabled
    assert events.memory.enabled
    assert (list(events.processes), list(events.files)) == (["nginx"], ["inbox"])
    assert events.logs["auth"].pattern == r"Failed \w+"
    assert events.fold_seconds == 3


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ("[events.disk]\nover = 70\nunder = 71", "events.disk.under", "at most what `over` is, 70"),
        ("[events.memory]\nover = 170", "events.memory.over", "a number above 0"),
        ("[events]\ndisk = true", "events.disk", "a table: write [events.disk]"),
        ("[events.files.x]", "events.files.x.paths", "a list of files and folders"),
        ("[events.logs.x]\npattern = 'a'", "events.logs.x.path", "the path of a log"),
        ("[events.logs.x]\npath = '/a'", "events.logs.x.pattern", "a regular expression"),
        (
            "[events.logs.x]\npath = '/a'\npattern = '(?P<'",
            "events.logs.x.pattern",
            "a regular expression, which it is not: missing group name at position 4",
        ),
        (
            f"[events.logs.x]\npath = '/a'\npattern = '{'a' * 1001}'",
            "events.logs.x.pattern",
            "at most 1000 characters",
        ),
        (
            "[events.processes.x]\nprocess = 'a'\npid_file = '/b'",
            "events.processes.x.pid_file",
            "left out where there is a process",
        ),
        ("[events.files.\"a b\"]\npaths = ['/']", "events.files.", "cannot be a name here"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_what_is_allowed(
    tmp_path: Path, text: str, key: str, why: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, text)
    assert key in str(error.value)
    assert why in str(error.value)


def test_a_limit_alone_brings_the_end_of_its_episodes_down_to_it(tmp_path: Path) -> None:
    events = load(tmp_path, "[events.disk]\nover = 60\n[events.load]\nover = 300").of(
        EventsSettings
    )
    assert (events.disk.under, events.load.under) == (60, 120)
    with pytest.raises(ConfigError, match="disk"):
        load(tmp_path, "[events.disk]\nover = 60\nunder = 85")


def test_a_key_that_nobody_knows_is_a_warning(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, "[events.disk]\nabove = 3").warnings
    assert "events.disk.above is not a known key" in warning


def test_the_example_of_the_page_is_read_without_a_warning(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "events.md"
    example = page.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    loaded = load(tmp_path, example)
    assert loaded.warnings == ()
    assert loaded.of(EventsSettings).enabled
