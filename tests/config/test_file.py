"""Keys that are written into the file: nothing else in it is touched."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.errors import ConfigError, UsageError
from nanobot.plugins.common.keys import config_file as configfile
from tests.config.written import WRITTEN, environ, text
from tests.config.written import home as home


def test_a_key_that_is_there_is_changed_in_place(home: Path) -> None:
    configfile.put(environ(home), {"agent.model": "groq/llama-3.3-70b-versatile"})
    assert text(home) == WRITTEN.replace("openai/gpt-6-luna", "groq/llama-3.3-70b-versatile")


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        ("agent.max_tokens", 100, "# fast\n", "# fast\nmax_tokens = 100\n"),
        ("workspace", "notes", "# not long\n", '# not long\nworkspace = "notes"\n'),
        ("channels.telegram.owners", ["1", "2"], 'TOKEN}"\n', 'TOKEN}"\nowners = ["1", "2"]\n'),
        (
            "channels.telegram.chats.-5.members",
            ["1", "2"],
            'TOKEN}"\n',
            'TOKEN}"\n\n[channels.telegram.chats.-5]\nmembers = ["1", "2"]\n',
        ),
        ("tools.web.fetch", False, 'TOKEN}"\n', 'TOKEN}"\n\n[tools.web]\nfetch = false\n'),
        (
            "channels.work.enabled",
            False,
            'TOKEN}"\n',
            'TOKEN}"\n\n[channels.work]\nenabled = false\n',
        ),
    ],
)
def test_a_new_key_stands_with_its_table_and_moves_no_comment(
    home: Path, key: str, value: object, before: str, after: str
) -> None:
    configfile.put(environ(home), {key: value})
    assert text(home) == WRITTEN.replace(before, after)


@pytest.mark.parametrize(
    "odd",
    [
        "channels = {telegram = {token = '1:a'}}\n",
        "[channels]\ntelegram.token = '1:a'\n",
        "channels.telegram.token = '1:a'",
        "[agent]\nfallback_models = [\n  'a/b',\n]\n[channels.telegram]\ntoken = '1:a'",
        "",
    ],
)
def test_however_the_file_is_written_the_key_is_set_and_nothing_else(home: Path, odd: str) -> None:
    (home / "config.toml").write_text(odd)
    configfile.put(environ(home), {"channels.telegram.owners": ["7"]})
    read = tomllib.loads(text(home))
    assert read["channels"]["telegram"].pop("owners") == ["7"]
    assert {**read, "channels": tomllib.loads(odd).get("channels")} == {
        **tomllib.loads(odd),
        "channels": tomllib.loads(odd).get("channels"),
    }


@pytest.mark.parametrize(
    ("key", "value", "kind", "reason"),
    [
        ("agent.max_tokens", 0, ConfigError, "agent.max_tokens"),
        ("agent.modell", "x", UsageError, "did you mean agent.model"),
        ("agent.model.x", "x", ConfigError, "cannot be set"),
        ("providers.x.api_base", "ftp://x", ConfigError, "http"),
        ("channels.cli.token", "x", ConfigError, "cli"),
    ],
)
def test_what_would_be_wrong_is_refused_and_nothing_is_written(
    home: Path, key: str, value: object, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        configfile.put(environ(home), {key: value})
    assert text(home) == WRITTEN


def test_a_file_that_was_wrong_before_can_be_mended_key_by_key(home: Path) -> None:
    (home / "config.toml").write_text("drain_seconds = -1\n[agent]\nmodel = 5\n")
    configfile.put(environ(home), {"drain_seconds": 5})
    configfile.put(environ(home), {"agent.model": "auto"})
    assert load(environ(home)).drain_seconds == 5


def test_a_file_that_is_written_is_its_owners_alone(home: Path) -> None:
    configfile.put(environ(home), {"drain_seconds": 5})
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["config.toml"]


def test_a_key_that_is_removed_leaves_the_rest(home: Path) -> None:
    configfile.put(environ(home), {"agent.model": None, "agent.max_tokens": 7})
    assert text(home) == WRITTEN.replace(
        '# The one I like.\nmodel = "openai/gpt-6-luna"   # fast\n',
        "max_tokens = 7\n# The one I like.\n",
    )
    with pytest.raises(UsageError, match="not set"):
        configfile.put(environ(home), {"agent.model": None})
