"""What the documents promise is what the code does."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.budgets import Budgets
from nanobot.app.doctor.configuration import configuration
from nanobot.config import loader as config
from nanobot.config.settings import ConfigFile
from nanobot.config.settings.agent import (
    AgentSettings,
    DecisionSettings,
    MemorySettings,
    ProviderSettings,
)
from nanobot.config.settings.budgets import BudgetSettings
from nanobot.config.settings.channels import ChannelSettings, ChatSettings, WebSettings
from nanobot.config.settings.plugins import PluginsSettings
from nanobot.config.settings.retention import RetentionSettings
from nanobot.config.settings.tools import (
    ExecSettings,
    McpSettings,
    PolicySettings,
    SkillsSettings,
    WebToolSettings,
)
from nanobot.config.settings.triggers import (
    LifecycleSettings,
    TriggerSettings,
)
from nanobot.plugins.claims.settings import ClaimsSettings
from nanobot.plugins.evals.settings import EvalsSettings
from nanobot.plugins.events.settings import (
    DiskSettings,
    EventsSettings,
    FilesSettings,
    LoadSettings,
    LogSettings,
    MemoryWatchSettings,
    ProcessSettings,
    SwapSettings,
    UnitsSettings,
)
from nanobot.plugins.heartbeat.settings import HeartbeatSettings
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.metrics.settings import MetricsSettings
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.reader.settings import ReaderSettings
from nanobot.plugins.traces.settings import TracesSettings
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.providers.known_providers import KNOWN_PROVIDERS
from nanobot.providers.litellm_names import REACHED

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")
TABLES: dict[str, type[msgspec.Struct]] = {
    "agent": AgentSettings,
    "agent.decision": DecisionSettings,
    "providers.NAME": ProviderSettings,
    "channels.NAME": ChannelSettings,
    "channels.NAME.chats.ID": ChatSettings,
    "voice": VoiceSettings,
    "claims": ClaimsSettings,
    "evals": EvalsSettings,
    "metrics": MetricsSettings,
    "traces": TracesSettings,
    "web": WebSettings,
    "hooks.NAME": HookSettings,
    "tools.exec": ExecSettings,
    "tools.web": WebToolSettings,
    "memory": MemorySettings,
    "skills": SkillsSettings,
    "policy": PolicySettings,
    "lifecycle": LifecycleSettings,
    "heartbeat": HeartbeatSettings,
    "quiet": QuietSettings,
    "reader": ReaderSettings,
    "budgets": BudgetSettings,
    "mcp.NAME": McpSettings,
    "events": EventsSettings,
    "events.disk": DiskSettings,
    "events.memory": MemoryWatchSettings,
    "events.swap": SwapSettings,
    "events.load": LoadSettings,
    "events.units": UnitsSettings,
    "events.processes.NAME": ProcessSettings,
    "events.files.NAME": FilesSettings,
    "events.logs.NAME": LogSettings,
    "triggers.NAME": TriggerSettings,
    "retention": RetentionSettings,
    "plugins": PluginsSettings,
    "Top level": ConfigFile,
}
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \|", re.MULTILINE)


def documented(heading: str) -> dict[str, str]:
    """Key and default of each row of the table below a heading."""
    section = re.search(
        rf"^## \[?{re.escape(heading)}\]?$(.*?)(?=^## |\Z)", CONFIGURATION, re.MULTILINE | re.DOTALL
    )
    assert section, heading
    return dict(ROW.findall(section[1]))


def default_of(field: msgspec.structs.FieldInfo) -> object:
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


@pytest.mark.parametrize("heading", TABLES)
def test_every_key_is_documented_with_its_default(heading: str) -> None:
    rows = documented(heading)
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(TABLES[heading])}
    if heading in ("channels.NAME", "triggers.NAME"):
        # The adapter's own keys and the type have no default in the code.
        fields.pop("settings")
        fields.pop("type")
        assert rows.pop("type") == "the table's name"
    if heading == "providers.NAME":
        fields.pop("settings")  # a package's own keys
    if heading == "Top level":
        fields = {
            key: fields[key]
            for key in (
                *("database_url", "database_schema", "workspace", "blobs"),
                *("log_format", "drain_seconds"),
            )
        }
    if heading == "agent":
        fields.pop("decision")  # a table of its own
    if heading == "events":
        watches = {path.split(".")[1] for path in TABLES if path.startswith("events.")}
        for table in watches:  # tables of their own
            fields.pop(table)
    if heading == "budgets":
        # Its tables share a row; without any, there is no limit.
        tables = {"person", "chat", "job", "people", "chats", "jobs", "model"}
        assert tables <= set(fields)
        fields = {key: value for key, value in fields.items() if key not in tables}
    assert set(rows) == set(fields)
    for key, default in rows.items():
        value = tomllib.loads(f"x = {default.strip('`')}")["x"]
        assert (tuple(value) if isinstance(value, list) else value) == fields[key], key


def test_every_table_is_documented() -> None:
    headings = set(re.findall(r"^## \[(.+)\]$", CONFIGURATION, re.MULTILINE))
    assert headings | {"Top level"} == set(TABLES)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 120


def test_the_readmes_configuration_loads_without_a_warning(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    example = re.search(r"^    \[agent\]\n(?:    .*\n)+", text, re.MULTILINE)
    assert example
    (tmp_path / "config.toml").write_text(textwrap.dedent(example[0]))
    loaded = config.load({"NANOBOT_HOME": str(tmp_path), "TELEGRAM_TOKEN": "t"})
    assert loaded.warnings == ()
    assert loaded.channels["telegram"].pairing


def test_the_readmes_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(
        r"^    make (\w+)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    ):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("lock", ["run", "dev", "embedded-model"])
def test_locks_are_hashed_and_name_no_index(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")
    assert "--hash=sha256:" in text
    assert not re.search(r"^-|https?://|file://|index-url|find-links", text, re.MULTILINE)


def test_what_runs_is_what_is_tested() -> None:
    pin = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    run, dev = (
        dict(pin.findall((ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")))
        for lock in ("run", "dev")
    )
    assert run.items() <= dev.items()


def test_every_provider_that_needs_only_its_key_is_documented() -> None:
    text = (ROOT / "docs" / "providers.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (`[A-Z_`, ]+`) \| `(\S+)` \|$", text, re.MULTILINE)
    documented = {name: (tuple(re.findall(r"[A-Z_]+", env)), model) for name, env, model in rows}
    assert documented == {
        name: (known.env, known.default_model)
        for name, known in KNOWN_PROVIDERS.items()
        if known.env
    }


def test_the_providers_page_configures_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "providers.md").read_text("utf-8")
    environ = {"NANOBOT_HOME": str(tmp_path), "ANTHROPIC_API_KEY": "a", "GEMINI_API_KEY": "g"}
    (tmp_path / "groq.key").write_text("k")
    blocks = re.findall(r"^(    \[(?:.*\n    ?|\n)*.*\n)", text, re.MULTILINE)
    assert len(blocks) >= 5
    for block in blocks:
        (tmp_path / "config.toml").write_text(textwrap.dedent(block))
        assert config.load(environ).warnings == (), block


async def test_names_on_the_providers_page_reach_litellm() -> None:
    text = (ROOT / "docs" / "providers.md").read_text("utf-8")
    section = text.partition("## Everything else: litellm")[2].partition("| `PROVIDER` |")[0]
    names = set(re.findall(r"`([a-z_0-9]+)`", section))
    assert {"bedrock", "cohere", "perplexity"} <= names <= REACHED


def test_the_people_page_configures_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "channels" / "people.md").read_text("utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "telegram.token").write_text("t")
    blocks = re.findall(r"^(    \[(?:.*\n    ?|\n)*.*\n)", text, re.MULTILINE)
    loaded = None
    for example in (blocks[0], "".join(blocks[1:])):
        (tmp_path / "config.toml").write_text(textwrap.dedent(example))
        loaded = config.load({"NANOBOT_HOME": str(tmp_path)})
        assert loaded.warnings == (), example
        assert loaded.channels["telegram"].owners == ("1001",)
    assert loaded
    assert set(loaded.channels["telegram"].chats) == {"-1001234", "-1005678"}


@pytest.mark.parametrize("page", ["heartbeat", "quiet"])
def test_the_pages_on_what_is_said_unasked_configure_what_they_say(
    tmp_path: Path, page: str
) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^(    \[(?:.*\n    ?|\n)*.*\n)", text, re.MULTILINE)
    (tmp_path / "config.toml").write_text("".join(textwrap.dedent(block) for block in blocks))
    findings, loaded = configuration({"NANOBOT_HOME": str(tmp_path)})
    assert {finding.level for finding in findings} == {"ok"}
    assert loaded
    settings = loaded.value(page)
    assert (settings.quiet_from, settings.zone) == ("22:00", "Europe/Berlin")


def test_the_page_on_budgets_configures_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "budgets.md").read_text("utf-8")
    blocks = re.findall(r"^(    \[(?:.*\n    ?|\n)*.*\n)", text, re.MULTILINE)
    (tmp_path / "config.toml").write_text("".join(textwrap.dedent(block) for block in blocks))
    loaded = config.load({"NANOBOT_HOME": str(tmp_path)})
    assert loaded.warnings == ()
    assert Budgets(loaded.budgets).daily
    assert loaded.providers["openai"].prices["gpt-5"].completion == 10.0
    assert loaded.agent.max_run_cost == 0.5


GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text("utf-8")


def test_every_guarantee_names_tests_that_exist() -> None:
    rows = re.findall(
        r"^\| (?!nanobot guarantees|---)(.+?) \| .+? \| (.+) \|$", GUARANTEES, re.MULTILINE
    )
    assert len(rows) >= 20
    for promise, shown in rows:
        tests = re.findall(r"`([\w/]+\.py)::(test_\w+)`", shown)
        assert tests, promise
        for file, test in tests:
            text = (ROOT / "tests" / file).read_text("utf-8")
            assert re.search(rf"^ *(?:async )?def {test}\b", text, re.MULTILINE), f"{file}::{test}"
