"""A plugin of a package brings what one of ours could; what fails of it is named, and everything
else works."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import aiohttp
import pytest

from nanobot.app import plugged
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import ConfigError, ToolError
from nanobot.messages import Address, Role
from nanobot.operations.catalogue import plugin_operations
from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.keys.declared_keys import keys_of
from nanobot.plugins.common.plugin_checks import checked
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.plugins.common.views.remarks import remarks_of
from nanobot.plugins.configuration.schema import schema
from nanobot.plugins.configuration.shown import shown as shown_keys
from nanobot.plugins.setup.doctor.plugins import broken
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.entry_points import BUILT_IN, built_in
from nanobot.seam.installed import installed
from nanobot.seam.plugin import FUNCTIONS, Plugin, resolved
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.base import CallContext
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.sampling import by_turns, few
from tests.store.empty import with_empty_store

WHOLE = """
    from typing import Annotated
    from contextlib import asynccontextmanager

    import msgspec
    from msgspec import Meta

    from nanobot.config.settings.base import Settings, Unfit, about
    from nanobot.operations.home import Finding
    from nanobot.operations.operation import Caller, OperationContext, operation
    from nanobot.ports import Clock
    from nanobot.seam.plugin import Plugin
    from nanobot.seam.works import Works
    from nanobot.tools.base import CallContext, Effect, Tool


    class BirdSettings(Settings, frozen=True, kw_only=True):
        sound: Annotated[str, about("What a bird says.")] = "tweet"
        api_key: Annotated[str, about("Key of the birds.")] = ""
        count: Annotated[int, Meta(ge=1, le=9), about("How many birds.")] = 1

        def __post_init__(self):
            if self.sound == "moo":
                raise Unfit("sound", "the sound of a bird")
            if self.sound == "crash":
                raise ZeroDivisionError("a bird broke")


    class Sing(msgspec.Struct, frozen=True):
        times: int = 1


    def tools(settings: BirdSettings, clock: Clock):
        async def sing(args: Sing, context: CallContext) -> str:
            return f"{settings.sound * args.times} at {clock.now() > 0}"

        return [Tool(name="sing", description="Sings.", args=Sing, run=sing, effect=Effect.NONE)]


    class Song(msgspec.Struct, frozen=True):
        text: str


    @operation("birds sing")
    async def sing(context: OperationContext, caller: Caller, times: int = 1) -> Song:
        \"\"\"Let a bird sing.\"\"\"
        return Song("tweet" * times if context.of(Clock) else "")


    LIVED = []


    @asynccontextmanager
    async def start(settings: BirdSettings, works: Works):
        LIVED.append("began")
        yield
        LIVED.append("ended")


    PLUGIN = Plugin(
        name="birds",
        summary="Birds that sing.",
        settings=BirdSettings,
        tools=tools,
        operations=lambda: [sing],
        checks=lambda settings: [],
        start=start,
    )


    def checks(settings: BirdSettings):
        yield Finding(about="birds", level="ok", text=f"{settings.count} birds sing")


    PLUGIN = msgspec.structs.replace(PLUGIN, checks=checks)
