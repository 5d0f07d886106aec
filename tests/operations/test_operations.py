"""What people may do besides talking: answered at once, past every lane."""

from __future__ import annotations

import shlex

import pytest

from nanobot.errors import StoreUnwritable
from nanobot.messages import Role
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now, as_text
from nanobot.plugins.approvals.operations import operations as of_approvals
from nanobot.plugins.command_line.generated import OperationCommand, command_example
from nanobot.plugins.common.views.plugins import PluginView
from nanobot.plugins.help.operations import brief, chat_example
from nanobot.session.entries import ModelCallEntry
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import MEMBER, OWNER, FakeChannel
from tests.agent.tooling import bodies
from tests.plugins.cron.scheduling import gateway
from tests.plugins.runs.sight import EVERY


async def answer(bot: FakeGateway, text: str, sender: str = OWNER) -> str:
    await bot.channel.push(text, sender=sender)
    return (await bot.channel.pop()).text


@pytest.mark.parametrize("text", ["/help", "/HELP", "/help@my_bot", "/help\n"])
async def test_a_command_is_known_however_it_is_spelled(text: str) -> None:
    async with gateway(channel=FakeChannel(limit=20_000)) as bot:
        assert (await answer(bot, text)).startswith("Write to me")
        reply = await answer(bot, "/help more")
        assert all(f"`{each.usage.split()[0]}" in reply for each in OPERATIONS if each.listed)
        assert bot.provider.requests == []


@pytest.mark.parametrize(
    ("sender", "commands"),
    [(OWNER, ["/new", "/stop", "/model", "/cron", "/status"]), (MEMBER, ["/new", "/stop"])],
)
async def test_the_first_tap_is_answered_with_two_lines_and_five_commands_with_an_example(
    sender: str, commands: list[str]
) -> None:
    async with gateway() as bot:
        first, second, blank, *lines = (await answer(bot, "/start a-link", sender)).splitlines()
    assert first.startswith("Hello!")
    assert (len(second) < 100, blank) == (True, "")
    assert len(lines) <= 5
    assert [line.split()[0].strip("`:") for line in lines][: len(commands)] == commands
    if sender == OWNER:
        assert lines[2].startswith("`/model openai/gpt-6-luna`: show or change")


async def test_help_on_one_command_says_its_arguments_their_choices_and_an_example() -> None:
    async with gateway() as bot:
        lines = (await answer(bot, "/help cron add")).splitlines()
        assert lines[1] == "Add a job: the schedule, followed by the task."
        assert "- `session`: A new session for each run, or the chat's session: own, chat" in lines
        assert lines[2] == "Example: `/cron add every weekday at 9 Check the builds`"
        lines = (await answer(bot, "/help cron")).splitlines()
        assert lines[1].startswith(
            "- `/cron add [TEXT] ...`: add a job: the schedule, followed by the task"
        )
        assert max(map(len, lines)) < 100
        lines = (await answer(bot, "/help policy")).splitlines()
        assert lines[2].startswith("→ `/policy ")
        lines = (await answer(bot, "/help approvals list")).splitlines()
        assert "- `limit`: Maximum number of results (default: 20)" in lines


def test_every_example_is_understood_in_a_chat_and_at_the_command_line() -> None:
    for each in OPERATIONS:
        typed = each.parsed(each.example)
        name, *words = shlex.split(command_example(each))
        assert name == "nanobot"
        assert chat_example(each).startswith(f"/{each.name}")
        for parameter in each.parameters:
            if parameter.name not in each.example:
                continue
            assert typed[parameter.name] is not None
        assert words[: len(each.command.split())] == each.command.split()


async def test_flags_and_choices_need_no_name_in_a_chat() -> None:
    (listing,) = [each for each in EVERY if each.name == "runs list"]
    assert listing.parsed("failed limit=5")["state"] == "failed"
    assert listing.parsed("task state=live")["kind"] == "task"
    (stop,) = [each for each in OPERATIONS if each.name == "stop"]
    assert stop.parsed("all")["all"] is True
    (approve,) = [each for each in of_approvals() if each.name == "approve"]
    assert approve.parsed("3 always") == {"id": 3, "always": True}
    assert approve.parsed("3") == {"id": 3, "always": False}


