"""Every label goes along every way on which a text leaves its conversation, or comes back into one:
answers, questions, quotes, messages, background runs, errors, memories.

Each way is tried with what was said from outside, as a secret, and by a member. A last test finds
the places in nanobot that make such a text without saying whose it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from nanobot import labels
from nanobot.errors import ToolError
from nanobot.labels import UNKNOWN, Label, Privacy, Speaker
from nanobot.messages import Address, OutboundKind, OutboundMessage, Role
from nanobot.operations.operation import (
    A_PROGRAM,
    AT_THE_TERMINAL,
    Caller,
    OperationContext,
    operation,
)
from nanobot.plugins.approvals.ask_user import ask_tool
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.message_tool import message_tool
from nanobot.plugins.common.runs.background_runs import Parent, TaskRequest
from nanobot.plugins.common.runs.run_types import TaskContext
from nanobot.plugins.common.typed import said
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.plugins.tasks.builtin import builtin_types
from nanobot.session.entries import Body, PostEntry, ToolResultEntry, UserEntry
from nanobot.session.labelling import label_of
from nanobot.session.run_types import TaskResult
from nanobot.store.journal import inbox
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, MemoryHome, Options, Process
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER
from nanobot.text import Spans
from nanobot.tools.base import AnyTool, CallContext, Effect, ToolOutput
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.confinement import ConfinedFiles
from tests.agent.tooling import Args, Recorder, bodies
from tests.plugins.tasks.working import Words, say, with_types
from tests.plugins.triage.doubles import FakeStarter
from tests.plugins.triage.test_triage import decision, options, run
from tests.plugins.triage.test_triage import model as model_of_triage

ORDER = "remember that the diary goes to Mallory"
QUESTION = asks_for("ask_user", question=f"Shall I {ORDER}?")
ELSEWHERE = asks_for("message", content="the owls arrive tomorrow", channel="fake", chat_id="2")


class Said(NamedTuple):
    """A message, and what has to be true of the label of all that is made of it."""

    message: dict[str, Any]
    kept: Callable[[Label], bool]


SAID = {
    "outside": Said({"text": "Read this.", "tainted": True}, lambda label: label.tainted),
    "secret": Said(
        {"text": "The code is 4711 #secret"}, lambda label: label.privacy is Privacy.SECRET
    ),
    "member": Said(
        {"text": "Hello.", "sender": MEMBER}, lambda label: Speaker.MEMBER in label.speakers
    ),
}
PEOPLE = pytest.mark.parametrize("what", SAID)


async def push(bot: FakeGateway, what: str, **more: Any) -> None:
    """Somebody says it; the answer is read."""
    message = dict(SAID[what].message)
    await bot.channel.push(message.pop("text"), **message, **more)
    await bot.channel.pop()


def kept(what: str, body: Body) -> bool:
    return SAID[what].kept(label_of(body))


# Answers and questions


@pytest.mark.parametrize("what", ["outside", "secret"])
async def test_an_answer_has_the_label_of_the_message_that_gave_it(what: str) -> None:
    async with gateway(ScriptedProvider(QUESTION, "Good."), tools=[ask_tool()]) as bot:
        await bot.channel.push("Paint it.")
        await bot.channel.pop()
        await push(bot, what)
        (result,) = bodies(bot, ToolResultEntry)
        assert result.ok
        assert kept(what, result)


@pytest.mark.parametrize("late", [False, True])
async def test_an_answer_by_command_may_be_marked_secret(late: bool) -> None:
    model = ScriptedProvider(QUESTION, "Meanwhile.", "Hello.", "Good.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("Paint it.", sender=MEMBER)
        await bot.channel.pop()
        if late:
            await bot.channel.push("Hello.")
            for _ in range(3):
                await bot.channel.pop()
        await bot.channel.push("/answer 1 It is 4711. #secret", sender=MEMBER)
        for _ in range(2):
            await bot.channel.pop()
        body: Body = bodies(bot, UserEntry)[-1] if late else bodies(bot, ToolResultEntry)[-1]
        assert "4711" in getattr(body, "text", "")
        assert label_of(body).privacy is Privacy.SECRET


@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize("late", [False, True])
async def test_an_answer_by_a_program_is_not_its_owner_s_word(*, late: bool, program: bool) -> None:
    model = ScriptedProvider(QUESTION, "Meanwhile.", "Hello.", "Good.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await bot.channel.push("Paint it.", sender=MEMBER)
        await bot.channel.pop()
        if late:
            await bot.channel.push("Hello.")
            for _ in range(3):
                await bot.channel.pop()
        caller = A_PROGRAM if program else AT_THE_TERMINAL
        await bot.operations.call("answer", {"id": 1, "text": "4711"}, caller)
        await bot.channel.pop()
        body: Body = bodies(bot, UserEntry)[-1] if late else bodies(bot, ToolResultEntry)[-1]
        assert "4711" in getattr(body, "text", "")
        assert label_of(body).tainted is program
        assert (Speaker.PROGRAM in label_of(body).speakers) is program


@PEOPLE
async def test_a_late_answer_repeats_the_question_of_those_who_led_to_it(what: str) -> None:
    model = ScriptedProvider("Seen.", QUESTION, "Meanwhile.", "Hello.", "Good.")
    async with gateway(model, tools=[ask_tool()]) as bot:
        await push(bot, what)
        await bot.channel.push("And now?")
        await bot.channel.pop()
        await bot.channel.push("Hello.", sender=MEMBER)
        for _ in range(3):
            await bot.channel.pop()
        await bot.channel.push("/answer 1 yes")
        await bot.channel.pop()
        await bot.channel.pop()
        entries = bot.home.entries("fake:1")
        last = next(e for e in reversed(entries) if isinstance(e.body, UserEntry))
        assert isinstance(last.body, UserEntry)
        assert ORDER in last.body.text
        assert kept(what, last.body)
        if what != "secret":  # nobody typed the words of the question
            assert said(last.run_id, Role.OWNER, entries) is None


def asking(recorder: Recorder) -> AnyTool:
    """A tool that always asks."""
    return msgspec.structs.replace(recorder.tool("act"), danger=lambda _: "it acts")


@PEOPLE
async def test_a_call_that_is_approved_late_is_what_they_led_to(what: str) -> None:
    recorder = Recorder()
    model = ScriptedProvider("Seen.", asks_for("act", text=ORDER), "Meanwhile.", "Hi.", "Done.")
    async with gateway(model, tools=[asking(recorder)]) as bot:
        await push(bot, what)
        await bot.channel.push("And now?")
        await bot.channel.pop()
        await bot.channel.push("Hello.", sender=MEMBER)
        for _ in range(3):
            await bot.channel.pop()
        await bot.channel.push("/approve 1")
        for _ in range(2):
            await bot.channel.pop()
        assert recorder.calls == [f"act {ORDER}"]
        assert kept(what, bodies(bot, UserEntry)[-1])


# Quotes


@PEOPLE
async def test_a_quoted_answer_keeps_its_label_when_new_has_ended_it(what: str) -> None:
    async with gateway(ScriptedProvider("It says so.", "New.")) as bot:
        message = dict(SAID[what].message)
        await bot.channel.push(message.pop("text"), **message)
        answer = await bot.channel.pop()
        await bot.channel.push("/new")
        await bot.channel.pop()
        await bot.channel.push("What is this?", reply_to=answer.id, quote=answer.text)
        await bot.channel.pop()
        entry = bot.home.entries("fake:1")[-1]
        last = bodies(bot, UserEntry)[-1]
        assert last.quote == "It says so."
        assert kept(what, last)
        if what != "outside":  # what its sender typed is theirs, whatever they quote
            words = said(entry.run_id, Role.OWNER, bot.home.entries("fake:1"))
            assert words is not None
            assert words.text == "What is this?"


@PEOPLE
async def test_a_quoted_question_has_the_label_of_those_who_led_to_it(what: str) -> None:
    recorder = Recorder()
    model = ScriptedProvider("Seen.", asks_for("act", text=ORDER), "Denied.", "Hm.")
    async with gateway(model, tools=[asking(recorder)]) as bot:
        await push(bot, what)
        await bot.channel.push("And now?")
        question = await bot.channel.pop()
        assert ORDER in question.text
        await bot.channel.push("/deny 1")
        for _ in range(2):
            await bot.channel.pop()
        await bot.channel.push("/new")
        await bot.channel.pop()
        await bot.channel.push("Why?", reply_to=question.id, quote=question.text)
        await bot.channel.pop()
        assert kept(what, bodies(bot, UserEntry)[-1])


async def test_a_quoted_answer_to_a_command_may_repeat_what_anybody_wrote() -> None:
    brings = Brought(operations=(shown,))
    async with gateway(options=Options(brings=lambda _: brings)) as bot:
        for command, tainted in (("/shown", True), ("/stop", False)):
            await bot.channel.push(command)
            answer = await bot.channel.pop()
            await bot.channel.push("What is this?", reply_to=answer.id, quote=answer.text)
            await bot.channel.pop()
            assert label_of(bodies(bot, UserEntry)[-1]).tainted is tainted
            await bot.channel.push("/new")
            await bot.channel.pop()


@pytest.mark.parametrize("kind", OutboundKind)
@pytest.mark.parametrize("own", [None, (), ((0, 3),)])
def test_a_message_without_a_label_is_quoted_as_what_it_may_be(
    kind: OutboundKind, own: Spans | None
) -> None:
    """Drafts, answers to commands and questions may repeat anything; a post is of an owner."""
    message = OutboundMessage(
        address=Address("fake", "1"), text="The word is owl.", key="k", kind=kind, own=own
    )
    expected = kind is not OutboundKind.POST and (kind, own) != (OutboundKind.NOTICE, None)
    assert (inbox.label_of_answer(message) == UNKNOWN) is expected
    labelled = msgspec.structs.replace(message, label=OWNERS.encoded())
    assert inbox.label_of_answer(labelled) == OWNERS


@operation("shown", reads=True)
async def shown(_: OperationContext, __: Caller) -> str:
    """Show what was written."""
    return ORDER


# Messages to other chats


@PEOPLE
async def test_a_message_to_another_chat_keeps_the_label_of_what_led_to_it(what: str) -> None:
    model = ScriptedProvider("Seen.", ELSEWHERE, "Sent.")
    async with gateway(model, tools=[message_tool(None)]) as bot:
        await push(bot, what)
        await bot.channel.push("And now?")
        await bot.channel.pop()
        await bot.channel.push("/approve 1")
        await bot.channel.pop("2")
        (post,) = bodies(bot, PostEntry, "fake:2")
        assert kept(what, post)


async def test_what_an_owner_typed_is_theirs_in_the_other_chat() -> None:
    model = ScriptedProvider("Seen.", ELSEWHERE, "Sent.")
    async with gateway(model, tools=[message_tool(None)]) as bot:
        await push(bot, "outside")
        await bot.channel.push("Tell them that the owls arrive tomorrow.")
        await bot.channel.pop("2")
        (post,) = bodies(bot, PostEntry, "fake:2")
        assert not label_of(post).tainted


# Background runs


def parent(label: Label, session: str = "fake:9", *, private: bool = True) -> Parent:
    return Parent(
        session_key=session,
        run_id="",
        address=Address("fake", "9"),
        sender_id="1001",
        role=Role.OWNER,
        tainted=label.tainted,
        label=label.encoded(),
        private=private,
    )


OWNERS = labels.of(Speaker.OWNER, privacy=Privacy.PERSON)


@PEOPLE
async def test_a_summary_of_another_conversation_has_its_label(what: str, tmp_path: Path) -> None:
    async with MemoryHome() as home:
        types = tuple(builtin_types(Process(home).journal, ConfinedFiles(tmp_path)))
        model = ScriptedProvider("Seen.", "They spoke.")
        async with gateway(model, home=home, options=Options(types=types)) as bot:
            await push(bot, what)
            asked = TaskRequest(
                type="summarize_conversation",
                title="It",
                input={"session_key": "fake:1"},
                key="k",
                parent=parent(OWNERS),
            )
            await bot.starter.start(asked)
            assert "They spoke." in (await bot.channel.pop("9")).text
            assert kept(what, bodies(bot, PostEntry, "fake:9")[-1])


@pytest.mark.parametrize(
    "by",
    [
        parent(OWNERS, private=False),
        parent(OWNERS.join(labels.of(Speaker.MEMBER))),
        parent(OWNERS.join(labels.of(Speaker.GUEST))),
    ],
    ids=["in a group", "with a member", "with a guest"],
)
async def test_no_one_else_has_an_owners_conversation_summed_up(by: Parent, tmp_path: Path) -> None:
    async with MemoryHome() as home:
        types = tuple(builtin_types(Process(home).journal, ConfinedFiles(tmp_path)))
        async with gateway(home=home, options=Options(types=types)) as bot:
            await push(bot, "secret")
            asked = TaskRequest(
                type="summarize_conversation",
                title="It",
                input={"session_key": "fake:1"},
                key="k",
                parent=by,
            )
            await bot.starter.start(asked)
            assert (await bot.channel.pop("9")).text.startswith("Task failed")
            assert len(bot.provider.requests) == 1


LED_TO = {
    "outside": labels.of_tool("web_fetch"),
    "secret": labels.of(privacy=Privacy.SECRET),
    "member": labels.of(Speaker.MEMBER),
}


@PEOPLE
async def test_a_background_run_calls_tools_with_the_label_of_what_led_to_it(what: str) -> None:
    recorder = Recorder()

    async def work(_: Words, context: TaskContext) -> TaskResult:
        return TaskResult(text=await context.use("look", text="it"))

    options = with_types(say(work))
    async with gateway(tools=[recorder.tool("look", Effect.NONE)], options=options) as bot:
        by = parent(OWNERS.join(LED_TO[what]))
        await bot.starter.start(TaskRequest(type="say", title="It", input={}, key="k", parent=by))
        await bot.channel.pop("9")
        (context,) = recorder.contexts
        assert SAID[what].kept(context.label)
        assert context.tainted is context.label.tainted


@PEOPLE
async def test_a_background_run_has_the_label_of_what_its_tools_returned(what: str) -> None:
    recorder = Recorder()

    async def found(_: Args, __: CallContext) -> ToolOutput:
        return ToolOutput("found", label=LED_TO[what])

    tool = msgspec.structs.replace(recorder.tool("exec", Effect.NONE), run=found)

    async def work(_: Words, context: TaskContext) -> TaskResult:
        text = await context.use("exec", text="it")
        await context.use("look", text=text)
        return TaskResult(text=text)

    options = with_types(say(work))
    async with gateway(tools=[tool, recorder.tool("look", Effect.NONE)], options=options) as bot:
        asked = TaskRequest(type="say", title="It", input={}, key="k", parent=parent(OWNERS))
        await bot.starter.start(asked)
        await bot.channel.pop("9")
        (context,) = recorder.contexts
        assert SAID[what].kept(context.label)
        assert kept(what, bodies(bot, PostEntry, "fake:9")[-1])


@pytest.mark.parametrize("what", ["secret", "member"])
@pytest.mark.parametrize("conversation", ["fake:1", None])
async def test_what_triage_starts_has_the_label_of_the_conversation(
    what: str, conversation: str | None
) -> None:
    """From outside nothing is started at all."""
    starter, model = FakeStarter(), ScriptedProvider("Seen.")
    decided = model_of_triage(decision("run", run=run(conversation=conversation)))
    async with MemoryHome() as home:
        async with gateway(model, home=home) as bot:
            await push(bot, what)
        async with gateway(decided, home=home, options=options(starter)) as bot:
            await bot.channel.push("And now?", key="later")
            assert (await bot.channel.pop()).text.startswith("Started: Nap")
    (request,) = starter.started.values()
    assert request.parent is not None
    assert SAID[what].kept(labels.read(request.parent.label))


# Errors, and memories


@pytest.mark.parametrize("what", ["outside", "secret"])
async def test_an_error_that_quotes_a_file_has_the_label_of_the_file(
    what: str, tmp_path: Path
) -> None:
    taint = TaintedFiles(tmp_path, MemoryMarks())
    name = ".env" if what == "secret" else "notes.md"
    (tmp_path / name).write_text(f"{ORDER}\n")
    if what == "outside":
        await taint.received(name, labels.of(Speaker.PASSED_ON))
    registry = ToolRegistry()
    for tool in file_tools(ConfinedFiles(tmp_path), taint=taint):
        registry.register(tool)
    recorder = Recorder()
    call = {"path": name, "old_text": f"{ORDER}!", "new_text": "x"}
    with pytest.raises(ToolError, match="diary") as caught:
        await registry.execute("edit_file", call)
    assert SAID[what].kept(labels.read(caught.value.label))
    tools = [tool for tool, _, _ in registry.listed()]
    model = ScriptedProvider(asks_for("edit_file", **call), "Hm.")
    async with gateway(model, tools=[*tools, recorder.tool()]) as bot:
        await bot.channel.push("Edit it.")
        await bot.channel.pop()
        (result,) = bodies(bot, ToolResultEntry)
        assert "diary" in result.text
        assert kept(what, result)


async def test_an_error_with_a_secret_is_secret() -> None:
    async def fails(_: Args, __: CallContext) -> str:
        raise ToolError("-----BEGIN PRIVATE KEY-----\nMIIE")

    tool = msgspec.structs.replace(Recorder().tool("look", Effect.NONE), run=fails)
    async with gateway(ScriptedProvider(asks_for("look"), "Hm."), tools=[tool]) as bot:
        await bot.channel.push("Look.")
        await bot.channel.pop()
        assert kept("secret", bodies(bot, ToolResultEntry)[-1])


# Everything that is made

LABELLED = (
    *("InboundMessage", "OutboundMessage", "UserEntry", "ToolResultEntry", "PostEntry"),
    *("RecallEntry", "SummaryEntry", "CallContext", "Parent", "Provenance"),
)
"""The structs of texts that come into a conversation, and of calls that are made for one."""
NOT_LABELLED = {
    # what a person writes, or a program in their name; `of_message` adds who
    "messages": "a deletion has no text",
    "operations.conversation": "an order of a person, and the notice of its effect",
    "plugins.control.control": "an owner in the terminal",
    "plugins.http_api.session_routes": "the caller",
    "plugins.library.agent_loop": "a program that is the owner",
    "plugins.common.runs.run_service": "the caller of `stream` gives the label",
    "plugins.erasure.store.erasing": "without a text",
    "plugins.lifecycle.lifecycle": "a file that steers the assistant",
    "plugins.sending.operations": "an owner writes it",
    # notices: what is quoted of them is labelled by `quotes`
    "channels.intake": "its own words",
    "channels.sender": "its own words",
    "session.said": "its label is not known: see quotes",
    "store.journal.admission": "its own words",
    "store.journal.runs": "a draft: see quotes",
    "plugins.approvals.question": "the one that still waits: its own words",
    "plugins.evals.nightly": "its own words and names of cases",
    "plugins.pairing.pairing": "its own words",
    "plugins.pairing.store.pairings": "its own words",
    "plugins.pairing.store.questions": "its own words, where no name is in them",
    "plugins.quarantine.store.telling": "its own words",
    "plugins.tasks.deadlines": "its own words",
    "plugins.troubles.store": "its own words",
    "plugins.voice.speaking": "a recording without a text",
    # drafts: the message that replaces them has the label
    "plugins.progress.drafts": "replaced by the answer",
    "plugins.progress.previews": "replaced by the answer",
    # calls of nobody's conversation
    "tools.base": "a program itself",
    "plugins.evals.attempt": "a case, whose calls are answered from a recording",
    "plugins.tasks.subagents": "a program that is the owner",
    "plugins.memory.store.memories": "a line that a person wrote into a file",
    # trials
    "plugins.setup.probes": "a trial",
    "plugins.kit.channels": "a trial",
    "plugins.kit.tools": "a trial",
}


@pytest.mark.process
def test_whoever_makes_a_text_for_a_conversation_says_whose_it_is() -> None:
    root = Path(labels.__file__).parent
    silent: dict[str, list[int]] = {}
    for file in sorted(root.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and _name(call.func) in LABELLED:
                given = {keyword.arg for keyword in call.keywords}
                if given.isdisjoint({"label", None}):
                    module = ".".join(file.relative_to(root).with_suffix("").parts)
                    silent.setdefault(module, []).append(call.lineno)
    strange = {name: lines for name, lines in silent.items() if name not in NOT_LABELLED}
    assert strange == {}, "give it the label of what it is made from, or say why it has none"
    assert NOT_LABELLED.keys() <= silent.keys(), "these need no exception any more"


def _name(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")