"""


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        with_empty_store(folder)
        self.environ: dict[str, str] = {"NANOBOT_HOME": str(folder)}

    def write(self, text: str) -> None:
        (self.folder / "config.toml").write_text(dedent(text))

    @asynccontextmanager
    async def serving(
        self, *, channels: bool = False, page: bool = False, answers: tuple[Any, ...] = ()
    ) -> AsyncIterator[Parts]:
        program = Program(provider=OneProvider(ScriptedProvider(*answers)))
        gateway = Gateway(
            load(self.environ), self.environ, channels=channels, page=page, program=program
        )
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def view(parts: Parts, name: str) -> Any:
    (found,) = (each for each in plugin_views(parts.plugged) if each.name == name)
    return found


async def called(parts: Parts, tool: str, arguments: Mapping[str, object]) -> str:
    context = CallContext(
        run_id="r",
        session_key="cli:direct",
        address=Address("cli", "direct"),
        sender_id="local",
        role=Role.OWNER,
        key="r:0:0",
    )
    return await parts.engine.tools.execute(tool, json.dumps(arguments), context)


async def eventually(holds: Any) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


async def test_a_package_brings_settings_tools_operations_checks_and_lives_with_the_gateway(
    site: Site, home: Home
) -> None:
    site.bring("birds", WHOLE)
    home.write('[birds]\nsound = "peep"\napi_key = "very-secret-bird"\n')
    home.environ["NANOBOT_BIRDS__COUNT"] = "3"
    config = load(home.environ)
    assert config.warnings == ()
    shown = dict(shown_keys(config))
    assert (shown["birds.sound"], shown["birds.count"]) == ("peep", 3)
    assert shown["birds.api_key"] == "***"
    assert "birds.count" in [key.name for key in keys_of(config)]
    assert "BirdSettings" in schema()["$defs"]
    start = resolved(installed().found["birds"].plugin.start or "")
    lived = inspect.unwrap(start).__globals__["LIVED"]
    async with home.serving() as parts:
        assert (await called(parts, "sing", {"times": 2})) == "peeppeep at True"
        assert parts.engine.tools.redact("say very-secret-bird") == "say [secret]"
        assert (await parts.operations.call("birds sing", {"times": 2})).text == "tweettweet"
        await eventually(lambda: lived == ["began"])
        assert view(parts, "birds").state == "on"
        assert view(parts, "birds").package == "package-birds"
        assert set(view(parts, "birds").brings) == {"tools", "operations", "checks", "start"}
    assert lived == ["began", "ended"]
    said = [finding.text async for finding in checked(config) if finding.about == "birds"]
    assert said == ["3 birds sing"]


async def test_what_is_wrong_in_a_table_is_said_as_of_any_other(site: Site, home: Home) -> None:
    site.bring("birds", WHOLE)
    for text, said in (
        ('sound = "moo"', "birds.sound is"),
        ("count = 10", "birds.count is 10"),
        ('count = "many"', "birds.count is"),
    ):
        home.write(f"[birds]\n{text}\n")
        with pytest.raises(ConfigError, match=said):
            load(home.environ)
    home.write("[birds]\nsuond = 1\n")
    (warning,) = load(home.environ).warnings
    assert "did you mean birds.sound" in warning


async def test_one_that_is_switched_off_brings_nothing_and_its_table_stops_no_start(
    site: Site, home: Home
) -> None:
    site.bring("birds", WHOLE)
    home.write('[plugins]\noff = ["birds"]\n[birds]\ncount = 99\n')
    async with home.serving() as parts:
        assert view(parts, "birds").state == "off"
        assert "nanobot plugins on birds" in view(parts, "birds").why
        assert "sing" not in [tool.name for tool, *_ in parts.engine.tools.listed()]
        assert "birds sing" not in [each.name for each in parts.operations.listed]


async def test_plugins_are_listed_and_switched_by_operations(site: Site, home: Home) -> None:
    site.bring("birds", WHOLE)
    home.write("")
    async with home.serving() as parts:
        listed = await parts.operations.call("plugins list", {})
        assert {"birds", *BUILT_IN} <= {each.name for each in listed}
        done = await parts.operations.call("plugins off", {"name": "birds"})
        assert done.state == "off"
        assert load(home.environ).plugins.off == ("birds",)
        await parts.operations.call("plugins on", {"name": "birds"})
        assert load(home.environ).plugins.off == ()
        with pytest.raises(Exception, match="no plugin 'cows'"):
            await parts.operations.call("plugins on", {"name": "cows"})


BASE = """
    import msgspec
    from nanobot.seam.plugin import Plugin


    def fail(*_):
        raise ZeroDivisionError("down we go")


    PLUGIN = Plugin(name="odd", summary="Odd.", {fields})
