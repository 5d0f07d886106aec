"""A database on a server belongs to a plugin: while that is off, every command that needs the store
says so, and names the command that switches it on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.peers import SharedStore, sharing_of
from nanobot.app.plugged import Plugged
from nanobot.bus.peers import Peers
from nanobot.channels.chat_leases import Sharing
from nanobot.config.loader import load
from nanobot.errors import ConfigError, StoreError
from nanobot.plugins.common.store.at_rest import at_rest, where
from nanobot.seam.installed import installed
from nanobot.store.opening import Store, in_memory_database
from nanobot.store.servers import server_of
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from tests.cli.running import environ_of, run
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.store.conftest import Postgres
from tests.store.home import LEASE_SECONDS

REFUSAL = "database_url needs the plugin postgres. It is switched off: nanobot plugins on postgres"
OFF = '[plugins]\noff = ["postgres"]\n'


def home_of(folder: Path, url: str, more: str = "") -> dict[str, str]:
    home = folder / "home"
    home.mkdir()
    (home / "config.toml").write_text(f'database_url = "{url}"\n{more}')
    return environ_of(home)


@pytest.mark.process
async def test_every_command_that_needs_the_store_names_the_plugin_and_the_way_back(
    tmp_path: Path,
) -> None:
    environ = home_of(tmp_path, "postgresql://nobody:secret@127.0.0.1:1/none", OFF)
    for words in (
        ["gateway"],
        ["status"],
        ["db", "check"],
        ["db", "vacuum"],
        ["db", "backup", str(tmp_path / "kept.db")],
        ["db", "quarantine", "list"],
        ["db", "migrate", "--to", f"sqlite:///{tmp_path / 'new.db'}"],
    ):
        refused = await run(environ, *words)
        assert (refused.code, refused.out) == (ConfigError.exit_code, ""), words
        assert refused.err.strip().splitlines()[-1].endswith(REFUSAL), words
    doctor = await run(environ, "doctor", "--json")
    texts = {each["text"] for each in json.loads(doctor.out) if each["about"] == "store"}
    assert texts == {REFUSAL}


@pytest.mark.process
async def test_a_store_in_a_file_is_moved_to_no_database_of_a_plugin_that_is_off(
    tmp_path: Path,
) -> None:
    environ = home_of(tmp_path, "", OFF)
    refused = await run(environ, "db", "migrate", "--to", "postgresql://nobody@127.0.0.1:1/none")
    assert (refused.code, REFUSAL in refused.err) == (ConfigError.exit_code, True), refused.err
    missing = await run(environ, "db", "migrate")
    assert (missing.code, "--to" in missing.err) == (2, True)


@pytest.mark.process
async def test_the_command_that_it_names_switches_it_on(tmp_path: Path, postgres: Postgres) -> None:
    environ = home_of(tmp_path, postgres.empty(), OFF)
    listed = {each["name"]: each for each in (await run(environ, "plugins", "list", "--json")).json}
    assert listed["postgres"]["state"] == "off"
    assert "databases" in listed["postgres"]["brings"]
    on = await run(environ, "plugins", "on", "postgres")
    assert (on.code, "is on after the next start" in on.out) == (0, True), on.err
    assert (await run(environ, "status")).code == 0
    assert "Everything holds." in (await run(environ, "db", "check")).out
    off = await run(environ, "plugins", "off", "postgres")
    assert off.code == 0, off.err
    assert REFUSAL in (await run(environ, "status")).err


@pytest.mark.parametrize("settings", [OFF, ""])
async def test_a_gateway_over_a_file_meets_no_other_process(tmp_path: Path, settings: str) -> None:
    environ = home_of(tmp_path, "", settings)
    config = load(environ)
    assert ("postgres" in Plugged(config).switched.off) == bool(settings)
    async with Gateway(config, environ, channels=False).serving("a test", lambda _: None) as parts:
        assert type(parts.peers) is type(parts.engine.bus.peers) is Peers
        assert type(parts.plugged.offers.get(Sharing)) is SharedStore


MINE = """
from nanobot.errors import StoreError
from nanobot.seam.plugin import Plugin


class Server:
    def __init__(self, url):
        self.where = url.replace("secret", "***")

    def at_rest(self):
        raise StoreError(f"{self.where} is asleep")


PLUGIN = Plugin(name="mydb", summary="A database.", databases={"mydb": DATABASE})
"""


def test_a_package_brings_a_database_by_what_its_url_begins_with(
    tmp_path: Path, site: Site
) -> None:
    site.bring("mydb", MINE.replace("DATABASE", "Server"))
    config = load(home_of(tmp_path, "mydb://me:secret@there/it"))
    assert where(config.database_url) == "mydb://me:***@there/it"
    with pytest.raises(StoreError, match="is asleep"), at_rest(config.database_url):
        pass


def test_a_database_that_cannot_be_opened_is_the_plugins_failure(
    tmp_path: Path, site: Site
) -> None:
    site.bring("mydb", MINE.replace("DATABASE", '"nowhere.at_all:Server"'))
    config = load(home_of(tmp_path, "mydb://there/it"))
    with pytest.raises(ConfigError, match="mydb"):
        server_of(config.database_url)
    assert "databases" in {each.name: each.why for each in installed().left_out}["mydb"]


async def test_a_shared_store_is_not_used_without_what_its_processes_agree_on(
    tmp_path: Path,
) -> None:
    writer = StoreContext(ManualClock(), CountingIds(), "us", LEASE_SECONDS)
    store, plugged = Store(in_memory_database(), writer, None), Plugged(load(home_of(tmp_path, "")))
    plugged.offers.add_by_type(store)
    with pytest.raises(StoreError, match="plugins list"):
        sharing_of(store, plugged)
    await store.close()


def test_what_no_plugin_brings_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="database_url"):
        load(home_of(tmp_path, "mysql://there/it"))
