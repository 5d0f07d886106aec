"""The configuration: what it gives, what it refuses and how it says so."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from nanobot.config import loader as config
from nanobot.config.loader import (
    AgentSettings,
    ChannelSettings,
    Config,
    ProviderSettings,
)
from nanobot.config.reader import _every_key
from nanobot.config.settings.channels import ChatSettings
from nanobot.config.values import variable_of
from nanobot.errors import ConfigError
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.keys.config_file import edited
from nanobot.plugins.common.keys.tool_settings import ExecTable
from nanobot.plugins.events.settings import EventsSettings
from nanobot.plugins.triage.settings import TriageKeys
from tests.sampling import examples


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def load(home: Path, text: str = "", **environ: str) -> Config:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, "utf-8")
    return config.load({"NANOBOT_HOME": str(home), **environ})


def refused(home: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(home, text, **environ)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


PASTED = (
    "sk-proj-4f9aQ7xk2LmN8vB3cD5e",
    "xoxb-2048-4f9aQ7xk2LmN8vB3",
    "123456789:AAF9-x_Q7k2LmN8vB3",
)


@pytest.mark.parametrize("pasted", PASTED)
def test_no_error_repeats_a_key_that_was_pasted_into_a_wrong_place(home: Path, pasted: str) -> None:
    said = []
    for key in _every_key():
        variable = variable_of(key)
        with suppress(ConfigError):
            load(home, **{variable: pasted})
            continue
        said.append(refused(home, "", **{variable: pasted}))
    assert len(said) > 50
    assert [text for text in said if pasted in text or pasted[-12:] in text] == []


@pytest.mark.process
def test_a_key_of_too_many_parts_is_refused_wherever_it_stands(home: Path) -> None:
    deep = ".".join(["channels", *["a"] * 5_000])
    assert "16 parts" in refused(home, f"{deep} = 1")
    with pytest.raises(ConfigError, match="16 parts"):
        edited("", deep, 1)
    load(home, **{"NANOBOT_" + deep.upper().replace(".", "__"): "1"})


# What a configuration gives


def test_a_missing_file_means_defaults_and_creates_nothing(home: Path) -> None:
    loaded = config.load({"NANOBOT_HOME": str(home)})
    assert asdict(AgentSettings()).items() <= asdict(loaded.agent).items()
    assert (loaded.of(ExecTable), loaded.of(TriageKeys)) == (ExecTable(), TriageKeys())
    assert loaded.of(WebSettings) == WebSettings()
    assert loaded.file == home / "config.toml"
    assert loaded.workspace == home / "workspace"
    assert loaded.database_url == f"sqlite:///{home}/state.db"
    assert (loaded.channels, loaded.providers, loaded.warnings) == ({}, {}, ())
    assert not home.exists()


def test_the_home_is_in_the_users_folder_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere")
    assert config.load({}).home == Path("/nowhere/.nanobot")
    assert config.load({"NANOBOT_HOME": ""}).home == Path("/nowhere/.nanobot")
    assert config.load({"NANOBOT_HOME": "~/n"}).home == Path("/nowhere/n")


def test_a_full_file_is_taken_over(home: Path) -> None:
    loaded = load(
        home,
        """
        database_url = "postgresql://u:pw@db/nanobot"
        workspace = "elsewhere"
        drain_seconds = 5
        [agent]
        model = "local/llama"
        fallback_models = ["a/b"]
        when_busy = "queue"
        [providers.local]
        api_base = "http://127.0.0.1:8080/v1"
        client = "lean"
        [channels.work]
        type = "telegram"
        token = "t"
        owners = ["1", 2]
        guests = [3, "*"]
        pairing = false
        groups = "all"
        prefix = "!bot"
        [channels.work.retry]
        times = 3
        [channels.work.chats.-1001]
        members = [7]
        [channels.work.chats."!room:example.org"]
        groups = "off"
        [tools.exec]
        sandbox = "bwrap"
        network = "none"
        """,
    )
    assert loaded.database_url == "postgresql://u:pw@db/nanobot"
    assert loaded.workspace == home / "elsewhere"
    assert (loaded.drain_seconds, loaded.agent.model) == (5.0, "local/llama")
    assert loaded.agent.fallback_models == ("a/b",)
    assert loaded.providers["local"] == ProviderSettings("", "http://127.0.0.1:8080/v1", "lean")
    assert loaded.channels["work"] == ChannelSettings(
        type="telegram",
        owners=("1", "2"),
        guests=("3", "*"),
        pairing=False,
        groups="all",
        prefix="!bot",
        chats={
            "-1001": ChatSettings(members=("7",)),
            "!room:example.org": ChatSettings(groups="off"),
        },
        settings={"token": "t", "retry": {"times": 3}},
    )
    commands = loaded.of(ExecTable).exec
    assert (commands.sandbox, commands.network) == ("bwrap", "none")
    assert loaded.warnings == ()


def test_a_channels_type_is_its_tables_name_unless_set(home: Path) -> None:
    assert load(home, "[channels.telegram]").channels["telegram"].type == "telegram"


def test_a_relative_database_lies_in_the_home(home: Path) -> None:
    assert load(home, 'database_url = "sqlite:///x.db"').database_url == f"sqlite:///{home}/x.db"
    assert load(home, 'database_url = "sqlite:////a/x"').database_url == "sqlite:////a/x"


def test_a_database_with_options_is_refused(home: Path) -> None:
    """They would be a part of the file's name."""
    with pytest.raises(ConfigError, match='without options behind a "\\?"'):
        load(home, 'database_url = "sqlite:///x.db?timeout=5"')


