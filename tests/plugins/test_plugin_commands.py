"""Commands of the command line that plugins bring."""

from __future__ import annotations

import typer
from typer.testing import CliRunner, Result

from nanobot.cli import plugin_commands
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

SINGS = '''
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from nanobot.seam.faces import Command
from nanobot.seam.plugin import Plugin


def sing(
    environ: Mapping[str, str],
    *,
    times: Annotated[int, Meta(description="How often.")] = 1,
    loud: bool = False,
) -> None:
    """Let a bird sing."""
    song = environ["SONG"] * times
    print(song.upper() if loud else song)


def commands():
    return [Command(name="NAME", run=RUN, examples=("nanobot sing --times 2",))]


PLUGIN = Plugin(name="birds", summary="Birds that sing.", commands=commands)
'''


def ran(*arguments: str) -> Result:
    app = typer.Typer()
    app.command("known")(lambda: None)
    plugin_commands.add(app)
    return CliRunner().invoke(app, [*arguments], obj={"SONG": "tweet"})


def test_a_package_brings_a_command_with_options(site: Site) -> None:
    site.bring("birds", SINGS.replace("NAME", "sing").replace("RUN", "sing"))
    assert ran("sing").output == "tweet\n"
    assert ran("sing", "--times", "2", "--loud").output == "TWEETTWEET\n"
    help_text = ran("sing", "--help").output
    assert "Let a bird sing." in help_text
    assert "How often." in help_text
    assert "nanobot sing --times 2" in help_text
    assert ran("sing", "--times", "often").exit_code == 2


def test_a_command_whose_name_is_taken_is_left_out_and_the_others_stay(site: Site) -> None:
    site.bring("birds", SINGS.replace("NAME", "known").replace("RUN", "sing"))
    assert ran("known").exit_code == 0
    assert ran("known", "--times", "2").exit_code == 2
    assert ran("diagnostics", "--help").exit_code == 0


def test_an_option_that_cannot_be_one_leaves_the_command_out(site: Site) -> None:
    site.bring("birds", SINGS.replace("NAME", "sing").replace("RUN", "lambda environ, x: None"))
    assert ran("sing").exit_code == 2
    assert ran("diagnostics", "--help").exit_code == 0
