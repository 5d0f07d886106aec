"""On a whole gateway: the mark is shown, and with `ask_again` the model is told once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

import aiohttp

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.operations.rendering import Now
from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.common.runs.timeline import RunPage
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.plugins.conversations.logs import page_text as session_text
from nanobot.plugins.runs.runs import page_text
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import Answer, ScriptedProvider, asks_for
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

FALSE = "I've sent the email to Claire."
MARK = (
    'The answer says "I\'ve sent the email to Claire." (sent), but no call of this run could have '
    "done that."
)
NOW = Now(1_800_000_000.0, "UTC")


class Home:
    """A home with a scripted model."""

    def __init__(self, folder: Path, *answers: Answer, claims: str = "") -> None:
        folder.mkdir()
        self.folder, self.model = folder, ScriptedProvider(*answers)
        self.environ = {"NANOBOT_HOME": str(folder)}
        (folder / "config.toml").write_text(dedent(claims))

    @asynccontextmanager
    async def serving(self, *, page: bool = False) -> AsyncIterator[Parts]:
        program = Program(provider=OneProvider(self.model))
        config = load(self.environ)
        gateway = Gateway(config, self.environ, channels=False, page=page, program=program)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts

    async def ask(self, parts: Parts, text: str = "Write to Claire") -> tuple[str, str]:
        """What it answered, and the run's id."""
        question = RunInput(messages=[{"role": "user", "content": text}], session_key="api:1")
        async for event in parts.plugged.offers.get(RunService).stream(question):
            if isinstance(event, RunResult):
                return event.message, event.run_id
        raise AssertionError("the run has no end")


async def show(parts: Parts, run_id: str) -> RunPage:
    page: RunPage = await parts.operations.call("runs show", {"id": run_id})
    return page


async def test_a_claim_without_a_call_is_marked_in_text_over_http_and_in_the_conversation(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home", FALSE)
    async with home.serving(page=True) as parts:
        answer, run_id = await home.ask(parts)
        assert answer == FALSE
        page = await show(parts, run_id)
        (remark,) = page.remarks
        (reply,) = [entry for entry in page.entries if entry.kind == "reply"]
        assert (remark.by, remark.text, remark.entry) == ("claims", MARK, reply.seq)
        assert f"! claims: {MARK} (entry {reply.seq})" in page_text(page, NOW)
        session: SessionPage = await parts.operations.call("sessions show", {"session": "api:1"})
        assert session.remarks == page.remarks
        assert MARK in session_text(session, NOW)
        shown = json.loads(await got(parts, f"/api/runs/show?id={run_id}"))
        assert [each["text"] for each in shown["remarks"]] == [MARK]
        shown = json.loads(await got(parts, "/api/sessions/api:1/entries"))
        assert [each["text"] for each in shown["remarks"]] == [MARK]
        assert len(home.model.requests) == 1


async def got(parts: Parts, path: str) -> str:
    headers = {"Authorization": f"Bearer {parts.plugged.offers.get(Access).own}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{parts.http.url}{path}", headers=headers) as response,
    ):
        assert response.status == 200, await response.text()
        return await response.text()


async def test_what_a_call_did_is_not_marked_and_a_call_that_failed_is_named(
    tmp_path: Path,
) -> None:
    wrote = asks_for("write_file", "", path="notes.md", content="hello")
    failed = asks_for("edit_file", "", path="none.md", old_text="a", new_text="b")
    said = "I saved it as notes.md."
    home = Home(tmp_path / "home", wrote, said, failed, "I changed none.md for you.")
    async with home.serving() as parts:
        answer, run_id = await home.ask(parts)
        assert (answer, (await show(parts, run_id)).remarks) == (said, ())
        _, run_id = await home.ask(parts)
        (remark,) = (await show(parts, run_id)).remarks
        assert "the only call that could have done that failed (edit_file)" in remark.text


async def test_it_is_off_where_it_is_switched_off(tmp_path: Path) -> None:
    off = "[claims]\nenabled = false\nask_again = true\n"
    home = Home(tmp_path / "home", FALSE, claims=off)
    async with home.serving() as parts:
        answer, run_id = await home.ask(parts)
        page = await show(parts, run_id)
        assert (answer, page.remarks) == (FALSE, ())
        assert "objection" not in [entry.kind for entry in page.entries]
        assert len(home.model.requests) == 1


async def test_asked_again_the_model_does_it_and_only_its_second_answer_is_given(
    tmp_path: Path,
) -> None:
    wrote = asks_for("write_file", "", path="notes.md", content="hello")
    answers = ("I saved it as notes.md.", wrote, "I saved it as notes.md now.")
    home = Home(tmp_path / "home", *answers, claims="[claims]\nask_again = true\n")
    async with home.serving() as parts:
        answer, run_id = await home.ask(parts)
        assert answer == "I saved it as notes.md now."
        assert (home.folder / "workspace" / "notes.md").read_text() == "hello"
        page = await show(parts, run_id)
        assert page.remarks == ()
        assert [entry.kind for entry in page.entries].count("objection") == 1
        note = str(home.model.requests[1].messages[-1].content)
        assert '"I saved it as notes.md." (saved), but no call of this run' in note
        assert page.run.usage is not None
        assert page.run.usage.model_calls == 3
        await parts.operations.call("runs replay", {"name": run_id})


async def test_an_answer_that_repeats_the_claim_is_given_and_marked(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", FALSE, FALSE, claims="[claims]\nask_again = true\n")
    async with home.serving() as parts:
        answer, run_id = await home.ask(parts)
        page = await show(parts, run_id)
        assert answer == FALSE
        assert [remark.text for remark in page.remarks] == [MARK]
        assert page.remarks[0].entry == page.entries[-1].seq
        assert len(home.model.requests) == 2


async def test_an_honest_answer_costs_nothing_more(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", "I can send it.", claims="[claims]\nask_again = true\n")
    async with home.serving() as parts:
        _, run_id = await home.ask(parts)
        assert len(home.model.requests) == 1
        assert "objection" not in [entry.kind for entry in (await show(parts, run_id)).entries]


ODD = """
    from nanobot.operations.remarks import Noted
    from nanobot.seam.plugin import Plugin


    def fails(entries):
        raise ZeroDivisionError("down we go")


    async def counts(entries):
        return [Noted(text=f"{len(entries)} entries")]


    PLUGIN = Plugin(
        name="odd",
        summary="Odd.",
        remarks=lambda: [fails, lambda entries: [5], counts],
        answer_checks=lambda: [fails, lambda entries: 5],
    )
"""


async def test_a_function_that_fails_is_named_and_the_others_are_called(
    site: Site, tmp_path: Path
) -> None:
    site.bring("odd", ODD)
    home = Home(tmp_path / "home", FALSE, "No, I have not sent it.")
    (home.folder / "config.toml").write_text("[claims]\nask_again = true\n")
    async with home.serving() as parts:
        answer, run_id = await home.ask(parts)
        assert answer == "No, I have not sent it."
        page = await show(parts, run_id)
        said = {(remark.by, remark.text, remark.failed) for remark in page.remarks}
        assert said == {
            ("odd", "The remarks of the plugin odd failed: ZeroDivisionError: down we go", True),
            (
                "odd",
                "The remarks of the plugin odd failed: PluginBroken: it gives a int, "
                "not a nanobot.operations.remarks.Noted",
                True,
            ),
            ("odd", f"{len(page.entries)} entries", False),
        }
