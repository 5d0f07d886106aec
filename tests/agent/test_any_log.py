"""Whatever the log can hold reads: no entry, however absurd its numbers, ends a conversation."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from nanobot.agent.context import PromptBudget, context, plan_window
from nanobot.agent.entry_messages import Rendered
from nanobot.agent.run_log import latest_summary
from nanobot.agent.step import StepLimits, next_step
from nanobot.labels import joined
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.models.material import material
from nanobot.plugins.context.operations import operations as of_context
from nanobot.plugins.conversations.operations import operations as of_conversations
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import Body, Entry, decode, encode, kind_of
from nanobot.session.labelling import joined_label, label_of
from nanobot.session.runs import Lane, PromptSnapshot
from nanobot.session.usage import run_usage
from nanobot.store.journal import lanes
from nanobot.store.journal import log as stored
from nanobot.store.unit import Unit
from nanobot.testing import gateway
from tests.agent.building import RUN, asking
from tests.agent.tooling import answered
from tests.sampling import examples
from tests.stored import log_of

KEY = "fake:1"
ABSURD = (-(10**400), -1, 0, 1, 10**12, 2**63, 10**400)
PROFILES = (
    ModelProfile(name="m", provider="p", images=True),
    ModelProfile(name="s", provider="p", context_tokens=300, tools=False, short_prompt=True),
)
SNAPSHOT = PromptSnapshot(system="You are nanobot.", tools=())

texts = st.sampled_from(["", "/new", "/compact undo", "a", "\x00", "]\n[", "é" * 400, "{"])
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-1e308, 1e308])


SIMPLE: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
    inspect.IntType: st.sampled_from(ABSURD),
    inspect.FloatType: floats,
    inspect.BoolType: st.booleans(),
    inspect.StrType: texts,
    inspect.NoneType: st.none(),
}


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one for each type
    """Everything that msgspec reads as this type."""
    if isinstance(kind, inspect.StructType | inspect.DictType):
        return _several(kind)
    if isinstance(kind, inspect.Metadata):
        return values(kind.type)
    if isinstance(kind, inspect.UnionType):
        return st.one_of(*map(values, kind.types))
    if isinstance(kind, inspect.VarTupleType):
        return st.lists(values(kind.item_type), max_size=2).map(tuple)
    if isinstance(kind, inspect.TupleType):
        return st.tuples(*map(values, kind.item_types))
    if isinstance(kind, inspect.EnumType | inspect.LiteralType):
        several = kind.cls if isinstance(kind, inspect.EnumType) else kind.values
        return st.sampled_from(list(several))
    return SIMPLE[type(kind)]


def _several(kind: inspect.StructType | inspect.DictType) -> st.SearchStrategy[Any]:
    if isinstance(kind, inspect.DictType):
        return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=2)
    return st.builds(kind.cls, **{field.name: values(field.type) for field in kind.fields})


bodies = st.one_of([values(inspect.type_info(kind)) for kind in get_args(Body)])
runs = st.sampled_from([RUN, "other"])
logs = st.lists(st.tuples(runs, st.none() | bodies), max_size=12)


def entries(rows: list[tuple[str, Body | None]]) -> list[Entry]:
    read = [(run_id, None if body is None else decode(encode(body))) for run_id, body in rows]
    return [Entry(seq, run_id, 0.0, body) for seq, (run_id, body) in enumerate(read, 1)]


QUICK = settings(phases=[Phase.generate])  # a whole log shrinks for minutes


@settings(QUICK, max_examples=examples(150))
@given(logs, st.sampled_from(PROFILES))
def test_any_log_renders_and_is_summed_up(
    rows: list[tuple[str, Body | None]], profile: ModelProfile
) -> None:
    log = entries(rows)
    room = PromptBudget(profile=profile, fixed=10, max_tokens=100, max_history=4)
    window = plan_window(log, 1, room, overflowed=False)
    assert 1 <= window.start <= max(len(log), 1)
    call = msgspec.structs.replace(asking(1, profile), window_from=window.start)
    messages = context(log, SNAPSHOT, call)
    assert msgspec.json.encode(messages)
    assert len(material(log, 1, len(log), 500)) <= 510
    rendered = Rendered()
    for length in range(len(log) + 1):  # as the calls of a run see it, one after another
        now = log[:length]
        window = plan_window(now, 1, room, overflowed=False, rendered=rendered)
        assert window == plan_window(now, 1, room, overflowed=False)
        call = msgspec.structs.replace(asking(1, profile), window_from=window.start)
        assert context(now, SNAPSHOT, call, rendered) == context(now, SNAPSHOT, call)
    summary = latest_summary(log)
    assert summary is None or summary.upto < len(log)
    own = [entry.body for entry in log if entry.run_id == RUN and entry.body is not None]
    assert run_usage(own).model_calls >= 0
    assert next_step(RUN, log, StepLimits()) == next_step(RUN, log, StepLimits())


unlabelled = bodies.map(
    lambda body: msgspec.structs.replace(body, label="") if hasattr(body, "label") else body
)


@settings(QUICK, max_examples=examples(150))
@given(st.lists(bodies | unlabelled, max_size=12))
def test_the_label_of_a_log_is_that_of_each_of_its_entries(rows: list[Body]) -> None:
    assert joined_label(rows) == joined(map(label_of, rows))


@pytest.mark.process
@settings(QUICK, max_examples=15)
@given(st.lists(bodies, max_size=6))
def test_a_conversation_with_any_log_is_shown_exported_and_goes_on(rows: list[Body]) -> None:
    asyncio.run(_goes_on(rows))


async def _goes_on(rows: list[Body]) -> None:
    async with gateway() as bot:
        await bot.channel.push("first")
        await answered(bot)
        lane = Lane(KEY, bot.home.do(lambda c: lanes.lock(c, KEY).token))
        bot.home.do(lambda c: stored.append(Unit(c, bot.process.writer), lane, "past", rows))
        assert bot.home.verify(KEY) > len(rows)
        operations = Dispatcher(
            bot.engine, [*OPERATIONS, *of_context(), *of_conversations()], bot.offers
        )
        for name in ("context show", "sessions show", "sessions export"):
            result = await operations.call(name, {"session": KEY})
            assert operations.named(name).text(result, bot.engine.shown_at())
            assert msgspec.json.encode(result)
        page = await log_of(bot.records).entries(KEY, after=0, limit=1_000)
        assert [entry.kind for entry in page[-len(rows) :] if rows] == list(map(kind_of, rows))
        await bot.channel.push("second")
        assert (await bot.channel.pop()).text == "echo: second"
