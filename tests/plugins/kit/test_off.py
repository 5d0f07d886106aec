"""A gateway without the testing kit is the same; tests have the kit whatever is off in a home."""

from __future__ import annotations

from pathlib import Path

from nanobot.testing import ScriptedProvider, gateway
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["kit"]\n[channels.telegram]\ntoken = "1:x"\nowners = [1]\n'


async def test_a_gateway_without_it_answers_grades_channels_and_tests_still_have_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        (row,) = [
            each for each in await parts.operations.call("plugins list", {}) if each.name == "kit"
        ]
        assert "nanobot plugins on kit" in row.why
        (channel,) = await parts.operations.call("channels list", {})
        assert channel.grade == "gold"
        async with gateway(ScriptedProvider("It is noon.")) as bot:
            await bot.channel.push("What time is it?")
            assert (await bot.channel.pop()).text == "It is noon."
