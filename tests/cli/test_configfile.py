"""config get, set and schema: every table, nothing else touched, no secret shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot.config import file as configfile
from nanobot.config.loader import AgentSettings, Config, load
from nanobot.errors import ConfigError, UsageError
from tests.cli.running import Ran, environ_of, run

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


def test_a_key_that_is_there_is_changed_in_place(home: Path) -> None:
    configfile.put(environ(home), {"agent.model": "groq/llama-3.3-70b-versatile"})
    assert text(home) == WRITTEN.replace("openai/gpt-6-luna", "groq/llama-3.3-70b-versatile")


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        ("agent.max_tokens", "100", "# fast\n", "# fast\nmax_tokens = 100\n"),
        ("workspace", "notes", "# not long\n", '# not long\nworkspace = "notes"\n'),
        ("channels.telegram.owners", "1,2", 'TOKEN}"\n', 'TOKEN}"\nowners = ["1", "2"]\n'),
        (
            "channels.telegram.chats.-5.members",
            "1,2",
            'TOKEN}"\n',
            'TOKEN}"\n\n[channels.telegram.chats.-5]\nmembers = ["1", "2"]\n',
        ),
        ("tools.web.fetch", "no", 'TOKEN}"\n', 'TOKEN}"\n\n[tools.web]\nfetch = false\n'),
        (
            "channels.work.enabled",
            "off",
            'TOKEN}"\n',
            'TOKEN}"\n\n[channels.work]\nenabled = false\n',
        ),
    ],
)
def test_a_new_key_stands_with_its_table_and_moves_no_comment(
    home: Path, key: str, value: str, before: str, after: str
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
    configfile.put(environ(home), {"channels.telegram.owners": "7"})
    read = tomllib.loads(text(home))
    assert read["channels"]["telegram"].pop("owners") == ["7"]
    assert {**read, "channels": tomllib.loads(odd).get("channels")} == {
        **tomllib.loads(odd),
        "channels": tomllib.loads(odd).get("channels"),
    }


@pytest.mark.parametrize(
    ("key", "value", "kind", "reason"),
    [
        ("agent.max_tokens", "0", ConfigError, "agent.max_tokens"),
        ("agent.modell", "x", UsageError, "did you mean agent.model"),
        ("agent.model.x", "x", ConfigError, "cannot be set"),
        ("providers.x.api_base", "ftp://x", ConfigError, "http"),
        ("channels.cli.token", "x", ConfigError, "cli"),
    ],
)
def test_what_would_be_wrong_is_refused_and_nothing_is_written(
    home: Path, key: str, value: str, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        configfile.put(environ(home), {key: value})
    assert text(home) == WRITTEN


def test_a_file_that_was_wrong_before_can_be_mended_key_by_key(home: Path) -> None:
    (home / "config.toml").write_text("drain_seconds = -1\n[agent]\nmodel = 5\n")
    configfile.put(environ(home), {"drain_seconds": "5"})
    configfile.put(environ(home), {"agent.model": "auto"})
    assert load(environ(home)).drain_seconds == 5


def test_a_file_that_is_written_is_its_owners_alone(home: Path) -> None:
    configfile.put(environ(home), {"drain_seconds": "5"})
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["config.toml"]


def test_values_are_shown_with_defaults_and_without_secrets(home: Path) -> None:
    shown = configfile.values(environ(home))
    assert shown["agent.model"] == "openai/gpt-6-luna"
    assert shown["agent.max_iterations"] == 25
    assert shown["channels.telegram.token"] == "***"
    assert "secret" not in repr(shown)
    assert set(configfile.chosen(environ(home), "web")) == {
        "web.base_path",
        "web.enabled",
        "web.health_port",
        "web.host",
        "web.hosts",
        "web.mcp_approves",
        "web.port",
        "web.public_url",
        "web.push_details",
        "web.token",
        "web.trusted_programs",
        "web.trusted_proxies",
    }


MORE = """
[heartbeat]
interval_seconds = 600
[hooks.ci]
secret = "${TELEGRAM_TOKEN}"
[quiet.chats."telegram:5"]
max_per_hour = 1
[triggers.letters]
type = "letterbox"
folder = "/srv"
api_key = "also secret"
[channels.email]
password = "file:p"
trusted_authserv = ["mx.example.org"]
[budgets]
cost_per_day = 2
[mcp.files]
command = "x"
env = {API = "hidden too"}
[[policy.rules]]
tool = "exec"
verdict = "ask"
"""


def test_every_table_is_shown_whatever_was_added(home: Path) -> None:
    (home / "p").write_text("the password")
    (home / "config.toml").write_text(WRITTEN + MORE)
    values = configfile.values(environ(home))
    assert values["heartbeat.interval_seconds"] == 600
    assert values["hooks.ci.secret"] == "***"
    assert values["quiet.chats.telegram:5.max_per_hour"] == 1
    assert values["triggers.letters.folder"] == "/srv"
    assert values["channels.email.trusted_authserv"] == ["mx.example.org"]
    assert values["budgets.cost_per_day"] == 2
    assert values["lifecycle.enabled"] is True
    assert values["mcp.files.env.API"] == "***"
    shown = "\n".join(f"{key} = {configfile.as_toml(value)}" for key, value in values.items())
    assert not re.search("secret\\b(?! =)|hidden|the password", shown.replace("also secret", ""))
    tables = {field.name for field in msgspec.structs.fields(Config)}
    names = {key.partition(".")[0] for key in values}
    assert tables - names <= {"home", "file", "warnings", "providers", "tables"}


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("heartbeat.interval_seconds", "900", "interval_seconds = 900.0"),
        ("heartbeat.enabled", "off", "enabled = false"),
        ("quiet.max_per_day", "5", "max_per_day = 5"),
        ("quiet.people.ann.max_per_day", "5", "max_per_day = 5"),
        ("budgets.person.cost_per_day", "1.5", "cost_per_day = 1.5"),
        ("hooks.ci.events", "push,issues.*", 'events = ["push", "issues.*"]'),
        ("memory.accept", "ask", 'accept = "ask"'),
        ("events.disk.over", "95", "over = 95.0"),
        ("providers.openai.prices.mine.prompt", "1", "prompt = 1"),
    ],
)
def test_a_key_of_any_table_is_set_with_its_own_type(
    home: Path, key: str, value: str, written: str
) -> None:
    (home / "config.toml").write_text(
        WRITTEN + '[hooks.ci]\nsecret = "s"\n[providers.openai.prices.mine]\ncompletion = 1\n'
    )
    configfile.put(environ(home), {key: value})
    assert written in text(home)


async def test_a_key_is_printed_bare_and_a_table_as_toml(home: Path) -> None:
    async def printed(*arguments: str) -> Ran:
        return await run(environ(home), "config", "get", *arguments)

    assert (await printed("agent.model")).out == "openai/gpt-6-luna\n"
    table = (await printed("agent")).out
    assert tomllib.loads(table)["agent"]["max_tokens"] == 4096
    assert (await printed("agent", "--json")).json["agent.max_tokens"] == 4096


def test_the_schema_names_every_key_and_lets_references_pass() -> None:
    schema = configfile.schema()
    definitions = schema["$defs"]
    assert set(definitions["AgentSettings"]["properties"]) == {
        field.name for field in msgspec.structs.fields(AgentSettings)
    }
    assert "settings" not in definitions["ChannelSettings"]["properties"]
    for open_to_more in ("ChannelSettings", "TriggerSettings", "ProviderSettings"):
        assert definitions[open_to_more]["additionalProperties"] is True
        assert "required" not in definitions[open_to_more]
    whole = set(definitions["ConfigFile"]["properties"])
    known = {field.name for field in msgspec.structs.fields(Config)}
    assert known - whole == {"home", "file", "warnings", "tables"}
    limit = definitions["AgentSettings"]["properties"]["max_tokens"]
    assert {rule["type"] for rule in limit["anyOf"]} == {"integer", "string"}
    assert limit["default"] == 4096


KEY = "a8Kd92jfQx03LmPz77"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/mcp", "https://host/mcp"),
        ("https://host/mcp?token=short&v=2#key=x", "https://host/mcp?token=***&v=***#key=***"),
        (f"https://host/s/{KEY}/mcp", "https://host/s/***/mcp"),
        ("https://me:word@host/mcp", "https://me:***@host/mcp"),
        (
            "https://host/7f1c2a3b-1111-4222-8333-abcdefabcdef/sse",
            "https://host/***/sse",
        ),
        ("https://host?k=x", "https://host?k=***"),
    ],
)
def test_keys_within_the_url_of_a_server_are_not_shown(home: Path, url: str, shown: str) -> None:
    (home / "config.toml").write_text(f'[mcp.a]\nurl = "{url}"\n')
    assert configfile.values(environ(home))["mcp.a.url"] == shown


async def test_the_list_of_servers_shows_no_key_in_a_url(home: Path) -> None:
    (home / "config.toml").write_text(f'[mcp.a]\nurl = "https://host/{KEY}/mcp?token=x"\n')
    (listed,) = (await run(environ(home), "mcp", "list", "--json")).json
    assert listed["where"] == "https://host/***/mcp?token=***"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["-y", "@modelcontextprotocol/server-github@2025.4.8"], None),
        (["--root", "/srv/files", "--verbose"], None),
        (["--api-key", "short"], ["--api-key", "***"]),
        (["--api-key=short", "x"], ["--api-key=***", "x"]),
        (["GITHUB_TOKEN=short"], ["GITHUB_TOKEN=***"]),
        (["--token", "--verbose"], None),
        ([f"sk-{KEY}"], ["sk-***"]),
        (["--url", f"https://host/{KEY}?a=b"], ["--url", "https://host/***?a=***"]),
    ],
)
def test_keys_among_the_arguments_of_a_server_are_not_shown(
    home: Path, arguments: list[str], shown: list[str] | None
) -> None:
    (home / "config.toml").write_text(f'[mcp.a]\ncommand = "x"\nargs = {arguments!r}\n')
    assert configfile.values(environ(home))["mcp.a.args"] == (shown or arguments)
