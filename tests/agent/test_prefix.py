"""What is sent begins with what was sent before: measured over a long session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.prefix import sent_again


@pytest.mark.process
async def test_over_fifty_turns_more_than_95_percent_was_sent_before(tmp_path: Path) -> None:
    assert await sent_again(tmp_path / "workspace") > 0.95
