"""Functions that one plugin provides and others use, by an interface between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from nanobot.plugins.common.policy.rules import ESCAPES
from nanobot.plugins.diagnostics.collecting import EXAMINATION
from nanobot.plugins.diagnostics.log_lines import SERVICE_LOG
from nanobot.seam.installed import Interface, installed, provided
from nanobot.tools.judge import JUDGE
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

SONG: Interface[type[str]] = Interface("song")
GIVES = """
from nanobot.seam.plugin import Plugin


def song(text):
    return f"la {text}"


PLUGIN = Plugin(name="birds", summary="Birds.", provides=PROVIDES)
"""


def test_a_package_provides_a_function_to_whoever_knows_its_interface(site: Site) -> None:
    assert provided(SONG) is None
    site.bring("birds", GIVES.replace("PROVIDES", '{"song": song}'))
    found = provided(SONG)
    assert found is not None
    assert found("la") == "la la"


def test_of_what_judges_calls_a_package_provides_nothing(site: Site) -> None:
    own = provided(JUDGE)
    assert own is not None
    site.bring("birds", GIVES.replace("PROVIDES", '{"judge": song, "escapes": song}'))
    installed().found.pop("shell")
    assert provided(JUDGE) is own
    assert provided(ESCAPES) is None


def test_a_function_that_cannot_be_loaded_is_as_if_nobody_provided_it(site: Site) -> None:
    site.bring("birds", GIVES.replace("PROVIDES", '{"song": "nowhere.at_all:song"}'))
    assert provided(SONG) is None
    assert "birds" in installed().found


@pytest.mark.parametrize("wrong", ["('song',)", "None", "'song'"])
def test_what_is_provided_must_be_named(site: Site, wrong: str) -> None:
    site.bring("birds", GIVES.replace("PROVIDES", wrong))
    left = {each.name: each.why for each in installed().left_out}
    assert left["birds"] == "blobs, databases, groups, provides and providers must be mappings"


async def test_set_up_provides_the_examination_of_a_home_and_the_log_of_its_service(
    tmp_path: Path,
) -> None:
    environ: Mapping[str, str] = {"NANOBOT_HOME": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    (tmp_path / "config.toml").write_text("[agent\n")
    examine, command = provided(EXAMINATION), provided(SERVICE_LOG)
    assert examine is not None
    assert command is not None
    findings = await examine(environ)
    assert [finding.level for finding in findings] == ["broken"]
    assert command(environ) == []