def test_a_byte_order_mark_and_windows_line_ends_are_fine(home: Path) -> None:
    text = '\ufeffdrain_seconds = 7\r\n[agent]\r\nmodel = "m"\r\n'
    assert load(home, text).agent.model == "m"


def test_a_configuration_is_frozen(home: Path) -> None:
    loaded = load(home)
    with pytest.raises(AttributeError):
        loaded.agent.model = "other"  # type: ignore[misc]


def test_importing_it_is_cheap() -> None:
    code = "import sys, nanobot.config.loader; print([m for m in sys.modules if m in sys.argv[1:]])"
    heavy = ["asyncio", "httpx", "sqlalchemy", "typer", "rich", "loguru", "pydantic"]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": path},
    )
    assert done.stdout == "[]\n"


# The environment


def test_every_key_can_come_from_the_environment(home: Path) -> None:
    loaded = load(
        home,
        '[agent]\nmodel = "file"\ntemperature = 1.5\n',
        NANOBOT_DRAIN_SECONDS="3",
        NANOBOT_AGENT__MODEL="env",
        NANOBOT_AGENT__MAX_TOKENS="99",
        NANOBOT_AGENT__FALLBACK_MODELS="a, b",
        NANOBOT_PROVIDERS__OPENAI__API_KEY="k",
        NANOBOT_CHANNELS__TELEGRAM__TOKEN="t",
        NANOBOT_CHANNELS__TELEGRAM__OWNERS="[1001, '2']".replace("'", '"'),
        NANOBOT_CHANNELS__TELEGRAM__MEMBERS="5,six",
        NANOBOT_CHANNELS__DISCORD__ENABLED="off",
        NANOBOT_WEB__PORT="0",
        NANOBOT_TOOLS__EXEC__NETWORK="none",
        NANOBOT_AGENT__DECISION__MODEL="test/small",
        NANOBOT_AGENT__DECISION__TIMEOUT_SECONDS="2.5",
        NANOBOT_AGENT__DECISION__ALLOWED_RUN_TYPES="sleep, agent",
        NANOBOT_EVENTS__DISK__OVER="50",
        NANOBOT_BUDGETS__PERSON__COST_PER_DAY="2",
    )
    assert (loaded.of(EventsSettings).disk.over, loaded.of(BudgetSettings).person.cost_per_day) == (
        50.0,
        2.0,
    )
    decision = loaded.of(TriageKeys).decision
    assert (decision.model, decision.timeout_seconds) == ("test/small", 2.5)
    assert decision.allowed_run_types == ("sleep", "agent")
    assert loaded.drain_seconds == 3.0
    assert (loaded.agent.model, loaded.agent.temperature) == ("env", 1.5)
    assert (loaded.agent.max_tokens, loaded.agent.fallback_models) == (99, ("a", "b"))
    assert loaded.providers["openai"].api_key == "k"
    assert loaded.channels["telegram"].settings == {"token": "t"}
    assert loaded.channels["telegram"].owners == ("1001", "2")
    assert loaded.channels["telegram"].members == ("5", "six")
    assert loaded.channels["discord"].enabled is False
    assert (loaded.of(WebSettings).port, loaded.of(ExecTable).exec.network) == (0, "none")
    assert loaded.warnings == ()