"""
LOADING = {
    "import": ("raise RuntimeError('not today')", "RuntimeError: not today"),
    "exit": ("import sys\nsys.exit(3)", "sys.exit(3)"),
    "kind": ("PLUGIN = 5", "it gives a int, not a nanobot.seam.plugin.Plugin"),
    "nothing": ("", "has no attribute 'PLUGIN'"),
    "name": (BASE.replace('"odd"', '"other"').format(fields=""), "not that of its entry point"),
    "summary": (BASE.replace('"Odd."', '" "').format(fields=""), "it has no summary"),
    "settings": (BASE.format(fields="settings=msgspec.Struct"), "no subclass of nanobot's"),
    "requires": (BASE.format(fields="requires=['a']"), "must be tuples"),
    "tables": (BASE.format(fields="tables=('no_such_module',)"), "made by its migrations"),
    "part": (BASE.format(fields="tools=5"), "must be a function"),
    "readers": (BASE.format(fields="readers=(5,)"), "readers is not a tuple of nanobot.seam"),
    "providers": (BASE.format(fields="providers=5"), "providers must be mappings"),
    "idle": (BASE.format(fields="idle=fail"), "ZeroDivisionError: down we go"),
}


@pytest.mark.parametrize("case", LOADING)
async def test_one_that_cannot_be_loaded_is_named_and_left_out(
    case: str, site: Site, home: Home
) -> None:
    code, why = LOADING[case]
    site.bring("odd", code)
    site.bring("birds", WHOLE)
    home.write('[birds]\nsound = "peep"\n')
    async with home.serving() as parts:
        assert view(parts, "odd").state == "failed"
        assert why in view(parts, "odd").why
        assert (await called(parts, "sing", {})) == "peep at True"
    assert [each.name for each in broken() if why in each.why] == ["odd"]


async def test_settings_whose_code_fails_leave_out_their_plugin(site: Site, home: Home) -> None:
    site.bring("birds", WHOLE)
    home.write('[birds]\nsound = "crash"\n')
    async with home.serving() as parts:
        assert view(parts, "birds").state == "failed"
        assert "a bird broke" in view(parts, "birds").why
    assert load(home.environ).warnings


async def test_a_name_of_the_core_and_one_that_is_taken_are_left_out(
    site: Site, home: Home
) -> None:
    site.bring("agent", BASE.replace('"odd"', '"agent"').format(fields=""))
    site.bring("voice", BASE.replace('"odd"', '"voice"').format(fields=""))
    home.write("")
    load(home.environ)
    whys = {each.name: each.why for each in broken()}
    assert "the name agent is taken" in whys["agent"]
    assert "the name is taken by" in whys["voice"]
    assert installed().found["voice"].package == ""


async def test_what_it_needs_is_looked_for(site: Site, home: Home) -> None:
    site.bring("odd", BASE.format(fields="packages=('no_such_thing',)"))
    code = BASE.replace('"odd"', '"needy"').format(fields="requires=('odd',)")
    site.bring("needy", code)
    home.write("")
    async with home.serving() as parts:
        assert "no_such_thing" in view(parts, "odd").why
        assert "It needs the plugin odd" in view(parts, "needy").why


ASKED_LATER = frozenset(
    {
        *("checks", "commands", "fits"),  # by commands, each with a test of its own
        *("exposures", "metrics", "remarks"),  # when somebody looks
        *("page", "routes", "deliveries", "serve"),  # where something is served over HTTP
        *("companions", "listening", "channels"),  # where channels or the page are: the test after
        "sharing",  # where processes share a store
        "results",  # closes: the next test
        "ledger",  # ends the start: tests/plugins/budgets/test_switched.py
    }
)
# Fields that are called when a gateway is put together: a new one is among them by itself.
FAILING = [field for field in FUNCTIONS if field not in ASKED_LATER]
WAYS = {
    "raises": "fail",
    "gives nonsense": "lambda: [object()]",
    "asks for nonsense": "lambda thing: thing",
    "is nowhere": "'no_such_module:thing'",
}


@pytest.mark.parametrize(("field", "how"), few(by_turns(FAILING, WAYS), len(FAILING)))
async def test_a_part_that_fails_is_named_and_everything_else_works(
    field: str, how: str, site: Site, home: Home
) -> None:
    site.bring("odd", BASE.format(fields=f"{field}={WAYS[how]}"))
    site.bring("birds", WHOLE)
    home.write("")
    async with home.serving() as parts:
        await eventually(lambda: view(parts, "odd").state == "failed")
        assert view(parts, "odd").why.startswith(f"{field}: ")
        assert view(parts, "birds").state == "on"
        assert (await called(parts, "sing", {})) == "tweet at True"


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("field", ["companions", "listening", "channels"])
async def test_a_part_of_channels_or_the_page_that_fails_is_named_and_everything_else_works(
    field: str, how: str, site: Site, home: Home
) -> None:
    site.bring("odd", BASE.format(fields=f"{field}={WAYS[how]}"))
    home.write('[channels.udp]\nport = 0\ntoken = "long enough"\n')
    async with home.serving(channels=True, page=True) as parts:
        await eventually(lambda: view(parts, "odd").state == "failed")
        assert view(parts, "odd").why.startswith(f"{field}: ")
        await eventually(lambda: parts.channels.states({"udp"}) == {"udp": "up"})
        async with aiohttp.ClientSession() as client, client.get(parts.http.url) as answer:
            assert answer.status == 200


async def test_remarks_that_fail_are_named_once_somebody_looks(site: Site, home: Home) -> None:
    site.bring("odd", BASE.format(fields="remarks=fail"))
    home.write("")
    async with home.serving() as parts:
        assert view(parts, "odd").state == "on"
        assert await remarks_of(parts.plugged).on("run", ()) == ()
        assert view(parts, "odd").why.startswith("remarks: ")


@pytest.mark.parametrize("function", ["fail", "lambda: [object()]", "'no_such_module:thing'"])
async def test_a_filter_of_results_that_is_broken_shows_nothing_from_outside(
    function: str, site: Site, home: Home
) -> None:
    site.bring("odd", BASE.format(fields=f"results={function}"))
    site.bring("birds", WHOLE)
    home.write("")
    async with home.serving() as parts:
        assert view(parts, "odd").why.startswith("results: ")
        with pytest.raises(ToolError, match="the plugin odd, which filters results, is broken"):
            await called(parts, "sing", {})
        assert await called(parts, "list_dir", {"path": "."})


async def test_a_start_that_hangs_is_named_and_nothing_waits_for_it(
    site: Site, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugged, "START_SECONDS", 0.2)
    hanging = """
        import asyncio
        from contextlib import asynccontextmanager
        from nanobot.seam.plugin import Plugin


        @asynccontextmanager
        async def start():
            await asyncio.sleep(3600)
            yield


        PLUGIN = Plugin(name="odd", summary="Odd.", start=start)
    """
    site.bring("odd", hanging)
    home.write("")
    async with home.serving() as parts:
        assert view(parts, "odd").state == "on"
        await eventually(lambda: "has not started" in view(parts, "odd").why)


async def test_a_tool_and_a_check_that_fail_are_named(site: Site, home: Home) -> None:
    site.bring(
        "birds", WHOLE.replace('return f"{settings.sound', 'return 1 / 0, f"{settings.sound')
    )
    site.bring("odd", BASE.format(fields="checks=fail"))
    home.write("")
    async with home.serving() as parts:
        with pytest.raises(ZeroDivisionError):
            await called(parts, "sing", {})
    said = [finding.text async for finding in checked(load(home.environ))]
    assert "the check of the plugin odd failed: ZeroDivisionError: down we go" in said
    assert "1 birds sing" in said


def test_every_part_of_a_built_in_plugin_is_there() -> None:
    """What is named as text is read by no other check."""
    for point in built_in():
        plugin = point.load()
        assert isinstance(plugin, Plugin)
        assert plugin.name == point.name
        parts = [getattr(plugin, field) for field in FUNCTIONS]
        for part in (each for each in parts if each is not None):
            assert callable(resolved(part))
    for operation in plugin_operations():
        operation.check_annotations()


SERVED = """
    import msgspec
    from aiohttp import web
    from nanobot.config.settings.tools import RuleSettings
    from nanobot.errors import UsageError
    from nanobot.seam.faces import Metric, PageView
    from nanobot.seam.plugin import Plugin
    from nanobot.plugins.common.http.route import Route
    from nanobot.seam.tables import PluginTables
    from nanobot.tools.base import Effect, Tool

    SEEN = []


    class Nothing(msgspec.Struct, frozen=True):
        pass


    def tools(tables: PluginTables):
        async def lay(args: Nothing, context):
            await tables.change("INSERT INTO eggs (weight) VALUES (:w)", w=3)
            context.send("An egg!", await context.keep(b"egg", "egg.txt"))
            return "laid"

        return Tool(name="lay", description="Lays.", args=Nothing, run=lay, effect=Effect.WORLD),


    def routes(tables: PluginTables):
        async def eggs(request):
            return web.json_response(await tables.rows("SELECT weight FROM eggs"))

        async def refuse(request):
            raise UsageError("no eggs today")

        async def fail(request):
            raise ZeroDivisionError("cracked")

        async def nonsense(request):
            return 5

        gives = {"/eggs": eggs, "/refuse": refuse, "/fail": fail, "/nonsense": nonsense}
        return [Route(method="GET", path=path, handler=give) for path, give in gives.items()]


    async def stage(active):
        SEEN.append("before")


    PLUGIN = Plugin(
        name="eggs",
        summary="Eggs.",
        migrations=("CREATE TABLE eggs (weight INTEGER)",),
        tools=tools,
        routes=routes,
        policy=lambda: [RuleSettings(verdict="allow", tool="lay")],
        page=lambda: [PageView(title="Eggs", script="export default () => () => null;")],
        metrics=lambda: [Metric(name="laid", about="Eggs.", values={(("hen", "a"),): 2.0})],
        stages=lambda: stage,
        events=lambda: lambda event: SEEN.append(str(event.kind)),
    )
