"""What a plugin of a package offers to others, adds to prompts, and has around all runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.installed import installed
from nanobot.seam.plugin import resolved
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.troubles import TROUBLES
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

NESTS = """
    from contextlib import asynccontextmanager

    import msgspec

    from nanobot.agent.prompt import PromptAddition, PromptPart
    from nanobot.seam.faces import Guidance
    from nanobot.seam.plugin import Plugin
    from nanobot.tools.base import Effect, Tool


    class Nest:
        def __init__(self):
            self.seen = []


    class Nothing(msgspec.Struct, frozen=True):
        pass


    def tools(nest: Nest):
        async def look(args: Nothing, context):
            nest.seen.append("looked")
            return "three eggs"

        return Tool(name="look_inside", description="Looks.", args=Nothing, run=look,
                    effect=Effect.NONE, taints=False)


    def prompt(nest: Nest):
        async def parts(scope):
            {inside}
            return [PromptPart("nest", f"This is the nest of {{scope}}.")]

        return PromptAddition(parts=parts, limits={{"AGENTS.md": 10}})


    @asynccontextmanager
    async def around(nest: Nest):
        nest.seen.append("entered")
        yield
        nest.seen.append("left")


    NEST = Nest()

    PLUGIN = Plugin(
        name="nests",
        summary="Nests.",
        objects=lambda: {{Nest: NEST}},
        tools=tools,
        guidance=(Guidance(tools="look_", text="Nests:\\n- Do not touch the eggs."),),
        prompt=prompt,
        around_runs=around,
    )
"""


def seen() -> list[str]:
    """What happened to the nest, in order."""
    namespace = resolved(installed().found["nests"].plugin.tools or "").__globals__
    happened: list[str] = namespace["NEST"].seen
    return happened


@asynccontextmanager
async def serving(folder: Path, provider: ScriptedProvider) -> AsyncIterator[Parts]:
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(provider))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def said(parts: Parts, text: str) -> str:
    question = RunInput(messages=[{"role": "user", "content": text}])
    *_, last = [item async for item in parts.plugged.offers.get(RunService).stream(question)]
    assert isinstance(last, RunResult)
    return last.message


def prompts(provider: ScriptedProvider) -> list[str]:
    return [str(request.messages[0].content) for request in provider.requests]


async def test_prompts_say_what_a_plugin_adds_and_it_is_there_around_all_runs(
    site: Site, tmp_path: Path
) -> None:
    site.bring("nests", NESTS.format(inside="pass"))
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "AGENTS.md").write_text("Whistle before you answer.")
    provider = ScriptedProvider(asks_for("look_inside"), "Three.")
    async with serving(tmp_path, provider) as parts:
        assert await said(parts, "How many eggs?") == "Three."
        assert seen() == ["entered", "looked"]
    assert seen() == ["entered", "looked", "left"]
    first, second = prompts(provider)
    assert first == second
    assert "Nests:\n- Do not touch the eggs." in first
    assert first.index("Do not touch the eggs") < first.index("Safety:")
    assert "This is the nest of owner." in first
    assert "Whistle be" in first
    assert "Whistle before" not in first


async def test_a_part_of_a_prompt_that_fails_costs_only_itself(site: Site, tmp_path: Path) -> None:
    site.bring("nests", NESTS.format(inside="raise ZeroDivisionError('fallen')"))
    provider = ScriptedProvider("Hello.")
    async with serving(tmp_path, provider) as parts:
        assert await said(parts, "Hi") == "Hello."
        assert any("prompt of the plugin nests" in str(each) for each in TROUBLES.recent())
    (prompt,) = prompts(provider)
    assert "This is the nest" not in prompt
    assert "Do not touch the eggs." in prompt


CLASHING = """
    from nanobot.ports import Clock
    from nanobot.plugins.common.models.embedding import Embedder
    from nanobot.seam.plugin import Plugin

    PLUGIN = Plugin(name="odd", summary="Odd.", objects=lambda: {offers})