def test_a_variable_finds_the_files_own_spelling(home: Path) -> None:
    loaded = load(home, "[providers.My-llm]\n", NANOBOT_PROVIDERS__MY_LLM__API_KEY="k")
    assert loaded.providers == {"My-llm": ProviderSettings("k")}


def test_an_empty_variable_counts_as_not_set(home: Path) -> None:
    assert load(home, '[agent]\nmodel = "m"', NANOBOT_AGENT__MODEL="").agent.model == "m"


def test_variables_of_other_programs_are_not_our_business(home: Path) -> None:
    loaded = load(home, "", NANOBOT_BIN="/x", NANOBOT_CRASH_AT="admit", NANOBOT="1")
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("NANOBOT_AGENT__MAX_TOKENS", "many"),
        ("NANOBOT_AGENT__MAX_TOKENS", "9" * 5000),
        ("NANOBOT_AGENT__TEMPERATURE", "nan"),
        ("NANOBOT_AGENT__FALLBACK_MODELS", '["a", 1]'),
        ("NANOBOT_TOOLS__EXEC__NETWORK", "perhaps"),
        ("NANOBOT_AGENT__MODEL", "bad\udcff"),
    ],
)
def test_a_wrong_variable_is_named(home: Path, variable: str, text: str) -> None:
    message = refused(home, "", **{variable: text})
    key = variable.removeprefix("NANOBOT_").lower().replace("__", ".")
    assert message.startswith(f"environment variable {variable}: {key} is ")
    assert len(message) < 300


# Secrets


def test_a_secret_may_be_a_variable_or_a_file(home: Path) -> None:
    home.mkdir()
    (home / "token.txt").write_text("from-file\n")
    loaded = load(
        home,
        """
        [providers.openai]
        api_key = "${MY_KEY}"
        [channels.telegram]
        token = "file:token.txt"
        [channels.telegram.deep]
        list = ["${MY_KEY}"]
        """,
        MY_KEY="from-env",
    )
    assert loaded.providers["openai"].api_key == "from-env"
    assert loaded.channels["telegram"].settings == {
        "token": "from-file",
        "deep": {"list": ["from-env"]},
    }


def test_a_reference_takes_the_type_of_its_key(home: Path) -> None:
    assert load(home, '[web]\nport = "${PORT}"', PORT="80").of(WebSettings).port == 80


def test_a_missing_variable_is_named_with_a_remedy(home: Path) -> None:
    message = refused(home, '[channels.telegram]\ntoken = "${TG}"')
    assert f"{home}/config.toml: channels.telegram.token refers to" in message
    assert "environment variable TG, which is not set. Set it" in message


def test_a_secret_may_come_from_a_pipe(home: Path) -> None:
    home.mkdir()
    os.mkfifo(home / "pipe")
    writing = threading.Thread(target=lambda: (home / "pipe").write_text("from a pipe\n"))
    writing.start()
    loaded = load(home, '[providers.x]\napi_key = "file:pipe"')
    writing.join()
    assert loaded.providers["x"].api_key == "from a pipe"


@pytest.mark.parametrize(
    ("content", "trouble"),
    [(None, "cannot be read (No such file"), (b" \n", "is empty"), (b"\xff", "is not UTF-8")],
)
def test_a_useless_secret_file_is_named(home: Path, content: bytes | None, trouble: str) -> None:
    home.mkdir()
    if content is not None:
        (home / "s").write_bytes(content)
    message = refused(home, '[providers.x]\napi_key = "file:s"')
    assert "providers.x.api_key refers to the file" in message
    assert trouble in message
    assert "Put the value into that file" in message


def test_a_channel_that_is_off_needs_no_token(home: Path) -> None:
    loaded = load(home, '[channels.telegram]\nenabled = false\ntoken = "${TG}"')
    assert loaded.channels["telegram"] == ChannelSettings(type="telegram", enabled=False)


@pytest.mark.parametrize("table", ["mcp.a", "hooks.a", "channels.a", "triggers.a"])
def test_what_is_off_does_not_stop_the_start_whatever_is_wrong_in_it(
    home: Path, table: str
) -> None:
    text = f'[{table}]\nenabled = false\nto = "x"\nsecret = "${{GONE}}"\nurl = "file:gone"\n'
    loaded = load(home, text)
    kind, _, name = table.partition(".")
    assert not loaded.value(kind)[name].enabled
    assert "enabled" in refused(home, f'[{table}]\nenabled = "perhaps"\n')