"""
WEB = "[web]\nport = 0\n[agent]\nremember = 'off'\n"


async def asked(parts: Parts, path: str, token: str | None = None) -> tuple[int, str]:
    shown = parts.plugged.offers.get(Access).own if token is None else token
    headers = {"Authorization": f"Bearer {shown}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{parts.http.url}{path}", headers=headers) as response,
    ):
        return response.status, await response.text()


async def test_a_package_brings_tables_routes_views_metrics_rules_stages_and_events(
    site: Site, home: Home
) -> None:
    site.bring("eggs", SERVED)
    home.write(WEB)
    async with home.serving(page=True, answers=(asks_for("lay"), "There it is.")) as parts:
        seen = resolved(installed().found["eggs"].plugin.tools or "").__globals__["SEEN"]
        assert await asked(parts, "/plugins/eggs/eggs") == (200, "[]")
        question = RunInput(messages=[{"role": "user", "content": "Lay!"}])
        async for _ in parts.plugged.offers.get(RunService).stream(question):
            continue
        assert await asked(parts, "/plugins/eggs/eggs") == (200, '[{"weight": 3}]')
        assert {"before", "tool_result"} <= set(seen)
        assert (await asked(parts, "/plugins/eggs/eggs", "wrong-token"))[0] == 401
        status, text = await asked(parts, "/plugins/eggs/refuse")
        assert (status, "no eggs today" in text) == (400, True)
        for name in ("fail", "nonsense"):
            status, text = await asked(parts, f"/plugins/eggs/{name}")
            assert (status, "The plugin eggs failed" in text) == (500, True)
        views = json.loads((await asked(parts, "/api/me"))[1])["views"]
        (page,) = [each for each in views if each["name"] == "eggs-main"]
        assert page["title"] == "Eggs"
        assert (await asked(parts, page["script"]))[1].startswith("export default")
        assert 'nanobot_eggs_laid{hen="a"} 2.0' in (await asked(parts, "/metrics"))[1]
        assert view(parts, "eggs").state == "on"
    async with home.serving(page=True) as parts:  # its tables are there already
        assert await asked(parts, "/plugins/eggs/eggs") == (200, '[{"weight": 3}]')


STANDS_IN = """
    from nanobot.seam.faces import PageView
    from nanobot.seam.plugin import Plugin
    from nanobot.tools.base import ToolOutput


    class Echo:
        def knows(self, name, arguments, context):
            return name == "echo"

        async def judged(self, call, context, decision):
            return decision

        async def answered(self, call, context):
            return ToolOutput("answered by the plugin") if call.name == "echo" else None


    VIEW = PageView(title="Part", script="export default () => () => null;")
    PLUGIN = Plugin(
        name="echo",
        summary="Answers calls.",
        stand_in=STAND_IN,
        page=lambda: [PageView(title="Part", script=VIEW.script, place="run", needs="runs show")],
    )
