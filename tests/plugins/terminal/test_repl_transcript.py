"""What stands before a person in a conversation, without a terminal."""

from __future__ import annotations

from typing import Unpack

import pytest

from nanobot.messages import Choice, EventKind, OutboundKind, RunEvent, RunPayload
from nanobot.plugins.common.control.protocol import (
    EventLine,
    PeerMessage,
    Refusal,
    ShowMessage,
    Taken,
)
from nanobot.plugins.terminal.plain import call_line
from nanobot.plugins.terminal.transcript import Transcript


class FakePage:
    """Keeps what it is given, a line each; `room` is how long unsettled text may be."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.texts: list[str] = []
        self.room = 1_000

    def said(self, text: str) -> None:
        self.kept.append(f"> {text}")

    def answer(self, text: str) -> None:
        self.kept.append(text)

    def choices(self, choices: tuple[Choice, ...]) -> None:
        self.kept.append(f"? {' | '.join(choice.label for choice in choices)}")

    def called(self, call: str, *, ok: bool, ms: int | None, text: str) -> None:
        self.kept.append(f"{'+' if ok else '-'} {call} {ms}")
        self.texts.append(text)

    def note(self, text: str) -> None:
        self.kept.append(f"# {text}")

    def fits(self, text: str) -> bool:
        return len(text) <= self.room


WHICH = (Choice("this", "/answer 1"), Choice("that", "/answer 2"))


class Talk:
    """A transcript, and what comes from the gateway."""

    def __init__(self) -> None:
        self.page = FakePage()
        self.now = 0.0
        self.transcript = Transcript(self.page, lambda: self.now)
        self._seq = 0

    @property
    def kept(self) -> list[str]:
        return self.page.kept

    def say(self, key: str, text: str, inbound: int | None = None) -> None:
        self.transcript.say(key, text)
        if inbound is not None:
            self.transcript.see(Taken(key, inbound, answered=False, stopped=False))

    def event(
        self, kind: EventKind, run: str = "r", call: int = 1, **payload: Unpack[RunPayload]
    ) -> None:
        self._seq += 1
        event = RunEvent(
            run_id=run,
            session_key="cli:direct",
            model_call=call,
            seq=self._seq,
            kind=kind,
            at=self.now,
            payload=payload,
        )
        self.transcript.see(EventLine(event))

    def begins(self, *inbound: int, run: str = "r") -> None:
        self.event(EventKind.STATUS, run, state="running", inbound_ids=list(inbound))

    def streams(self, *pieces: str, run: str = "r", call: int = 1) -> None:
        for piece in pieces:
            self.event(EventKind.MODEL_DELTA, run, call, text=piece)

    def ends(self, text: str, run: str = "r", state: str = "completed") -> None:
        self.event(EventKind.END, run, state=state, text=text, error=None)

    def message(
        self,
        key: str,
        text: str,
        kind: OutboundKind = OutboundKind.REPLY,
        choices: tuple[Choice, ...] = (),
    ) -> None:
        self.transcript.see(ShowMessage(key, kind, text, choices))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_an_answer_is_seen_while_it_is_written_and_kept_once(talk: Talk) -> None:
    talk.say("k", "hello", 1)
    talk.begins(1)
    talk.streams("Good ", "day")
    assert talk.transcript.tail == "Good day"
    assert talk.kept == ["> hello"]
    talk.ends("Good day")
    talk.message("r:0", "Good day")
    assert talk.kept == ["> hello", "Good day"]
    assert not talk.transcript.busy


def test_it_is_kept_once_too_when_the_message_comes_before_the_end(talk: Talk) -> None:
    talk.say("k", "hello", 1)
    talk.begins(1)
    talk.streams("Good day")
    talk.message("r:0", "Good day")
    talk.ends("Good day")
    assert talk.kept == ["> hello", "Good day"]


def test_a_restarted_call_drops_what_was_streamed(talk: Talk) -> None:
    talk.begins()
    talk.streams("I thi")
    talk.event(EventKind.STATUS, state="retrying", why="the connection broke", delay=1.0)
    assert talk.transcript.tail == ""
    assert talk.transcript.status().startswith("the connection broke; trying again")
    talk.streams("Yes")
    assert talk.transcript.tail == "Yes"
    talk.streams("No", call=2)
    assert talk.transcript.tail == "No"


def test_blocks_are_kept_when_they_no_longer_fit_and_none_is_lost_or_doubled(talk: Talk) -> None:
    talk.page.room = 12
    talk.begins()
    whole = "One.\n\n- a\n- b\n\n```\nx\n\ny\n```\n\nEnd."
    talk.streams(*whole)
    assert "".join(talk.kept) + talk.transcript.tail == whole
    assert len(talk.kept) > 1
    talk.ends(whole + "\n\n(A warning.)")
    assert "".join(talk.kept) == whole + "\n\n(A warning.)"


def test_a_restart_after_kept_blocks_says_that_they_are_void(talk: Talk) -> None:
    talk.page.room = 3
    talk.begins()
    talk.streams("One.\n\n", "Two.\n\n", "Thr")
    talk.event(EventKind.STATUS, state="retrying", why="no", delay=1.0)
    talk.streams("All of it.")
    talk.ends("All of it.")
    assert talk.kept[-2:] == ["# (The answer was cut off here; it begins again.)", "All of it."]


def test_tool_calls_are_kept_with_what_was_said_before_them(talk: Talk) -> None:
    talk.begins()
    talk.streams("I look.")
    talk.event(EventKind.ASSISTANT_MESSAGE, text="I look.", tool_calls=1)
    talk.event(EventKind.TOOL_CALL, key="c", name="list_dir", arguments='{"path": "."}')
    assert talk.transcript.status() == "list_dir ."
    talk.event(EventKind.TOOL_RESULT, key="c", name="list_dir", ok=True, text="x", ms=3)
    talk.streams("There.", call=2)
    talk.ends("There.")
    assert talk.kept == ["I look.", "+ list_dir . 3", "There."]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"command": "ls\\n-l"}', "exec ls -l"),
        ('{"path": "a", "limit": 3}', "exec path=a, limit=3"),
        ("{}", "exec"),
        ('{"content": "cut of', 'exec {"content": "cut of'),
    ],
)
def test_a_call_is_shown_without_json_where_that_is_possible(arguments: str, shown: str) -> None:
    assert call_line({"name": "exec", "arguments": arguments}) == shown


def test_what_is_said_during_a_run_is_written_down_when_its_turn_comes(talk: Talk) -> None:
    talk.say("k1", "first", 1)
    talk.begins(1)
    talk.say("k2", "second", 2)
    talk.streams("Answer.")
    assert talk.transcript.waiting == ["second"]
    talk.ends("Answer.")
    assert talk.transcript.busy
    talk.begins(2, run="s")
    assert talk.kept == ["> first", "Answer.", "> second"]
    assert talk.transcript.waiting == []


def test_a_steered_message_is_written_down_when_the_run_takes_it(talk: Talk) -> None:
    talk.say("k1", "first", 1)
    talk.begins(1)
    talk.say("k2", "second", 2)
    talk.event(EventKind.STATUS, state="steered", inbound_ids=[2])
    assert talk.kept == ["> first", "> second"]


def test_a_run_may_begin_before_it_is_said_that_its_message_was_taken(talk: Talk) -> None:
    talk.say("k", "hello")
    talk.begins(1)
    talk.ends("Hi.")
    talk.transcript.see(Taken("k", 1, answered=False, stopped=False))
    assert not talk.transcript.busy


def test_a_command_is_answered_beside_a_run(talk: Talk) -> None:
    talk.say("k1", "first", 1)
    talk.begins(1)
    talk.streams("Half")
    talk.say("k2", "/status")
    talk.transcript.see(Taken("k2", 2, answered=True, stopped=False))
    talk.message("notice:cli:direct:k2", "Fine.", OutboundKind.NOTICE)
    assert talk.kept == ["> first", "> /status", "Fine."]
    assert talk.transcript.tail == "Half"


def test_an_answer_that_comes_before_it_was_said_to_be_one_ends_the_wait(talk: Talk) -> None:
    talk.say("k", "/status")
    talk.message("notice:cli:direct:k", "Fine.", OutboundKind.NOTICE)
    talk.transcript.see(Taken("k", 1, answered=True, stopped=False))
    assert talk.kept == ["> /status", "Fine."]
    assert not talk.transcript.busy


def test_stopping_keeps_what_was_written_and_nothing_that_still_streams(talk: Talk) -> None:
    talk.say("k1", "first", 1)
    talk.begins(1)
    talk.say("k2", "second", 2)
    talk.streams("Half ")
    talk.transcript.say("k3", "/stop", silent=True)
    talk.transcript.see(Taken("k3", 3, answered=True, stopped=True))
    talk.streams("an answer")
    talk.ends("", state="aborted")
    talk.message("notice:cli:direct:k3", "Stopped.", OutboundKind.NOTICE)
    assert talk.kept == ["> first", "Half", "Stopped."]
    assert talk.transcript.dropped == ["second"]
    assert not talk.transcript.busy


def test_answers_from_before_are_marked(talk: Talk) -> None:
    talk.message("old:0", "Forty-two.")
    talk.message("old:0", "Forty-two.")
    talk.say("k", "hello", 1)
    talk.begins(1)
    talk.ends("Hi.")
    talk.message("p:0", "By the way.", OutboundKind.POST)
    assert talk.kept == ["# From before:", "Forty-two.", "> hello", "Hi.", "By the way."]


def test_choices_are_offered_once_and_until_something_is_said(talk: Talk) -> None:
    talk.begins()
    talk.ends("Which?")
    talk.message("r:0", "Which?", choices=WHICH)
    assert talk.kept == ["Which?", "? this | that"]
    assert talk.transcript.choices == WHICH
    talk.say("k", "this")
    assert not talk.transcript.choices


def test_a_question_within_a_run_is_shown_as_it_comes_and_waited_for(talk: Talk) -> None:
    talk.begins()
    talk.event(EventKind.STATUS, state="waiting")
    talk.event(EventKind.APPROVAL, question="", choices=(), tool="exec")
    talk.message("approval:1:cli:direct", "May I?", OutboundKind.APPROVAL, WHICH)
    assert talk.kept == ["May I?", "? this | that"]
    assert talk.transcript.status().startswith("waiting for your answer")
    talk.begins()
    assert talk.transcript.status().startswith("thinking")


def test_a_refusal_ends_the_wait_for_its_message(talk: Talk) -> None:
    talk.say("k", "hello")
    talk.transcript.see(Refusal("the disk is full", "k"))
    assert talk.kept == ["> hello", "# the disk is full"]
    assert not talk.transcript.busy


def test_after_a_break_what_was_not_taken_is_to_be_said_again(talk: Talk) -> None:
    talk.say("k1", "taken", 1)
    talk.begins(1)
    talk.streams("Half")
    talk.say("k2", "not taken")
    talk.transcript.broken()
    assert talk.transcript.unsent == {"k2": "not taken"}
    assert talk.kept == ["> taken", "Half"]
    talk.streams("Half", " and half")
    talk.ends("Half and half")
    assert talk.kept[-1] == "Half and half"


def test_a_wait_is_counted_when_it_is_long(talk: Talk) -> None:
    talk.say("k", "hello", 1)
    assert talk.transcript.status() == "thinking"
    talk.now = 3.2
    talk.event(EventKind.MODEL_DELTA, reasoning="Let me\nsee")
    assert talk.transcript.status() == "thinking: Let me see · 3 s"


def test_words_that_answer_a_question_no_longer_wait(talk: Talk) -> None:
    talk.say("k1", "go", 1)
    talk.begins(1)
    talk.event(EventKind.APPROVAL, question="Which?", choices=(), tool="ask_user")
    talk.message("approval:1:cli:direct", "Which?", OutboundKind.APPROVAL, WHICH)
    talk.say("k2", "neither", 2)
    assert talk.transcript.waiting == ["neither"]
    talk.begins(1)
    assert talk.transcript.waiting == []
    assert talk.kept[-1] == "> neither"
    talk.ends("Fine.")
    assert not talk.transcript.busy


def test_what_waited_comes_back_to_who_said_it_and_not_to_others(talk: Talk) -> None:
    talk.say("k1", "first", 1)
    talk.begins(1)
    talk.say("k2", "mine", 2)
    theirs = Taken("k3", 3, answered=False, stopped=False)
    talk.transcript.see(PeerMessage("theirs", theirs))
    assert talk.transcript.waiting == ["mine", "theirs"]
    talk.transcript.see(PeerMessage("/stop", Taken("k4", 4, answered=True, stopped=True)))
    assert talk.transcript.dropped == ["mine"]
    assert talk.transcript.waiting == ["/stop"]


def test_what_another_terminal_says_and_gets_is_shown_as_in_its_own(talk: Talk) -> None:
    talk.begins()
    talk.ends("Before.")
    talk.transcript.see(PeerMessage("hi", Taken("p1", 1, answered=False, stopped=False)))
    talk.begins(1, run="s")
    talk.ends("Hello.", run="s")
    talk.message("s:0", "Hello.")
    talk.transcript.see(PeerMessage("/status", Taken("p2", 2, answered=True, stopped=False)))
    talk.message("notice:cli:direct:p2", "Fine.", OutboundKind.NOTICE)
    assert talk.kept == ["Before.", "> hi", "Hello.", "> /status", "Fine."]
    assert not talk.transcript.busy


def test_a_call_that_began_before_one_came_shows_how_long_it_runs(talk: Talk) -> None:
    talk.begins(1)
    talk.event(EventKind.TOOL_CALL, key="c", name="exec", arguments='{"command": "make"}')
    talk.now = 75.0
    assert talk.transcript.status() == "exec make · 75 s"


@pytest.mark.parametrize(("stays", "said"), [(True, "still running"), (False, "interrupted")])
def test_leaving_says_what_becomes_of_a_call_without_a_result(
    talk: Talk, stays: bool, said: str
) -> None:
    """Without a gateway the command ends with this process."""
    talk.begins(1)
    talk.event(EventKind.TOOL_CALL, key="c", name="exec", arguments='{"command": "make"}')
    talk.transcript.leave(stays=stays)
    assert talk.kept == ["- exec make None"]
    assert talk.page.texts == [said]