def test_secrets_are_in_no_repr(home: Path) -> None:
    loaded = load(
        home,
        """
        database_url = "postgresql://me:SECRET@db/x"
        [providers.openai]
        api_key = "SECRET"
        api_base = "https://me:SECRET@host/v1"
        [channels.telegram]
        token = "SECRET"
        [web]
        token = "SECRET"
        """,
    )
    assert "SECRET" not in repr(loaded)
    assert "SECRET" not in str(loaded)
    assert "SECRET" not in repr(list(loaded.channels.values()))
    assert "SECRET" not in repr(loaded.providers["openai"].__rich_repr__())


@pytest.mark.parametrize(
    "text",
    [
        '[providers.x]\napi_key = ["SECRET"]',
        '[providers.x]\napi_key = "SECRET',
        "[providers.x]\napi_key = SECRET",
        "[providers.x]\napi_key SECRET",
        '[channels.x]\nbot_token = "SECRET" x',
        'database_url = "mysql://me:SECRET@db/x"',
        '[providers.x]\napi_base = "ftp://me:SECRET@host"',
        '[agent]\ntemperature = "${KEY}"',
    ],
)
def test_secrets_are_in_no_error(home: Path, text: str) -> None:
    assert "SECRET" not in refused(home, text, KEY="SECRET")


# What is refused, and what is only remarked


@pytest.mark.parametrize(
    ("text", "key", "value", "allowed"),
    [
        ("[agent]\nmodel = 5", "agent.model", "5", "text in double quotes"),
        ("[agent]\nmax_tokens = 0", "agent.max_tokens", "0", "a whole number from 1 up to 1000000"),
        ("[agent]\nmax_tokens = 1.5", "agent.max_tokens", "1.5", "a whole number"),
        ("[agent]\nmax_tokens = true", "agent.max_tokens", "true", "a whole number"),
        ('[agent]\nmax_tokens = "9"', "agent.max_tokens", '"9"', "a whole number"),
        ("[agent]\nmax_iterations = -1", "agent.max_iterations", "-1", "from 1 up to 1000"),
        ("[agent]\nmax_concurrent_runs = 1000000", "agent.max_concurrent_runs", "1000000", "10000"),
        ("[agent]\nmax_run_seconds = 0", "agent.max_run_seconds", "0", "a number above 0"),
        ("[agent]\ntemperature = nan", "agent.temperature", "nan", "a number from 0 up to 2"),
        ("[agent]\nmax_run_seconds = inf", "agent.max_run_seconds", "inf", "up to 86400"),
        ("drain_seconds = -1", "drain_seconds", "-1", "a number from 0 up to 3600"),
        ('[agent]\nwhen_busy = "shout"', "agent.when_busy", '"shout"', '"steer", "queue"'),
        ('[agent]\nfallback_models = "a"', "agent.fallback_models", '"a"', "a list of texts"),
        ('[tools.exec]\nnetwork = "yes"', "tools.exec.network", '"yes"', 'one of "hosts", "none"'),
        ('[tools.exec]\nhosts = ["a b"]', "tools.exec.hosts", 'a list: "a b"', "a list of hosts"),
        ("[web]\nport = 65536", "web.port", "65536", "from 0 up to 65535"),
        ("agent = 5", "agent", "5", "write [agent] and its keys below it"),
        ("[tools]\nexec = 1", "tools.exec", "1", "a table"),
        ('[tools.web]\nsearch = "yahoo"', "tools.web.search", '"yahoo"', '"searxng"'),
        ('[tools.web]\nsearch = "brave"', "tools.web.search", '"brave"', "brave_api_key is set"),
        (
            '[tools.web]\nproxy = "socks"',
            "tools.web.proxy",
            '"socks"',
            "an http:// or https:// URL",
        ),
        ("[channels]\ntelegram = true", "channels.telegram", "true", "a table"),
        ('[channels.t]\nowners = "1"', "channels.t.owners", '"1"', "a list of texts"),
        ("[channels.t]\nowners = [1.5]", "channels.t.owners", "a list: 1.5", "a list of texts"),
        ('[channels.t]\nowners = ["*"]', "channels.t.owners", 'a list: "*"', "not everybody"),
        ('[channels.t]\ngroups = "some"', "channels.t.groups", '"some"', '"mention", "all"'),
        ("[channels.t]\nchats = 1", "channels.t.chats", "1", "[channels.t.chats]"),
        ("[channels.t.chats]\na = 1", "channels.t.chats.a", "1", "a table"),
        ("[channels.t.chats.a]\nmembers = 1", "channels.t.chats.a.members", "1", "a list of"),
        ("[budgets.person]\ncost = 1", "budgets.person.cost", "1", "left out: budgets.person has"),
        ("[quiet.chats.a]\nmax_per_day = -1", "quiet.chats.a.max_per_day", "-1", "from 0 up to"),
        ("[[policy.rules]]\nverdict = 1", "policy.rules.1.verdict", "1", '"allow"'),
        ("[policy]\nrules = 1", "policy.rules", "1", "write [[policy.rules]] above each"),
        ('[providers.x]\napi_base = "x.org"', "providers.x.api_base", '"x.org"', "http://"),
        ('database_url = "mysql://x"', "database_url", '"mysql://x"', "postgresql://"),
        ('workspace = "a\\u0000b"', "workspace", '"a\\u0000b"', "without zero bytes"),
        ("workspace = 1979-05-27", "workspace", "1979-05-27", "text in double quotes"),
    ],
)
def test_a_wrong_value_is_named_with_place_and_remedy(
    home: Path, text: str, key: str, value: str, allowed: str
) -> None:
    message = refused(home, text)
    assert message.startswith(f"{home}/config.toml: {key} is {value}, but must be ")
    assert allowed in message
    assert "Correct it" in message


