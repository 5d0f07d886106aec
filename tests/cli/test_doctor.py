"""doctor and config: what is wrong, in a line each, and what to do."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot.cli import configfile
from nanobot.config import AgentSettings, Config, load
from nanobot.errors import ConfigError, UsageError
from tests.cli.running import Ran, environ_of, run, run_in
from tests.doubles.openai_server import error_status
from tests.process.harness import World


async def doctor(world: World, *arguments: str, **environ: str) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and the levels of what was found by what it is about."""
    ran = await run_in(world, "doctor", "--json", *arguments, **environ)
    found: dict[str, list[str]] = {}
    for one in json.loads(ran.out):
        found.setdefault(one["about"], []).append(one["level"])
    return ran.code, found


async def test_a_home_in_order_is_sound_from_the_configuration_to_the_channel(world: World) -> None:
    world.home.chmod(0o700)
    (world.home / "config.toml").chmod(0o600)
    await run_in(world, "agent", "-m", "hello")
    code, found = await doctor(world)
    assert code == 0
    for about in ("configuration", "home", "disk", "clock", "gateway", "store", "model"):
        assert found[about] == ["ok"], about
    assert found["telegram"] == ["ok"]
    assert {"sandbox", "user"} <= set(found)
    assert len(world.model.requests) == 2
    assert [call.method for call in world.telegram.calls] == ["getMe"]


async def test_every_line_says_what_is_wrong_and_what_to_do(world: World) -> None:
    world.telegram.token = "0:changed"
    world.model.fail_with(error_status(401, "bad key"))
    ran = await run_in(world, "doctor")
    assert ran.code == 1
    broken = [line for line in ran.out.splitlines() if line.startswith("broken")]
    assert [line.split()[1] for line in broken] == ["model", "telegram"]
    assert "onboard" in broken[0]
    assert "@BotFather" in broken[1]
    assert "Traceback" not in ran.out + ran.err


async def test_a_model_in_trouble_is_asked_once_and_not_waited_for(world: World) -> None:
    world.model.fail_with(*[error_status(503)] * 9)
    code, found = await doctor(world)
    assert (code, found["model"]) == (1, ["broken"])
    assert len(world.model.requests) == 1


async def test_a_served_home_is_examined_beside_its_nanobot(world: World) -> None:
    gateway = await world.start()
    code, found = await doctor(world)
    assert (code, found["gateway"], found["store"]) == (0, ["ok"], ["ok"])
    assert await gateway.stop() == 0


async def test_a_channel_that_is_off_is_named_with_what_becomes_of_it(world: World) -> None:
    world.telegram.token = "0:changed"
    gateway = await world.start()
    ran = await run_in(world, "doctor")
    (line,) = [line for line in ran.out.splitlines() if line.split()[1:2] == ["gateway"]]
    assert line.startswith("warning")
    assert "telegram is failed" in line
    await gateway.stop()


async def test_a_damaged_store_is_broken(world: World) -> None:
    (world.home / "state.db").write_bytes(b"no database" * 500)
    code, found = await doctor(world)
    assert (code, found["store"]) == (1, ["broken"])


