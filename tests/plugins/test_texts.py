"""A plugin of a package brings the Chinese of its texts in its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from loguru import logger

from nanobot.seam.plugin import Plugin
from nanobot.testing.plugins import tried
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.server.housing import Client, house

BIRDS = """
    from pathlib import Path
    from nanobot.seam.plugin import Plugin

    PLUGIN = Plugin(
        name="birds", summary="Counts the birds in the garden.", texts=Path(FOLDER_OF_TEXTS)
    )
"""
ROWS = """
"Counts the birds in the garden" = "数花园里的鸟"
"""


def bring(site: Site, folder: Path, rows: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "zh.toml").write_text(rows, "utf-8")
    site.bring("birds", BIRDS.replace("FOLDER_OF_TEXTS", repr(str(folder))))


async def summaries(client: Client, language: str) -> dict[str, str]:
    headers = {"Accept-Language": language}
    status, plugins = await client.ask("GET", "/api/plugins/list", headers=headers)
    assert status == 200
    return {each["name"]: each["summary"] for each in plugins}


async def test_its_texts_are_read_in_the_language_of_the_reader(site: Site, tmp_path: Path) -> None:
    bring(site, tmp_path / "texts", ROWS)
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        chinese, english = await summaries(owner, "zh-CN"), await summaries(owner, "en")
    assert (chinese["birds"], english["birds"]) == (
        "数花园里的鸟。",
        "Counts the birds in the garden.",
    )


async def test_it_changes_no_text_that_nanobot_has_itself(site: Site, tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        before = (await summaries(await served.owner(), "zh"))["cron"]
    bring(site, tmp_path / "texts", '"Scheduled jobs" = "别的任务"\n')
    async with house(tmp_path / "home") as served:
        assert (await summaries(await served.owner(), "zh"))["cron"] == before != "别的任务"


WRONG = {
    '"Counts the birds in the garden" = 3\n': "has no translation",
    '"Counts the birds in the garden" = ""\n': "has no translation",
    '"Counts {0} birds" = "数鸟"\n': "has other holes",
    '"Counts {birds" = "数鸟"\n': "a brace that is not doubled",
    '"{0}: {1}" = "{0}：{1}"\n': "any text could be meant",
    '"Counts the birds in the garden" = "数花园里的鸟\n': "at line 1",
}


@pytest.mark.parametrize("rows", WRONG)
async def test_a_file_that_cannot_be_used_is_named_and_all_else_is_translated(
    rows: str, site: Site, tmp_path: Path
) -> None:
    bring(site, tmp_path / "texts", rows)
    told: list[str] = []
    sink = logger.add(told.append, level="WARNING", format="{message}")
    try:
        async with house(tmp_path / "home") as served:
            chinese = await summaries(await served.owner(), "zh")
    finally:
        logger.remove(sink)
    assert chinese["birds"] == "Counts the birds in the garden."
    assert not chinese["cron"].isascii()
    (warning,) = [text for text in told if "texts of the plugin birds" in text]
    assert "zh.toml" in warning
    assert WRONG[rows] in warning


@pytest.mark.parametrize("rows", WRONG)
async def test_its_author_is_told_by_a_test(rows: str, tmp_path: Path) -> None:
    (tmp_path / "zh.toml").write_text(rows, "utf-8")
    plugin = Plugin(name="birds", summary="Birds.", texts=tmp_path)
    with pytest.raises(AssertionError, match=f"zh.toml can be used.*{WRONG[rows]}"):
        async with tried(plugin):
            pass


async def test_a_folder_without_translations_is_a_mistake(tmp_path: Path) -> None:
    plugin = Plugin(name="birds", summary="Birds.", texts=tmp_path)
    with pytest.raises(AssertionError, match="there are translations in "):
        async with tried(plugin):
            pass
