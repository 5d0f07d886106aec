"""The accepted tools of MCP servers, over SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from nanobot.plugins.mcp import tables
from nanobot.plugins.mcp.pins import FIRST, Pin, Said, never_accepted, read
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.migrate import OURS
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_t = tables.mcp_tools


class SqlPins(SqlStore):
    """See pins.Pins: the same code for SQLite and PostgreSQL."""

    async def note(
        self, server: str, said: Mapping[str, Said], *, trusted_at_first: bool = False
    ) -> Mapping[str, str]:
        pins = await self.listed(server)
        trusting = trusted_at_first and bool(said) and never_accepted(pins)
        known = {pin.tool: pin.said.digest for pin in pins}
        news = {tool: words for tool, words in said.items() if known.get(tool) != words.digest}
        gone = [pin.tool for pin in pins if pin.tool not in said and pin.accepted is None]
        if news or gone or trusting:
            await self._note(server, news, gone, trusting=trusting)
            pins = await self.listed(server)
        return {pin.tool: pin.accepted.digest for pin in pins if pin.accepted is not None}

    @transaction()
    def listed(self, connection: Connection, server: str) -> list[Pin]:
        return _listed(connection, server)

    @transaction("mcp_tools_noted")
    def _note(
        self,
        unit: Unit,
        server: str,
        news: Mapping[str, Said],
        gone: Sequence[str],
        *,
        trusting: bool,
    ) -> None:
        alone(unit, "mcp tools")  # two at once would each find that a tool is not there
        own = _t.c.server == server
        unit.execute(sa.delete(_t).where(own, _t.c.tool.in_(gone), _t.c.accepted == ""))
        for tool, words in news.items():
            values = {"said": words.encoded, "at": unit.now}
            known = sa.update(_t).where(own, _t.c.tool == tool).values(values)
            if not unit.execute(known).rowcount:
                row = {"server": server, "tool": tool, "accepted": "", "by": "", **values}
                unit.execute(sa.insert(_t), row)
        if trusting and never_accepted(_listed(unit, server)):  # no other process was first
            values = {"accepted": _t.c.said, "by": FIRST, "at": unit.now}
            unit.execute(sa.update(_t).where(own).values(values))

    @transaction("mcp_tools_accepted")
    def accept(self, unit: Unit, server: str, digests: Mapping[str, str], by: str) -> int:
        alone(unit, "mcp tools")
        rows = unit.execute(sa.select(_t).where(_t.c.server == server)).all()
        fit = [row for row in rows if digests.get(row.tool) == read(row.said).digest]
        for row in fit:
            where = (_t.c.server == server, _t.c.tool == row.tool)
            values = {"accepted": row.said, "by": by, "at": unit.now}
            unit.execute(sa.update(_t).where(*where).values(values))
        return len(fit)


def kept_at(url: str) -> list[Pin]:
    """Read the pins of the store at a URL, also while a gateway runs. Empty if there is no store,
    or one of an earlier version. Raises StoreError."""
    from nanobot.plugins.common.store.at_rest import reading  # noqa: PLC0415 - not needed by a gateway
    from nanobot.plugins.common.store.inspection import inspect  # noqa: PLC0415

    if inspect(url).revision != OURS.head:
        return []
    with reading(url) as connection:
        return _listed(connection, "")


def _listed(connection: Connection, server: str) -> list[Pin]:
    query = sa.select(_t).order_by(_t.c.server, _t.c.tool)
    if server:
        query = query.where(_t.c.server == server)
    return [
        Pin(
            server=row.server,
            tool=row.tool,
            said=read(row.said),
            accepted=read(row.accepted) if row.accepted else None,
            by=row.by,
        )
        for row in connection.execute(query)
    ]