def test_a_default_is_offered_as_the_remedy(home: Path) -> None:
    assert "leave it out for the default 25." in refused(home, "[agent]\nmax_iterations = 0")


@pytest.mark.parametrize(
    "table", ['channels."a:b"', 'providers."a/b"', 'channels.""', "channels.cli"]
)
def test_names_that_would_confuse_addresses_are_refused(home: Path, table: str) -> None:
    assert "cannot be a name here" in refused(home, f"[{table}]\n")


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ("[agent]\nmodle = 'x'", "agent.modle", "agent.model"),
        ("model = 'x'", "model", "agent.model"),
        ("[providers.o]\napikey = ''", "providers.o.apikey", "providers.o.api_key"),
        ("[channels.t]\nowner = ['1']", "channels.t.owner", "channels.t.owners"),
        ("[quiet]\nchat = 1", "quiet.chat", "quiet.chats"),
    ],
)
def test_a_slip_is_a_warning_that_names_the_likely_key(
    home: Path, text: str, key: str, near: str
) -> None:
    warning = f"{key} is not a known key and is ignored; did you mean {near}?"
    assert load(home, text).warnings == (f"{home}/config.toml: {warning}",)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("zzz = 1", "zzz is not a known key and is ignored."),
        ('"a\\nb" = 1', "'a\\nb' is not a known key and is ignored."),
        ("[later]\nx = 1", "later is not a known key and is ignored."),
        ("[quiet]\nqqqqqq = 1", "quiet.qqqqqq is not a known key and is ignored."),
    ],
)
def test_what_nobody_knows_yet_is_a_warning(home: Path, text: str, warning: str) -> None:
    assert load(home, text).warnings == (f"{home}/config.toml: {warning}",)


@pytest.mark.parametrize(
    ("table", "near"),
    [
        ("chanels.telegram", "channels"),
        ("agnet", "agent"),
        ("tools.exce", "tools.exec"),
        ("mcps.files", "mcp"),
    ],
)
def test_a_mistyped_table_is_an_error_with_the_nearest_name(
    home: Path, table: str, near: str
) -> None:
    text = refused(home, f"[{table}]\nx = 1")
    written = table if near.count(".") else table.partition(".")[0]
    assert f"config.toml: there is no table [{written}]; did you mean [{near}]?" in text


def test_an_unknown_variable_is_a_warning_that_names_it(home: Path) -> None:
    loaded = load(home, "", NANOBOT_AGENT__MODLE="x", NANOBOT_FOO__BAR="x", NANOBOT_WORKSPACES="x")
    assert len(loaded.warnings) == 3
    assert all(text.startswith("environment variable NANOBOT_") for text in loaded.warnings)


@pytest.mark.parametrize(
    ("text", "place", "line"),
    [
        ("\n[agent\n", "line 2, column 7", "[agent"),
        ("a = 1\na = 2\n", "line 2, column 6", "a = 2"),
        ('a = "x', "line 1, column 7", 'a = "x'),
        ("a = 1\r\nb = \r\n", "line 2, column 5", "b ="),
        ("a = 2026-13-45", "line 1, column", "a = 2026-13-45"),
    ],
)
def test_broken_toml_is_shown_with_line_and_column(
    home: Path, text: str, place: str, line: str
) -> None:
    message = refused(home, text)
    assert message.startswith(f"{home}/config.toml, {place}")
    assert line in message


