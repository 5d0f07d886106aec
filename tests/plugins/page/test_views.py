"""A plugin of a package adds views to the page: one script, or a folder of modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanobot.plugins.common.views.plugins import views_of as plugin_views
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.server.housing import Client, House, house

BIRDS = """
    from pathlib import Path
    from nanobot.seam.faces import PageView
    from nanobot.seam.plugin import Plugin

    FOLDER = Path(FOLDER_OF_VIEWS)

    PLUGIN = Plugin(name="birds", summary="Birds.", page=lambda: [{views}])
"""
OLD = 'PageView(title="Old", script="export default () => () => null;")'
NEW = 'PageView(title="New", name="nest", folder=FOLDER, order=15)'


def bring(site: Site, folder: Path, *views: str) -> None:
    (folder / "eggs").mkdir(parents=True)
    (folder / "nest.js").write_text('export { Eggs as default } from "./eggs/eggs.js";\n')
    (folder / "eggs" / "eggs.js").write_text("export const Eggs = () => null;\n")
    code = BIRDS.replace("FOLDER_OF_VIEWS", repr(str(folder)))
    site.bring("birds", code.replace("{views}", ", ".join(views)))


async def views_of(client: Client) -> dict[str, Any]:
    return {each["name"]: each for each in (await client.get("/api/me"))[1]["views"]}


async def text_of(client: Client, path: str) -> tuple[int, str, Any]:
    async with client.session.get(client.url + path, headers=client.headers) as response:
        return response.status, await response.text(), response.headers


async def test_the_files_of_a_folder_are_files_of_the_page(site: Site, tmp_path: Path) -> None:
    bring(site, tmp_path / "views", OLD, NEW)
    async with house(tmp_path / "home") as served:
        owner, stranger = await served.owner(), await served.stranger()
        views = await views_of(owner)
        new, old = views["birds-nest"], views["birds-main"]
        assert (new["order"], old["order"], views["schedule"]["order"]) == (15, 100, 20)
        page = (await owner.get("/api/me"))[1]["page"]
        assert new["script"] == f"/page/{page}/plugins/birds/nest.js"
        status, text, headers = await text_of(stranger, new["script"])
        assert (status, "./eggs/eggs.js" in text) == (200, True)
        assert headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        eggs = new["script"].replace("nest.js", "eggs/eggs.js")
        assert (await text_of(stranger, eggs))[0] == 200
        # A script that stands alone may say more: it is for owners.
        assert (await text_of(stranger, old["script"]))[0] == 401
        assert (await text_of(owner, old["script"]))[0] == 200


async def test_a_view_names_its_styles_and_its_texts_if_it_has_them(
    site: Site, tmp_path: Path
) -> None:
    bring(site, tmp_path / "views", OLD, NEW)
    async with house(tmp_path / "home") as served:
        views = await views_of(await served.owner())
        for name in ("birds-nest", "birds-main"):
            assert (views[name]["style"], views[name]["texts"]) == ("", {})
    (tmp_path / "views" / "nest.css").write_text(".birds { color: red; }")
    (tmp_path / "views" / "zh.js").write_text("export default {};")
    async with house(tmp_path / "home") as served:
        view = (await views_of(await served.owner()))["birds-nest"]
        beside = view["script"].removesuffix("nest.js")
        assert (view["style"], view["texts"]) == (f"{beside}nest.css", {"zh": f"{beside}zh.js"})
        status, text, headers = await text_of(await served.stranger(), view["style"])
        assert (status, text) == (200, ".birds { color: red; }")
        assert headers["Content-Type"] == "text/css; charset=utf-8"


async def test_the_page_has_another_name_when_a_folder_changes(site: Site, tmp_path: Path) -> None:
    bring(site, tmp_path / "views", NEW)
    async with house(tmp_path / "home") as served:
        before = (await views_of(await served.owner()))["birds-nest"]["script"]
    (tmp_path / "views" / "nest.js").write_text("export default () => 'more';\n")
    async with house(tmp_path / "home") as served:
        assert (await views_of(await served.owner()))["birds-nest"]["script"] != before
        assert (await text_of(await served.stranger(), before))[0] == 404


WRONG = {
    'PageView(title="A")': "the view 'main' has a script, or a folder",
    NEW.replace("folder", 'script="export default 1", folder'): "has a script, or a folder",
    NEW.replace("nest", "egg"): "there is no ",
    NEW.replace("order=15", "whole=True"): "the view 'nest' must have the plugin's prefix",
    f'{NEW}, PageView(title="B", name="eggs", folder=FOLDER / "eggs")': "several folders",
    NEW.replace("nest", "zh"): "zh.js contains the texts of its views",
    NEW.replace("nest", "../nest"): "a view has the name '../nest'",
}


@pytest.mark.parametrize("views", WRONG)
async def test_a_view_that_cannot_be_shown_is_named_and_the_page_is_whole(
    views: str, site: Site, tmp_path: Path
) -> None:
    bring(site, tmp_path / "views", views)
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        shown = await views_of(owner)
        assert "schedule" in shown
        assert not [name for name in shown if name.startswith("birds")]
        assert WRONG[views] in _why(served)
        assert (await text_of(owner, "/"))[0] == 200


def _why(served: House) -> str:
    (view,) = [each for each in plugin_views(served.parts.plugged) if each.name == "birds"]
    assert view.state == "failed"
    return view.why


async def test_a_switched_off_plugin_takes_its_view_along(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web='[plugins]\noff = ["cron", "memory"]') as served:
        owner = await served.owner()
        views = await views_of(owner)
        assert not {"schedule", "memory-memories"} & {*views}
        page = (await owner.get("/api/me"))[1]["page"]
        assert (await text_of(owner, f"/page/{page}/plugins/cron/schedule.js"))[0] == 404
        assert (await text_of(owner, f"/page/{page}/app.js"))[0] == 200
