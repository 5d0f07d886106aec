"""An order to stop with all that was begun: no child is left, however close it came."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.errors import Fenced
from nanobot.plugins.common.runs.background_runs import NewTask, Parent
from nanobot.session.entries import CancelEntry
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunState
from nanobot.store.unit import Unit
from tests.store.home import Home
from tests.store.making import ANN, BEN, RESULT, admit, begun, claim, stop_order
from tests.store.test_tasks import Desk, task


@pytest.fixture
def desk(home: Home) -> Desk:
    return Desk(home)


def of(parent: Claim, key: str = "k") -> NewTask:
    """A background run that a run asks for."""
    run = parent.run
    by = Parent(
        session_key=run.session_key,
        run_id=run.id,
        address=run.address,
        sender_id=run.sender_id,
        role=run.role,
    )
    new = task(key)
    return msgspec.structs.replace(new, request=msgspec.structs.replace(new.request, parent=by))


def stop_all(by: str = ANN, *, key: str = "/stop", everyone: bool = False) -> Admission:
    return msgspec.structs.replace(stop_order(by, key=key, everyone=everyone), children=True)


async def states(home: Home) -> dict[str, str]:
    return dict(await home.rows("SELECT id, state FROM runs"))


async def test_the_order_itself_ends_a_child_that_nobody_had_collected(home: Home) -> None:
    desk = Desk(home)
    parent = await begun(desk.journal)
    child = await desk.tasks.create(of(parent))
    await admit(desk.journal, stop_all())
    assert await states(home) == {"run": "aborted", child: "aborted"}
    assert CancelEntry(by=ANN) in await home.bodies(f"task:{child}")


async def test_it_ends_children_of_children_that_have_ended(home: Home, desk: Desk) -> None:
    parent = await begun(desk.journal)
    child = await desk.tasks.create(of(parent))
    at_work = await claim(desk.journal, "unused", f"task:{child}")
    grandchild = await desk.tasks.create(of(at_work, "deeper"))
    await desk.records.cancel(child, Ending(state=RunState.ABORTED, error="cancelled"), "x")
    assert await desk.records.children(parent.run.session_key, None) == [grandchild]
    await admit(desk.journal, stop_all())
    assert (await states(home))[grandchild] == "aborted"


async def test_a_plain_order_leaves_children_alone(home: Home, desk: Desk) -> None:
    child = await desk.tasks.create(of(await begun(desk.journal)))
    await admit(desk.journal, stop_order())
    assert (await states(home))[child] == "queued"


async def test_a_member_s_order_ends_their_own_children_only(home: Home, desk: Desk) -> None:
    child = await desk.tasks.create(of(await begun(desk.journal)))
    await admit(desk.journal, stop_all(BEN))
    assert (await states(home))[child] == "queued"
    await admit(desk.journal, stop_all(BEN, key="again", everyone=True))
    assert (await states(home))[child] == "aborted"


async def test_a_run_that_was_stopped_starts_nothing_more(home: Home, desk: Desk) -> None:
    parent = await begun(desk.journal)
    _, write = desk.tasks.creation(of(parent, "with a result"))
    await admit(desk.journal, stop_all())
    with pytest.raises(Fenced):
        await desk.tasks.create(of(parent))
    with pytest.raises(Fenced):
        await home.do(lambda c: write(Unit(c, desk.tasks.writer)))
    assert await states(home) == {"run": str(RunState.ABORTED)}


async def test_what_a_run_started_before_it_is_not_started_again_nor_refused(desk: Desk) -> None:
    parent = await begun(desk.journal)
    child = await desk.tasks.create(of(parent))
    await admit(desk.journal, stop_order())
    assert await desk.tasks.create(of(parent)) == child


async def test_a_person_has_a_child_of_an_ended_run_tried_again(home: Home, desk: Desk) -> None:
    parent = await begun(desk.journal)
    child = await desk.tasks.create(of(parent))
    await admit(desk.journal, stop_all())
    request = await desk.tasks.again(child)
    assert request is not None
    again = msgspec.structs.replace(of(parent, "again"), request=request)
    retried = await desk.tasks.create(again)
    assert (await states(home))[retried] == "queued"


async def test_the_run_that_a_report_begins_goes_back_to_what_it_reports(home: Home) -> None:
    desk = Desk(home)
    parent = await begun(desk.journal)
    await desk.journal.record_result(parent.lane, parent.run, [RESULT])
    child = await desk.tasks.create(msgspec.structs.replace(of(parent), report="follow_up"))
    await admit(desk.journal, stop_order())
    await desk.end(child)
    await claim(desk.journal, "follow", parent.run.session_key)
    parents = dict(await home.rows("SELECT id, parent FROM runs"))
    assert parents == {"run": None, child: "run", "follow": child}
