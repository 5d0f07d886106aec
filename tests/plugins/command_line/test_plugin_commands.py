"""Commands of the command line that plugins bring."""

from __future__ import annotations

import typer
from typer.testing import CliRunner, Result

from nanobot.errors import UsageError
from nanobot.plugins.command_line import generated, plugin_commands
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

SINGS = '''
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from nanobot.plugins.common.faces import Command
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
    plugin_commands.add(app, {})
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


NESTS = """
from collections.abc import Mapping
from typing import Annotated, Literal

from nanobot.errors import UsageError
from nanobot.plugins.common.faces import Command, Option
from nanobot.seam.plugin import Plugin


def build(
    environ: Mapping[str, str],
    *,
    of: Annotated[list[str] | None, Option(about="What of.", words=True, metavar="STUFF")] = None,
    places: Annotated[list[str] | None, Option(about="Where.", flags=("--at", "-a"))] = None,
    size: Annotated[int | None, Option(about="How big.", least=1)] = None,
    form: Annotated[Literal["round", "flat"], Option(about="Its form.")] = "round",
) -> int:
    \"\"\"Build a nest.\"\"\"
    if places == ["nowhere"]:
        raise UsageError("there is no nowhere")
    print(of, places, size, form)
    return 4 if form == "flat" else 0


def commands():
    return [
        Command(name="nests build", run=build, examples=("nanobot nests build moss",)),
        Command(name="nests make", run=build, hidden=True),
    ]


PLUGIN = Plugin(
    name="birds", summary="Birds.", commands=commands, groups={"nests": "Where birds live."}
)
"""


def test_a_package_brings_a_group_of_commands_with_every_kind_of_option(site: Site) -> None:
    site.bring("birds", NESTS)
    assert "Where birds live." in ran("--help").output
    assert "make" not in ran("nests", "--help").output
    built = ran("nests", "build", "moss", "hair", "--at", "oak", "-a", "elm", "--size", "2")
    assert built.output == "['moss', 'hair'] ['oak', 'elm'] 2 round\n"
    assert ran("nests", "make").output == "None None None round\n"
    help_text = ran("nests", "build", "--help").output
    assert "STUFF" in help_text
    assert "What of." in help_text
    assert ran("nests", "build", "--size", "0").exit_code == 2
    assert ran("nests", "build", "--form", "square").exit_code == 2


def test_what_a_command_returns_and_raises_is_its_exit_code(site: Site) -> None:
    site.bring("birds", NESTS)
    assert ran("nests", "build", "--form", "flat").exit_code == 4
    wrong = ran("nests", "build", "--at", "nowhere")
    assert wrong.exit_code == UsageError.exit_code
    assert "nanobot: there is no nowhere" in wrong.output


def test_a_command_joins_a_group_that_exists_and_cannot_replace_one_of_its_commands(
    site: Site,
) -> None:
    site.bring("birds", NESTS)
    app = typer.Typer()
    nests = generated.subcommands()
    nests.command("list")(lambda: print("none"))
    app.add_typer(nests, name="nests")
    plugin_commands.add(app, {"nests": nests})
    assert CliRunner().invoke(app, ["nests", "list"]).output == "none\n"
    assert CliRunner().invoke(app, ["nests", "build"], obj={}).exit_code == 0
    taken = typer.Typer()
    nests = generated.subcommands()
    nests.command("build")(lambda: print("the first"))
    taken.add_typer(nests, name="nests")
    plugin_commands.add(taken, {"nests": nests})
    assert CliRunner().invoke(taken, ["nests", "build"]).output == "the first\n"
    assert CliRunner().invoke(taken, ["nests", "make"]).exit_code == 2


def test_only_one_command_gets_the_words_that_are_no_command(site: Site) -> None:
    leads = NESTS.replace("examples=", 'leading=("--at",), examples=')
    site.bring("birds", leads)
    app = typer.Typer()
    app.command("known")(lambda: None)
    leading = plugin_commands.add(app, {})
    assert leading is not None
    assert leading.name == "agent"
    assert CliRunner().invoke(app, ["nests", "build"], obj={}).exit_code == 2