"""


@pytest.mark.parametrize(
    ("offers", "why"),
    [
        ("{Clock: object()}", "objects: Clock is offered already"),
        (
            "{Embedder: object()}",
            "objects: it gives a object, not a nanobot.providers.embedding.Embedder",
        ),
        ("[1]", "objects: TypeError"),
    ],
)
async def test_what_cannot_be_offered_is_named(
    offers: str, why: str, site: Site, tmp_path: Path
) -> None:
    site.bring("odd", CLASHING.format(offers=offers))
    async with serving(tmp_path, ScriptedProvider()) as parts:
        (view,) = [each for each in plugin_views(parts.plugged) if each.name == "odd"]
        assert (view.state, view.why[: len(why)]) == ("failed", why)
        assert parts.engine.clock.now() > 0


ALWAYS = """
    from nanobot.ports import Clock
    from nanobot.seam.plugin import Plugin


    class Kept:
        def __init__(self, clock):
            self.clock = clock


    def given(clock: Clock):
        return {given}

    PLUGIN = Plugin(name="odd", summary="Odd.", always_objects=given)
"""


OFF = '[plugins]\noff = ["odd"]\n'


async def test_what_others_rely_on_is_offered_of_a_package_while_its_plugin_is_on(
    site: Site, tmp_path: Path
) -> None:
    site.bring("odd", ALWAYS.format(given="{Kept: Kept(clock)}"))
    kept = resolved(installed().found["odd"].plugin.always_objects or "").__globals__["Kept"]
    async with serving(tmp_path, ScriptedProvider()) as parts:
        assert parts.plugged.offers.get(kept).clock is parts.engine.clock
    (tmp_path / "config.toml").write_text(OFF)
    async with serving(tmp_path, ScriptedProvider()) as parts:
        assert not parts.plugged.offers.has(kept)


async def test_what_others_rely_on_is_named_if_it_fails(site: Site, tmp_path: Path) -> None:
    site.bring("odd", ALWAYS.format(given="[1]"))
    async with serving(tmp_path, ScriptedProvider("Hello.")) as parts:
        (view,) = [each for each in plugin_views(parts.plugged) if each.name == "odd"]
        assert view.state == "failed"
        assert view.why.startswith("always_objects: TypeError")
        assert await said(parts, "Hi") == "Hello."


async def test_what_others_rely_on_may_need_the_worker(site: Site, tmp_path: Path) -> None:
    given = ALWAYS.format(given="{Kept: Kept(clock)}").replace("always_objects", "worker_objects")
    given = given.replace("nanobot.ports", "nanobot.agent.worker").replace("Clock", "Worker")
    site.bring("odd", given)
    kept = resolved(installed().found["odd"].plugin.worker_objects or "").__globals__["Kept"]
    async with serving(tmp_path, ScriptedProvider()) as parts:
        assert parts.plugged.offers.get(kept).clock is parts.worker
    (tmp_path / "config.toml").write_text(OFF)
    async with serving(tmp_path, ScriptedProvider()) as parts:
        assert not parts.plugged.offers.has(kept)


def test_guidance_that_is_none_is_named(site: Site) -> None:
    nonsense: Any = 'PLUGIN = Plugin(name="odd", summary="Odd.", guidance=("text",))'
    site.bring("odd", f"from nanobot.seam.plugin import Plugin\n{nonsense}\n")
    (left,) = [each for each in installed().left_out if each.name == "odd"]
    assert left.why == "guidance is not a tuple of nanobot.seam.faces.Guidance"


ADDING = """
    from nanobot.agent.prompt import PromptAddition, PromptPart
    from nanobot.seam.plugin import Plugin


    async def parts(scope):
        {parts}


    def last(tools):
        {last}


    def renew():
        raise ZeroDivisionError("no renewal")


    PLUGIN = Plugin(
        name="adds",
        summary="Adds.",
        prompt=lambda: PromptAddition(parts=parts, last=last, renew=renew),
    )
"""
GOOD = "return [PromptPart('nest', 'Eggs here.')]"
BAD = ("raise ZeroDivisionError('fallen')", "return 'a text'", "return [None]", "return 3")


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("which", ["parts", "last"])
async def test_what_fails_of_an_addition_or_is_no_part_costs_only_itself(
    which: str, bad: str, site: Site, tmp_path: Path
) -> None:
    site.bring("adds", ADDING.format(**{"parts": GOOD, "last": GOOD, which: bad}))
    provider = ScriptedProvider("Hello.")
    async with serving(tmp_path, provider) as parts:
        assert await said(parts, "Hi") == "Hello."
        assert any("the plugin adds" in str(each) for each in TROUBLES.recent())
        await parts.operations.call("reload", {})
    (prompt,) = prompts(provider)
    assert prompt.count("Eggs here.") == 1
