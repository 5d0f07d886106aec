"""What a call could have done: built-in tools, commands, and tools of others by their words."""

from __future__ import annotations

import json

import pytest

from nanobot.messages import Address, Origin, Role
from nanobot.plugins.claims.calls import Call, calls_of
from nanobot.plugins.claims.claims import judged
from nanobot.plugins.claims.commands import may_do
from nanobot.plugins.claims.deeds import Deed
from nanobot.providers.base import ToolCall
from nanobot.session.entries import (
    CUT_OFF,
    Body,
    Entry,
    ReplyEntry,
    ToolResultEntry,
    TriageEntry,
    UserEntry,
)

ALL = frozenset(Deed)


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la", "cat a | grep b | wc -l", "git status && git log -3", "pip show django"),
        *("sudo systemctl status nginx", "docker --version", "find . -name '*.py'", "cd /tmp; ls"),
        *("journalctl -u app -n 50 2>&1 | tail", "# nothing", "", "uptime > /dev/null"),
    ],
)
def test_a_command_that_only_looks_did_nothing(command: str) -> None:
    assert may_do(command) == frozenset()


@pytest.mark.parametrize(
    ("command", "did", "did_not"),
    [
        ("rm -rf old", Deed.DELETED, Deed.SENT),
        ("mkdir -p out", Deed.SAVED, Deed.SENT),
        ("sudo apt-get install -y ripgrep", Deed.INSTALLED, Deed.SENT),
        ("git push origin main", Deed.PUBLISHED, Deed.INSTALLED),
        ("cat a > b.txt", Deed.SAVED, Deed.DELETED),
        ("DEBUG=1 sudo systemctl restart nginx", Deed.RESTARTED, Deed.SENT),
        ("find . -name '*.gz' -delete", Deed.DELETED, Deed.SENT),
        ("ls && mail -s hi a@example.org < b", Deed.SENT, Deed.INSTALLED),
    ],
)
def test_a_known_command_did_what_it_does(command: str, did: Deed, did_not: Deed) -> None:
    assert did in may_do(command)
    assert did_not not in may_do(command)


@pytest.mark.parametrize(
    "command",
    ["./deploy.sh", "python send.py", "curl -X POST https://x", "ls $(cat a)"],
)
def test_any_other_command_may_have_done_anything(command: str) -> None:
    assert may_do(command) == ALL


@pytest.mark.parametrize(
    ("name", "description", "did"),
    [
        ("mcp_mail_send_email", "", {Deed.SENT}),
        ("mcp_mail_search", "Search mail.", set()),
        ("mcp_calendar_list_events", "", set()),
        ("mcp_github_delete_branch", "", {Deed.DELETED, Deed.CANCELLED}),
        ("mcp_x9", "Answer an existing conversation.", {Deed.SENT}),
        ("mcp_x9", "Returns the weather. Send feedback to us.", ALL),
        ("mcp_home_callService", "", ALL),
        ("read_file", "Deletes everything.", set()),
    ],
)
def test_a_tool_of_others_is_read_by_its_words(name: str, description: str, did: set[Deed]) -> None:
    assert Call(name=name, description=description).may_have() == did


def test_cron_is_read_by_its_action_and_a_broken_call_does_not_matter() -> None:
    for action, did in (("list", False), ("add", True), ("remove", True)):
        call = Call(name="cron", arguments=json.dumps({"action": action}))
        assert (Deed.SCHEDULED in call.may_have()) is did
    assert Call(name="exec", arguments="{not json").may_have() == frozenset()
    assert Call(name="message", ok=False).may_have() == frozenset()


def user(origin: Origin = Origin.USER, text: str = "Write to Claire") -> UserEntry:
    return UserEntry(
        text=text,
        address=Address("cli", "1"),
        sender_id="1",
        role=Role.OWNER,
        sent_at=0.0,
        inbound_id=1,
        origin=origin,
    )


SENT = ReplyEntry(call=2, text="I've sent the email to Claire.")


def log(*bodies: Body | None) -> list[Entry]:
    return [Entry(seq, "r", 0.0, body) for seq, body in enumerate(bodies, 1)]


def asks(name: str) -> ReplyEntry:
    return ReplyEntry(call=1, text="", tool_calls=(ToolCall("a", name, "{}"),))


def found(*bodies: Body | None) -> int:
    result = judged(log(*bodies), {})
    return -1 if result is None else len(result.claims)


def test_a_run_is_judged_by_its_last_answer_and_the_calls_that_succeeded() -> None:
    done = ToolResultEntry(call=1, index=0, name="message", text="sent")
    failed = ToolResultEntry(call=1, index=0, name="message", text="error: no", ok=False)
    unknown = ToolResultEntry(call=1, index=0, name="message", text=f"{CUT_OFF}: the process ended")
    assert found(user(), SENT) == 1
    assert found(user(), asks("message"), done, SENT) == 0
    assert found(user(), asks("message"), failed, SENT) == 1
    assert found(user(), asks("message"), unknown, SENT) == 1
    assert [call.ok for call in calls_of(log(asks("message"), unknown), {})] == [False]


def test_what_cannot_be_judged_is_left_alone() -> None:
    started = TriageEntry(decision="reply_and_run", run_to_start="{}")
    assert found(user()) == -1
    assert found(user(), asks("message")) == -1
    assert found(user(), ReplyEntry(call=1, text="I've sent it", partial=True)) == -1
    assert found(user(origin=Origin.RUN), SENT) == -1
    assert found(user(), started, SENT) == -1
    assert found(user(text="Did you send it?"), SENT) == 0
    assert found(None, SENT) == 1
