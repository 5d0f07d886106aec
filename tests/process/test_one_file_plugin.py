"""The plugin of one file that the page about extending begins with: built as a wheel, installed,
used in a chat, asked over HTTP and looked at in a browser. And what `plugins new` writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import async_playwright

from tests.page.conftest import CHROMIUM
from tests.process.test_plugin_wheels import COMMAND, Home, built, pip

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text("utf-8")
CODE, *_ = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PROJECT, SETTING, *_ = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def installed(source: Path, site: Path) -> Path:
    """What is in that folder, built as a wheel without the network and installed."""
    wheels = source.parent / f"wheels-{source.name}"
    options = ("--no-build-isolation", "--no-deps", "--no-index")
    pip("wheel", *options, "--wheel-dir", str(wheels), str(source))
    (wheel,) = wheels.glob("*.whl")
    pip("install", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    return site


@pytest.fixture
def home(tmp_path: Path) -> Home:
    source = tmp_path / "throws"
    source.mkdir()
    (source / "throws.py").write_text(CODE)
    (source / "pyproject.toml").write_text(PROJECT)
    birds = tmp_path / "birds-site"
    wheel = built("birds", tmp_path)
    pip("install", "--no-deps", "--no-index", "--target", str(birds), str(wheel))
    return Home(tmp_path, installed(source, tmp_path / "throws-site"), birds)


@pytest.mark.skipif(CHROMIUM is None, reason="no browser")
async def test_the_plugin_of_the_page_does_all_that_it_says(home: Home, tmp_path: Path) -> None:
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 65
    home.configure(f"[web]\nport = 0\n{SETTING}")
    async with home.gateway() as ready:
        url = re.search(r"web=(\S+)", ready)
        assert url, ready
        await home.say('tool:throw:{"dice": 3}', "Together")
        total = int(re.findall(r"Together (\d+)", (home.folder / "ann.out").read_text())[0])
        assert 3 <= total <= 60
        blobs = [path for path in (tmp_path / "home" / "blobs").rglob("*") if path.is_file()]
        assert [path for path in blobs if path.read_bytes().startswith(b"\x89PNG")]
        token = (tmp_path / "home" / "web.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{url[1]}/plugins/throws/last") as response,
        ):
            assert await response.json() == [{"total": total}]
        listed = {each["name"]: each for each in json.loads(await home.run("plugins", "--json"))}
        assert (listed["throws"]["state"], listed["throws"]["package"]) == ("on", "nanobot-throws")
        assert (await home.run("config", "get", "throws.sides")).strip() == "20"
        said = json.loads(await home.run("doctor", "--json"))
        assert [each["text"] for each in said if each["about"] == "throws"] == [
            "dice have 20 sides"
        ]
        link = (await home.run("web", "link")).split()[0].partition("#login=")[2]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM)
            page = await browser.new_page(locale="en-US")
            await page.goto(f"{url[1]}/#login={link}")
            await page.get_by_role("link", name="Throws").click()
            await page.get_by_role("listitem").filter(has_text=re.compile(f"^{total}$")).wait_for()
            await browser.close()


def new(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "plugins", "new", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_plugins_new_writes_is_installed_and_its_tests_pass(tmp_path: Path) -> None:
    made = new(tmp_path, "tea_time")
    assert made.returncode == 0, made.stderr
    source = tmp_path / "nanobot-tea-time"
    assert str(source) in made.stdout
    site = installed(source, tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=source,
        env={"PYTHONPATH": f"{site}:{Path(__file__).parents[2]}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d passed", done.stdout)
    again, wrong = new(tmp_path, "tea_time"), new(tmp_path, "Tea Time")
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    assert (wrong.returncode, "cannot be named" in wrong.stderr) == (2, True)
