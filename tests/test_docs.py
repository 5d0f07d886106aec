"""What the documents promise is what the code does."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from nanobot.config import loader as config
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import BudgetSettings, RunCostKeys
from nanobot.plugins.common.keys.config_file import as_toml
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.litellm_names import REACHED
from nanobot.plugins.configuration.shown import values
from nanobot.plugins.setup.doctor.configuration import configuration
from tests import reference

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")


@pytest.mark.parametrize("name", reference.MADE)
def test_a_reference_page_is_what_the_program_makes(name: str) -> None:
    if (ROOT / "docs" / name).read_text("utf-8") != reference.whole(name):
        pytest.fail(f"docs/{name} is old. Run: python -m tests.reference --write")


def test_every_key_of_a_new_home_is_documented_with_its_default(tmp_path: Path) -> None:
    sections = dict(
        re.findall(
            r"^## (Top level|\[\S+\])$(.*?)(?=^## |\Z)", CONFIGURATION, re.MULTILINE | re.DOTALL
        )
    )
    for path, value in values({"NANOBOT_HOME": str(tmp_path)}).items():
        if f"[[{path}]]" in sections:  # a list of tables
            continue
        table, _, key = path.rpartition(".")
        default = "" if path in {"workspace", "blobs", "database_url"} else value  # in the home
        row = f"| `{key} = {as_toml(default)}`"
        assert row in sections[f"[{table}]" if table else "Top level"], path


READMES = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/security.md")),
    *sorted((ROOT / "channels").rglob("README.md")),
    *sorted((ROOT / "nanobot").rglob("README.md")),
]
_CODE = re.compile(r"`([a-z0-9_./-]+\.(?:py|pyi|js|css))(?:::\w+)?`")


@pytest.fixture(scope="module")
def endings() -> set[str]:
    """The files of the project, by all endings of their paths."""
    found = set()
    for top in ("nanobot", "channels", "tests", "benchmarks", "requirements", "examples", "docs"):
        for file in (ROOT / top).rglob("*.*"):
            parts = file.relative_to(ROOT).parts
            found |= {"/".join(parts[first:]) for first in range(len(parts))}
    return found


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_that_a_readme_names_exists(readme: Path, endings: set[str]) -> None:
    named = _CODE.findall(readme.read_text("utf-8"))
    assert [name for name in named if name.removeprefix("./") not in endings] == []


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
    assert Budgets(loaded.of(BudgetSettings)).daily
    assert loaded.providers["openai"].prices["gpt-5"].completion == 10.0
    assert loaded.of(RunCostKeys).max_run_cost == 0.5


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
