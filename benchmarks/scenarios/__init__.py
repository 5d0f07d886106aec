"""All scenarios by name, in the order in which they are run and shown."""

from __future__ import annotations

from benchmarks.figures import Scenario
from benchmarks.scenarios import (
    alone,
    backlog,
    backup,
    clock,
    full,
    grown,
    history,
    life,
    page,
    paid,
    prefix,
    recall,
    rendering,
    store,
    talking,
    terminal,
    traced,
    watched,
)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        talking.TURN,
        talking.TOOLS,
        talking.MANY,
        talking.FLOOD,
        life.START,
        backlog.BACKLOG,
        life.MEMORY,
        history.HISTORY,
        terminal.TERMINAL,
        alone.COMMANDS,
        alone.IMPORTS,
        store.STORE,
        full.FULL,
        grown.GROWN,
        backup.BACKUP,
        clock.CRON,
        watched.WATCHED,
        traced.TRACED,
        page.PAGE,
        recall.RECALL,
        prefix.PREFIX,
        paid.PAID,
        rendering.RENDERING,
        alone.SIZE,
        talking.DOUBLES,
    )
}
