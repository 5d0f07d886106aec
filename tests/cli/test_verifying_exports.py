"""`nanobot audit verify-export` on a machine that has no home, no store and no gateway."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import environ_of, run
from tests.plugins.proof.logs import Log, said


async def test_an_export_is_verified_where_there_is_no_home(tmp_path: Path) -> None:
    one = Log([said("one"), said("two")])
    file = tmp_path / "log.jsonl"
    file.write_bytes(await one.exported("post"))
    head = (await one.head()).hex()
    nowhere = tmp_path / "nowhere"
    environ = environ_of(nowhere)

    fits = await run(environ, "audit", "verify-export", str(file), "--head", head)
    as_json = await run(environ, "audit", "verify-export", str(file), "--json")
    other = await run(environ, "audit", "verify-export", str(file), "--head", "0" * 63 + "1")
    file.write_bytes(file.read_bytes().replace(b'"seq":2', b'"seq":3'))
    changed = await run(environ, "audit", "verify-export", str(file), "--head", head)
    missing = await run(environ, "audit", "verify-export", "none.jsonl")

    assert fits.code == 0, fits.err
    assert "telegram:1001: entries 1 to 2 fit (contents: 2 left out)." in fits.out
    assert "The given head proves the entries up to 2." in fits.out

    assert as_json.json["head"] == head
    assert (other.code, changed.code, missing.code) == (4, 4, 2)
    assert "does not contain the head" in other.err
    assert f"entry 2 of {file} does not fit" in changed.err
    assert "none.jsonl: No such file or directory; check its path" in missing.err
    assert not nowhere.exists()


async def test_a_broken_configuration_does_not_hinder_it(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(await Log([said("one")]).exported())
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("not = [valid")
    ran = await run(environ_of(home), "audit", "verify-export", str(file))
    assert ran.code == 0, ran.err
    assert "Without --head this shows only that the file is whole." in ran.out
