"""config get, set and schema: every table, nothing else touched, no secret shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot.config.loader import AgentSettings, Config
from nanobot.plugins.common.keys.config_file import as_toml
from nanobot.plugins.configuration.from_shell import set_key
from nanobot.plugins.configuration.schema import schema
from nanobot.plugins.configuration.shown import chosen, values
from nanobot.seam.installed import installed
from tests.cli.running import Ran, run
from tests.config.written import WRITTEN, environ, text
from tests.config.written import home as home


def test_values_are_shown_with_defaults_and_without_secrets(home: Path) -> None:
    shown = values(environ(home))
    assert shown["agent.model"] == "openai/gpt-6-luna"
    assert shown["agent.max_iterations"] == 25
    assert shown["channels.telegram.token"] == "***"
    assert "secret" not in repr(shown)
    assert set(chosen(environ(home), "web")) == {
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
    every = values(environ(home))
    assert every["heartbeat.interval_seconds"] == 600
    assert every["hooks.ci.secret"] == "***"
    assert every["quiet.chats.telegram:5.max_per_hour"] == 1
    assert every["triggers.letters.folder"] == "/srv"
    assert every["channels.email.trusted_authserv"] == ["mx.example.org"]
    assert every["budgets.cost_per_day"] == 2
    assert every["lifecycle.enabled"] is True
    assert every["mcp.files.env.API"] == "***"
    shown = "\n".join(f"{key} = {as_toml(value)}" for key, value in every.items())
    assert not re.search("secret\\b(?! =)|hidden|the password", shown.replace("also secret", ""))
    tables = {field.name for field in msgspec.structs.fields(Config)}
    names = {key.partition(".")[0] for key in every}
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
    set_key(environ(home), key, value)
    assert written in text(home)


@pytest.mark.process
async def test_a_key_is_printed_bare_and_a_table_as_toml(home: Path) -> None:
    async def printed(*arguments: str) -> Ran:
        return await run(environ(home), "config", "get", *arguments)

    assert (await printed("agent.model")).out == "openai/gpt-6-luna\n"
    table = (await printed("agent")).out
    assert tomllib.loads(table)["agent"]["max_tokens"] == 4096
    assert (await printed("agent", "--json")).json["agent.max_tokens"] == 4096


def test_the_schema_names_every_key_and_lets_references_pass() -> None:
    definitions = schema()["$defs"]
    keys = [key for each in installed().found.values() for key in each.shared_keys]
    of_plugins = [key.removeprefix("agent.") for key in keys if key.startswith("agent.")]
    assert {"recall", "titles", "triage"} <= {*of_plugins}
    assert set(definitions["AgentSettings"]["properties"]) == {
        *AgentSettings.__struct_fields__,
        *of_plugins,
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
    assert values(environ(home))["mcp.a.url"] == shown


@pytest.mark.process
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
    assert values(environ(home))["mcp.a.args"] == (shown or arguments)
