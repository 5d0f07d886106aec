"""Two processes do anything in any order; a model small enough to see through says what is so."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunState
from nanobot.store.database import migrate
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.journal.outbox import STOPPED_LINE
from nanobot.text import quoted
from tests.store.home import Home
from tests.store.making import (
    ANN,
    BEN,
    PROMPT,
    RESULT,
    admit,
    call,
    ending,
    let_in,
    rendered,
    reply,
    said,
    told,
)
from tests.stored import previewing

T = TypeVar("T")

CHATS = ("a", "b")
PREVIEW = "(a preview)"
chats = st.sampled_from(CHATS)
senders = st.sampled_from([ANN, BEN])
owners = st.sampled_from(["us", "them"])


class Waiting:
    """A message the model holds to be waiting."""

    def __init__(self, name: str, sender: str, *, alone: bool) -> None:
        self.name = name
        self.sender = sender
        self.alone = alone


class Lane:
    """What the model knows of a chat."""

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.run: str | None = None
        self.sender = ""
        self.taken: list[str] = []
        self.holder: tuple[str, Claim] | None = None
        self.owed: list[str] = []
        self.answered: set[str] = set()
        self.dropped: set[str] = set()
        self.entries = 0
        self.preview = ""

    def answered_with(self, text: str | None) -> None:
        """The run owes that (None: nothing), where its preview stands if it has one."""
        if PREVIEW in self.owed:
            place = self.owed.index(PREVIEW)
            stopped = f"o\n\n{STOPPED_LINE}" if self.preview != "not sent" else None
            self.owed[place : place + 1] = [words for words in [text or stopped] if words]
        elif text is not None:
            self.owed.append(text)
        self.preview = ""

    def turn(self) -> list[Waiting]:
        """What the next run answers."""
        first, *others = self.waiting
        turn = [first]
        for other in others:
            if first.alone or other.alone or other.sender != first.sender:
                break
            turn.append(other)
        return turn

    def steerable(self) -> list[Waiting]:
        """What the run may take in meanwhile."""
        waiting = []
        for message in self.waiting:
            if message.sender == self.sender:
                if message.alone:
                    break
                waiting.append(message)
        return waiting

    def end(self) -> None:
        """The run is over."""
        self.answered |= set(self.taken)
        self.run, self.holder, self.taken = None, None, []


def opened() -> SqliteDatabase:
    database = SqliteDatabase(None)
    database.run_now(migrate.prepare)
    return database


class AnyOrder(RuleBasedStateMachine):
    """The verbs against the model."""

    @initialize()
    def start(self) -> None:
        self.runner = asyncio.Runner()
        self.home = self.do(self._home())
        self.journals = {owner: self.home.journal(owner) for owner in ("us", "them")}
        self.lanes = {chat: Lane() for chat in CHATS}
        self.claims: list[tuple[str, str, Claim]] = []
        self.admissions: list[Admission] = []
        self.count = 0

    async def _home(self) -> Home:
        return Home(opened, shared=False, durable=False)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def teardown(self) -> None:
        if hasattr(self, "home"):
            self.do(self.home.check())
            self.home.database.shut()
            self.runner.close()

    # Intake

    @rule(chat=chats, sender=senders, alone=st.booleans())
    def somebody_says_something(self, chat: str, sender: str, *, alone: bool) -> None:
        name = self.name("m")
        message = said("/new" if alone else name, sender, Address("telegram", chat), key=name)
        self.admissions.append(let_in(message, chat))
        (done,) = self.do(admit(self.journals["us"], self.admissions[-1], cursor=name))
        assert done.fresh
        self.lanes[chat].waiting.append(Waiting(name, sender, alone=alone))

    @precondition(lambda self: self.admissions)
    @rule(data=st.data())
    def the_platform_repeats_itself(self, data: st.DataObject) -> None:
        again = data.draw(st.sampled_from(self.admissions))
        (done,) = self.do(admit(self.journals["them"], again))
        assert not done.fresh

    @rule(chat=chats, sender=senders, everyone=st.booleans())
    def somebody_orders_a_stop(self, chat: str, sender: str, *, everyone: bool) -> None:
        lane, name = self.lanes[chat], self.name("stop")
        address = Address("telegram", chat)
        order = Admission(
            message=said("/stop", sender, address, key=name),
            session_key=chat,
            role="owner" if everyone else "member",  # type: ignore[arg-type]
            stop=Ending(state=RunState.ABORTED, outbound=(told(name, name, address),)),
            everyone=everyone,
        )
        self.admissions.append(order)
        (done,) = self.do(admit(self.journals["us"], order))
        reached = [message for message in lane.waiting if everyone or message.sender == sender]
        lane.waiting = [message for message in lane.waiting if message not in reached]
        lane.dropped |= {message.name for message in reached} | {name}
        texts = ["/new" if message.alone else message.name for message in reached]
        dropped = ", ".join(quoted(text, 60) for text in texts)
        lane.owed.append(f"{name} Dropped: {dropped}." if dropped else name)
        if lane.run is not None and (everyone or lane.sender == sender):
            assert done.stopped is not None
            assert done.stopped.id == lane.run
            lane.end()
            lane.answered_with(None)
            lane.entries += 1
        else:
            assert done.stopped is None

    # Runs

    @rule(chat=chats, owner=owners)
    def a_process_claims(self, chat: str, owner: str) -> None:
        lane = self.lanes[chat]
        claimed = self.do(self.journals[owner].claim(chat, self.name("run"), "UTC"))
        held = lane.holder is not None and lane.holder[0] == owner
        if held or (lane.run is None and not lane.waiting):
            assert claimed is None
            return
        assert claimed is not None
        if lane.run is None:
            turn = lane.turn()
            lane.run, lane.sender = claimed.run.id, turn[0].sender
            lane.taken = [message.name for message in turn]
            lane.waiting = lane.waiting[len(turn) :]
            lane.entries += len(turn)
            new = claimed.entries[-len(turn) :]
            assert [e.body.message_id for e in new if isinstance(e.body, UserEntry)] == [
                f"id-{name}" for name in lane.taken
            ]
        assert (claimed.run.id, claimed.run.sender_id) == (lane.run, lane.sender)
        lane.holder = (owner, claimed)
        self.claims.append((chat, owner, claimed))

    def current(self, chat: str, claimed: Claim) -> bool:
        holder = self.lanes[chat].holder
        return holder is not None and holder[1] is claimed

    def expecting(self, chat: str, claimed: Claim, verb: Coroutine[Any, Any, T]) -> T | None:
        """What the verb gave; None when the model and the store agree that it is fenced."""
        try:
            given = self.do(verb)
        except Fenced:
            assert not self.current(chat, claimed)
            return None
        assert self.current(chat, claimed)
        return given

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def a_run_steers(self, data: st.DataObject) -> None:
        chat, owner, claimed = data.draw(st.sampled_from(self.claims))
        verb = self.journals[owner].take_pending(claimed.lane, claimed.run, "UTC")
        taken = self.expecting(chat, claimed, verb)
        if taken is not None:
            lane = self.lanes[chat]
            steered = lane.steerable()
            assert len(taken) == len(steered)
            lane.taken += [message.name for message in steered]
            lane.waiting = [message for message in lane.waiting if message not in steered]
            lane.entries += len(steered)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), tools=st.booleans())
    def a_run_goes_on(self, data: st.DataObject, *, tools: bool) -> None:
        chat, owner, claimed = data.draw(st.sampled_from(self.claims))
        journal = self.journals[owner]
        verb = journal.start_model(claimed.lane, claimed.run, [call()], PROMPT)
        for step in (verb, self._tools(owner, claimed) if tools else None):
            entries = None if step is None else self.expecting(chat, claimed, step)
            if entries is not None:
                self.lanes[chat].entries += len(entries)

    async def _tools(self, owner: str, claimed: Claim) -> list[object]:
        journal, lane, run = self.journals[owner], claimed.lane, claimed.run
        entries = [*await journal.record_reply(lane, run, reply())]
        entries += await journal.record_result(lane, run, [RESULT])
        return [*entries, *await journal.start_model(lane, run, [call(2)], None)]

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def a_run_ends(self, data: st.DataObject) -> None:
        chat, owner, claimed = data.draw(st.sampled_from(self.claims))
        text, address = f"{claimed.run.id}.", Address("telegram", chat)
        end = ending(text, run_id=claimed.run.id, address=address)
        verb = self.journals[owner].finish(claimed.lane, claimed.run, end)
        more = self.expecting(chat, claimed, verb)
        if more is not None:
            lane = self.lanes[chat]
            assert more == bool(lane.waiting)
            lane.end()
            lane.answered_with(text)
            lane.entries += 1

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def a_run_is_given_back(self, data: st.DataObject) -> None:
        chat, owner, claimed = data.draw(st.sampled_from(self.claims))
        current = self.current(chat, claimed)
        self.expecting(chat, claimed, self.journals[owner].release(claimed.lane, claimed.run))
        if current:
            self.lanes[chat].holder = None

    # Delivery

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), outcome=st.sampled_from(["sent", "not sent", "unknown"]))
    def a_run_is_previewed(self, data: st.DataObject, outcome: str) -> None:
        chat, _, claimed = data.draw(st.sampled_from(self.claims))
        lane, journal, run_id = self.lanes[chat], self.journals["us"], claimed.run.id
        message = told("o", claimed.run.reply_key, Address("telegram", chat))
        row = self.do(previewing(journal).preview(run_id, message, rendered("o")[0]))
        if lane.run != run_id or lane.preview in {"not sent", "unknown"}:
            assert row is None
            return
        assert row is not None
        assert row.standing == ("m" if lane.preview == "sent" else None)
        if lane.preview:
            return
        lane.owed.append(PREVIEW)
        lane.preview = outcome
        if outcome == "sent":
            self.do(journal.receipt(row, 0, "m", begin=None))
        elif outcome == "not sent":
            self.do(journal.defer(row, 0, 0.0, "429"))

    @rule(chat=chats)
    def something_is_said_unasked(self, chat: str) -> None:
        name = self.name("post")
        message = told(name, name, Address("telegram", chat))
        self.do(self.journals["us"].post(chat, message))
        self.lanes[chat].owed.append(name)
        self.lanes[chat].entries += 1

    @rule(chat=chats, dies=st.booleans())
    def the_next_message_is_sent(self, chat: str, *, dies: bool) -> None:
        lane, journal = self.lanes[chat], self.journals["us"]
        row = self.do(journal.next_outbound(Address("telegram", chat)))
        unsent = [text for text in lane.owed if text != PREVIEW]
        assert (row is None) == (not unsent)
        if row is None:
            return
        assert row.message.text == unsent.pop(0)
        lane.owed.remove(row.message.text)
        self.do(journal.begin_send(row, rendered("x"), 0, duplicate=False))
        if dies:
            self.do(journal.bury(row, "refused", scope="message"))
            lane.entries += 1
        else:
            after = self.do(journal.receipt(row, 0, "m", begin=None))
            assert [after.message.text] == unsent[:1] if after else not unsent

    # What always holds

    @invariant()
    def every_message_is_where_it_belongs(self) -> None:
        if not hasattr(self, "home"):
            return
        query = "SELECT session_key, state, dedupe_key FROM inbound ORDER BY id"
        names: dict[tuple[str, str], list[str]] = {}
        for chat, state, name in self.do(self.home.rows(query)):
            names.setdefault((chat, state), []).append(name)
        for chat, lane in self.lanes.items():
            assert names.get((chat, "pending"), []) == [message.name for message in lane.waiting]
            assert sorted(names.get((chat, "taken"), [])) == sorted(lane.taken)
            settled = names.get((chat, "settled"), [])
            assert sorted(settled) == sorted(lane.answered | lane.dropped)

    @invariant()
    def what_is_settled_is_owed_an_answer_or_was_dropped_by_an_order(self) -> None:
        if hasattr(self, "home"):
            query = (
                "SELECT dedupe_key FROM inbound WHERE state = 'settled' AND run_id IS NOT NULL "
                "AND NOT EXISTS (SELECT 1 FROM outbound WHERE outbound.run_id = inbound.run_id)"
            )
            assert self.do(self.home.column(query)) == []
            query = "SELECT dedupe_key FROM inbound WHERE state = 'settled' AND run_id IS NULL"
            dropped = set[str]().union(*(lane.dropped for lane in self.lanes.values()))
            assert set(self.do(self.home.column(query))) == dropped

    @invariant()
    def every_chain_holds(self) -> None:
        if hasattr(self, "home"):
            for chat, lane in self.lanes.items():
                assert self.do(self.home.verify(chat)) == lane.entries


AnyOrder.TestCase.settings = settings(max_examples=20, stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase
