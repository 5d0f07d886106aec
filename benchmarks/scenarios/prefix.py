"""How much of what is sent to the model was sent before."""

from __future__ import annotations

from loguru import logger

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject
from tests.agent.prefix import sent_again


async def prefix(stage: Stage, _: Subject) -> Sample:
    """A session of 50 turns with tools: the share of each request's bytes that repeat the start of
    the previous one. Providers charge a fraction for these."""
    logger.disable("nanobot")
    try:
        return {"again": 100 * await sent_again(stage.folder / "prefix")}
    finally:
        logger.enable("nanobot")


PREFIX = Scenario(
    "prefix",
    (Measure("again", "bytes of a request that were sent before", "%"),),
    prefix,
    subjects=(Subject.NANOBOT,),
    once=True,
)