"""


async def test_a_package_answers_calls_instead_of_the_tools_where_no_other_does(
    site: Site, home: Home
) -> None:
    site.bring("echo", STANDS_IN.replace("STAND_IN,", "Echo,"))
    home.write(f"{WEB}[plugins]\noff = ['fork']\n")
    async with home.serving(page=True) as parts:
        assert await parts.engine.tools.execute("echo", "{}") == "answered by the plugin"
        assert view(parts, "echo").state == "on"
        views = json.loads((await asked(parts, "/api/me"))[1])["views"]
        (part,) = [each for each in views if each["name"] == "echo-main"]
        assert (part["place"], part["needs"]) == ("run", "runs show")
    home.write(WEB)
    async with home.serving(page=True) as parts:
        why = "stand_in: another plugin answers calls instead of the tools already"
        assert view(parts, "echo").why == why


async def test_what_cannot_answer_calls_is_named(site: Site, home: Home) -> None:
    site.bring("echo", STANDS_IN.replace("STAND_IN,", "lambda: 5,"))
    home.write(f"{WEB}[plugins]\noff = ['fork']\n")
    async with home.serving(page=True) as parts:
        assert view(parts, "echo").why == (
            "stand_in: it gives a int, not a nanobot.tools.stand_in.StandIn: "
            "it has no function `knows`"
        )


@pytest.mark.parametrize("field", ["routes", "page", "metrics", "serve"])
async def test_what_fails_of_what_is_served_is_named(field: str, site: Site, home: Home) -> None:
    site.bring("odd", BASE.format(fields=f"{field}=fail"))
    home.write(WEB)
    async with home.serving(page=True) as parts:
        status, text = await asked(parts, "/metrics")
        assert (status, "nanobot_uptime_seconds" in text) == (200, True)
        assert view(parts, "odd").why == f"{field}: ZeroDivisionError: down we go"


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ('"CREATE TABLE odd (", "x"', "migrations: "),
        ('"CREATE TABLE runs2 (a INTEGER)"', "must be named odd"),
        ('"DROP TABLE approvals"', "must be named odd"),
        ("fail", "down we go"),
    ],
)
async def test_tables_that_cannot_be_made_leave_out_their_plugin_and_nothing_of_them(
    steps: str, why: str, site: Site, home: Home
) -> None:
    site.bring("odd", BASE.format(fields=f"migrations=({steps},), tools=fail"))
    home.write("")
    async with home.serving() as parts:
        assert why in view(parts, "odd").why
        assert "tools" not in view(parts, "odd").why
        assert await parts.operations.call("approvals list", {}) == []


async def test_an_older_version_of_a_plugin_leaves_newer_tables_alone(
    site: Site, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = 'migrations=("CREATE TABLE odd (a INTEGER)", "CREATE TABLE odd_b (a INTEGER)")'
    site.bring("odd", BASE.format(fields=fields))
    home.write("")
    async with home.serving() as parts:
        assert view(parts, "odd").state == "on"
    older = tmp_path / "older"
    older.mkdir()
    monkeypatch.setattr(
        "sys.path", [str(older), *sys.path[:0], *[p for p in sys.path if p != str(site.folder)]]
    )
    Site(older).bring("odd", BASE.format(fields='migrations=("CREATE TABLE odd (a INTEGER)",)'))
    async with home.serving() as parts:
        assert "a newer version of it made them" in view(parts, "odd").why
