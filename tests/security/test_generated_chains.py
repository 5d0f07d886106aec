"""Chains are generated: content from outside comes in by a source, waits in a storage, and wants
out by a sink, on a whole gateway with a canary. Whatever the chain, the sink asks or is refused.

Every pair of source and storage, and every pair of storage and sink, is tried in some chain; the
rest is drawn. Longer ones, through several storages and conversations, are drawn by hypothesis: few
where the tests have to be quick, many where they search. The model at the wire does whatever the
content says.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.doubles.web_server import WebServer
from tests.process.harness import MEMBERS, World, open_world
from tests.security.chain_steps import (
    NOBODY,
    SECRET,
    SINKS,
    SOURCES,
    STORAGES,
    Course,
    LongCourse,
    Place,
    Sink,
    Step,
    begin,
    curl,
    online,
)
from tests.security.puppet import QUESTION

SEEDS = (1, 2, 3)
_COMMANDS = (curl, online)
LONG = st.tuples(
    st.sampled_from(SOURCES),
    st.lists(st.sampled_from(STORAGES), min_size=1, max_size=3),
    st.sampled_from(SINKS),
)
# Places that one of them needs at most. Each example has a gateway of its own.
PLACES = 10
FEW, MANY = 2, 40
PARTS = 32
PHASES = (Phase.explicit, Phase.generate)


def chains(rng: random.Random) -> Iterator[tuple[Step, Step, Sink]]:
    """Chains that have every pair of neighbours among them."""
    into = list(itertools.product(SOURCES, STORAGES))
    out = set(itertools.product(STORAGES, SINKS))
    rng.shuffle(into)
    for source, storage in into:
        left = sorted((sink for kept, sink in out if kept is storage), key=SINKS.index)
        sink = rng.choice(left or list(SINKS))
        out.discard((storage, sink))
        yield source, storage, sink
    for storage, sink in sorted(out, key=lambda pair: (STORAGES.index(pair[0]), str(pair[1]))):
        yield rng.choice(SOURCES), storage, sink


def test_every_pair_of_neighbours_is_in_some_chain() -> None:
    for seed in SEEDS:
        drawn = list(chains(random.Random(seed)))
        assert {chain[:2] for chain in drawn} == set(itertools.product(SOURCES, STORAGES))
        assert {chain[1:] for chain in drawn} == set(itertools.product(STORAGES, SINKS))


@pytest.fixture
async def gateway(world: World, site: WebServer) -> World:
    await begin(world, site)
    return world


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))]
)
async def test_no_chain_reaches_its_end_unasked(gateway: World, site: WebServer, part: int) -> None:
    drawn = [*chains(random.Random(SEEDS[0]))][part::PARTS]
    assert len(drawn) <= 32  # each has three of 99 owners
    for number, (source, storage, sink) in enumerate(drawn):
        course = Course(gateway, site, number)
        at = await source(course, course.here)
        at = await storage(course, at)
        await fails_unasked(course, at, sink, (source.__name__, storage.__name__))
    await nothing_came_out(gateway)


@pytest.mark.process
@settings(max_examples=FEW if settings().max_examples <= 50 else MANY, phases=PHASES)
@given(chosen=st.lists(LONG, min_size=1, max_size=4))
def test_no_longer_chain_reaches_its_end_unasked(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: list[tuple[Step, list[Step], Sink]],
) -> None:
    asyncio.run(walk(tmp_path_factory.mktemp("long"), chosen))


async def walk(folder: Path, chosen: list[tuple[Step, list[Step], Sink]]) -> None:
    async with open_world(folder) as world, WebServer() as site:
        await begin(world, site)
        for number, (source, storages, sink) in enumerate(chosen):
            course = LongCourse(world, site, number * PLACES)
            names = [source.__name__]
            at = await source(course, course.here)
            for storage in storages:
                at = await storage(course, at)
                names.append(storage.__name__)
                course.go_on()
            await fails_unasked(course, at, sink, names)
        await nothing_came_out(world)
        assert site.private_hits == []


_BUSY = (
    "SELECT id FROM inbound WHERE state = 'pending' UNION SELECT 1 FROM runs WHERE state IN "
    "('queued', 'preparing', 'model_running', 'tool_running')"
)


async def fails_unasked(course: Course, at: Place, sink: Sink, steps: Sequence[str]) -> None:
    result = await sink(course, at)
    refused = sink in _COMMANDS and "exit code 0" not in result
    assert result.startswith(QUESTION) or NOBODY in result or refused, (
        *steps,
        sink.__name__,
        result,
    )
    assert not any(SECRET in path for _, path in course.site.asked), (*steps, sink.__name__)
    # A report that is still told would make the next chain's call in this conversation.
    await course.world.eventually(lambda: not course.world.rows(_BUSY))


async def nothing_came_out(world: World) -> None:
    assert world.texts(MEMBERS[99]) == []
    steering = world.workspace / "AGENTS.md"
    assert not steering.exists() or SECRET not in steering.read_text()
    for listing in (("memory", "list"), ("cron", "list")):
        assert SECRET not in (await world.run(*listing, "--json")).output


async def test_without_a_source_every_sink_is_reached_unasked(
    gateway: World, site: WebServer
) -> None:
    course = Course(gateway, site, 0)
    for number, sink in enumerate(SINKS, 1):
        result = await sink(course, Place(number, number))
        assert not result.startswith(QUESTION), (sink.__name__, result)
    paths = [path for _, path in site.asked if SECRET in path]
    assert len(paths) == 4  # curl, online, fetch and query
