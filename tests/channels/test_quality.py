"""The manifests of the channels, the quality scale and the pages that tell of both."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from nanobot.plugins.kit.manifests import grades_of, manifest_of
from nanobot.plugins.kit.scale import RULES, Grade, Manifest
from nanobot.plugins.setup.new_channel import setup_of
from nanobot.seam.entry_points import CHANNELS, Plugins
from nanobot.testing.quality import check_manifest, quality_table
from tests.channels.test_contract import PLATFORMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "channels" / "quality.md"
OVERVIEW = (ROOT / "docs" / "channels.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
KINDS = tuple(PROJECT["entry-points"][CHANNELS])
# Of this checkout, however long ago it was installed.
HERE = Plugins(
    EntryPoint(kind, value, CHANNELS) for kind, value in PROJECT["entry-points"][CHANNELS].items()
)
# How the contract's tests call them.
CONTRACT_NAMES = {"udp": "Udp", "email": "mailbox"}
MANIFEST = Manifest(
    platform="Pigeons", api="2", source="https://example.org", read_on=date(2026, 1, 1), owner="Ann"
)


def manifests() -> dict[str, Manifest]:
    return {kind: manifest for kind in KINDS if (manifest := manifest_of(kind, HERE)) is not None}


def page() -> str:
    """What docs/channels/quality.md says below "The rules": `python -m tests.channels.test_quality`
    writes it."""
    return "## The rules\n\n" + quality_table(manifests())


def plugins(module: str) -> Plugins:
    return Plugins([EntryPoint("pigeon", f"{module}:open_channel", CHANNELS)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_judges_every_rule_and_names_tests_that_exist(kind: str) -> None:
    file = ROOT / "channels" / "nanobot_channels" / kind / "manifest.toml"
    manifest = check_manifest(file, ROOT / "tests")
    judged = manifest.done.keys() | manifest.exempt.keys() | manifest.open.keys()
    assert judged == {rule for rules in RULES.values() for rule in rules}
    assert manifest == manifest_of(kind, HERE)
    assert manifest.grade is not None
    assert manifest.read_on <= date.today()  # noqa: DTZ011 - a day, wherever
    assert CONTRACT_NAMES.get(kind, kind) in {platform.__name__ for platform in PLATFORMS}


def test_the_page_is_what_the_manifests_say() -> None:
    assert PAGE.read_text("utf-8").endswith("\n" + page()), "python -m tests.channels.test_quality"


def test_the_overview_has_the_grades() -> None:
    kinds = re.search(r"^\| `type` \| (.*) \|$", OVERVIEW, re.MULTILINE)
    grades = re.search(
        r"^\| \[Quality\]\(channels/quality\.md\) \| (.*) \|$", OVERVIEW, re.MULTILINE
    )
    assert kinds is not None
    assert grades is not None
    documented = zip(kinds[1].split(" | "), grades[1].split(" | "), strict=True)
    assert {kind.strip("`"): grade for kind, grade in documented} == grades_of(KINDS, HERE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_tells_how_to_set_up_and_what_the_limits_are(kind: str) -> None:
    setup = setup_of(kind, HERE)
    text = (ROOT / setup.docs).read_text("utf-8")
    assert "\n## Limits\n" in text
    assert [field.key for field in setup.fields if f"{field.key}" not in text] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_says_what_to_do_when_it_does_not_work(kind: str) -> None:
    assert "\n## When it does not work\n" in (ROOT / setup_of(kind, HERE).docs).read_text("utf-8")


def test_a_grade_needs_all_rules_of_the_grades_below() -> None:
    done: dict[str, list[str]] = {}
    reached = [MANIFEST.grade]
    for rules in RULES.values():
        for rule in rules:
            done[rule] = ["test_it.py::test_it"]
        reached.append(msgspec.structs.replace(MANIFEST, done=done).grade)
    assert reached == [None, *Grade]
    del done["contract"]
    assert msgspec.structs.replace(MANIFEST, done=done).grade is None
    exempt = {"contract": "It has none."}
    assert msgspec.structs.replace(MANIFEST, done=done, exempt=exempt).grade is Grade.PLATINUM


def test_what_contradicts_the_scale_is_named() -> None:
    manifest = msgspec.structs.replace(
        MANIFEST, done={"flies": ["a"], "edits": []}, open={"edits": "Soon."}, exempt={"menu": ""}
    )
    assert sorted(manifest.problems()) == [
        "done.edits: names no test or reason",
        "done.flies: there is no such rule",
        "edits: is in done and open",
        "exempt.menu: names no test or reason",
    ]


def test_a_test_that_is_not_there_fails_the_check(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one() -> None: ...\n", "utf-8")
    file = tmp_path / "manifest.toml"
    head = 'platform = "P"\napi = "1"\nsource = "s"\nread_on = 2026-01-01\nowner = "Ann"\n'
    file.write_text(head + '[done]\nedits = ["test_it.py::test_one"]\n', "utf-8")
    assert check_manifest(file, tmp_path).done == {"edits": ["test_it.py::test_one"]}
    for test in ("test_it.py::test_two", "test_other.py::test_one", "test_it.py"):
        file.write_text(head + f'[done]\nedits = ["{test}"]\n', "utf-8")
        with pytest.raises(AssertionError, match="there is no test"):
            check_manifest(file, tmp_path)


def test_a_manifest_is_found_without_importing_its_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pigeon_channel"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemError('imported')\n", "utf-8")
    (package / "opening.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("pigeon_channel", "pigeon_channel.opening"):
        assert manifest_of("pigeon", plugins(module)) is None
    file = package / "manifest.toml"
    file.write_bytes(
        (ROOT / "channels" / "nanobot_channels" / "udp" / "manifest.toml").read_bytes()
    )
    for module in ("pigeon_channel", "pigeon_channel.opening"):
        assert grades_of(["pigeon"], plugins(module))["pigeon"] == grades_of(KINDS, HERE)["udp"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"platform = 3", b"a = " + b"[" * 100_000, b"#" * 300_000],
    ids=["empty", "bytes", "types", "deep", "large"],
)
def test_a_manifest_that_cannot_be_read_is_no_grade(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "odd_channel"
    package.mkdir()
    (package / "__init__.py").write_text("", "utf-8")
    (package / "manifest.toml").write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    assert grades_of(["pigeon"], plugins("odd_channel")) == {}


@pytest.mark.parametrize("module", ["single_module", "not_there", "not_there.below"])
def test_a_channel_without_a_package_has_no_grade(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "single_module.py").write_text("raise SystemError('imported')\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert grades_of(["pigeon", "another"], plugins(module)) == {}


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text.partition("## The rules\n")[0] + page(), "utf-8")