async def test_what_can_be_mended_is_mended(world: World) -> None:
    world.home.chmod(0o755)
    (world.home / "config.toml").chmod(0o644)
    _, found = await doctor(world)
    assert found["home"] == ["warning"] * 3
    code, found = await doctor(world, "--fix")
    assert (code, found["home"]) == (0, ["ok"] * 3)
    assert world.home.stat().st_mode & 0o777 == 0o700
    assert (world.home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert (world.workspace / "AGENTS.md").exists()
    assert (await doctor(world))[1]["home"] == ["ok"]


async def test_a_channel_that_hears_nobody_or_everybody_is_a_warning(world: World) -> None:
    variable = "NANOBOT_CHANNELS__TELEGRAM__"
    for owners, members in (("[]", "[]"), ("1", "*")):
        more = {f"{variable}OWNERS": owners, f"{variable}MEMBERS": members}
        _, found = await doctor(world, **more)
        assert found["telegram"] == ["ok", "warning"]
    more = {f"{variable}MEMBERS": "1", f"{variable}GUESTS": "*"}
    _, found = await doctor(world, **more)
    assert found["telegram"] == ["ok", "warning"]


async def test_a_group_that_everybody_may_use_is_a_warning(world: World) -> None:
    world.configure(more='[channels.telegram.chats.-5]\nmembers = ["*"]')
    _, found = await doctor(world)
    assert found["telegram"] == ["ok", "warning"]


async def test_a_zone_that_is_not_known_is_a_warning(world: World) -> None:
    _, found = await doctor(world, TZ="Mars/Olympus")
    assert found["clock"] == ["warning"]


async def test_everything_that_is_wrong_with_the_configuration_is_named_at_once(
    world: World,
) -> None:
    world.configure(
        top="drain_seconds = -1",
        agent='max_tokens = 0\nfallback_models = ["nowhere/x"]\nodd = 1',
        more='[channels.carrier]\ntype = "pigeon"\n[providers.two]\napi_key = "${NOT_THERE}"',
    )
    ran = await run_in(world, "config", "check")
    assert ran.code == 3
    for said in ("drain_seconds", "agent.max_tokens", "NOT_THERE", '"pigeon"', '"nowhere"'):
        assert said.replace('"', "") in ran.out.replace("'", "").replace('"', ""), said
    assert ran.out.count("broken") == 5
    assert ran.out.count("warning") == 1
    assert str(world.home / "config.toml") in ran.out


async def test_a_configuration_in_order_is_said_to_be(world: World) -> None:
    ran = await run_in(world, "config", "check")
    assert (ran.code, ran.out.split()[0]) == (0, "ok")


# config get and set


WRITTEN = """\
# Mine.
drain_seconds = 10 # not long

[agent]
# The one I like.
model = "openai/gpt-5-mini"   # fast

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
    assert text(home) == WRITTEN.replace("openai/gpt-5-mini", "groq/llama-3.3-70b-versatile")


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
        ("tools.exec.network", "no", 'TOKEN}"\n', 'TOKEN}"\n\n[tools.exec]\nnetwork = false\n'),
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
    made = tomllib.loads(text(home))
    assert made["channels"]["telegram"].pop("owners") == ["7"]
    assert {**made, "channels": tomllib.loads(odd).get("channels")} == {
        **tomllib.loads(odd),
        "channels": tomllib.loads(odd).get("channels"),
    }


@pytest.mark.parametrize(
    ("key", "value", "kind", "said"),
    [
        ("agent.max_tokens", "0", ConfigError, "agent.max_tokens"),
        ("agent.modell", "x", UsageError, "did you mean agent.model"),
        ("agent.model.x", "x", ConfigError, "cannot be set"),
        ("providers.x.api_base", "ftp://x", ConfigError, "http"),
        ("channels.cli.token", "x", ConfigError, "cli"),
    ],
)
def test_what_would_be_wrong_is_refused_and_nothing_is_written(
    home: Path, key: str, value: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
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
    found = configfile.values(environ(home))
    assert found["agent.model"] == "openai/gpt-5-mini"
    assert found["agent.max_iterations"] == 25
    assert found["channels.telegram.token"] == "***"
    assert "secret" not in repr(found)
    assert set(configfile.chosen(environ(home), "web")) == {
        "web.enabled",
        "web.host",
        "web.hosts",
        "web.port",
        "web.token",
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
    found = configfile.values(environ(home))
    assert found["heartbeat.interval_seconds"] == 600
    assert found["hooks.ci.secret"] == "***"
    assert found["quiet.chats.telegram:5.max_per_hour"] == 1
    assert found["triggers.letters.folder"] == "/srv"
    assert found["channels.email.trusted_authserv"] == ["mx.example.org"]
    assert found["budgets.cost_per_day"] == 2
    assert found["lifecycle.enabled"] is True
    assert found["mcp.files.env.API"] == "***"
    shown = "\n".join(f"{key} = {configfile.as_toml(value)}" for key, value in found.items())
    assert not re.search("secret\\b(?! =)|hidden|the password", shown.replace("also secret", ""))
    tables = {field.name for field in msgspec.structs.fields(Config)}
    names = {key.partition(".")[0] for key in found}
    assert tables - names <= {"home", "file", "warnings", "providers"}


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
    async def got(*arguments: str) -> Ran:
        return await run(environ(home), "config", "get", *arguments)

    assert (await got("agent.model")).out == "openai/gpt-5-mini\n"
    table = (await got("agent")).out
    assert tomllib.loads(table)["agent"]["max_tokens"] == 4096
    assert (await got("agent", "--json")).json["agent.max_tokens"] == 4096


def test_the_schema_names_every_key_and_lets_references_pass() -> None:
    made = configfile.schema()
    definitions = made["$defs"]
    assert set(definitions["AgentSettings"]["properties"]) == {
        field.name for field in msgspec.structs.fields(AgentSettings)
    }
    assert "settings" not in definitions["ChannelSettings"]["properties"]
    for open_to_more in ("ChannelSettings", "TriggerSettings", "ProviderSettings"):
        assert definitions[open_to_more]["additionalProperties"] is True
        assert "required" not in definitions[open_to_more]
    whole = set(definitions["Configuration"]["properties"])
    known = {field.name for field in msgspec.structs.fields(Config)}
    assert known - whole == {"home", "file", "warnings"}
    limit = definitions["AgentSettings"]["properties"]["max_tokens"]
    assert {rule["type"] for rule in limit["anyOf"]} == {"integer", "string"}
    assert limit["default"] == 4096


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('to = "nowhere:1"', "heartbeat.to"),
        ('quiet_from = "25:00"\nquiet_until = "08:00"', "heartbeat.quiet_from"),
        ('zone = "Europe/Berln"', "did you mean Europe/Berlin"),
        ("interval_seconds = -5", "from 60 up to 86400"),
        ("interval_seconds = 1e99", "from 60 up to 86400"),
    ],
)
async def test_a_heartbeat_that_cannot_be_stops_the_start_and_is_found(
    world: World, line: str, told: str
) -> None:
    world.configure(more=f"[heartbeat]\n{line}")
    checked = await run_in(world, "config", "check")
    assert checked.code == ConfigError.exit_code
    assert told in checked.out
    started = await run_in(world, "gateway")
    assert started.code == ConfigError.exit_code
    assert told in started.err


async def test_a_folder_in_the_place_of_the_heartbeats_file_is_a_warning(world: World) -> None:
    (world.workspace / "HEARTBEAT.md").mkdir(parents=True)
    _, found = await doctor(world)
    assert found["heartbeat"] == ["warning"]


async def test_a_chat_that_is_gone_for_the_heartbeat_is_found_beside_the_gateway(
    world: World,
) -> None:
    asked = '{"content": "Hello?", "channel": "telegram", "chat_id": "77"}'
    world.configure(more='[heartbeat]\nto = "telegram:77"')
    await world.start()
    world.telegram.say(1, f"tool:message:{asked}")
    await world.eventually(lambda: "Chat not found" in world.log)
    ran = await run_in(world, "doctor", "--json")
    (found,) = [one for one in json.loads(ran.out) if one["about"] == "heartbeat"]
    assert found["level"] == "warning"
    assert "telegram:77" in found["text"]
    assert "Chat not found" in found["text"]
