"""A gateway whose plugin for transcripts is off keeps recordings as files, and names the plugin."""

from __future__ import annotations

from pathlib import Path

import openai
import pytest

from nanobot.config.loader import load
from nanobot.messages import Attachment
from nanobot.plugins.setup.doctor.plugins import plugins
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.openai.test_openai_api import client
from tests.server.housing import house

OFF = '[plugins]\noff = ["hearing"]\n'
SOUND = b"OggS speech"


@pytest.mark.parametrize(("switch", "on"), [("", True), (OFF, False)])
async def test_while_it_is_off_recordings_stay_files_and_programs_are_told_of_it(
    tmp_path: Path, switch: str, on: bool
) -> None:
    async with OpenAIServer() as model:
        more = (
            f'{switch}[providers.test]\napi_base = "{model.base_url}"\n'
            '[agent]\ntranscription_model = "test/whisper"\n'
        )
        home = house(tmp_path / "home", web=more, configured_models=True)
        async with home as served, client(served) as ai:
            kept = await served.parts.received.keep(Attachment("audio", name="a.ogg"), SOUND, 0.0)
            assert (tmp_path / "home" / "workspace" / kept.path).read_bytes() == SOUND
            assert (kept.text, kept.error) == ("a.ogg by whisper: OggS speech" if on else "", "")
            asking = ai.audio.transcriptions.create(model="any", file=("a.ogg", SOUND))
            if on:
                assert (await asking).text
            else:
                with pytest.raises(openai.BadRequestError, match="`plugins on hearing` switches"):
                    await asking


@pytest.mark.parametrize(("switch", "on"), [("", True), (OFF, False)])
async def test_doctor_names_it_if_a_model_is_configured(
    tmp_path: Path, switch: str, on: bool
) -> None:
    (tmp_path / "config.toml").write_text(
        f'{switch}[agent]\ntranscription_model = "openai/whisper-1"\n'
    )
    config = load({"NANOBOT_HOME": str(tmp_path)})
    texts = [str(each.text) async for each in plugins(config) if "transcription" in str(each.text)]
    useless = "agent.transcription_model does nothing without the plugin hearing. "
    assert texts == ([] if on else [f"{useless}It is switched off: nanobot plugins on hearing"])
