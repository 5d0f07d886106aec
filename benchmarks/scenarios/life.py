"""A gateway's life apart from talking: how it starts, what it takes when nothing happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject

WAITING = 1
GROUP = range(1, 5)
QUIET = 2.0
"""Seconds after the first poll until a gateway counts as idle."""


async def start(stage: Stage, subject: Subject) -> Sample:
    """From the start of the process to its first poll, and to the answer to a waiting message, with
    a fresh home and with a used one.

    An update or a crash is over when the second of these is. The files of Python and the modules
    are in the system's cache both times.
    """
    home = stage.home()
    cold_poll, cold_answer = await _start(stage, subject, home)
    warm_poll, warm_answer = await _start(stage, subject, home)
    return {
        "cold poll": cold_poll,
        "cold answer": cold_answer,
        "warm poll": warm_poll,
        "warm answer": warm_answer,
    }


async def _start(stage: Stage, subject: Subject, home: Path) -> tuple[float, float]:
    async with stage.starting(subject, home) as gateway:
        # The process needs a hundred times as long to its first poll as this message to be said.
        talk = await stage.converse([WAITING], 1)
        polled = await stage.first_poll(gateway)
        return polled, talk.spans[0][1] - gateway.began


START = Scenario(
    "start",
    (
        Measure("cold poll", "start to first poll, fresh home", "s"),
        Measure("cold answer", "start to the answer of what waited, fresh home", "s"),
        Measure("warm poll", "start to first poll", "s"),
        Measure("warm answer", "start to the answer of what waited", "s"),
    ),
    start,
    versions=True,
)


async def memory(stage: Stage, subject: Subject) -> Sample:
    """Resident memory of all gateway processes after the first poll and after 200 turns in four
    chats, and their CPU during half a minute without messages.

    It runs all day on small machines, and mostly nobody says anything.
    """
    effort = stage.effort
    async with stage.gateway(subject) as gateway:
        await asyncio.sleep(QUIET)
        idle, before = gateway.resident(), gateway.cpu()
        await asyncio.sleep(effort.idle_seconds)
        cpu = gateway.cpu().since(before)
        await stage.converse(GROUP, effort.grown_turns // len(GROUP))
        grown = gateway.resident()
    return {"idle": idle, "grown": grown, "cpu": cpu / effort.idle_seconds}


MEMORY = Scenario(
    "memory",
    (
        Measure("idle", "memory, idle", "MB"),
        Measure("grown", "memory after 200 turns", "MB"),
        Measure("cpu", "CPU while idle", "ms/s"),
    ),
    memory,
    versions=True,
)