@pytest.mark.parametrize(
    "text", ["/", "/etc/hosts", "//help", " /help", "help", "/help!", "/me waves at you"]
)
async def test_what_is_no_command_goes_to_the_model(text: str, bot: FakeGateway) -> None:
    assert await answer(bot, text) == f"echo: {text}"


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("/stauts", "There is no /stauts. Did you mean /status? /help lists the commands."),
        ("/modle gpt-5", "There is no /modle. Did you mean /model? /help lists the commands."),
        ("/xyzzy", "There is no /xyzzy. /help lists the commands."),
        (
            "/runs fork 01m80b2c4d at=3",
            "/runs fork belongs to the plugin fork, which is off here: `plugins list` says why, "
            "`plugins on fork` switches it on.",
        ),
    ],
)
async def test_an_unknown_command_is_answered_with_the_nearest_one(text: str, reply: str) -> None:
    async with gateway() as bot:
        assert await answer(bot, text) == reply
        assert bot.provider.requests == []


@pytest.mark.parametrize("text", ["/new", "/NEW", "/new@my_bot", "/new\n"])
async def test_new_keeps_its_place_among_the_messages(text: str, held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("one")
        await held.reached.wait()
        for waiting in ("two", text, "three"):
            await bot.channel.push(waiting)
        held.answer("first")
        texts = [(await bot.channel.pop()).text for _ in range(4)]
        assert texts[:2] == ["first", "echo: two"]
        assert texts[2].startswith("New conversation.")
        assert texts[3] == "echo: three"
        assert len(bot.provider.requests[-1].messages) == 2


async def test_status_names_the_model_the_session_and_what_runs(held: Held) -> None:
    async with gateway(ScriptedProvider("hi", held)) as bot:
        await answer(bot, "hi")
        assert "Now: idle, 0 waiting" in await answer(bot, "/status")
        await bot.channel.push("hello")
        await held.reached.wait()
        await bot.channel.push("me too", sender=MEMBER)
        text = await answer(bot, "/status")
        assert "Model: test/scripted" in text
        assert "Session: fake:1" in text
        assert "Now: running (run-" in text
        assert "1 waiting" in text
        assert "up 1 min, 1 running" in text


async def test_the_model_is_changed_for_one_session_and_back(bot: FakeGateway) -> None:
    assert "This session uses test/scripted." in await answer(bot, "/model")
    assert "now uses test/scripted" in await answer(bot, "/model test/other")
    row = await bot.journal.session("fake:1")
    assert row
    assert row.model == "test/other"
    await answer(bot, "/model default")
    row = await bot.journal.session("fake:1")
    assert row
    assert row.model is None


async def test_a_model_that_does_not_exist_is_refused_with_the_reason(bot: FakeGateway) -> None:
    assert await answer(bot, "/model nowhere/x") == "There is no model nowhere/x"
    assert await answer(bot, "hello") == "echo: hello"
    assert bodies(bot, ModelCallEntry)[0].profile.label == "test/scripted"


async def test_only_owners_change_the_model_and_members_may_ask(bot: FakeGateway) -> None:
    assert await answer(bot, "/model test/other", MEMBER) == "Only owners change the model."
    assert "This session uses" in await answer(bot, "/model", MEMBER)


async def test_a_store_that_fails_over_a_command_is_no_answer_but_an_error() -> None:
    """The channel brings the message again, as any that could not be taken in."""
    async with gateway() as bot:

        def before(verb: str) -> None:
            if verb == "admit":
                raise StoreUnwritable("the disk is full")

        bot.process.before = before
        with pytest.raises(StoreUnwritable):
            await bot.channel.push("/help")


async def test_commands_in_two_chats_are_two_though_their_messages_have_the_same_number() -> None:
    """Telegram counts the messages of every supergroup from 1."""
    async with gateway() as bot:
        for chat, what in (("-1001", "water the plants"), ("-1002", "feed the cat")):
            await bot.channel.push(f"/cron add every hour {what}", chat=chat, key="7")
            assert what in (await bot.channel.pop(chat)).text
        listed = await answer(bot, "/cron list")
        assert "water the plants" in listed
        assert "feed the cat" in listed


# /stop


async def test_stop_with_nothing_running_says_so(bot: FakeGateway) -> None:
    assert (await answer(bot, "/stop")).startswith("Nothing was running here")
    assert (await answer(bot, "/stop", MEMBER)).startswith("Nothing of yours was running")


async def test_a_member_stops_only_what_is_theirs(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("of the owner")
        await held.reached.wait()
        await bot.channel.push("of the member", sender=MEMBER)
        assert (await answer(bot, "/stop", MEMBER)).startswith("Nothing of yours was running")
        held.answer("done")
        assert (await bot.channel.pop()).text == "done"
        await bot.settle()
        assert len(bot.channel.sent) == 2


async def test_an_owner_stops_everybody_in_the_session_and_nobody_elsewhere() -> None:
    first, second = Held(), Held()
    async with gateway(ScriptedProvider(first, second)) as bot:
        await bot.channel.push("hang", sender=MEMBER)
        await first.reached.wait()
        await bot.channel.push("hang", chat="2")
        await second.reached.wait()
        await bot.channel.push("waiting", sender=MEMBER)
        assert await answer(bot, "/stop") == 'Stopped. Dropped: "waiting".'
        await bot.settle()
        assert [run.address.chat_id for run in bot.worker.running] == ["2"]
        second.answer("done")
        assert (await bot.channel.pop()).text == "done"
        assert len(bot.channel.sent) == 2


async def test_commands_are_answered_while_the_lane_is_full(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        for number in range(50):
            await bot.channel.push(f"{number}")
        assert (await answer(bot, "/status")).startswith("Model:")
        assert (await answer(bot, "/stop")).startswith('Stopped. Dropped: "0", "1", "2",')
        assert await answer(bot, "hello") == "echo: hello"


async def test_what_is_done_with_a_job_names_the_job_and_lists_of_them_are_narrowed() -> None:
    async with gateway(channel=FakeChannel(limit=20_000)) as bot:
        for name in ("cron run", "cron pause", "cron resume", "cron remove"):
            assert f"`/{name} JOB`" in await answer(bot, f"/help {name}")
        await answer(bot, "/cron add name=Builds every weekday at 9 Check the builds")
        await answer(bot, "/cron add every day at 7:00 Say good morning")
        listed = await answer(bot, "/cron list find=MORNING")
        assert ("good morning" in listed, "builds" in listed) == (True, False)
        assert (await answer(bot, "/cron list find=schedule")).startswith(
            "Nothing found. `cron add"
        )
        assert "is running now" in await answer(bot, "/cron run Builds")


async def test_help_on_one_command_says_all_about_it() -> None:
    async with gateway(channel=FakeChannel(limit=20_000)) as bot:
        await bot.channel.push("/help runs")
        text = (await bot.channel.pop()).text
        of_runs = [operation for operation in OPERATIONS if operation.usage.startswith("/runs")]
        assert all(f"`{brief(operation)}`" in text for operation in of_runs)
        assert "/new" not in text
        await bot.channel.push("/help nonsense")
        assert "There is no command /nonsense" in (await bot.channel.pop()).text


async def test_what_a_plugin_does_stands_below_its_state_in_a_chat() -> None:
    view = PluginView(name="voice", summary="Spoken answers.", state="on", brings=["tools"])
    assert as_text([view], Now(0.0, "UTC")) == "- `voice` on, tools\n  Spoken answers."


async def test_an_operation_that_says_nothing_has_a_help_wherever_its_command_is_listed() -> None:
    @operation(name="odd", role=Role.GUEST)
    async def odd(context: OperationContext, caller: Caller) -> None:
        pass

    assert odd.sentence == "Perform odd."
    assert OperationCommand(odd, "odd").help == "Perform odd."