def test_what_is_there_twice_is_called_that(home: Path) -> None:
    for text in ("[agent]\na = 1\na = 2\n", "[agent]\n[agent]\n"):
        assert refused(home, text).endswith("It is there twice: keep one of them.")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000, "a." * 3000 + "a = 1"])
def test_monstrous_toml_is_refused_not_a_crash(home: Path, text: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(text)
    try:
        config.load({"NANOBOT_HOME": str(home)})
    except ConfigError as error:
        assert len(str(error)) < 500  # noqa: PT017 - some Pythons can read it, which is fine


def test_bytes_that_are_not_utf8_are_placed(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_bytes(b"# fine\nname = '\xe4'\n")
    with pytest.raises(ConfigError, match=r"config.toml, line 2: a byte that is not UTF-8\. Save"):
        config.load({"NANOBOT_HOME": str(home)})


def test_a_folder_in_the_files_place_is_refused(home: Path) -> None:
    (home / "config.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="not a regular file"):
        config.load({"NANOBOT_HOME": str(home)})


def test_a_pipe_in_the_files_place_does_not_hang(home: Path) -> None:
    home.mkdir()
    os.mkfifo(home / "config.toml")
    with pytest.raises(ConfigError, match="not a regular file"):
        config.load({"NANOBOT_HOME": str(home)})


def test_a_link_to_nowhere_is_not_an_empty_configuration(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").symlink_to(home / "gone")
    with pytest.raises(ConfigError, match="a link to a file that is not there"):
        config.load({"NANOBOT_HOME": str(home)})


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    home.write_text("")
    with pytest.raises(ConfigError, match=r"not a folder\. Set NANOBOT_HOME"):
        config.load({"NANOBOT_HOME": str(home)})


def test_a_file_that_may_not_be_read_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    home.mkdir()
    (home / "config.toml").touch()
    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(ConfigError, match=r"cannot be read \(Permission denied\). Mend its perm"):
        config.load({"NANOBOT_HOME": str(home)})


# Whatever somebody types

KEYS = st.sampled_from(
    ["agent", "model", "channels.t", "providers.x", "owners", "max_tokens", "web", "tools.exec"]
) | st.sampled_from(
    ["api_key", "token", "workspace", "database_url", "temperature", "'ä'", '""', "type", "x"]
)
VALUES = st.one_of(
    st.sampled_from(['"${X}"', '"file:x"', "true", "nan", "1979-05-27", "{a=1}", "[1,'2']", '"*"']),
    st.integers().map(str),
    st.floats().map(repr),
    st.text(max_size=8).map(lambda text: f'"{text}"'),
)
LINES = st.one_of(
    st.builds("{} = {}".format, KEYS, VALUES),
    KEYS.map("[{}]".format),
    st.builds("[{}.{}]".format, KEYS, KEYS),
    st.text(max_size=20),
)


@given(st.lists(LINES, max_size=8).map("\n".join))
@settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_text_either_loads_or_is_refused_in_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text, "utf-8", errors="replace")
    try:
        loaded = config.load({"NANOBOT_HOME": str(tmp_path)})
    except ConfigError as error:
        assert str(error).startswith(str(tmp_path))  # noqa: PT017 - both outcomes are right
        assert len(str(error)) < 800  # noqa: PT017
    else:
        assert msgspec.json.encode(loaded.agent)
        assert repr(loaded)


@given(
    st.dictionaries(
        st.sampled_from(["AGENT__MODEL", "AGENT", "CHANNELS__X", "CHANNELS__X__OWNERS", "A____B"])
        | st.text(max_size=12).map(str.upper),
        st.text(max_size=12),
    )
)
def test_any_environment_either_loads_or_is_refused_in_words(environ: dict[str, str]) -> None:
    ours = {f"NANOBOT_{name}": text for name, text in environ.items()}
    try:
        assert repr(config.load({**ours, "NANOBOT_HOME": "/nowhere/at/all"}))
    except ConfigError as error:
        assert "/nowhere" in str(error) or "NANOBOT_" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "line",
    [
        'command = ["npx", "--token", "hush", "--url=https://u:hush@x.test/?key=hush"]',
        'url = ["https://u:hush@x.test/"]',
    ],
)
def test_a_list_in_the_place_of_a_text_is_named_without_the_keys_in_it(
    home: Path, line: str
) -> None:
    text = refused(home, f"[mcp.files]\n{line}\n")
    assert "is a list" in text
    assert "hush" not in text
