"""Whose requests may join a trace: those of owners, and of nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.testing.model import ScriptedProvider
from tests.doubles.otlp_collector import collecting, text_attributes
from tests.server.housing import house

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("role", "flags", "continues", "links"),
    [
        ("owner", "01", True, False),
        ("member", "01", False, True),
        ("member", "00", False, False),
    ],
)
async def test_only_an_owner_continues_a_trace_with_a_message(
    tmp_path: Path, role: str, flags: str, *, continues: bool, links: bool
) -> None:
    async with collecting() as collector:
        traces = f'[traces]\nenabled = true\nendpoint = "{collector.url}"\ninterval = 0.2\n'
        async with house(tmp_path / "home", ScriptedProvider("hi"), traces) as served:
            person = await served.program("laptop", role)
            _, me = await person.get("/api/me")
            session = "web:desk" if role == "owner" else me["session"]
            status, _ = await person.ask(
                "POST",
                f"/api/sessions/{session}/messages",
                json={"text": "hello"},
                headers={"traceparent": f"00-{TRACE}-{SPAN}-{flags}"},
            )
            assert status == 200
            (run,) = await collector.until("invoke_agent nanobot")
    assert text_attributes(run)["nanobot.role"] == role
    assert (run.trace_id.hex() == TRACE) == continues
    assert (run.parent_span_id.hex() == SPAN) == continues
    assert [link.trace_id.hex() for link in run.links] == ([TRACE] if links else [])
